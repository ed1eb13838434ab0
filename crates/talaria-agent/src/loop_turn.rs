//! `LoopTurn`: one turn of the built-in loop, as a pure machine. Feed inputs with the time they happened, drain `poll` after
//! each, sleep until `wake_at`. A tick that comes early or twice changes nothing.
//!
//! A turn is a chain of attempts and tool calls: request, answer, calls, results, request. The machine decides what is sent,
//! what becomes history, what is repeated and when the turn is over. It has no sockets, no clock, and no opinion about consent:
//! the shell sends requests, runs calls, and makes every output durable, in order, before it acts on a later one. Hence:
//! the row of an attempt exists before its first byte, the items of an answer are stored together with its end, no call starts
//! before that, and every call has its one result before the next request. History is only appended to.

use std::collections::VecDeque;
use std::time::Duration;

use talaria_core::event::{Event, Usage};
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::item::Item;
use talaria_core::next_step::NextStep;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;

use crate::attempt::{AttemptEnd, WireNews};
use crate::compaction::MeasuredPrompt;
use crate::encode::RequestRenderer;
use crate::failure::FailureClass;
use crate::fold::{IncompleteReason, StopReason};
use crate::history::{CallDisposition, LogEntry, LogItem, LogPart, in_force};
use crate::profile::PriceTier;
use crate::retry::{AttemptTrouble, RetryBudget, RetryDecision};
use crate::spending::TokenSource;
use attempt_run::{AttemptRun, RunEnd};
use compacting::Compacting;
use continuing::{CONTINUE, MOST_CONTINUATIONS, continuations, whole_text};
use ladder::ModelLadder;
use open_calls::{
    OpenCall, answer_unbegun, answer_unreadable, missing_answer, name_calls, open_calls, waiting,
};
use repetition::repetition;

pub use interface::{
    AttemptPurpose, EndedAttempt, LeftTurn, LoopInput, LoopMoment, LoopOutput, LoopSetup, PlannedAttempt,
    RequestedCall,
};
pub use ladder::{LeftModel, ModelChange, ModelRoute};

mod after_failure;
mod attempt_run;
mod compacting;
mod continuing;
mod interface;
mod ladder;
mod open_calls;
mod repetition;
#[cfg(test)]
mod tests;

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
            self.budget.swap_repairs(&mut Vec::new());
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
        // The provider's own tools have prices of their own, which only the provider can add.
        let has_server_tool =
            ended.entries.iter().any(|entry| matches!(entry.item, LogItem::ServerTool { .. }));
        let is_known = ended.tokens.cost.is_some() || !has_server_tool;
        ended.price = ended.tokens.price(prices).filter(|_| is_known);
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
