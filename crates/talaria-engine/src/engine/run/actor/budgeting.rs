//! Budgets of a conversation on Codex. Its requests cannot be reserved, because Codex makes them: before a turn is sent, and whenever it
//! reports tokens, what was spent is compared with the limits. A turn that passes one is interrupted, and a person is asked before
//! the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use talaria_core::budget::{BudgetReply, BudgetShortfall, BudgetState, ask_for_more, read_reply};
use talaria_core::event::Event;
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::outcome::{FailureCode, Report};
use talaria_core::request::{Answer, Decision, Who};
use talaria_core::runtime::Runtime;
use talaria_store::{Change, NewAllowance, RequestState, SessionRow, StoreError, TurnRow};
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use super::waiting::{Others, hold};
use super::{Actor, interrupted};
use crate::engine::journal::Journal;
use crate::engine::journal::asker::QuestionTopic;
use crate::engine::journal::own_question::OwnQuestion;
use crate::engine::run::budget::{CODEX, has_money, next_after_end, unpriced_codex, words_of_end};
use crate::engine::run::opening::failed;
use crate::engine::run::runtime::runtime_of;
use talaria_codex::conversation::{Command, Watcher as _, mint_ticket};

/// The input with which Codex continues after a person allowed more.
pub(super) const GO_ON: &str = "The previous turn was interrupted because a budget was reached. More may be spent now. Check the current \
                                state, then continue.";

/// Compares what a running turn spends with its limits, and interrupts it.
pub(super) struct SpendingWatch {
    has_interrupted: Arc<AtomicBool>,
    _task: AbortOnDropHandle<()>,
}

impl SpendingWatch {
    /// Was the turn interrupted because a budget was reached?
    pub(super) fn has_interrupted(&self) -> bool {
        self.has_interrupted.load(Ordering::Acquire)
    }
}

impl Actor {
    /// Waits until a turn on Codex has room in its budgets, which may need a person. `Err` is why it does not begin.
    pub(super) async fn wait_for_budget(
        &self,
        row: &SessionRow,
        turn: &TurnRow,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        journal: &mut Journal,
    ) -> Result<Result<(), Report>, StoreError> {
        if runtime_of(row) != Some(Runtime::CodexAppServer) {
            return Ok(Ok(()));
        }
        let limits = self.engine.budget_limits(&row.id, CODEX).await?;
        if limits.is_empty() {
            // A question about a limit that was removed meanwhile is withdrawn at the end of the turn.
            return Ok(Ok(()));
        }
        if let Some(limit) = has_money(&limits) {
            return Ok(Err(unpriced_codex(limit)));
        }
        let mut others = Others { commands: Vec::new(), handle: &self.handle };
        loop {
            let question = self.budget_question().await?;
            let Some(state) = self.engine.used_up(&row.id, CODEX, 0).await? else {
                if let Some(question) = question {
                    let why = "there is room in the budget by now";
                    OwnQuestion::withdraw(&question.row().id, Who::Talaria, why, journal);
                    keep(journal).await?;
                }
                return Ok(Ok(()));
            };
            let shortfall = BudgetShortfall { state, wanted: Some(0) };
            match question {
                None => self.put_budget_question(row, turn, &shortfall, journal).await?,
                Some(question) if question.row().state == RequestState::Answered => {
                    if let Some(report) = self.settle_budget(&question, &shortfall, journal).await? {
                        return Ok(Err(report));
                    }
                    continue;
                }
                Some(_) => {}
            }
            // An answer is in the store before it is sent here.
            let Some(command) = commands.recv().await else { return Err(StoreError::Closed) };
            if let Command::Answer { .. } = command {
                continue;
            }
            if let Some(by) = hold(command, journal, &mut others).await? {
                if let Some(question) = self.budget_question().await? {
                    OwnQuestion::withdraw(&question.row().id, by, "the turn was stopped", journal);
                }
                return Ok(Err(interrupted(by)));
            }
        }
    }

    /// The question for more that no one has dealt with.
    async fn budget_question(&self) -> Result<Option<OwnQuestion>, StoreError> {
        let states = Some(vec![RequestState::Open, RequestState::Answered]);
        let store = &self.engine.shelf.store;
        Ok(OwnQuestion::of_session(store, &self.id, QuestionTopic::Budget, states).await?.pop())
    }

    async fn put_budget_question(
        &self,
        row: &SessionRow,
        turn: &TurnRow,
        shortfall: &BudgetShortfall,
        journal: &mut Journal,
    ) -> Result<(), StoreError> {
        let thread = row.thread.clone().unwrap_or_else(|| ThreadId::new(row.id.as_str()));
        let item = ItemId::new(format!("{}-{}-budget", row.id.short(), turn.ordinal));
        let ask = ask_for_more(&thread, &item, shortfall, None);
        journal.point("budget-asked");
        OwnQuestion::open(&mint_ticket(), ask, QuestionTopic::Budget, journal).await
    }

    /// Does what was answered: what is allowed is stored together with the end of the question. Returns the end of the turn, if
    /// nothing is. Only a person allows more.
    async fn settle_budget(
        &self,
        question: &OwnQuestion,
        shortfall: &BudgetShortfall,
        journal: &mut Journal,
    ) -> Result<Option<Report>, StoreError> {
        let (row, by) = (question.row(), question.by());
        let sealed = row.answer_sealed.as_deref().and_then(|sealed| self.engine.shelf.seal.reveal(sealed));
        let answer = sealed.and_then(|json| serde_json::from_str::<Answer>(&json).ok());
        let answer = answer.unwrap_or_else(|| Decision::Decline.into());
        let BudgetState { scope, limit, .. } = &shortfall.state;
        let report = match (read_reply(&answer, *limit), by) {
            (BudgetReply::Allow(amount), Who::User) => {
                let (ticket, scope) = (row.id.clone(), scope.clone());
                journal.point("budget-allowed");
                journal.change(Change::BudgetAllowance(NewAllowance { ticket, scope, amount }));
                None
            }
            (BudgetReply::Unreadable | BudgetReply::AnotherModel, Who::User) => {
                let message = format!(
                    "the answer is no amount like {limit}; nothing was allowed, and you are asked again"
                );
                journal.event(Event::Warning { message });
                None
            }
            (_, Who::User) => Some(interrupted(by)),
            _ => {
                let report = failed(FailureCode::UsageLimit, words_of_end(shortfall));
                Some(report.with_hint(next_after_end(shortfall)))
            }
        };
        question.close(journal);
        keep(journal).await?;
        Ok(report)
    }

    /// Why the conversation can ask nothing that is not urgent, if a budget is reached. On the built-in loop each request says so.
    pub(super) async fn why_no_budget(&self, row: &SessionRow) -> Result<Option<String>, StoreError> {
        if runtime_of(row) != Some(Runtime::CodexAppServer) {
            return Ok(None);
        }
        let state = self.engine.used_up(&row.id, CODEX, 0).await?;
        Ok(state.map(|state| words_of_end(&BudgetShortfall { state, wanted: Some(0) })))
    }

    /// Watches what a turn spends that is about to run on Codex; none where there is no limit.
    pub(super) async fn watch_spending(
        &self,
        row: &SessionRow,
        journal: &mut Journal,
    ) -> Result<Option<SpendingWatch>, StoreError> {
        if runtime_of(row) != Some(Runtime::CodexAppServer)
            || self.engine.budget_limits(&row.id, CODEX).await?.is_empty()
        {
            return Ok(None);
        }
        let has_interrupted = Arc::new(AtomicBool::new(false));
        let (spent, seen) = watch::channel(0);
        journal.report_spending(spent);
        let watching = self.interrupt_when_used_up(seen, Arc::clone(&has_interrupted));
        Ok(Some(SpendingWatch { has_interrupted, _task: AbortOnDropHandle::new(tokio::spawn(watching)) }))
    }

    fn interrupt_when_used_up(
        &self,
        mut seen: watch::Receiver<u64>,
        has_interrupted: Arc<AtomicBool>,
    ) -> impl Future<Output = ()> + use<> {
        let (engine, id, handle) = (Arc::clone(&self.engine), self.id.clone(), self.handle.clone());
        async move {
            while seen.changed().await.is_ok() {
                let spent = *seen.borrow_and_update();
                match engine.used_up(&id, CODEX, spent).await {
                    Ok(None) => {}
                    Ok(Some(state)) => {
                        let (scope, limit) = (state.scope.words(), state.limit);
                        let message =
                            format!("the budget {scope} ({limit}) is reached; the turn is interrupted");
                        handle.tell(Command::Report { event: Box::new(Event::Warning { message }) });
                        has_interrupted.store(true, Ordering::Release);
                        handle.tell(Command::Interrupt { by: Who::Talaria });
                        return;
                    }
                    Err(error) => tracing::warn!("session {id}: its budgets cannot be read: {error}"),
                }
            }
        }
    }
}

async fn keep(journal: &mut Journal) -> Result<(), StoreError> {
    journal.keep().await.map_err(|_| StoreError::Closed)
}
