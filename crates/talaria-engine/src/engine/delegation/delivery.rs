//! Delivers the results of delegated tasks that no call collected, and reports each end to the person, once.
//!
//! A result that is owed when a turn begins becomes part of that turn's input: sealed with it, and recorded as carried by it, in
//! one transaction before anything is sent. It is delivered when Codex has the input (`Journal`). A turn that Codex never had
//! leaves it owed. The end of a task is one line in the parent's conversation, written together with the record that it was.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use talaria_codex::conversation::Watcher as _;
use talaria_core::api::TaskInfo;
use talaria_core::event::Event;
use talaria_core::ids::SessionId;
use talaria_core::input::InputPart;
use talaria_guard::redact::redact;
use talaria_home::faults;
use talaria_store::{Change, DelegationRow, ResultCarrier, StoreError, TurnPatch};

use super::pages;
use crate::engine::journal::Journal;
use crate::engine::run::input::WordsContent;
use crate::engine::{Engine, Inner};

/// How many characters all results in one input may have together.
const ROOM: usize = 12_000;
/// When a report that could not be written is written again.
const LATER: Duration = Duration::from_secs(5);

/// Results of tasks that no call collected, for the input of the next turn.
pub(crate) struct OwedResults {
    text: String,
    /// The tasks, as people name them.
    ids: Vec<String>,
    children: Vec<SessionId>,
}

impl Inner {
    /// Returns the tasks that a conversation delegated. Where nothing ever was, none is looked for.
    pub(crate) async fn delegated_by(&self, session: &SessionId) -> Result<Vec<DelegationRow>, StoreError> {
        match self.has_delegations.load(Ordering::Relaxed) {
            true => self.shelf.store.delegations(session).await,
            false => Ok(Vec::new()),
        }
    }

    /// Returns the results that are owed to a conversation whose turn is about to be sent. `rows` are all that it delegated.
    pub(crate) async fn owed_results(
        self: &Arc<Self>,
        ordinal: i64,
        rows: &[DelegationRow],
    ) -> Option<OwedResults> {
        // An engine that ended before it sent this turn has added them to the input already.
        let is_inside = |row: &DelegationRow| row.carried == Some((ordinal, ResultCarrier::Input));
        let owed: Vec<&DelegationRow> = rows.iter().filter(|row| row.is_owed() && !is_inside(row)).collect();
        let room = ROOM / owed.len().max(1);
        let mut results = Vec::new();
        for row in owed {
            match self.as_owner().task(row.child.as_str()).await {
                Ok(task) => results.push((row.child.clone(), task)),
                // It is still undelivered.
                Err(problem) => {
                    tracing::warn!("the result of {} cannot be read: {}", row.child, problem.message);
                }
            }
        }
        let texts: Vec<String> = results.iter().map(|(_, task)| pages::result(task, room)).collect();
        (!results.is_empty()).then(|| OwedResults {
            text: redact(&pages::input(&texts)).into_owned(),
            ids: results.iter().map(|(_, task)| task.id.clone()).collect(),
            children: results.into_iter().map(|(child, _)| child).collect(),
        })
    }

    /// Adds results to the input of a turn that is about to be sent, and seals it once with everything that was added to it.
    /// Results that could not be sealed stay owed.
    pub(crate) async fn seal_additions(
        &self,
        ordinal: i64,
        words: &mut WordsContent,
        results: Option<OwedResults>,
        journal: &mut Journal,
    ) -> Result<(), StoreError> {
        let text = results.as_ref().map(|results| results.text.clone());
        words.input.extend(text.map(|text| InputPart::Text { text }));
        let Ok(sealed) = self.shelf.seal.close(&words.to_json()) else {
            if results.is_some() {
                words.input.pop();
            }
            return Ok(());
        };
        let patch = TurnPatch { ordinal, input_sealed: Some(sealed), ..TurnPatch::default() };
        journal.change(Change::Turn(patch));
        let Some(OwedResults { ids, children, .. }) = results else { return Ok(()) };
        for child in children {
            journal.change(Change::ResultCarried { child, turn: ordinal, carrier: ResultCarrier::Input });
        }
        journal.event(Event::Warning { message: pages::passed_on(&ids) });
        faults::point("before:result-added").await;
        journal.keep().await.map_err(|_| StoreError::Closed)?;
        faults::point("after:result-added").await;
        Ok(())
    }

    /// Writes the line about the end of a task into the conversation that delegated it.
    async fn announce_end(&self, row: &DelegationRow, task: &TaskInfo) -> Result<(), StoreError> {
        let store = &self.shelf.store;
        let parent: &SessionId = &row.parent;
        let Some(turn) = store.last_turns(parent, None, 1).await?.pop() else { return Ok(()) };
        let running = store.next_unsettled(parent).await?;
        store.take_lease(self.lease(parent), talaria_store::Takeover::Older).await?;
        let mut journal =
            self.journal_of_turn(parent, &running.unwrap_or(turn), self.desk.feed(parent)).await?;
        let message = redact(&pages::announcement(task, row.delivered_at.is_some())).into_owned();
        journal.event(Event::Warning { message });
        journal.change(Change::DelegationAnnounced(row.child.clone()));
        faults::point("before:end-announced").await;
        journal.keep().await.map_err(|_| StoreError::Closed)?;
        faults::point("after:end-announced").await;
        Ok(())
    }
}

impl Engine {
    /// Reports the ends of delegated tasks until the engine ends, also those that an earlier engine did not report.
    pub(crate) async fn announce_ends(self) {
        let mut is_over = self.inner.ended.subscribe();
        loop {
            let ended = self.inner.shelf.task_ended.notified();
            tokio::pin!(ended);
            // Subscribe first, so that a task that ends meanwhile is not missed.
            ended.as_mut().enable();
            let is_behind = match self.announce_what_ended().await {
                Ok(()) => false,
                Err(error) => {
                    tracing::warn!("the end of a delegated task is reported later: {error}");
                    true
                }
            };
            tokio::select! {
                () = ended => {}
                () = tokio::time::sleep(LATER), if is_behind => {}
                _ = is_over.wait_for(|over| *over) => return,
            }
        }
    }

    async fn announce_what_ended(&self) -> Result<(), StoreError> {
        for row in self.inner.shelf.store.unannounced_delegations().await? {
            match self.task(row.child.as_str()).await {
                Ok(task) => self.inner.announce_end(&row, &task).await?,
                Err(problem) => {
                    tracing::warn!("the end of {} cannot be read: {}", row.child, problem.message);
                }
            }
        }
        Ok(())
    }
}
