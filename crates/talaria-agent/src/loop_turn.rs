//! `LoopTurn`: one turn of the built-in loop, as a pure machine. Feed inputs with the time they happened, drain `poll` after
//! each, sleep until `wake_at`. A tick that comes early or twice changes nothing.
//!
//! A turn is a chain of attempts and tool calls: request, answer, calls, results, request. The machine decides what is sent,
//! what becomes history, what is repeated and when the turn is over. It has no sockets, no clock, and no opinion about consent:
//! the shell sends requests, runs calls, and makes every output durable, in order, before it acts on a later one. Hence:
//! the row of an attempt exists before its first byte, the items of an answer are stored together with its end, no call starts
//! before that, and every call has its one result before the next request. History is only appended to.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use talaria_core::event::{Event, Usage};
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::item::Item;
use talaria_core::next_step::NextStep;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;

use crate::attempt::{AttemptDiary, AttemptEnd, AttemptStage, WireNews};
use crate::compaction::{CompactionSetup, MeasuredPrompt};
use crate::encode::{RequestHead, RequestOmissions, RequestRenderer};
use crate::failure::{FailureClass, refused_parameter};
use crate::family::ModelFamily;
use crate::fold::{IncompleteReason, StopReason};
use crate::history::{
    CallDisposition, CallId, CallInput, LogEntry, LogItem, LogPart, ModelIssuer, in_force, plain_text,
};
use crate::profile::{PriceTier, ProviderProfile};
use crate::rendered::{PrefixDigest, RenderedRequest};
use crate::retry::{AttemptSituation, AttemptTrouble, RequestRepair, RetryBudget, RetryDecision};
use crate::spending::{TokenCount, TokenSource};
use attempt_run::{AttemptRun, RunEnd};
use compacting::Compacting;
use continuing::{CONTINUE, MOST_CONTINUATIONS, continuations, whole_text};
use ladder::ModelLadder;
pub use ladder::{LeftModel, ModelChange, ModelRoute};
use repetition::repetition;

mod attempt_run;
mod compacting;
mod continuing;
mod ladder;
mod repetition;
#[cfg(test)]
mod tests;

/// What a provider is asked for at least after it refused the output limit.
const LEAST_OUTPUT: u64 = 1_024;

/// The time of an input, as the shell knows it.
#[derive(Clone, Copy, Debug)]
pub struct LoopMoment {
    /// Monotonic, from any beginning.
    pub now: Duration,
    /// Seconds since 1970.
    pub unix: i64,
    /// Between 0 and 1, for pauses that vary.
    pub chance: f64,
}

/// What stays the same during a turn.
#[derive(Clone, Debug)]
pub struct LoopSetup {
    /// The turn, for the ids of its items.
    pub turn: TurnId,
    /// The provider.
    pub profile: ProviderProfile,
    /// Endpoint and account.
    pub issuer: ModelIssuer,
    /// Model, system prompt, tools and parameters.
    pub head: RequestHead,
    /// What the provider is known to refuse.
    pub omissions: RequestOmissions,
    /// The most model requests of the turn, retries not counted.
    pub rounds: u32,
    /// The chosen model is not asked before this time, in seconds since 1970, as long as another one can answer.
    pub rests_until: Option<i64>,
    /// The models that are asked when the chosen one fails, in this order.
    pub fallbacks: Vec<ModelRoute>,
    /// Whether they are also asked what a model or its provider refused.
    pub asks_on_refusal: bool,
    /// How the conversation is compacted; none where it must stay as it is.
    pub compaction: Option<CompactionSetup>,
}

impl LoopSetup {
    fn chosen(&self) -> ModelRoute {
        ModelRoute {
            profile: self.profile.clone(),
            issuer: self.issuer.clone(),
            model: self.head.model.clone(),
            omissions: self.omissions.clone(),
            rests_until: self.rests_until,
        }
    }

    /// Asks another model from now on.
    fn take(&mut self, route: &ModelRoute) {
        self.profile = route.profile.clone();
        self.issuer = route.issuer.clone();
        self.head.model.clone_from(&route.model);
        self.head.max_output = None;
        self.omissions = route.omissions.clone();
    }
}

/// Something happened.
#[derive(Debug)]
pub enum LoopInput<'a> {
    /// The transport reports about an attempt. News of any but the current one change nothing.
    Wire {
        /// The number of the attempt.
        attempt: u64,
        /// What it reports.
        news: &'a WireNews,
    },
    /// A call ended: its result, or why there is none. A second result of a call changes nothing.
    CallEnded {
        /// The entry of the call in the history.
        seq: u64,
        /// Its fate.
        disposition: CallDisposition,
        /// What the model gets.
        parts: Vec<LogPart>,
    },
    /// The person adds something while the turn runs. It follows the results of the running calls.
    Steer(Vec<LogPart>),
    /// The turn continues although the model repeats itself.
    Proceed,
    /// The turn ends because the model repeats itself.
    GiveUp {
        /// Who decided it; none if no one could be asked.
        by: Option<Who>,
    },
    /// The person or Talaria stops the turn.
    Interrupt(Who),
    /// How many other keys of the provider may work, known when a request is sent.
    SpareKeys(usize),
    /// Time passed.
    Tick,
}

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedCall {
    /// Its entry in the history: it names the call within the conversation, whatever ids the provider repeats.
    pub seq: u64,
    /// Joins it with its result.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them; they are a JSON object, or free text.
    pub input: CallInput,
}

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptPurpose {
    /// The next answer of the conversation.
    Answer,
    /// A summary of its beginning.
    Summary {
        /// The place of the configured model that writes it; none for the model of the conversation.
        by: Option<usize>,
    },
}

/// The row of an attempt before its first byte is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedAttempt {
    /// Its number in the turn, from 1.
    pub number: u64,
    /// What it is for.
    pub purpose: AttemptPurpose,
    /// The model that is asked.
    pub model: String,
    /// Its place among the models of the turn; 0 is the chosen one.
    pub place: usize,
    /// The digest of the whole request.
    pub request: PrefixDigest,
    /// The digest of what stays at the beginning of the next request.
    pub prefix: PrefixDigest,
    /// The size of the request.
    pub bytes: usize,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub struct EndedAttempt {
    /// Its number.
    pub number: u64,
    /// How it ended.
    pub end: AttemptEnd,
    /// How far it was.
    pub stage: AttemptStage,
    /// What it cost in tokens.
    pub tokens: TokenCount,
    /// The price in billionths of a dollar; none if it is not known.
    pub price: Option<u64>,
    /// Facts for diagnosis.
    pub diary: AttemptDiary,
    /// Characters that people saw of it.
    pub shown_chars: u64,
    /// What it adds to the history, stored in the same transaction.
    pub entries: Vec<LogEntry>,
}

/// What to do, in order. An output is durable before a later one is acted upon.
#[derive(Debug)]
pub enum LoopOutput {
    /// Report this.
    Emit(Event),
    /// Report that another model answers from now on.
    Change(ModelChange),
    /// The provider that is asked now refuses this parameter for this model.
    Learn(String),
    /// Store the row of an attempt.
    Plan(PlannedAttempt),
    /// Send the request of the attempt that was planned last.
    Send(Box<RenderedRequest>),
    /// Close the connection of this attempt.
    Close(u64),
    /// Store the end of an attempt, together with what it adds to the history.
    End(Box<EndedAttempt>),
    /// The text that was shown of this attempt does not count: strike it out.
    Void {
        /// The attempt.
        attempt: u64,
        /// Why.
        why: String,
        /// How many characters were shown.
        shown_chars: u64,
        /// The items that they belong to.
        items: Vec<ItemId>,
    },
    /// Append these entries to the history.
    Append(Vec<LogEntry>),
    /// This many of the last `Steer` inputs were not read by the model and will not be: return them to the person.
    Unread(usize),
    /// Run these calls, each exactly once, in this order or together.
    Start(Vec<RequestedCall>),
    /// An earlier engine may have run these calls: find out what became of each, and report that.
    Settle(Vec<RequestedCall>),
    /// The model repeats itself: ask the person whether the turn continues, and answer with `Proceed` or `GiveUp`.
    Doubt {
        /// The entry of the history that the doubt follows. It names the question, also for the next engine.
        after: u64,
        /// What the person reads.
        text: String,
    },
    /// Stop the calls that run. Each of them still needs its result.
    StopCalls,
    /// The turn is over.
    Finish(Box<Report>),
}

/// What an earlier engine left of a turn, besides the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftTurn {
    /// How many attempts the turn has had.
    pub attempts: u64,
    /// What they cost.
    pub usage: Usage,
    /// What the model said last in this turn.
    pub text: Option<String>,
    /// The last attempt ended with an answer that counts: nothing was asked since.
    pub is_answered: bool,
    /// Why the last attempt ended with an answer that the provider called incomplete, if it did.
    pub incomplete: Option<IncompleteReason>,
    /// The model that answered last, if the chosen one had failed.
    pub model: Option<LeftModel>,
}

/// A call that waits for its result.
#[derive(Clone, Debug)]
struct OpenCall {
    requested: RequestedCall,
    result: Option<(CallDisposition, Vec<LogPart>)>,
}

/// What the turn waits for.
#[derive(Debug)]
enum LoopPhase {
    /// `begin` was not called.
    Idle,
    Asking(Box<AttemptRun>),
    /// For a summary of the conversation.
    Compacting(Box<Compacting>),
    /// For the time of the next attempt.
    Pausing(Duration),
    /// For the results of calls.
    Calling(Vec<OpenCall>),
    /// For a person who decides whether the turn continues; with what they read.
    Doubting(String),
    Over,
}

/// One turn.
#[derive(Debug)]
pub struct LoopTurn {
    setup: LoopSetup,
    renderer: RequestRenderer,
    log: Vec<LogEntry>,
    next_seq: u64,
    attempts: u64,
    rounds: u32,
    phase: LoopPhase,
    budget: RetryBudget,
    ladder: ModelLadder,
    spare_keys: usize,
    steering: Vec<Vec<LogPart>>,
    stopped_by: Option<Who>,
    /// An earlier engine left the turn with an answer that counts.
    is_answered: bool,
    /// An earlier engine left the turn with an incomplete answer.
    left_incomplete: Option<IncompleteReason>,
    /// The last size of the prompt that the provider reported.
    measured: Option<MeasuredPrompt>,
    /// The size of the prompt from which it has to grow before the next compaction.
    cooldown: Option<u64>,
    /// That size is an estimate until the provider reports one.
    is_cooldown_estimated: bool,
    /// A request of this turn was too long, and the conversation was compacted for it.
    has_recovered: bool,
    /// Repeated calls before this entry are agreed to.
    agreed_until: u64,
    usage: Usage,
    /// What the model said last.
    text: Option<String>,
    outputs: VecDeque<LoopOutput>,
}

impl LoopTurn {
    /// Prepares a turn. `log` is the history in force, the input of the turn included; `left` is what an earlier engine left of
    /// the turn, if one began it.
    pub fn new(mut setup: LoopSetup, log: Vec<LogEntry>, left: LeftTurn) -> Self {
        let LeftTurn { attempts, usage, text, is_answered, incomplete, model } = left;
        let mut ladder = ModelLadder::new(setup.chosen(), std::mem::take(&mut setup.fallbacks));
        if let Some(model) = model {
            ladder.resume(&model);
            setup.take(ladder.route());
        }
        let renderer = renderer_of(&setup, &log);
        let next_seq = log.last().map_or(0, |entry| entry.seq + 1);
        let measured = setup.compaction.as_ref().and_then(|compaction| compaction.measured);
        // Another model counts in its own way.
        let measured = measured.filter(|_| ladder.current() == 0);
        Self {
            renderer,
            cooldown: Self::cooldown_of(&setup, &log),
            is_cooldown_estimated: false,
            has_recovered: false,
            measured,
            log,
            next_seq,
            attempts,
            rounds: 0,
            phase: LoopPhase::Idle,
            budget: RetryBudget::default(),
            ladder,
            spare_keys: 0,
            steering: Vec::new(),
            stopped_by: None,
            is_answered,
            left_incomplete: incomplete,
            agreed_until: 0,
            usage,
            text,
            outputs: VecDeque::new(),
            setup,
        }
    }

    /// Begins, or continues what an earlier engine left: calls without a result are settled, not repeated, and a complete
    /// answer ends the turn.
    pub fn begin(&mut self, moment: LoopMoment) {
        if self.settle_left(moment) {
            return;
        }
        if self.log.last().is_some_and(|entry| entry.attempt.is_some()) {
            if self.is_answered {
                return self.finish(Outcome::Completed);
            }
            if let Some(why) = self.left_incomplete.take() {
                return self.fail_incomplete(&why);
            }
        }
        self.ask_unless_repeated(moment);
    }

    /// Has the calls settled that an earlier engine left without a result. Returns false if there are none.
    fn settle_left(&mut self, moment: LoopMoment) -> bool {
        let mut open = open_calls(&self.log);
        if open.is_empty() {
            return false;
        }
        answer_unreadable(&mut open);
        if self.left_incomplete.is_some() {
            answer_unbegun(open.last_mut());
        }
        let left: Vec<RequestedCall> = waiting(&open);
        if !left.is_empty() {
            self.outputs.push_back(LoopOutput::Settle(left));
        }
        self.phase = LoopPhase::Calling(open);
        self.after_calls(moment);
        true
    }

    /// Takes what happened.
    pub fn handle(&mut self, moment: LoopMoment, input: LoopInput<'_>) {
        match input {
            LoopInput::Wire { attempt, news } => self.on_wire(moment, attempt, news),
            LoopInput::CallEnded { seq, disposition, parts } => {
                self.on_call_ended(moment, seq, disposition, parts);
            }
            LoopInput::Steer(_) if self.is_over() => self.outputs.push_back(LoopOutput::Unread(1)),
            LoopInput::Steer(parts) => self.steering.push(parts),
            LoopInput::Proceed => self.on_proceed(moment),
            LoopInput::GiveUp { by } => self.on_give_up(by),
            LoopInput::Interrupt(by) => self.on_interrupt(moment, by),
            LoopInput::SpareKeys(count) => self.spare_keys = count,
            LoopInput::Tick => self.on_tick(moment),
        }
    }

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<LoopOutput> {
        self.outputs.pop_front()
    }

    /// When to tick, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        match &self.phase {
            LoopPhase::Asking(run) => run.wake_at(),
            LoopPhase::Compacting(compacting) => Some(compacting.wake_at()),
            LoopPhase::Pausing(until) => Some(*until),
            LoopPhase::Idle | LoopPhase::Calling(_) | LoopPhase::Doubting(_) | LoopPhase::Over => None,
        }
    }

    /// Is the turn over?
    pub fn is_over(&self) -> bool {
        matches!(self.phase, LoopPhase::Over)
    }

    /// The attempt that runs.
    pub fn attempt(&self) -> Option<u64> {
        match &self.phase {
            LoopPhase::Asking(run) => Some(run.number()),
            LoopPhase::Compacting(compacting) => compacting.attempt(),
            _ => None,
        }
    }

    fn on_wire(&mut self, moment: LoopMoment, attempt: u64, news: &WireNews) {
        if matches!(self.phase, LoopPhase::Compacting(_)) {
            return self.on_summary_wire(moment, attempt, news);
        }
        let LoopPhase::Asking(run) = &mut self.phase else { return };
        if run.number() != attempt {
            return;
        }
        let end = run.handle(moment.now, news, &mut self.outputs);
        self.after_attempt(moment, end);
    }

    fn on_tick(&mut self, moment: LoopMoment) {
        match &mut self.phase {
            LoopPhase::Asking(run) => {
                let end = run.tick(moment.now, &mut self.outputs);
                self.after_attempt(moment, end);
            }
            LoopPhase::Compacting(_) => self.on_summary_tick(moment),
            LoopPhase::Pausing(until) if moment.now >= *until => self.ask(moment),
            _ => {}
        }
    }

    fn on_interrupt(&mut self, moment: LoopMoment, by: Who) {
        if self.is_over() || self.stopped_by.is_some() {
            return;
        }
        self.stopped_by = Some(by);
        self.outputs.push_back(LoopOutput::Emit(Event::Interrupting { by }));
        // Before `begin`: what an earlier engine left running is stopped, and answered, all the same.
        if matches!(self.phase, LoopPhase::Idle) && self.settle_left(moment) {
            if !self.is_over() {
                self.outputs.push_back(LoopOutput::StopCalls);
            }
            return;
        }
        match &mut self.phase {
            LoopPhase::Asking(run) => {
                let end = run.cancel(by, &mut self.outputs);
                self.after_attempt(moment, end);
            }
            LoopPhase::Compacting(_) => self.interrupt_summary(moment, by),
            LoopPhase::Calling(_) => self.outputs.push_back(LoopOutput::StopCalls),
            LoopPhase::Idle | LoopPhase::Pausing(_) | LoopPhase::Doubting(_) => {
                self.finish(Outcome::Interrupted { by });
            }
            LoopPhase::Over => {}
        }
    }

    fn on_call_ended(
        &mut self,
        moment: LoopMoment,
        seq: u64,
        disposition: CallDisposition,
        parts: Vec<LogPart>,
    ) {
        let LoopPhase::Calling(open) = &mut self.phase else { return };
        let waiting = open.iter_mut().find(|one| one.requested.seq == seq && one.result.is_none());
        let Some(waiting) = waiting else { return };
        waiting.result = Some((disposition, parts));
        self.after_calls(moment);
    }

    /// Plans the next attempt and sends it, after a compaction where there is no room for its answer.
    fn ask(&mut self, moment: LoopMoment) {
        if self.rounds >= self.setup.rounds {
            let message = format!(
                "the turn made {} model requests, which is its limit; what it did so far is done and in the history: send \
                 another message to continue",
                self.rounds
            );
            return self.finish(Outcome::Failed { code: FailureCode::Other, message });
        }
        if let Some(change) = self.ladder.before_request(moment.unix) {
            self.change_model(change);
        }
        if !self.compact_if_due(moment) {
            self.request(moment);
        }
    }

    fn request(&mut self, moment: LoopMoment) {
        let request = self.renderer.render();
        self.attempts += 1;
        self.outputs.push_back(LoopOutput::Plan(PlannedAttempt {
            number: self.attempts,
            purpose: AttemptPurpose::Answer,
            model: self.setup.head.model.clone(),
            place: self.ladder.current(),
            request: request.digest(),
            prefix: request.prefix,
            bytes: request.body.len(),
        }));
        let run = AttemptRun::new(
            moment.now,
            self.attempts,
            &self.setup,
            self.renderer.binding(request.prefix),
            request.body.len(),
        );
        self.outputs.push_back(LoopOutput::Send(Box::new(request)));
        self.phase = LoopPhase::Asking(Box::new(run));
    }

    fn after_attempt(&mut self, moment: LoopMoment, end: Option<RunEnd>) {
        let Some(RunEnd { mut ended, item_ids, shown_items }) = end else { return };
        let window = self.setup.profile.model(&self.setup.head.model).window;
        let is_unsaid = match unsaid_cut(&self.setup, &ended) {
            Some(reason) => {
                ended.end = AttemptEnd::Incomplete(reason);
                true
            }
            None => false,
        };
        let refusal = self.refusal_to_pass_on(&mut ended);
        let prices = self.setup.profile.model(&self.setup.head.model).prices;
        self.book(&prices, &mut ended);
        let first_new = self.next_seq;
        for entry in &mut ended.entries {
            entry.seq = self.next_seq;
            self.next_seq += 1;
        }
        name_calls(&mut ended.entries, &self.log, self.setup.profile.family);
        let entries = ended.entries.clone();
        let (end, stage, number) = (ended.end.clone(), ended.stage, ended.number);
        let shown_chars = ended.shown_chars;
        let (input, context) = (ended.tokens.input, ended.tokens.usage().total);
        let overflow = silent_overflow(&self.setup, &ended);
        self.measure(&ended, first_new);
        self.outputs.push_back(LoopOutput::End(ended));
        for entry in &entries {
            self.renderer.push(entry);
        }
        self.log.extend(entries.iter().cloned());
        if end.adds_history() {
            self.rounds += 1;
            self.show_items(&item_ids, &entries);
            let (turn, window) = (self.usage, window);
            self.outputs.push_back(LoopOutput::Emit(Event::UsageUpdated { turn, context, window, input }));
            if let Some(message) = overflow {
                self.outputs.push_back(LoopOutput::Emit(Event::Warning { message }));
            }
        } else if shown_chars > 0 {
            let why = why_void(&end);
            self.outputs.push_back(LoopOutput::Void {
                attempt: number,
                why,
                shown_chars,
                items: shown_items,
            });
        }
        if let Some(why) = refusal {
            return self.fall_back(moment, why, None);
        }
        match end {
            AttemptEnd::Completed(stop) => self.after_answer(moment, &entries, stop, None),
            AttemptEnd::Incomplete(IncompleteReason::MaxOutput)
                if is_unsaid && self.continue_answer(&entries) =>
            {
                self.ask(moment);
            }
            AttemptEnd::Incomplete(why) => {
                self.after_answer(moment, &entries, StopReason::Finished, Some(why));
            }
            AttemptEnd::Refused { text, .. } => {
                let message = format!("the model refused: {text}");
                let next = IncompleteReason::ContentFilter.advice();
                self.fail(FailureCode::Other, message, next, None);
            }
            AttemptEnd::Cancelled { by } => self.finish(Outcome::Interrupted { by }),
            AttemptEnd::Failed(failure)
                if failure.class == FailureClass::ContextTooLong
                    && self.compact_to_recover(
                        moment,
                        failure.class.outcome_code(),
                        &failure.message(&self.setup.profile.title),
                    ) => {}
            AttemptEnd::Failed(failure) => {
                let decision = self.decide(moment, AttemptTrouble::Failed(&failure), stage, shown_chars);
                let retry_at = match decision {
                    RetryDecision::Stop { retry_at } => retry_at,
                    _ => None,
                };
                let next = match failure.class {
                    FailureClass::ContextTooLong => self.next_if_too_long(),
                    _ => failure.advice(&self.setup.profile, retry_at),
                };
                let message = failure.message(&self.setup.profile.title);
                self.follow(moment, decision, failure.class.outcome_code(), message, next);
            }
            AttemptEnd::Cut { why } => {
                let decision = self.decide(moment, AttemptTrouble::Cut, stage, shown_chars);
                let next = FailureCode::Connection.next_step();
                self.follow(moment, decision, FailureCode::Connection, why, next);
            }
        }
    }

    /// Notes the price of an attempt and adds what it cost.
    fn book(&mut self, prices: &[PriceTier], ended: &mut EndedAttempt) {
        ended.price = ended.tokens.price(prices);
        let mut spent = ended.tokens.usage();
        // Without the last word of the provider, what it reported is a lower bound.
        spent.partial |= !matches!(
            ended.end,
            AttemptEnd::Completed(_) | AttemptEnd::Incomplete(_) | AttemptEnd::Refused { .. }
        );
        // A request that the provider refused, or never had, leaves the sum as exact as it was.
        if spent.total > 0 {
            self.usage = self.usage.plus(spent);
        }
    }

    /// Notes the size that the provider reported for a request; entries from `from` on were not in it.
    fn measure(&mut self, ended: &EndedAttempt, from: u64) {
        let is_reported = ended.tokens.source == TokenSource::Provider && ended.end.adds_history();
        let Some(tokens) = ended.tokens.input.filter(|_| is_reported) else { return };
        self.measured = Some(MeasuredPrompt { tokens, from });
        if std::mem::take(&mut self.is_cooldown_estimated) {
            self.cooldown = Some(tokens);
        }
    }

    /// Reports the items of an answer as complete: only now are they part of the conversation.
    fn show_items(&mut self, ids: &[ItemId], entries: &[LogEntry]) {
        self.text = whole_text(&self.log).or(self.text.take());
        for (id, entry) in ids.iter().zip(entries) {
            if let Some(item) = entry.item.step(id) {
                self.outputs.push_back(LoopOutput::Emit(Event::ItemCompleted { item: Box::new(item) }));
            }
        }
    }

    fn after_answer(
        &mut self,
        moment: LoopMoment,
        entries: &[LogEntry],
        stop: StopReason,
        incomplete: Option<IncompleteReason>,
    ) {
        let mut calls = open_calls(entries);
        answer_unreadable(&mut calls);
        if incomplete.is_some() {
            answer_unbegun(calls.last_mut());
        }
        if !calls.is_empty() {
            let start = waiting(&calls);
            if !start.is_empty() {
                self.outputs.push_back(LoopOutput::Start(start));
            }
            self.phase = LoopPhase::Calling(calls);
            return self.after_calls(moment);
        }
        if let Some(why) = incomplete {
            return self.fail_incomplete(&why);
        }
        if stop == StopReason::Paused || self.append_steering() {
            return self.ask(moment);
        }
        if let Some(message) = missing_answer(entries) {
            self.outputs.push_back(LoopOutput::Emit(Event::Warning { message: message.to_owned() }));
        }
        self.finish(Outcome::Completed);
    }

    /// Continues once every call has its result.
    fn after_calls(&mut self, moment: LoopMoment) {
        let LoopPhase::Calling(open) = &mut self.phase else { return };
        if open.iter().any(|call| call.result.is_none()) {
            return;
        }
        let results = std::mem::take(open).into_iter().filter_map(|call| {
            let (disposition, parts) = call.result?;
            Some(LogItem::Result { call: call.requested.call, disposition, parts })
        });
        let results = results.collect();
        self.append(results);
        if let Some(by) = self.stopped_by {
            return self.finish(Outcome::Interrupted { by });
        }
        self.append_steering();
        self.ask_unless_repeated(moment);
    }

    /// Asks the model, or first a person where the model repeats itself.
    fn ask_unless_repeated(&mut self, moment: LoopMoment) {
        let Some(repeated) = repetition(&self.log, self.agreed_until) else { return self.ask(moment) };
        let after = self.next_seq.saturating_sub(1);
        self.outputs.push_back(LoopOutput::Doubt { after, text: repeated.text.clone() });
        self.phase = LoopPhase::Doubting(repeated.text);
    }

    fn on_proceed(&mut self, moment: LoopMoment) {
        if matches!(self.phase, LoopPhase::Doubting(_)) {
            self.agreed_until = self.next_seq;
            self.append_steering();
            self.ask(moment);
        }
    }

    fn on_give_up(&mut self, by: Option<Who>) {
        let LoopPhase::Doubting(text) = &self.phase else { return };
        let outcome = match by {
            Some(by) => Outcome::Interrupted { by },
            None => {
                let message = format!(
                    "{text} Talaria ended the turn because there was no one to ask; what it did so far is done"
                );
                Outcome::Failed { code: FailureCode::Other, message }
            }
        };
        self.finish(outcome);
    }

    fn append(&mut self, items: Vec<LogItem>) {
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            let entry = LogEntry::own(self.next_seq, item);
            self.next_seq += 1;
            self.renderer.push(&entry);
            entries.push(entry);
        }
        self.log.extend(entries.iter().cloned());
        self.outputs.push_back(LoopOutput::Append(entries));
    }

    /// Adds what the person said meanwhile; says whether there was something.
    fn append_steering(&mut self) -> bool {
        let words = std::mem::take(&mut self.steering);
        if words.is_empty() {
            return false;
        }
        for _ in &words {
            let turn = self.setup.turn.clone();
            self.outputs.push_back(LoopOutput::Emit(Event::Steered { turn }));
        }
        self.append(words.into_iter().map(|parts| LogItem::User { parts }).collect());
        true
    }

    fn decide(
        &mut self,
        moment: LoopMoment,
        trouble: AttemptTrouble<'_>,
        stage: AttemptStage,
        shown: u64,
    ) -> RetryDecision {
        if let AttemptTrouble::Failed(failure) = trouble
            && refused_parameter(failure).is_some_and(|name| !self.renderer.can_leave_out(&name))
        {
            // The same bytes would be refused again.
            return RetryDecision::Stop { retry_at: None };
        }
        let situation = AttemptSituation {
            stage,
            has_shown: shown > 0,
            has_spare_key: self.spare_keys > 0,
            has_fallback: self.ladder.has_next(),
            asks_on_refusal: self.setup.asks_on_refusal,
            now: moment.unix,
            chance: moment.chance,
        };
        self.budget.decide(trouble, situation)
    }

    /// The words of a refusal that the next model is asked about instead: the refused answer is then no part of the history.
    fn refusal_to_pass_on(&self, ended: &mut EndedAttempt) -> Option<String> {
        if !self.setup.asks_on_refusal || !self.ladder.has_next() {
            return None;
        }
        let why = match &ended.end {
            AttemptEnd::Refused { text, .. } => format!("the model refused: {text}"),
            AttemptEnd::Incomplete(IncompleteReason::ContentFilter) => {
                let (category, text) = (None, IncompleteReason::ContentFilter.to_string());
                ended.end = AttemptEnd::Refused { category, text: text.clone() };
                text
            }
            _ => return None,
        };
        ended.entries.clear();
        Some(why)
    }

    /// Asks the next model of the ladder.
    fn fall_back(&mut self, moment: LoopMoment, why: String, until: Option<i64>) {
        let change = self.ladder.fall_back(why, until, moment.unix);
        self.change_model(change);
        self.budget.change_model();
        self.ask(moment);
    }

    /// Another model answers from now on: its requests are a new epoch.
    fn change_model(&mut self, change: ModelChange) {
        self.outputs.push_back(LoopOutput::Change(change));
        self.spare_keys = 0;
        // Another model counts in its own way.
        self.measured = None;
        self.setup.take(self.ladder.route());
        self.renderer = renderer_of(&self.setup, &self.log);
    }

    /// Has the model continue an answer that its server cut without saying so. Returns false if it was asked often enough.
    fn continue_answer(&mut self, entries: &[LogEntry]) -> bool {
        let made = continuations(&self.log);
        if made >= MOST_CONTINUATIONS || !open_calls(entries).is_empty() || self.stopped_by.is_some() {
            return false;
        }
        let message = format!(
            "{} ended the answer at the output limit and called it complete; asking the model to continue ({} of \
             {MOST_CONTINUATIONS})",
            self.setup.profile.title,
            made + 1
        );
        self.outputs.push_back(LoopOutput::Emit(Event::Warning { message }));
        self.append(vec![LogItem::Operator { text: CONTINUE.to_owned() }]);
        self.append_steering();
        true
    }

    /// Retries, asks another model, or ends the turn with the failure.
    fn follow(
        &mut self,
        moment: LoopMoment,
        decision: RetryDecision,
        code: FailureCode,
        why: String,
        next: NextStep,
    ) {
        match decision {
            RetryDecision::Retry { wait, repair } => {
                let how = match &repair {
                    Some(repair) => format!("trying again {repair}"),
                    None if wait.is_zero() => "trying again".to_owned(),
                    None => format!("trying again in {:.1} s", wait.as_secs_f64()),
                };
                self.outputs
                    .push_back(LoopOutput::Emit(Event::Retrying { message: format!("{why}; {how}") }));
                if let Some(repair) = repair {
                    self.repair(repair);
                }
                if wait.is_zero() {
                    return self.ask(moment);
                }
                self.phase = LoopPhase::Pausing(moment.now + wait);
            }
            RetryDecision::NextKey => {
                let message = format!("{why}; trying again with another key");
                self.outputs.push_back(LoopOutput::Emit(Event::Retrying { message }));
                self.ask(moment);
            }
            RetryDecision::Fallback { until } => self.fall_back(moment, why, until),
            RetryDecision::Stop { retry_at } => {
                self.fail(code, why, next, retry_at);
            }
        }
    }

    /// Begins a new epoch of requests that leave out what the provider refused.
    fn repair(&mut self, repair: RequestRepair) {
        if let RequestRepair::DropParameter(name) = &repair {
            self.ladder.learn(name);
            self.outputs.push_back(LoopOutput::Learn(name.clone()));
        }
        repair_setup(&mut self.setup, repair, self.log.last().map(|entry| entry.seq));
        self.renderer = renderer_of(&self.setup, &self.log);
    }

    fn finish(&mut self, outcome: Outcome) {
        let report = Report::new(outcome, self.text.clone(), self.usage, 0);
        self.close(report);
    }

    /// Ends the turn with a failure and what to do about it.
    fn fail(&mut self, code: FailureCode, message: String, next: NextStep, retry_at: Option<i64>) {
        let outcome = Outcome::Failed { code, message };
        let mut report = Report::new(outcome, self.text.clone(), self.usage, 0).with_next(next);
        report.retry_at = retry_at;
        self.close(report);
    }

    /// Ends the turn with an answer that the provider called incomplete.
    fn fail_incomplete(&mut self, why: &IncompleteReason) {
        let code = match why {
            IncompleteReason::Context => FailureCode::ContextWindow,
            _ => FailureCode::Other,
        };
        let next = match why {
            IncompleteReason::Context => self.next_if_too_long(),
            _ => why.advice(),
        };
        self.fail(code, format!("the answer is incomplete: {why}"), next, None);
    }

    fn close(&mut self, report: Report) {
        let unread = std::mem::take(&mut self.steering).len();
        if unread > 0 {
            self.outputs.push_back(LoopOutput::Unread(unread));
        }
        self.outputs.push_back(LoopOutput::Finish(Box::new(report)));
        self.phase = LoopPhase::Over;
    }
}

/// The id of an item of an answer. The same before and after a crash.
fn item_id(turn: &TurnId, attempt: u64, index: usize) -> ItemId {
    ItemId::new(format!("{}-{attempt}-{index}", turn.as_str()))
}

/// An item of an answer before anything of it is known.
fn empty_item(id: &ItemId, kind: &crate::fold::AnswerItemKind) -> Option<Item> {
    use crate::fold::AnswerItemKind;
    let item = match kind {
        AnswerItemKind::Text => LogItem::Assistant { parts: Vec::new(), phase: None },
        AnswerItemKind::Reasoning => LogItem::Reasoning { summary: Vec::new(), text: Vec::new() },
        AnswerItemKind::Call { .. } | AnswerItemKind::Other(_) => return None,
    };
    item.step(id)
}

/// Makes the ids of calls unique in the conversation, which providers ask of a request: servers send empty ones, and the same
/// in every answer.
fn name_calls(entries: &mut [LogEntry], log: &[LogEntry], family: ModelFamily) {
    let id_of = |entry: &LogEntry| match &entry.item {
        LogItem::Call { call, .. } => Some(call.clone()),
        _ => None,
    };
    if entries.iter().all(|entry| id_of(entry).is_none()) {
        return;
    }
    let mut known: HashSet<CallId> = log.iter().filter_map(id_of).collect();
    for entry in entries {
        let seq = entry.seq;
        let LogItem::Call { call, .. } = &mut entry.item else { continue };
        if call.as_str().is_empty() || known.contains(call) {
            let mut made = CallId::new(format!("call_{seq}"));
            while known.contains(&made) {
                made.0.push('_');
            }
            *call = made;
            // The vendor's bytes of a call have the id that it sent.
            if family == ModelFamily::Responses {
                (entry.native, entry.binding) = (None, None);
            }
        }
        known.insert(call.clone());
    }
}

/// Leaves out what the provider refused; `last` is the last entry of the history.
fn repair_setup(setup: &mut LoopSetup, repair: RequestRepair, last: Option<u64>) {
    match repair {
        RequestRepair::DropReasoning => setup.omissions.reasoning_until = last,
        RequestRepair::DropParameter(name) => setup.omissions.parameters.push(name),
        RequestRepair::LeaveOutImages => setup.omissions.images = true,
        RequestRepair::LowerOutput => {
            let LoopSetup { head, profile, .. } = &*setup;
            let asked = head.output_limit(profile).or_else(|| profile.model(&head.model).max_output);
            let asked = asked.unwrap_or(LEAST_OUTPUT * 8);
            setup.head.max_output = Some((asked / 2).max(LEAST_OUTPUT));
        }
    }
}

fn renderer_of(setup: &LoopSetup, log: &[LogEntry]) -> RequestRenderer {
    let mut renderer = RequestRenderer::new(
        &setup.profile,
        setup.issuer.clone(),
        setup.head.clone(),
        setup.omissions.clone(),
    );
    in_force(log).into_iter().for_each(|entry| renderer.push(entry));
    renderer
}

/// The calls without a result, in order.
fn open_calls(entries: &[LogEntry]) -> Vec<OpenCall> {
    let mut open: Vec<OpenCall> = Vec::new();
    for entry in entries {
        match &entry.item {
            LogItem::Call { call, name, input } => open.push(OpenCall {
                requested: RequestedCall {
                    seq: entry.seq,
                    call: call.clone(),
                    name: name.clone(),
                    input: input.clone(),
                },
                result: None,
            }),
            LogItem::Result { call, .. } => open.retain(|one| one.requested.call != *call),
            _ => {}
        }
    }
    open
}

/// Answers the calls whose arguments are not a JSON object. They never run.
fn answer_unreadable(calls: &mut [OpenCall]) {
    for call in calls {
        let is_readable =
            matches!(call.requested.input, CallInput::Free(_)) || call.requested.input.arguments().is_some();
        if !is_readable {
            let text = "Not started: the arguments are not a JSON object. Send the call again, whole.";
            call.result = Some((CallDisposition::Failed, vec![LogPart::text(text)]));
        }
    }
}

/// Answers the last call of an answer that was cut, if it was cut before its arguments began.
fn answer_unbegun(last: Option<&mut OpenCall>) {
    if let Some(call) = last.filter(|call| call.requested.input.as_str().trim().is_empty()) {
        let text = "Not started: the answer was cut before the arguments of this call. Send it again, whole.";
        call.result = Some((CallDisposition::Failed, vec![LogPart::text(text)]));
    }
}

/// The calls that have no result yet.
fn waiting(calls: &[OpenCall]) -> Vec<RequestedCall> {
    calls.iter().filter(|call| call.result.is_none()).map(|call| call.requested.clone()).collect()
}

/// The warning about an answer that completed a turn without a word for the person.
fn missing_answer(entries: &[LogEntry]) -> Option<&'static str> {
    let mut has_thinking = false;
    for entry in entries {
        match &entry.item {
            LogItem::Assistant { parts, .. } if !plain_text(parts).trim().is_empty() => return None,
            LogItem::Reasoning { .. } => has_thinking = true,
            _ => {}
        }
    }
    Some(match has_thinking {
        true => {
            "the model ended its answer after its thinking, without a word for you; send another message to continue"
        }
        false => "the model ended with an empty answer; send another message to continue",
    })
}

/// Why an answer is incomplete that a server calls complete, where it is known to do that. Its own figures are the evidence.
fn unsaid_cut(setup: &LoopSetup, ended: &EndedAttempt) -> Option<IncompleteReason> {
    let LoopSetup { profile, head, .. } = setup;
    let is_believed = !profile.quirks.stop_when_cut || ended.tokens.source != TokenSource::Provider;
    if is_believed || !matches!(ended.end, AttemptEnd::Completed(_)) {
        return None;
    }
    let facts = profile.model(&head.model);
    let output = ended.tokens.output?;
    if head.output_limit(profile).or(facts.max_output).is_some_and(|limit| output >= limit) {
        return Some(IncompleteReason::MaxOutput);
    }
    let total = ended.tokens.input?.saturating_add(output);
    facts.window.is_some_and(|window| total >= window).then_some(IncompleteReason::Context)
}

/// A warning where the server may have cut the conversation to make it fit, which it does without a word.
fn silent_overflow(setup: &LoopSetup, ended: &EndedAttempt) -> Option<String> {
    let LoopSetup { profile, head, .. } = setup;
    let (input, window) = (ended.tokens.input?, profile.model(&head.model).window?);
    let is_over = ended.tokens.source == TokenSource::Provider && input >= window;
    (profile.quirks.silent_overflow && is_over).then(|| {
        format!(
            "the conversation has {input} tokens and the context of {} has {window}: {} cuts what does not fit without saying so, \
             so the model may not have read all of it; begin a new conversation",
            head.model, profile.title
        )
    })
}

fn why_void(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Failed(failure) => failure.text.clone(),
        AttemptEnd::Cut { why } => why.clone(),
        AttemptEnd::Cancelled { .. } => "the turn was interrupted".to_owned(),
        AttemptEnd::Refused { .. } => "the model refused while it answered".to_owned(),
        AttemptEnd::Completed(_) | AttemptEnd::Incomplete(_) => String::new(),
    }
}
