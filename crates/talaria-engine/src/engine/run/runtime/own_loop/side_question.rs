//! A question to the model of a conversation on the built-in loop that leaves the conversation as it is.
//!
//! It is the next request of the conversation with the question as its last item: the same head, tools and history byte for byte,
//! so that the provider's cache serves it. Its tools stay in the request, and a call is not executed. Its attempts are rows of
//! the last turn, written like those of a turn; nothing is added to the history. It can be stopped at any moment.

use std::sync::Arc;
use std::time::Duration;

use talaria_agent::attempt::WireNews;
use talaria_agent::failure::{FailureClass, ModelFailure};
use talaria_agent::history::{LogEntry, LogItem, LogPart};
use talaria_agent::loop_turn::{LeftTurn, LoopInput, LoopMoment, LoopOutput, LoopTurn};
use talaria_agent::rendered::RenderedRequest;
use talaria_agent::transport::KeyState;
use talaria_codex::conversation::{SideAnswer, SideQuestionError};
use talaria_core::budget::BudgetCharge;
use talaria_core::config::AuxiliaryModel;
use talaria_core::event::{Stage, Usage};
use talaria_core::ids::TurnId;
use talaria_core::outcome::{Outcome, Report};
use talaria_core::request::Who;
use talaria_home::faults;
use talaria_store::{Change, ModelAttemptKey, UsagePurpose};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::dump::AttemptName;
use super::log::StoredLog;
use super::wire::{LoopEndpoint, WireFeed};
use super::{LoopProvider, LoopRuntime, attempt_rows, log};
use crate::engine::run::budget::{most_charge, words_of_end};
use crate::engine::run::provider_health::KeyLease;
use crate::engine::run::providers::{RequestKey, find_provider};

/// How long the model may take, retries included.
const LIMIT: Duration = Duration::from_secs(180);
/// One answer is all that is wanted.
const ROUNDS: u32 = 1;
/// Among how many turns the last one that is over is looked for. One waits at most while a question is asked.
const LOOKED_AT: u32 = 4;

/// A question that can be asked while the conversation does other things.
#[derive(Clone)]
pub(crate) struct LoopSideQuestion {
    runtime: LoopRuntime,
    provider: LoopProvider,
    text: String,
}

impl LoopRuntime {
    /// Prepares a question for the model of the conversation, or for another one. None while the key of the provider
    /// is missing: the question has to wait. The error says why it cannot be asked at all.
    pub(in super::super) async fn side_question(
        &self,
        text: String,
        model: Option<AuxiliaryModel>,
    ) -> Result<Option<LoopSideQuestion>, String> {
        let mut runtime = self.clone();
        let provider = runtime.provider().await;
        let mut provider = provider.map_err(|report| report.message.unwrap_or_default())?;
        if let Some(AuxiliaryModel { provider: other, model }) = model {
            provider.model = model;
            if let Some(other) = other {
                let found = find_provider(&other, &runtime.engine.config());
                provider.found = found.map_err(|problem| problem.message)?;
            }
        }
        let keys = &runtime.engine.provider_keys;
        if let KeyState::Missing { .. } =
            keys.find(&provider.found, &provider.surroundings, &runtime.engine.home)
        {
            return Ok(None);
        }
        Ok(Some(LoopSideQuestion { runtime, provider, text }))
    }
}

impl LoopSideQuestion {
    /// Asks, until there is an answer or `stop` is cancelled.
    pub(in super::super) async fn ask(
        &self,
        stop: &CancellationToken,
    ) -> Result<SideAnswer, SideQuestionError> {
        let engine = &self.runtime.engine;
        let failed = |why: String| SideQuestionError::Turn(why);
        // A turn that was recorded meanwhile has requests of its own, so the rows belong to the last one that is over.
        let turns = engine.shelf.store.last_turns(&self.runtime.session, None, LOOKED_AT).await;
        let turns = turns.map_err(|error| failed(error.to_string()))?.into_iter();
        let last = turns.filter(|turn| turn.stage == Stage::Settled).max_by_key(|turn| turn.ordinal);
        let ordinal = last.ok_or(SideQuestionError::NothingToAsk)?.ordinal;
        let read = log::read(&engine.shelf, &self.runtime.session).await;
        let StoredLog { head, mut entries, next, .. } = read.map_err(|error| failed(error.to_string()))?;
        let head = head.filter(|_| !entries.is_empty()).ok_or(SideQuestionError::NothingToAsk)?;
        let parts = vec![LogPart::text(self.text.clone())];
        entries.push(LogEntry::own(next, LogItem::User { parts }));
        let made = engine.shelf.store.model_attempts(&self.runtime.session, ordinal).await;
        let made = made.map_err(|error| failed(error.to_string()))?;
        // Attempts of a question that was stopped may still be written, by an engine that is gone, too.
        let made = made.iter().map(|row| row.key.number).max().unwrap_or_default();
        let mut setup = self.runtime.setup(&self.provider, TurnId::new("side-question"), head);
        setup.rounds = ROUNDS;
        let left = LeftTurn { attempts: u64::try_from(made).unwrap_or_default(), ..LeftTurn::default() };
        let machine = LoopTurn::new(setup, entries, left);
        let mut asking = AskedQuestion {
            question: self,
            machine,
            ordinal,
            epoch: Instant::now(),
            wire: None,
            lease: None,
            changes: Vec::new(),
            planned: 0,
            usage: Usage::default(),
        };
        asking.follow(stop).await
    }
}

/// A question that was sent, or is about to be.
struct AskedQuestion<'a> {
    question: &'a LoopSideQuestion,
    machine: LoopTurn,
    ordinal: i64,
    epoch: Instant,
    wire: Option<WireFeed>,
    /// The key of the request that runs.
    lease: Option<KeyLease>,
    /// To be written before the next step.
    changes: Vec<Change>,
    planned: u64,
    /// The sum of the attempts, as their rows have it.
    usage: Usage,
}

/// How far the machine was followed.
enum Followed {
    /// It waits for the provider or for a pause.
    Waits,
    Over(Box<Report>),
    /// The model called a tool instead of answering. Nothing runs.
    Called,
}

impl AskedQuestion<'_> {
    async fn follow(&mut self, stop: &CancellationToken) -> Result<SideAnswer, SideQuestionError> {
        let deadline = self.epoch + LIMIT;
        let moment = self.moment();
        self.machine.begin(moment);
        loop {
            match self.carry_out().await? {
                Followed::Waits => {}
                Followed::Called => return Ok(SideAnswer { text: None, usage: self.usage }),
                Followed::Over(report) => return self.end(*report, stop),
            }
            let wake = self.machine.wake_at().map_or(deadline, |at| deadline.min(self.epoch + at));
            tokio::select! {
                news = next(&mut self.wire) => self.take_news(&news),
                () = stop.cancelled(), if !self.machine.is_over() => self.interrupt(Who::Talaria),
                () = tokio::time::sleep_until(wake) => {
                    if Instant::now() >= deadline {
                        self.interrupt(Who::Deadline);
                    } else {
                        let moment = self.moment();
                        self.machine.handle(moment, LoopInput::Tick);
                    }
                }
            }
        }
    }

    fn end(&self, report: Report, stop: &CancellationToken) -> Result<SideAnswer, SideQuestionError> {
        match report.outcome {
            Outcome::Completed => Ok(SideAnswer { text: report.text, usage: self.usage }),
            _ if stop.is_cancelled() => Err(SideQuestionError::Stopped),
            Outcome::Interrupted { .. } => {
                let why = format!("the model did not answer within {} s", LIMIT.as_secs());
                Err(SideQuestionError::Turn(why))
            }
            Outcome::Failed { message, .. } | Outcome::Lost { why: message } => {
                Err(SideQuestionError::Turn(message))
            }
        }
    }

    /// Does what the machine says, in order. The row of an attempt is written before it is sent, its end before anything follows.
    async fn carry_out(&mut self) -> Result<Followed, SideQuestionError> {
        while let Some(output) = self.machine.poll() {
            match output {
                LoopOutput::Plan(planned) => {
                    self.planned = planned.number;
                    let provider = &self.question.provider;
                    let row = attempt_rows::planned(self.ordinal, UsagePurpose::Review, provider, &planned);
                    let key = row.key;
                    let charge = most_charge(&planned, provider);
                    self.reserve(key, charge).await?;
                    self.changes.push(Change::NewAttempt(row));
                    self.changes.push(attempt_rows::sent(key));
                }
                LoopOutput::Send(request) => {
                    faults::point("before:review-request").await;
                    self.write().await?;
                    faults::point("after:review-request").await;
                    self.send(*request);
                }
                LoopOutput::Close(number) => {
                    if let Some(wire) = self.wire.take_if(|wire| wire.attempt() == number) {
                        wire.release();
                    }
                }
                LoopOutput::End(ended) => {
                    self.wire = None;
                    if let Some(lease) = self.lease.take() {
                        lease.settle(&ended.end, ended.tokens.usage().total);
                    }
                    let end = attempt_rows::ended(&self.question.provider, &ended);
                    let usage = end.usage.as_deref().and_then(|json| serde_json::from_str(json).ok());
                    self.usage = self.usage.plus(usage.unwrap_or_default());
                    let key = attempt_rows::key(self.ordinal, ended.number);
                    self.changes.push(Change::AttemptEnd(key, Box::new(end)));
                    faults::point("before:review-attempt").await;
                    self.write().await?;
                    faults::point("after:review-attempt").await;
                }
                LoopOutput::Start(_) | LoopOutput::Settle(_) => return Ok(Followed::Called),
                LoopOutput::Finish(report) => return Ok(Followed::Over(report)),
                // It repeats calls, and none of them runs here.
                LoopOutput::Doubt { .. } => return Ok(Followed::Called),
                // No one sees it, and nothing of it is part of the conversation.
                LoopOutput::Emit(_)
                | LoopOutput::Change(_)
                | LoopOutput::Learn(_)
                | LoopOutput::Void { .. }
                | LoopOutput::Append(_)
                | LoopOutput::Unread(_)
                | LoopOutput::StopCalls => {}
            }
        }
        Ok(Followed::Waits)
    }

    /// Reserves what the request can cost. It is not urgent: no one is asked for more.
    async fn reserve(&self, key: ModelAttemptKey, charge: BudgetCharge) -> Result<(), SideQuestionError> {
        let LoopSideQuestion { runtime, provider, .. } = self.question;
        let name = &provider.found.profile.name;
        let reserved = runtime.engine.reserve(&runtime.session, key, name, charge).await;
        match reserved.map_err(|error| SideQuestionError::Turn(error.to_string()))? {
            None => Ok(()),
            Some(shortfall) => Err(SideQuestionError::Turn(words_of_end(&shortfall))),
        }
    }

    fn send(&mut self, request: RenderedRequest) {
        let LoopSideQuestion { runtime, provider, .. } = self.question;
        let engine = &runtime.engine;
        let attempt = self.planned;
        let keys = &engine.provider_keys;
        let key = match keys.take(&provider.found, &provider.surroundings, &engine.home, None) {
            RequestKey::NotNeeded => None,
            RequestKey::Leased { lease, .. } => {
                let key = lease.key().clone();
                self.lease = Some(lease);
                Some(key)
            }
            // It is not urgent: the turns of people have the keys.
            RequestKey::Busy => {
                return self.refuse("every key has as many requests as it may have".to_owned());
            }
            RequestKey::Missing { variables } => {
                return self.refuse(format!("there is no key: set {}", variables.join(" or ")));
            }
            RequestKey::Refused(text) => return self.refuse(text),
        };
        let name = AttemptName { session: &runtime.session, ordinal: self.ordinal, attempt };
        let endpoint = LoopEndpoint::new(engine, provider, key, name);
        self.wire = Some(WireFeed::send(Arc::clone(&engine.models), endpoint, request, attempt));
    }

    fn refuse(&mut self, text: String) {
        let failure = ModelFailure::transport(FailureClass::Auth, text);
        let (moment, attempt) = (self.moment(), self.planned);
        self.machine.handle(moment, LoopInput::Wire { attempt, news: &WireNews::Broken(failure) });
    }

    /// Closes the connection at once; how the attempt ended is written after that.
    fn interrupt(&mut self, by: Who) {
        self.wire = None;
        let moment = self.moment();
        self.machine.handle(moment, LoopInput::Interrupt(by));
    }

    fn take_news(&mut self, news: &WireNews) {
        let Some(attempt) = self.wire.as_ref().map(WireFeed::attempt) else { return };
        let moment = self.moment();
        self.machine.handle(moment, LoopInput::Wire { attempt, news });
    }

    async fn write(&mut self) -> Result<(), SideQuestionError> {
        let changes = std::mem::take(&mut self.changes);
        let runtime = &self.question.runtime;
        let written = runtime.engine.write(&runtime.session, changes).await;
        written.map_err(|error| SideQuestionError::Turn(format!("it cannot be recorded: {error}")))
    }

    fn moment(&self) -> LoopMoment {
        super::turn::moment(self.epoch)
    }
}

async fn next(wire: &mut Option<WireFeed>) -> WireNews {
    match wire {
        Some(wire) => wire.next().await,
        None => std::future::pending().await,
    }
}
