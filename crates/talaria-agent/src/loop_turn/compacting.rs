//! The compaction of a conversation within a turn: an attempt of its own, whose answer becomes a summary in the history, or
//! nothing. It can fail in any way without changing the conversation.
//!
//! Whether it is due is decided before each request, from the last figure of the provider and an estimate of what is new.
//! Configured models summarise first, the model of the conversation last. Pieces of a summary are shown to no one.

use std::collections::VecDeque;
use std::time::Duration;

use talaria_core::event::{Event, Usage};
use talaria_core::ids::ItemId;
use talaria_core::item::{Compaction, CompactionCause, Item, ItemBody, KeptContext};
use talaria_core::next_step::NextStep;
use talaria_core::outcome::{FailureCode, Outcome};
use talaria_core::request::Who;

use super::after_failure::repair_setup;
use super::attempt_run::{AttemptRun, RunEnd};
use super::{
    AttemptPurpose, EndedAttempt, LoopMoment, LoopOutput, LoopPhase, LoopSetup, LoopTurn, PlannedAttempt,
    renderer_of,
};
use crate::attempt::{AttemptEnd, AttemptStage, WireNews};
use crate::compaction::{
    CompactionPlan, CompactionSetup, INSTRUCTIONS, compose, entries_tokens, head_tokens, read_summary,
    transcript,
};
use crate::encode::{RequestHead, RequestOmissions, RequestRenderer};
use crate::failure::{FailureClass, refused_parameter};
use crate::history::{LogEntry, LogItem, LogPart, in_force, plain_text};
use crate::retry::{AttemptSituation, AttemptTrouble, RequestRepair, RetryDecision};

/// How long one attempt at a summary may take.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(300);
/// What a summary may have in tokens, and which part of the context that may be.
const LONGEST_SUMMARY: u64 = 8_000;
const SUMMARY_PART: u64 = 8;
/// What the model that summarises gets of a conversation where nothing is known of its context.
const UNKNOWN_WINDOW: u64 = 64_000;
/// A request for a summary that is too long is made shorter this often.
const SHORTENINGS: u32 = 2;
/// The tool that finds what was said.
const RECALL: &str = "talaria_recall";

/// What follows a compaction.
#[derive(Clone, Debug)]
pub(super) enum AfterCompaction {
    /// The request that it was done for.
    Ask,
    /// The end of the turn: a person asked for nothing else.
    Finish,
    /// The request that was refused as too long, or the end of the turn for this reason.
    Recover { code: FailureCode, message: String },
}

/// A compaction that runs.
#[derive(Debug)]
pub(super) struct Compacting {
    then: AfterCompaction,
    facts: Compaction,
    plan: CompactionPlan,
    item: ItemId,
    /// Who summarises: a place in the list, then the conversation's own model.
    by: usize,
    /// The provider and model that summarise.
    setup: LoopSetup,
    /// Tokens of the conversation that they read.
    room: u64,
    shortenings: u32,
    /// Repairs of requests for this summary.
    repairs: Vec<RequestRepair>,
    left_out: u64,
    state: CompactingState,
    /// Why those before could not.
    troubles: Vec<String>,
    code: FailureCode,
}

#[derive(Debug)]
enum CompactingState {
    Asking { run: Box<AttemptRun>, until: Duration },
    Pausing(Duration),
}

impl Compacting {
    /// The time of its request begins now.
    pub(super) fn restart_time(&mut self, now: Duration) {
        if let CompactingState::Asking { until, .. } = &mut self.state {
            *until = now + ATTEMPT_LIMIT;
        }
    }

    /// Ends the request that was not sent. Returns it, and the step that shows the compaction.
    pub(super) fn give_up(mut self, outputs: &mut VecDeque<LoopOutput>) -> (Option<RunEnd>, ItemId) {
        let end = match &mut self.state {
            CompactingState::Asking { run, .. } => run.cancel(Who::Talaria, outputs),
            CompactingState::Pausing(_) => None,
        };
        (end, self.item)
    }

    pub(super) fn attempt(&self) -> Option<u64> {
        match &self.state {
            CompactingState::Asking { run, .. } => Some(run.number()),
            CompactingState::Pausing(_) => None,
        }
    }

    pub(super) fn wake_at(&self) -> Duration {
        match &self.state {
            CompactingState::Asking { run, until } => run.wake_at().map_or(*until, |at| at.min(*until)),
            CompactingState::Pausing(until) => *until,
        }
    }
}

impl LoopTurn {
    /// Shortens the conversation, and does nothing else. `is_done`: an earlier engine did it in this turn.
    pub fn begin_compaction(&mut self, moment: LoopMoment, is_done: bool) {
        if is_done {
            return self.finish(Outcome::Completed);
        }
        if !self.compact(moment, CompactionCause::User, AfterCompaction::Finish) {
            let message =
                "there is nothing to shorten: all of the conversation is among the messages that stay";
            let next =
                "continue; `compression.protect_first_n` and `compression.protect_last_n` say how many stay";
            self.fail(FailureCode::Other, message.to_owned(), next.into(), None);
        }
    }

    /// Compacts first where the next request would leave no room for its answer. Returns false if nothing is to be done.
    pub(super) fn compact_if_due(&mut self, moment: LoopMoment) -> bool {
        let Some(CompactionSetup { settings, .. }) = &self.setup.compaction else { return false };
        let Some(window) = self.window().filter(|_| settings.is_automatic) else { return false };
        let size = self.prompt_tokens();
        let is_cool = self.cooldown.is_none_or(|at| size >= at.saturating_add(window / 10));
        let is_due = size >= self.size_limit() && is_cool;
        is_due && self.compact(moment, CompactionCause::Talaria, AfterCompaction::Ask)
    }

    /// Compacts once in a turn after the provider refused a request as too long.
    pub(super) fn compact_to_recover(
        &mut self,
        moment: LoopMoment,
        code: FailureCode,
        message: &str,
    ) -> bool {
        let is_automatic = self.setup.compaction.as_ref().is_some_and(|setup| setup.settings.is_automatic);
        if self.has_recovered || !is_automatic {
            return false;
        }
        self.has_recovered = true;
        let then = AfterCompaction::Recover { code, message: message.to_owned() };
        self.compact(moment, CompactionCause::Talaria, then)
    }

    /// What to do about a conversation that is too long: shorten it, if anything of it can be.
    pub(super) fn next_if_too_long(&self) -> NextStep {
        let CompactionSetup { settings, request, .. } = self.setup.compaction.clone().unwrap_or_default();
        match CompactionPlan::new(&self.log, &settings, request, self.size_limit()) {
            Some(_) => NextStep::ShortenConversation,
            None => NextStep::BeginAnew,
        }
    }

    /// The size of the next request in tokens.
    pub(super) fn prompt_tokens(&self) -> u64 {
        match self.measured {
            Some(measured) => {
                let new = self.log.iter().rev().take_while(|entry| entry.seq >= measured.from);
                measured.tokens.saturating_add(entries_tokens(new))
            }
            None => head_tokens(&self.setup.head).saturating_add(entries_tokens(in_force(&self.log))),
        }
    }

    /// The size that the history in force adds to the last compaction, or that failed to be compacted: the next one waits
    /// until the prompt has grown from there.
    pub(super) fn cooldown_of(setup: &LoopSetup, log: &[LogEntry]) -> Option<u64> {
        log.iter().enumerate().rev().find_map(|(at, entry)| match &entry.item {
            LogItem::Summary { .. } => {
                Some(head_tokens(&setup.head).saturating_add(entries_tokens(in_force(&log[..=at]))))
            }
            LogItem::NotCompacted { model, tokens } if *model == setup.head.model => Some(*tokens),
            _ => None,
        })
    }

    fn window(&self) -> Option<u64> {
        self.setup.profile.model(&self.setup.head.model).window
    }

    /// The size that a prompt should not reach.
    fn size_limit(&self) -> u64 {
        let LoopSetup { profile, head, compaction, .. } = &self.setup;
        let facts = profile.model(&head.model);
        let output = head.output_limit(profile).or(facts.max_output);
        let settings = compaction.as_ref().map(|compaction| compaction.settings.clone()).unwrap_or_default();
        // Where the window is not known a provider has just refused the prompt, or a person asks.
        facts.window.map_or_else(|| self.prompt_tokens() / 2, |window| settings.limit(window, output))
    }

    /// Begins a compaction. Returns false if everything would stay as it is.
    fn compact(&mut self, moment: LoopMoment, by: CompactionCause, then: AfterCompaction) -> bool {
        let compaction = self.setup.compaction.clone().unwrap_or_default();
        let limit = self.size_limit();
        let plan = CompactionPlan::new(&self.log, &compaction.settings, compaction.request, limit);
        let Some(plan) = plan else { return false };
        let item = ItemId::new(format!("{}-compaction-{}", self.setup.turn.as_str(), self.attempts + 1));
        let facts = Compaction { by: Some(by), before: Some(self.prompt_tokens()), ..Compaction::default() };
        let body = ItemBody::Compaction(Compaction::default());
        self.emit(Event::ItemStarted { item: Box::new(Item { id: item.clone(), body }) });
        let setup = self.summariser(0);
        let compacting = Compacting {
            then,
            facts,
            plan,
            item,
            by: 0,
            room: self.room_of(&setup),
            setup,
            shortenings: 0,
            repairs: Vec::new(),
            left_out: 0,
            state: CompactingState::Pausing(moment.now),
            troubles: Vec::new(),
            code: FailureCode::Other,
        };
        self.ask_for_summary(moment, Box::new(compacting));
        true
    }

    /// The provider and model at this place; after the configured ones that of the conversation.
    fn summariser(&self, by: usize) -> LoopSetup {
        let configured = self.setup.compaction.as_ref().and_then(|compaction| compaction.summarisers.get(by));
        let (profile, issuer, model) = match configured {
            Some(one) => (one.profile.clone(), one.issuer.clone(), one.model.as_str()),
            None => (self.setup.profile.clone(), self.setup.issuer.clone(), self.setup.head.model.as_str()),
        };
        // What the provider of the conversation refused before is left out here, too.
        let parameters = match configured {
            Some(_) => Vec::new(),
            None => self.setup.omissions.parameters.clone(),
        };
        let key = format!("{}-summary", self.setup.head.cache_key);
        let mut setup = LoopSetup {
            turn: self.setup.turn.clone(),
            head: RequestHead::new(model, vec![INSTRUCTIONS.to_owned()], Vec::new(), &key),
            omissions: RequestOmissions { parameters, ..RequestOmissions::default() },
            rounds: 1,
            compaction: None,
            profile,
            issuer,
            rests_until: None,
            fallbacks: Vec::new(),
            asks_on_refusal: false,
            bounds_output: self.setup.bounds_output,
        };
        setup.bound_output();
        setup
    }

    /// How many tokens of the conversation fit a request for a summary. Estimates may be wrong by a fifth.
    fn room_of(&self, summariser: &LoopSetup) -> u64 {
        let window = summariser.profile.model(&summariser.head.model).window;
        let window = window.or_else(|| self.window()).unwrap_or(UNKNOWN_WINDOW);
        window.saturating_sub(LONGEST_SUMMARY.min(window / 4)).saturating_mul(4) / 5
    }

    fn ask_for_summary(&mut self, moment: LoopMoment, mut compacting: Box<Compacting>) {
        let (text, left_out) = transcript(&self.log, &compacting.plan, compacting.room);
        compacting.left_out = left_out;
        let LoopSetup { profile, issuer, head, omissions, .. } = &compacting.setup;
        let mut renderer = RequestRenderer::new(profile, issuer.clone(), head.clone(), omissions.clone());
        renderer.push(&LogEntry::own(0, LogItem::User { parts: vec![LogPart::text(text)] }));
        let request = renderer.render();
        self.attempts += 1;
        let configured = self.setup.compaction.as_ref().map_or(0, |compaction| compaction.summarisers.len());
        self.outputs.push_back(LoopOutput::Plan(PlannedAttempt {
            number: self.attempts,
            purpose: AttemptPurpose::Summary { by: Some(compacting.by).filter(|by| *by < configured) },
            model: head.model.clone(),
            place: self.ladder.current(),
            request: request.digest(),
            prefix: request.prefix,
            bytes: request.body.len(),
            most_output: compacting.setup.most_output(),
        }));
        let binding = renderer.binding(request.prefix);
        let run = AttemptRun::new(moment.now, self.attempts, &compacting.setup, binding, request.body.len());
        self.outputs.push_back(LoopOutput::Send(Box::new(request)));
        let until = moment.now + ATTEMPT_LIMIT;
        compacting.state = CompactingState::Asking { run: Box::new(run), until };
        self.phase = LoopPhase::Compacting(compacting);
    }

    /// News of the attempt that summarises.
    pub(super) fn on_summary_wire(&mut self, moment: LoopMoment, attempt: u64, news: &WireNews) {
        self.drive_summary(moment, Some(attempt), |run, outputs| run.handle(moment.now, news, outputs));
    }

    pub(super) fn on_summary_tick(&mut self, moment: LoopMoment) {
        let LoopPhase::Compacting(compacting) = &self.phase else { return };
        match &compacting.state {
            CompactingState::Pausing(until) if moment.now >= *until => {
                if let LoopPhase::Compacting(compacting) = std::mem::replace(&mut self.phase, LoopPhase::Idle)
                {
                    self.ask_for_summary(moment, compacting);
                }
            }
            CompactingState::Asking { until, .. } if moment.now >= *until => {
                self.drive_summary(moment, None, |run, outputs| run.cancel(Who::Deadline, outputs));
            }
            CompactingState::Asking { .. } => {
                self.drive_summary(moment, None, |run, outputs| run.tick(moment.now, outputs));
            }
            CompactingState::Pausing(_) => {}
        }
    }

    /// The turn is stopped. The conversation stays as it is.
    pub(super) fn interrupt_summary(&mut self, moment: LoopMoment, by: Who) {
        let LoopPhase::Compacting(compacting) = &self.phase else { return };
        if compacting.attempt().is_some() {
            return self.drive_summary(moment, None, |run, outputs| run.cancel(by, outputs));
        }
        let item = compacting.item.clone();
        self.emit(Event::ItemAbandoned { item, why: None });
        self.finish(Outcome::Interrupted { by });
    }

    fn drive_summary(
        &mut self,
        moment: LoopMoment,
        attempt: Option<u64>,
        step: impl FnOnce(&mut AttemptRun, &mut VecDeque<LoopOutput>) -> Option<RunEnd>,
    ) {
        let LoopPhase::Compacting(compacting) = &mut self.phase else { return };
        let CompactingState::Asking { run, .. } = &mut compacting.state else { return };
        if attempt.is_some_and(|attempt| attempt != run.number()) {
            return;
        }
        // People see the result, not how it is written.
        let mut unseen = VecDeque::new();
        let end = step(run, &mut unseen);
        self.outputs.extend(unseen.into_iter().filter(|output| matches!(output, LoopOutput::Close(_))));
        let Some(RunEnd { ended, .. }) = end else { return };
        if let LoopPhase::Compacting(compacting) = std::mem::replace(&mut self.phase, LoopPhase::Idle) {
            self.after_summary(moment, compacting, ended);
        }
    }

    fn after_summary(
        &mut self,
        moment: LoopMoment,
        mut compacting: Box<Compacting>,
        mut ended: Box<EndedAttempt>,
    ) {
        let answer = answer_text(&std::mem::take(&mut ended.entries));
        ended.shown_chars = 0;
        let LoopSetup { profile, head, .. } = &compacting.setup;
        self.book(&profile.model(&head.model).prices, &mut ended);
        compacting.spend(&ended);
        let (end, stage) = (ended.end.clone(), ended.stage);
        let failure = match end {
            AttemptEnd::Completed(_) => match self.summary_entry(&mut compacting, &answer) {
                Ok(entry) => return self.take_summary(moment, compacting, ended, entry),
                Err(why) => {
                    self.outputs.push_back(LoopOutput::End(ended));
                    return self.next_summariser(moment, compacting, FailureCode::Other, &why);
                }
            },
            AttemptEnd::Incomplete(why) => {
                self.outputs.push_back(LoopOutput::End(ended));
                let why = format!("its summary is incomplete: {why}");
                return self.next_summariser(moment, compacting, FailureCode::Other, &why);
            }
            AttemptEnd::Refused { text, .. } => {
                self.outputs.push_back(LoopOutput::End(ended));
                let why = format!("the model refused: {text}");
                return self.next_summariser(moment, compacting, FailureCode::Other, &why);
            }
            AttemptEnd::Cancelled { by } => {
                self.outputs.push_back(LoopOutput::End(ended));
                if self.stopped_by.is_some() {
                    self.emit(Event::ItemAbandoned { item: compacting.item, why: None });
                    return self.finish(Outcome::Interrupted { by });
                }
                let why = format!("there was no summary after {} s", ATTEMPT_LIMIT.as_secs());
                return self.next_summariser(moment, compacting, FailureCode::Connection, &why);
            }
            AttemptEnd::Failed(failure) => Ok(failure),
            AttemptEnd::Cut { why } => Err(why),
        };
        self.outputs.push_back(LoopOutput::End(ended));
        let (code, why) = match &failure {
            Ok(failure) => (failure.class.outcome_code(), failure.message(&compacting.setup.profile.title)),
            Err(why) => (FailureCode::Connection, why.clone()),
        };
        let is_too_long = matches!(&failure, Ok(one) if one.class == FailureClass::ContextTooLong);
        if is_too_long && compacting.shortenings < SHORTENINGS {
            compacting.shortenings += 1;
            compacting.room /= 2;
            return self.ask_for_summary(moment, compacting);
        }
        let trouble = match &failure {
            Ok(failure) => AttemptTrouble::Failed(failure),
            Err(_) => AttemptTrouble::Cut,
        };
        let is_needed = matches!(&failure, Ok(failure) if refused_parameter(failure)
            .is_some_and(|name| !compacting.can_leave_out(&name)));
        let decision = match is_needed {
            true => RetryDecision::Stop { retry_at: None },
            false => {
                let situation = self.situation(moment, stage);
                self.budget.swap_repairs(&mut compacting.repairs);
                let decision = self.budget.decide(trouble, situation);
                self.budget.swap_repairs(&mut compacting.repairs);
                decision
            }
        };
        match decision {
            RetryDecision::Retry {
                wait,
                repair: repair @ (None | Some(RequestRepair::DropParameter(_) | RequestRepair::LowerOutput)),
            } => {
                if let Some(repair) = repair {
                    repair_setup(&mut compacting.setup, repair, None);
                }
                if wait.is_zero() {
                    return self.ask_for_summary(moment, compacting);
                }
                compacting.state = CompactingState::Pausing(moment.now + wait);
                self.phase = LoopPhase::Compacting(compacting);
            }
            RetryDecision::NextKey => self.ask_for_summary(moment, compacting),
            _ => self.next_summariser(moment, compacting, code, &why),
        }
    }

    /// Where an attempt at a summary is. The models that may summarise are a list of their own.
    fn situation(&self, moment: LoopMoment, stage: AttemptStage) -> AttemptSituation {
        AttemptSituation {
            stage,
            has_shown: false,
            has_spare_key: self.spare_keys > 0,
            has_fallback: false,
            asks_on_refusal: false,
            now: moment.unix,
            chance: moment.chance,
        }
    }

    /// The entry that an answer becomes. The error says why it is no summary of this conversation.
    fn summary_entry(&self, compacting: &mut Compacting, answer: &str) -> Result<LogEntry, String> {
        let limit = self.size_limit();
        let summary = read_summary(answer, LONGEST_SUMMARY.min(limit / SUMMARY_PART).max(256))?;
        let recall = self.setup.head.tools.iter().any(|tool| tool.name == RECALL).then_some(RECALL);
        let composed = compose(&self.log, &compacting.plan, summary, (compacting.left_out, recall), limit);
        let CompactionPlan { before, after, messages, .. } = &compacting.plan;
        let item = LogItem::Summary { text: composed.text, before: before.clone(), after: after.clone() };
        let entry = LogEntry::own(self.next_seq, item);
        let before = entries_tokens(in_force(&self.log));
        let kept = self.log.iter().filter(|entry| compacting.plan.keeps(entry.seq));
        let after = entries_tokens(kept.chain([&entry]));
        if after >= before {
            return Err("with its summary the conversation would not be shorter".to_owned());
        }
        compacting.facts.after = Some(head_tokens(&self.setup.head).saturating_add(after));
        compacting.facts.kept = Some(KeptContext {
            messages: *messages,
            words: composed.words,
            plan: composed.has_plan,
            left_out: compacting.left_out,
        });
        Ok(entry)
    }

    /// A new epoch of requests begins: the summary is stored with the end of its attempt.
    fn take_summary(
        &mut self,
        moment: LoopMoment,
        compacting: Box<Compacting>,
        mut ended: Box<EndedAttempt>,
        entry: LogEntry,
    ) {
        let Compacting { then, facts, item, .. } = *compacting;
        self.next_seq += 1;
        ended.entries = vec![entry.clone()];
        self.outputs.push_back(LoopOutput::End(ended));
        self.log.push(entry);
        self.renderer = renderer_of(&self.setup, &self.log);
        (self.measured, self.cooldown) = (None, facts.after);
        self.is_cooldown_estimated = true;
        let item = Item { id: item, body: ItemBody::Compaction(facts) };
        self.emit(Event::ItemCompleted { item: Box::new(item) });
        let context = facts.after.unwrap_or_default();
        self.emit(Event::UsageUpdated { turn: self.usage, context, window: self.window(), input: None });
        match then {
            AfterCompaction::Finish => self.finish(Outcome::Completed),
            AfterCompaction::Ask | AfterCompaction::Recover { .. } => {
                self.append_steering();
                self.request(moment);
            }
        }
    }

    /// Lets another model summarise, or gives up.
    fn next_summariser(
        &mut self,
        moment: LoopMoment,
        mut compacting: Box<Compacting>,
        code: FailureCode,
        why: &str,
    ) {
        compacting.troubles.push(format!("{}: {why}", compacting.setup.head.model));
        compacting.code = code;
        let configured = self.setup.compaction.as_ref().map_or(0, |compaction| compaction.summarisers.len());
        if compacting.by < configured {
            compacting.by += 1;
            compacting.repairs.clear();
            compacting.setup = self.summariser(compacting.by);
            compacting.room = self.room_of(&compacting.setup);
            compacting.shortenings = 0;
            return self.ask_for_summary(moment, compacting);
        }
        let Compacting { then, facts, item, troubles, code, .. } = *compacting;
        self.emit(Event::ItemAbandoned { item, why: None });
        let message = Compaction::failure(&troubles.join("; "));
        if let AfterCompaction::Finish = then {
            return self.fail(code, message, code.next_step(), None);
        }
        let tokens = facts.before.unwrap_or_default();
        self.append(vec![LogItem::NotCompacted { model: self.setup.head.model.clone(), tokens }]);
        (self.cooldown, self.is_cooldown_estimated) = (Some(tokens), false);
        self.emit(Event::Warning { message });
        match then {
            AfterCompaction::Recover { code, message } => {
                self.fail(code, message, NextStep::BeginAnew, None);
            }
            AfterCompaction::Ask | AfterCompaction::Finish => {
                self.append_steering();
                self.request(moment);
            }
        }
    }

    fn emit(&mut self, event: Event) {
        self.outputs.push_back(LoopOutput::Emit(event));
    }
}

impl Compacting {
    fn spend(&mut self, ended: &EndedAttempt) {
        let Usage { total, .. } = ended.tokens.usage();
        let is_first = self.facts.spent.is_none();
        self.facts.amount = match (is_first, self.facts.amount, ended.price) {
            (true, _, price) => price,
            // The price of a part is not the price.
            (false, before, price) => before.zip(price).map(|(before, price)| before.saturating_add(price)),
        };
        self.facts.spent = Some(self.facts.spent.unwrap_or_default().saturating_add(total));
    }

    fn can_leave_out(&self, name: &str) -> bool {
        let LoopSetup { profile, issuer, head, omissions, .. } = &self.setup;
        RequestRenderer::new(profile, issuer.clone(), head.clone(), omissions.clone()).can_leave_out(name)
    }
}

fn answer_text(entries: &[LogEntry]) -> String {
    let texts = entries.iter().filter_map(|entry| match &entry.item {
        LogItem::Assistant { parts, .. } => Some(plain_text(parts)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
