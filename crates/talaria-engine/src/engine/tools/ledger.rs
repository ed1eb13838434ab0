//! The call ledger in action: runs a call of a tool at most once and records each step before the next one happens.
//!
//! The row exists before the call arrives here (the journal commits it with the events that led to the call). It is
//! `running` before the tool begins, and has the outcome, with the sealed result, before the runtime gets the answer. The
//! tool runs in its own async task: neither the end of the turn nor a second delivery of the same call stops or repeats it. A
//! tool that could store nothing, because the disk is full or busy, runs again once that has passed. A decision of the user's
//! hook is recorded with the step that follows from it. Nothing here depends on a runtime or a tool. Called by the registry in
//! `tools`.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use talaria_core::backoff::Backoff;
use talaria_core::ids::SessionId;
use talaria_core::tool::ledger::{CallDecision, OfferedCall, ToolCallState, decide};
use talaria_core::tool::{ToolEffect, ToolInvocation, ToolOutcome, ToolVerdict};
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_store::{
    Batch, Change, NewAudit, NewToolCall, StoreError, ToolCallKey, ToolCallRow, ToolCallStep,
};
use tokio::sync::{oneshot, watch};
use tokio_util::task::TaskTracker;

use crate::engine::journal::EngineServices;
use crate::engine::seal::Seal;

/// The pauses between two attempts to write.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));

/// How often a row is read that changes meanwhile.
const ATTEMPTS: usize = 3;

/// Result of a tool, or the reason of its failure.
pub(crate) type ToolReturn = Result<String, ToolFailure>;

/// Why a call did not work.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ToolFailure {
    /// The model reads why.
    Refused(String),
    /// Nothing was changed, because nothing could be stored, and that may pass. The ledger waits and runs the tool again.
    NotStored {
        /// What the model reads where there is no ledger.
        text: String,
        /// What a person reads meanwhile.
        why: String,
    },
}

impl ToolFailure {
    /// A tool that could not reach the store and changed nothing.
    pub(crate) fn of_store(text: String, error: &StoreError) -> Self {
        match error.may_pass() {
            true => Self::NotStored { text, why: format!("{error}; {}", error.next_step().in_shell()) },
            false => Self::Refused(text),
        }
    }

    /// What the model reads.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Refused(text) | Self::NotStored { text, .. } => text,
        }
    }
}

impl From<String> for ToolFailure {
    fn from(text: String) -> Self {
        Self::Refused(text)
    }
}

impl From<&str> for ToolFailure {
    fn from(text: &str) -> Self {
        Self::Refused(text.to_owned())
    }
}

/// Whether a call may run, decided before it does.
pub(super) enum CallPermit {
    /// It runs; what decided so is recorded with that, if anything did.
    Run { decided: Option<Box<NewAudit>> },
    /// It does not run; the model reads why.
    Refuse { why: String, decided: Option<Box<NewAudit>> },
}

/// The calls that run in this engine.
#[derive(Clone, Default)]
pub(crate) struct CallLedger {
    running: Arc<Mutex<HashMap<ToolCallKey, RunningCall>>>,
}

struct RunningCall {
    arguments: String,
    answer: Shared<BoxFuture<'static, ToolOutcome>>,
}

/// A call that must be answered, and the facts about its tool.
pub(super) struct LedgerCall {
    pub(super) session: SessionId,
    pub(super) call: ToolInvocation,
    pub(super) effect: ToolEffect,
    pub(super) limit: Duration,
    /// How the model finds out whether a call took effect whose outcome is not known.
    pub(super) check: &'static str,
}

/// The parts of the engine that the ledger uses.
pub(super) struct LedgerGround<'a> {
    pub(super) shelf: &'a EngineServices,
    pub(super) tasks: &'a TaskTracker,
    /// The engine ends.
    pub(super) ended: watch::Receiver<bool>,
}

/// The row of a call that is offered.
pub(crate) fn offered(seal: &Seal, ordinal: i64, contract: i64, call: &ToolInvocation) -> NewToolCall {
    let (tool, arguments) = (call.tool.clone(), digest(seal, call));
    NewToolCall { key: key(call), ordinal, tool, contract, arguments }
}

fn key(call: &ToolInvocation) -> ToolCallKey {
    ToolCallKey { thread: call.thread.clone(), turn: call.turn.clone(), call: call.item.clone() }
}

/// Says whether two calls are the same; the arguments cannot be found out from it.
fn digest(seal: &Seal, call: &ToolInvocation) -> String {
    seal.mark(&format!("{}\0{}", call.tool, call.arguments))
}

impl CallLedger {
    /// Answers a call: runs it, waits for the run in progress, or repeats what is kept. `judge` is asked before a run. An
    /// engine that ends answers nothing: the next one does.
    pub(super) async fn answer<J, W>(
        &self,
        ground: LedgerGround<'_>,
        asked: LedgerCall,
        judge: impl FnOnce() -> J + Send + 'static,
        work: impl Fn() -> W + Send + Sync + 'static,
    ) -> ToolOutcome
    where
        J: Future<Output = CallPermit> + Send + 'static,
        W: Future<Output = ToolReturn> + Send + 'static,
    {
        let (key, arguments) = (key(&asked.call), digest(&ground.shelf.seal, &asked.call));
        let answer = {
            let mut running = self.lock();
            match running.get(&key) {
                Some(run) => {
                    let known = OfferedCall {
                        state: ToolCallState::Running,
                        effect: asked.effect,
                        is_same: run.arguments == arguments,
                        is_running_here: true,
                        has_result: false,
                    };
                    match decide(known) {
                        CallDecision::Refuse => return refused(&asked.call.tool),
                        _ => run.answer.clone(),
                    }
                }
                None => {
                    let (send, receive) = oneshot::channel();
                    let (ledger, done) = (self.clone(), key.clone());
                    let run = Run { shelf: ground.shelf.clone(), asked, arguments: arguments.clone() };
                    let ended = ground.ended;
                    ground.tasks.spawn(async move {
                        let outcome = run.carry_out(ended, judge, work).await;
                        ledger.lock().remove(&done);
                        if let Some(outcome) = outcome {
                            // The turn may be over.
                            let _ = send.send(outcome);
                        }
                    });
                    let answer = async move {
                        match receive.await {
                            Ok(outcome) => outcome,
                            // Nothing was recorded: the next engine answers.
                            Err(_) => std::future::pending().await,
                        }
                    };
                    let answer = answer.boxed().shared();
                    running.insert(key, RunningCall { arguments, answer: answer.clone() });
                    answer
                }
            }
        };
        answer.await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ToolCallKey, RunningCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call that this engine alone answers.
struct Run {
    shelf: EngineServices,
    asked: LedgerCall,
    arguments: String,
}

impl Run {
    /// `None` if nothing can be recorded any more.
    async fn carry_out<J, W>(
        self,
        mut ended: watch::Receiver<bool>,
        judge: impl FnOnce() -> J,
        work: impl Fn() -> W + Sync,
    ) -> Option<ToolOutcome>
    where
        J: Future<Output = CallPermit> + Send,
        W: Future<Output = ToolReturn> + Send,
    {
        let effect = match self.admit(&mut ended, judge).await? {
            Admission::Run(effect) => effect,
            Admission::Answer(outcome) => return Some(outcome),
        };
        faults::point("after:tool-running").await;
        let mut retries = 0;
        let returned = loop {
            let returned = tokio::time::timeout(
                self.asked.limit,
                AssertUnwindSafe(async { work().await }).catch_unwind(),
            );
            let returned = match effect {
                ToolEffect::Changes => returned.await,
                // The next engine runs it again.
                ToolEffect::Reads => tokio::select! {
                    returned = returned => returned,
                    _ = ended.wait_for(|ended| *ended) => return None,
                },
            };
            let Ok(Ok(Err(ToolFailure::NotStored { why, .. }))) = &returned else { break returned };
            self.shelf.troubles.waits_for_store(&self.asked.session, why.clone());
            self.pause(&mut ended, retries).await?;
            retries += 1;
        };
        if retries > 0 {
            self.shelf.troubles.can_write(&self.asked.session);
        }
        let tool = self.asked.call.tool.as_str();
        let outcome = match returned {
            Ok(Ok(returned)) => ToolOutcome::of(tool, returned.map_err(ToolFailure::into_text)),
            Ok(Err(_)) => self.broken_off(effect, "stopped with an internal error"),
            Err(_) => {
                let limit = self.asked.limit.as_secs();
                self.broken_off(effect, &format!("returned no result within {limit} s"))
            }
        };
        faults::point("before:tool-done").await;
        let state = match outcome.verdict() {
            ToolVerdict::Done => ToolCallState::Done,
            ToolVerdict::Failed => ToolCallState::Failed,
            ToolVerdict::Unknown => ToolCallState::Unknown,
        };
        let end = ToolCallStep::End { state, result_sealed: self.sealed(&outcome) };
        self.write(&mut ended, end, None).await.ok()?;
        faults::point("after:tool-done").await;
        Some(outcome)
    }

    fn sealed(&self, outcome: &ToolOutcome) -> Option<Vec<u8>> {
        let json = serde_json::to_string(outcome).unwrap_or_default();
        self.shelf.seal.close(&json).ok()
    }

    /// Decides by the row, and records that the call runs if it does. Whether it may is asked once.
    async fn admit<J: Future<Output = CallPermit> + Send>(
        &self,
        ended: &mut watch::Receiver<bool>,
        judge: impl FnOnce() -> J,
    ) -> Option<Admission> {
        let mut judge = Some(judge);
        let mut permit = None;
        for _ in 0..ATTEMPTS {
            let Some(row) = self.read(ended).await? else {
                let why = "the call was not recorded, so it was not run";
                return Some(Admission::Answer(self.failed(why)));
            };
            let result = row.result_sealed.as_deref().and_then(|sealed| self.shelf.seal.reveal(sealed));
            let result: Option<ToolOutcome> = result.and_then(|json| serde_json::from_str(&json).ok());
            // The first run said what it does; a later version of the tool does not make it harmless.
            let effect = match row.effect {
                Some(ToolEffect::Changes) => ToolEffect::Changes,
                _ => self.asked.effect,
            };
            let known = OfferedCall {
                state: row.state,
                effect,
                is_same: row.session == self.asked.session && row.arguments == self.arguments,
                is_running_here: false,
                has_result: result.is_some(),
            };
            let answer = match decide(known) {
                CallDecision::Run | CallDecision::RunAgain => {
                    if let Some(judge) = judge.take() {
                        permit = Some(self.judge(ended, judge).await?);
                    }
                    let (refused, decided) = match &permit {
                        Some(CallPermit::Refuse { why, decided }) => (Some(self.failed(why)), decided),
                        Some(CallPermit::Run { decided }) => (None, decided),
                        None => (None, &None),
                    };
                    let (is_decided, decided) = (decided.is_some(), decided.as_deref().cloned());
                    if is_decided {
                        faults::point("before:hook-decided").await;
                    }
                    let step = match &refused {
                        Some(outcome) => ToolCallStep::Decline { result_sealed: self.sealed(outcome) },
                        None => {
                            faults::point("before:tool-running").await;
                            ToolCallStep::Run { effect, effect_record: None }
                        }
                    };
                    let written = self.write(ended, step, decided).await;
                    if is_decided && written.is_ok() {
                        faults::point("after:hook-decided").await;
                    }
                    match (written, refused) {
                        (Ok(()), None) => return Some(Admission::Run(effect)),
                        (Ok(()), Some(outcome)) => return Some(Admission::Answer(outcome)),
                        // The row is not any more what was read.
                        (Err(StoreError::Conflict(_)), _) => continue,
                        (Err(_), _) => return None,
                    }
                }
                CallDecision::Resend => result?,
                CallDecision::AnswerEnded => self.ended(&row),
                CallDecision::AnswerUnknown | CallDecision::Wait => {
                    self.broken_off(ToolEffect::Changes, "was running when Talaria was stopped")
                }
                CallDecision::Refuse => refused(&self.asked.call.tool),
            };
            return Some(Admission::Answer(answer));
        }
        Some(Admission::Answer(self.failed("the call cannot be recorded, so it was not run")))
    }

    /// Asks whether the call may run; `None` if the engine ends first. What cannot be found out does not run.
    async fn judge<J: Future<Output = CallPermit> + Send>(
        &self,
        ended: &mut watch::Receiver<bool>,
        judge: impl FnOnce() -> J,
    ) -> Option<CallPermit> {
        let broken = || CallPermit::Refuse {
            why: "it is not known whether this may run: asking stopped with an internal error".to_owned(),
            decided: None,
        };
        tokio::select! {
            permit = AssertUnwindSafe(async { judge().await }).catch_unwind() => {
                Some(permit.unwrap_or_else(|_| broken()))
            }
            _ = ended.wait_for(|ended| *ended) => None,
        }
    }

    /// The answer to a call that stopped in the middle.
    fn broken_off(&self, effect: ToolEffect, why: &str) -> ToolOutcome {
        let (tool, check) = (&self.asked.call.tool, self.asked.check);
        match effect {
            ToolEffect::Reads => self.failed(why),
            ToolEffect::Changes => ToolOutcome::unknown(&format!(
                "{tool} {why}, and it is not known whether it took effect. {check}"
            )),
        }
    }

    fn ended(&self, row: &ToolCallRow) -> ToolOutcome {
        match row.state {
            ToolCallState::Done => ToolOutcome::of(
                &row.tool,
                Ok("The call was carried out before, once; its result was delivered then and is not kept."
                    .to_owned()),
            ),
            _ => self.failed("the call failed before; why was reported then and is not kept"),
        }
    }

    fn failed(&self, why: &str) -> ToolOutcome {
        ToolOutcome::of(&self.asked.call.tool, Err(why.to_owned()))
    }

    /// Reads the row; `None` if that is impossible.
    async fn read(&self, ended: &mut watch::Receiver<bool>) -> Option<Option<ToolCallRow>> {
        let key = key(&self.asked.call);
        self.persist(ended, || self.shelf.store.tool_call(&key)).await.ok()
    }

    async fn write(
        &self,
        ended: &mut watch::Receiver<bool>,
        step: ToolCallStep,
        decided: Option<NewAudit>,
    ) -> Result<(), StoreError> {
        let step = Change::ToolCall(key(&self.asked.call), step);
        let changes: Vec<Change> = std::iter::once(step).chain(decided.map(Change::Audit)).collect();
        let append = || {
            self.shelf.store.append(Batch {
                session: self.asked.session.clone(),
                epoch: self.shelf.epoch,
                at: now_ms(),
                events: Vec::new(),
                changes: changes.clone(),
            })
        };
        self.persist(ended, append).await.map(drop)
    }

    /// Retries while a disk is full or busy: nothing continues without a record. An engine that ends gives up.
    async fn persist<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        ended: &mut watch::Receiver<bool>,
        attempt: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let mut retries = 0;
        loop {
            let error = match attempt().await {
                Err(error) if error.may_pass() => error,
                other => {
                    if retries > 0 && other.is_ok() {
                        self.shelf.troubles.can_write(&self.asked.session);
                    }
                    return other;
                }
            };
            self.shelf.troubles.cannot_write(&self.asked.session, &error);
            match self.pause(ended, retries).await {
                Some(()) => retries += 1,
                None => return Err(error),
            }
        }
    }

    /// Waits before the next attempt; `None` if the engine ends meanwhile.
    async fn pause(&self, ended: &mut watch::Receiver<bool>, retries: u32) -> Option<()> {
        tokio::select! {
            () = tokio::time::sleep(BACKOFF.pause(retries)) => Some(()),
            _ = ended.wait_for(|ended| *ended) => None,
        }
    }
}

enum Admission {
    Run(ToolEffect),
    Answer(ToolOutcome),
}

fn refused(tool: &str) -> ToolOutcome {
    let why = "refused: another call with other arguments has the same id; nothing was done";
    ToolOutcome::of(tool, Err(why.to_owned()))
}

#[cfg(test)]
mod tests;
