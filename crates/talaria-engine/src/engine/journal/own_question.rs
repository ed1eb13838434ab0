//! A request of Talaria itself to a person: how it is opened, stored, closed or withdrawn.
//!
//! Two callers use it: a task that needs more than its sandbox (before its turn begins, in the journal of that turn) and the
//! tools of a turn (during it). The caller interprets the answer; a request is closed once, with its answer or with the reason
//! for its withdrawal.

use talaria_codex::conversation::Watcher as _;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::{Ask, Decision, Who};
use talaria_store::{RequestFilter, RequestRow, RequestState, Store, StoreError, TurnRow};

use crate::engine::Inner;
use crate::engine::journal::asker::{Asker, QuestionTopic};
use crate::engine::journal::feed::Feed;
use crate::engine::journal::{Journal, TaskContext, rows};
use crate::engine::run::opening;

/// A question of Talaria itself, as it is stored.
pub(crate) struct OwnQuestion(RequestRow);

impl OwnQuestion {
    /// Opens a request, and returns once it is stored.
    pub(crate) async fn open(
        ticket: &TicketId,
        ask: Ask,
        topic: QuestionTopic,
        journal: &mut Journal,
    ) -> Result<(), StoreError> {
        journal.open_own(ticket, ask, topic);
        journal.keep().await.map_err(|_| StoreError::Closed)
    }

    /// Reads a request; none if it was never opened.
    pub(crate) async fn find(store: &Store, ticket: &TicketId) -> Result<Option<Self>, StoreError> {
        Ok(store.request(ticket).await?.map(Self))
    }

    /// Reads the questions of a session about one topic, oldest first.
    pub(crate) async fn of_session(
        store: &Store,
        session: &SessionId,
        topic: QuestionTopic,
        states: Option<Vec<RequestState>>,
    ) -> Result<Vec<Self>, StoreError> {
        let rows = store.requests(&RequestFilter { session: Some(session.clone()), states }).await?;
        let is_asked = |row: &RequestRow| matches!(Asker::of(&row.origin), Some(Asker::Talaria { about }) if about == topic);
        Ok(rows.into_iter().filter(is_asked).map(Self).collect())
    }

    pub(crate) fn row(&self) -> &RequestRow {
        &self.0
    }

    /// The decision; one that cannot be read declines.
    pub(crate) fn decision(&self) -> Decision {
        self.0.decision.as_deref().and_then(rows::value).unwrap_or(Decision::Decline)
    }

    /// Who decided.
    pub(crate) fn by(&self) -> Who {
        opening::who(&self.0)
    }

    /// Closes an answered request. It is written together with the other pending rows of the journal.
    pub(crate) fn close(&self, journal: &mut Journal) {
        journal.close_own(&self.0.id, self.decision(), self.by(), None);
    }

    /// Closes a question without an answer.
    pub(crate) fn withdraw(ticket: &TicketId, by: Who, why: &str, journal: &mut Journal) {
        journal.close_own(ticket, Decision::Void, by, Some(why.to_owned()));
    }
}

impl Inner {
    /// A journal for what Talaria itself asks or reports in a turn that another task runs, or that has not begun.
    pub(crate) async fn journal_of_turn(
        &self,
        session: &SessionId,
        turn: &TurnRow,
        feed: Feed,
    ) -> Result<Journal, StoreError> {
        let store = &self.shelf.store;
        let alias = store.session(session).await?.and_then(|row| row.alias);
        let task = store.task(session).await?.zip(alias);
        let card = task.map(|(task, id)| TaskContext::new(id, task));
        Ok(Journal::new(self.shelf.clone(), feed, session.clone(), turn, card))
    }
}
