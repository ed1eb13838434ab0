//! Requests of Talaria to a person in a running turn, for its own tools: may a site be read, may a call run.
//!
//! The request is a row like every other. A task of its own waits for the answer and closes the request, so that a call may
//! return before a person has decided. A request that is open when the turn ends is withdrawn. An engine that is killed leaves an open row;
//! the next one closes it with the turn, or waits for it when the call comes again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_codex::conversation::{Command, Watcher as _, mint_ticket};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::{Ask, Decision, Who};
use talaria_store::{RequestState, StoreError};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::engine::Inner;
use crate::engine::journal::asker::QuestionTopic;
use crate::engine::journal::own_question::OwnQuestion;

/// The topics of requests in a running turn.
const TOPICS: [QuestionTopic; 3] = [QuestionTopic::WebPage, QuestionTopic::OwnTool, QuestionTopic::Budget];

/// The requests that Talaria put in running turns.
#[derive(Default)]
pub(crate) struct TurnQuestions {
    /// Acceptances of one page that were not used yet.
    unused: Mutex<HashMap<TicketId, SessionId>>,
    /// Requests that a task of this engine waits for.
    watched: Mutex<HashSet<TicketId>>,
    /// Held while a request is closed, so that it is closed once.
    closing: tokio::sync::Mutex<()>,
    changed: Notify,
}

impl TurnQuestions {
    /// A request was answered.
    pub(crate) fn wake(&self) {
        self.changed.notify_waiters();
    }

    /// Resolves when a request was answered or closed. Enable it before the rows are read.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Uses an acceptance that serves once.
    pub(super) fn take_unused(&self, ticket: &TicketId) -> bool {
        lock(&self.unused).remove(ticket).is_some()
    }
}

/// A turn is over, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnState {
    Runs,
    Over,
}

impl Inner {
    /// Opens a request in the running turn of a session.
    pub(super) async fn ask_in_turn(
        self: &Arc<Self>,
        session: &SessionId,
        ask: Ask,
        topic: QuestionTopic,
    ) -> Result<TicketId, StoreError> {
        let unknown = || StoreError::UnknownSession(session.clone());
        let turn = self.shelf.store.next_unsettled(session).await?.ok_or_else(unknown)?;
        let mut journal = self.journal_of_turn(session, &turn, self.desk.feed(session)).await?;
        let ticket = mint_ticket();
        OwnQuestion::open(&ticket, ask, topic, &mut journal).await?;
        self.watch_question(session, ticket.clone());
        Ok(ticket)
    }

    /// Waits for the answer beside the turn, unless that is done already.
    pub(super) fn watch_question(self: &Arc<Self>, session: &SessionId, ticket: TicketId) {
        if !lock(&self.questions.watched).insert(ticket.clone()) {
            return;
        }
        let (engine, session, mut ended) = (Arc::clone(self), session.clone(), self.ended.subscribe());
        self.tasks.spawn(async move {
            tokio::select! {
                () = engine.wait_for_answer(&session, &ticket) => {}
                // The next engine continues from the store.
                _ = ended.wait_for(|ended| *ended) => {}
            }
            lock(&engine.questions.watched).remove(&ticket);
        });
    }

    async fn wait_for_answer(&self, session: &SessionId, ticket: &TicketId) {
        loop {
            let changed = self.questions.changed();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.settle_question(session, ticket, TurnState::Runs).await {
                Ok(true) => return,
                Ok(false) => changed.await,
                Err(error) => {
                    tracing::warn!("the request {ticket} is not closed: {error}");
                    return;
                }
            }
        }
    }

    /// Closes a request that was answered, or whose turn is over. Returns whether it is closed.
    async fn settle_question(
        &self,
        session: &SessionId,
        ticket: &TicketId,
        state: TurnState,
    ) -> Result<bool, StoreError> {
        let (store, questions) = (&self.shelf.store, &self.questions);
        let _closing = questions.closing.lock().await;
        let Some(question) = OwnQuestion::find(store, ticket).await? else { return Ok(true) };
        let request = question.row();
        match (request.state, state) {
            (RequestState::Open, TurnState::Runs) => return Ok(false),
            (RequestState::Open, TurnState::Over) | (RequestState::Answered, _) => {}
            _ => return Ok(true),
        }
        let turn = match request.turn {
            Some(ordinal) => store.turn(session, ordinal).await?,
            None => None,
        };
        let turn = turn.ok_or_else(|| StoreError::UnknownSession(session.clone()))?;
        let mut journal = self.journal_of_turn(session, &turn, self.desk.feed(session)).await?;
        let answer = (request.state == RequestState::Answered).then(|| question.decision());
        match answer {
            Some(_) => question.close(&mut journal),
            None => {
                let why = "the turn ended before it was answered";
                OwnQuestion::withdraw(ticket, Who::Talaria, why, &mut journal);
            }
        }
        if answer == Some(Decision::Accept) && state == TurnState::Runs {
            lock(&questions.unused).insert(ticket.clone(), session.clone());
        }
        journal.keep().await.map_err(|_| StoreError::Closed)?;
        questions.wake();
        if answer == Some(Decision::Cancel) && state == TurnState::Runs {
            self.desk.tell(session, Command::Interrupt { by: question.by() });
        }
        Ok(true)
    }

    /// Closes what is open when a turn has ended. Called by the task of the session.
    pub(crate) async fn withdraw_questions(&self, session: &SessionId) -> Result<(), StoreError> {
        lock(&self.questions.unused).retain(|_, owner| owner != session);
        for topic in TOPICS {
            let states = Some(vec![RequestState::Open, RequestState::Answered]);
            for question in OwnQuestion::of_session(&self.shelf.store, session, topic, states).await? {
                self.settle_question(session, &question.row().id, TurnState::Over).await?;
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
