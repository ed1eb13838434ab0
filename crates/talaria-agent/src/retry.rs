//! What follows an attempt that brought no answer: by class, stage and what is left of the turn's one budget.
//!
//! Pure data: a decision in, a decision out. A model request changes nothing of the user's, so it may be sent again; it
//! costs money, so the budget is one for the whole turn and not nested. The same bytes are never sent again after a
//! deterministic refusal; each known repair is made once. A wait above the limit is not slept: the turn ends and says when.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use talaria_core::backoff::Backoff;

use crate::attempt::AttemptStage;
use crate::failure::{FailureClass, LONGEST_WAIT, ModelFailure, WaitHint, refused_parameter};

/// Waits without a hint of the provider.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// How much a wait varies.
const SPREAD: f64 = 0.2;

/// A change of a request before it is sent again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestRepair {
    /// Replayed reasoning is left out.
    DropReasoning,
    /// This member of the body is left out.
    DropParameter(String),
    /// Less output is asked for.
    LowerOutput,
    /// Images are left out.
    LeaveOutImages,
}

impl std::fmt::Display for RequestRepair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DropReasoning => f.write_str("without the reasoning of earlier answers"),
            Self::DropParameter(name) => write!(f, "without the parameter {name}"),
            Self::LowerOutput => f.write_str("with a lower output limit"),
            Self::LeaveOutImages => f.write_str("without images"),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug)]
pub enum AttemptTrouble<'a> {
    /// The provider or the transport said so.
    Failed(&'a ModelFailure),
    /// The answer stopped without the provider's word.
    Cut,
}

/// What follows.
#[derive(Clone, Debug, PartialEq)]
pub enum RetryDecision {
    /// Send it again.
    Retry {
        /// After this time.
        wait: Duration,
        /// With this change.
        repair: Option<RequestRepair>,
    },
    /// The turn ends with this failure.
    Stop {
        /// When it may work again, in seconds since 1970, if the provider says so.
        retry_at: Option<i64>,
    },
}

/// What a turn may still try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryBudget {
    /// Attempts that may still be repeated.
    pub retries: u32,
    /// Attempts that may still be repeated although text of them was shown.
    pub shown_retries: u32,
    used: u32,
    repairs: Vec<RequestRepair>,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { retries: 5, shown_retries: 2, used: 0, repairs: Vec::new() }
    }
}

impl RetryBudget {
    /// Decides what follows an attempt without an answer. `stage` is how far it was, `has_shown` whether people saw text of
    /// it, `now` the time in seconds since 1970, `chance` between 0 and 1.
    pub fn decide(
        &mut self,
        trouble: AttemptTrouble<'_>,
        stage: AttemptStage,
        has_shown: bool,
        now: i64,
        chance: f64,
    ) -> RetryDecision {
        let failure = match trouble {
            AttemptTrouble::Failed(failure) => Some(failure),
            AttemptTrouble::Cut => None,
        };
        if let Some(repair) = failure.and_then(repair_of) {
            if self.repairs.contains(&repair) || self.repairs.len() >= 4 {
                return RetryDecision::Stop { retry_at: None };
            }
            self.repairs.push(repair.clone());
            return RetryDecision::Retry { wait: Duration::ZERO, repair: Some(repair) };
        }
        let hint = failure.and_then(|failure| failure.wait);
        let retry_at = hint.map(|hint| match hint {
            WaitHint::Until(at) => at,
            WaitHint::After(wait) => now.saturating_add(i64::try_from(wait.as_secs()).unwrap_or(i64::MAX)),
        });
        let hinted = hint.map(|hint| match hint {
            WaitHint::After(wait) => wait,
            WaitHint::Until(at) => Duration::from_secs(u64::try_from(at.saturating_sub(now)).unwrap_or(0)),
        });
        let is_repeatable = failure.is_none_or(|failure| is_passing(failure.class));
        let is_spent = self.retries == 0 || (has_shown && self.shown_retries == 0);
        if !is_repeatable || is_spent || hinted.is_some_and(|wait| wait > LONGEST_WAIT) {
            return RetryDecision::Stop { retry_at };
        }
        self.retries -= 1;
        self.shown_retries -= u32::from(has_shown);
        let wait = match hinted {
            // Never earlier than asked.
            Some(wait) => wait + wait.mul_f64(SPREAD * chance.clamp(0.0, 1.0)),
            None if self.used == 0 && stage < AttemptStage::Sent => Duration::ZERO,
            None => BACKOFF.spread_pause(self.used, SPREAD, chance),
        };
        self.used += 1;
        RetryDecision::Retry { wait, repair: None }
    }
}

/// Does it pass by itself?
fn is_passing(class: FailureClass) -> bool {
    match class {
        FailureClass::RateLimit
        | FailureClass::Overloaded
        | FailureClass::Server
        | FailureClass::Transport => true,
        FailureClass::Auth
        | FailureClass::Entitlement
        | FailureClass::Quota
        | FailureClass::ContextTooLong
        | FailureClass::OutputLimit
        | FailureClass::Image
        | FailureClass::InvalidRequest
        | FailureClass::ReasoningRefused
        | FailureClass::ContentFilter
        | FailureClass::ModelGone
        | FailureClass::Certificate => false,
    }
}

fn repair_of(failure: &ModelFailure) -> Option<RequestRepair> {
    match failure.class {
        FailureClass::ReasoningRefused => Some(RequestRepair::DropReasoning),
        FailureClass::OutputLimit => Some(RequestRepair::LowerOutput),
        FailureClass::Image => Some(RequestRepair::LeaveOutImages),
        FailureClass::InvalidRequest => refused_parameter(failure).map(RequestRepair::DropParameter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::classify_response;

    const NOW: i64 = 1_000;

    fn failed(class: FailureClass) -> ModelFailure {
        ModelFailure::transport(class, "x")
    }

    fn decide(budget: &mut RetryBudget, failure: &ModelFailure, has_shown: bool) -> RetryDecision {
        budget.decide(AttemptTrouble::Failed(failure), AttemptStage::Accepted, has_shown, NOW, 0.5)
    }

    #[test]
    fn only_what_passes_by_itself_is_sent_again_as_it_was() {
        for class in FailureClass::ALL {
            let decision = decide(&mut RetryBudget::default(), &failed(class), false);
            let is_retried = matches!(decision, RetryDecision::Retry { repair: None, .. });
            let passes = [
                FailureClass::RateLimit,
                FailureClass::Overloaded,
                FailureClass::Server,
                FailureClass::Transport,
            ];
            assert_eq!(is_retried, passes.contains(&class), "{class}: {decision:?}");
        }
    }

    #[test]
    fn the_budget_is_one_for_the_turn_and_smaller_for_text_that_was_shown() {
        let count = |has_shown| {
            let mut budget = RetryBudget::default();
            let mut cut = || budget.decide(AttemptTrouble::Cut, AttemptStage::Speaking, has_shown, NOW, 0.5);
            (0..20).filter(|_| matches!(cut(), RetryDecision::Retry { .. })).count()
        };
        assert_eq!((count(false), count(true)), (5, 2));
    }

    #[test]
    fn waits_grow_obey_hints_and_are_never_slept_when_they_are_long() {
        let mut budget = RetryBudget::default();
        let mut waits = Vec::new();
        while let RetryDecision::Retry { wait, .. } =
            budget.decide(AttemptTrouble::Cut, AttemptStage::Speaking, false, NOW, 0.5)
        {
            waits.push(wait.as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16]);
        let hinted = |wait| ModelFailure { wait: Some(wait), ..failed(FailureClass::RateLimit) };
        let after = |seconds| hinted(WaitHint::After(Duration::from_secs(seconds)));
        match decide(&mut RetryBudget::default(), &after(10), false) {
            RetryDecision::Retry { wait, .. } => {
                assert!(wait >= Duration::from_secs(10) && wait <= Duration::from_secs(12));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            decide(&mut RetryBudget::default(), &after(121), false),
            RetryDecision::Stop { retry_at: Some(NOW + 121) }
        );
        let until = hinted(WaitHint::Until(NOW + 9_000));
        assert_eq!(
            decide(&mut RetryBudget::default(), &until, false),
            RetryDecision::Stop { retry_at: Some(NOW + 9_000) }
        );
        let unsent = failed(FailureClass::Transport);
        let at_once = RetryBudget::default().decide(
            AttemptTrouble::Failed(&unsent),
            AttemptStage::Connecting,
            false,
            NOW,
            0.5,
        );
        assert_eq!(at_once, RetryDecision::Retry { wait: Duration::ZERO, repair: None });
    }

    #[test]
    fn each_repair_is_made_once() {
        let body = r#"{"error":{"message":"Unknown parameter: 'store'","code":"unknown_parameter","param":"store"}}"#;
        let unknown = classify_response(400, &[], body.as_bytes());
        let cases = [
            (failed(FailureClass::ReasoningRefused), RequestRepair::DropReasoning),
            (failed(FailureClass::OutputLimit), RequestRepair::LowerOutput),
            (failed(FailureClass::Image), RequestRepair::LeaveOutImages),
            (unknown, RequestRepair::DropParameter("store".to_owned())),
        ];
        let mut budget = RetryBudget::default();
        for (failure, repair) in &cases {
            let expected = RetryDecision::Retry { wait: Duration::ZERO, repair: Some(repair.clone()) };
            assert_eq!(decide(&mut budget, failure, false), expected);
        }
        for (failure, _) in &cases {
            assert_eq!(
                decide(&mut budget, failure, false),
                RetryDecision::Stop { retry_at: None },
                "{failure:?}"
            );
        }
        assert_eq!(budget.retries, 5, "a repair is no retry of the same bytes");
    }
}
