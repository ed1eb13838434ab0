//! What a turn does about an attempt without an answer: it repairs the request, retries, asks another model, or ends. `retry` decides.

use talaria_core::event::Event;
use talaria_core::next_step::NextStep;
use talaria_core::outcome::FailureCode;

use super::ladder::ModelChange;
use super::{EndedAttempt, LoopMoment, LoopOutput, LoopPhase, LoopSetup, LoopTurn, renderer_of};
use crate::attempt::{AttemptEnd, AttemptStage};
use crate::failure::refused_parameter;
use crate::fold::IncompleteReason;
use crate::retry::{AttemptSituation, AttemptTrouble, RequestRepair, RetryDecision};

/// What a provider is asked for at least after it refused the output limit.
const LEAST_OUTPUT: u64 = 1_024;

impl LoopTurn {
    pub(super) fn decide(
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
    pub(super) fn refusal_to_pass_on(&self, ended: &mut EndedAttempt) -> Option<String> {
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
    pub(super) fn fall_back(&mut self, moment: LoopMoment, why: String, until: Option<i64>) {
        let change = self.ladder.fall_back(why, until, moment.unix);
        self.change_model(change);
        self.budget.change_model();
        self.ask(moment);
    }

    /// Another model answers from now on: its requests are a new epoch.
    pub(super) fn change_model(&mut self, change: ModelChange) {
        self.outputs.push_back(LoopOutput::Change(change));
        self.spare_keys = 0;
        // Another model counts in its own way.
        self.measured = None;
        self.setup.take(self.ladder.route());
        self.cooldown = Self::cooldown_of(&self.setup, &self.log);
        (self.is_cooldown_estimated, self.has_recovered) = (false, false);
        self.renderer = renderer_of(&self.setup, &self.log);
    }

    /// Retries, asks another model, or ends the turn with the failure.
    pub(super) fn follow(
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
    pub(super) fn repair(&mut self, repair: RequestRepair) {
        if let RequestRepair::DropParameter(name) = &repair {
            self.ladder.learn(name);
            self.outputs.push_back(LoopOutput::Learn(name.clone()));
        }
        repair_setup(&mut self.setup, repair, self.log.last().map(|entry| entry.seq));
        self.renderer = renderer_of(&self.setup, &self.log);
    }
}

/// Leaves out what the provider refused; `last` is the last entry of the history.
pub(super) fn repair_setup(setup: &mut LoopSetup, repair: RequestRepair, last: Option<u64>) {
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
