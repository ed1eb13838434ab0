//! The call ledger in action: runs a call of a tool at most once and records each step before the next one happens.
//!
//! The row exists before the call arrives here (the journal commits it with the events that led to the call). It is
//! `running` before the tool begins, and has the outcome, with the sealed result, before the runtime gets the answer. The
//! tool runs in its own async task: neither the end of the turn nor a second delivery of the same call stops or repeats it.
//! Nothing here depends on a runtime or a tool. Called by the registry in `tools`.

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
use talaria_store::{Batch, Change, NewToolCall, StoreError, ToolCallKey, ToolCallRow, ToolCallStep};
use tokio::sync::{oneshot, watch};
use tokio_util::task::TaskTracker;

use crate::engine::journal::EngineServices;
use crate::engine::seal::Seal;

/// The pauses between two attempts to write.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));

/// How often a row is read that changes meanwhile.
const ATTEMPTS: usize = 3;

/// Result of a tool, or the reason of its failure.
pub(super) type ToolReturn = Result<String, String>;

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
    /// Answers a call: runs it, waits for the run in progress, or returns the stored result. An engine that ends answers
    /// nothing: the next one does.
    pub(super) async fn answer<W>(
        &self,
        ground: LedgerGround<'_>,
        asked: LedgerCall,
        work: impl FnOnce() -> W + Send + 'static,
    ) -> ToolOutcome
    where
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
                        let outcome = run.carry_out(ended, work).await;
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
    async fn carry_out<W>(
        self,
        mut ended: watch::Receiver<bool>,
        work: impl FnOnce() -> W,
    ) -> Option<ToolOutcome>
    where
        W: Future<Output = ToolReturn> + Send,
    {
        let effect = match self.admit(&mut ended).await? {
            Admission::Run(effect) => effect,
            Admission::Answer(outcome) => return Some(outcome),
        };
        faults::point("after:tool-running").await;
        let returned = tokio::time::timeout(
            self.asked.limit,
            AssertUnwindSafe(async move { work().await }).catch_unwind(),
        );
        let returned = match effect {
            ToolEffect::Changes => returned.await,
            // The next engine runs it again.
            ToolEffect::Reads => tokio::select! {
                returned = returned => returned,
                _ = ended.wait_for(|ended| *ended) => return None,
            },
        };
        let tool = self.asked.call.tool.as_str();
        let outcome = match returned {
            Ok(Ok(returned)) => ToolOutcome::of(tool, returned),
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
        let json = serde_json::to_string(&outcome).unwrap_or_default();
        let result_sealed = self.shelf.seal.close(&json).ok();
        let end = ToolCallStep::End { state, result_sealed };
        self.write(&mut ended, end).await.ok()?;
        faults::point("after:tool-done").await;
        Some(outcome)
    }

    /// Decides by the row, and records that the call runs if it does.
    async fn admit(&self, ended: &mut watch::Receiver<bool>) -> Option<Admission> {
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
                    faults::point("before:tool-running").await;
                    match self.write(ended, ToolCallStep::Run { effect }).await {
                        Ok(()) => return Some(Admission::Run(effect)),
                        // The row is not any more what was read.
                        Err(StoreError::Conflict(_)) => continue,
                        Err(_) => return None,
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

    async fn write(&self, ended: &mut watch::Receiver<bool>, step: ToolCallStep) -> Result<(), StoreError> {
        let change = Change::ToolCall(key(&self.asked.call), step);
        let append = || {
            self.shelf.store.append(Batch {
                session: self.asked.session.clone(),
                epoch: self.shelf.epoch,
                at: now_ms(),
                events: Vec::new(),
                changes: vec![change.clone()],
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
            tokio::select! {
                () = tokio::time::sleep(BACKOFF.pause(retries)) => retries += 1,
                _ = ended.wait_for(|ended| *ended) => return Err(error),
            }
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
