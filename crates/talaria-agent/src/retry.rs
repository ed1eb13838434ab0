//! What follows an attempt that brought no answer: by class (`table`), stage and what is left of the turn's one budget.
//!
//! Pure data: a decision in, a decision out. A model request changes nothing of the user's, so it may be sent again; it
//! costs money, so the budget is one for the whole turn and not nested. The same bytes are never sent again after a
//! deterministic refusal; each known repair is made once. A wait above the limit is not slept: another key or model takes over,
//! or the turn ends and says when.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use talaria_core::backoff::Backoff;

use crate::attempt::AttemptStage;
use crate::failure::{LONGEST_WAIT, ModelFailure, WaitHint, refused_parameter};

mod table;
#[cfg(test)]
mod tests;

pub use table::{FailurePolicy, FallbackUse, KnownRepair};

/// Waits without a hint of the provider.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// How much a wait varies.
const SPREAD: f64 = 0.2;
/// Repairs of one model's requests in a turn.
const MOST_REPAIRS: usize = 4;
/// Changes of the key in a turn: a bound, because keys may recover meanwhile.
const MOST_KEYS: u32 = 16;
/// What a model may repeat after it took over from another one.
const RETRIES_AFTER_FALLBACK: u32 = 2;

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

/// Where a turn is when an attempt of it brought no answer.
#[derive(Clone, Copy, Debug)]
pub struct AttemptSituation {
    /// How far the attempt was.
    pub stage: AttemptStage,
    /// Whether people saw text of it.
    pub has_shown: bool,
    /// Whether the provider has another key that may work.
    pub has_spare_key: bool,
    /// Whether another model may be asked.
    pub has_fallback: bool,
    /// Whether the user wants another model to be asked what one refused.
    pub asks_on_refusal: bool,
    /// The time in seconds since 1970.
    pub now: i64,
    /// Between 0 and 1, for pauses that vary.
    pub chance: f64,
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
    /// Send it again at once, with another key.
    NextKey,
    /// Ask the next model of the fallback chain.
    Fallback {
        /// When the model that failed may work again, in seconds since 1970, if the provider says so.
        until: Option<i64>,
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
    keys: u32,
    repairs: Vec<RequestRepair>,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { retries: 5, shown_retries: 2, used: 0, keys: 0, repairs: Vec::new() }
    }
}

impl RetryBudget {
    /// Continues with another model: it has its own repairs, and fewer retries than the turn began with.
    pub fn change_model(&mut self) {
        self.retries = RETRIES_AFTER_FALLBACK;
        self.used = 0;
        self.repairs.clear();
    }

    /// Exchanges the repairs made so far: requests of another kind have their own.
    pub fn swap_repairs(&mut self, others: &mut Vec<RequestRepair>) {
        std::mem::swap(&mut self.repairs, others);
    }

    /// Decides what follows an attempt without an answer.
    pub fn decide(&mut self, trouble: AttemptTrouble<'_>, situation: AttemptSituation) -> RetryDecision {
        let (failure, policy) = match trouble {
            AttemptTrouble::Failed(failure) => (Some(failure), FailurePolicy::of(failure.class)),
            AttemptTrouble::Cut => (None, FailurePolicy::of_cut()),
        };
        let repair = policy.repair.zip(failure).and_then(|(repair, failure)| repair_of(repair, failure));
        if let Some(repair) = repair
            && !self.repairs.contains(&repair)
            && self.repairs.len() < MOST_REPAIRS
        {
            self.repairs.push(repair.clone());
            return RetryDecision::Retry { wait: Duration::ZERO, repair: Some(repair) };
        }
        if policy.other_key && situation.has_spare_key && self.keys < MOST_KEYS {
            self.keys += 1;
            return RetryDecision::NextKey;
        }
        let hint = failure.and_then(|failure| failure.wait);
        if policy.again
            && let Some(wait) = self.pause(hint, situation)
        {
            return RetryDecision::Retry { wait, repair: None };
        }
        let retry_at = hint.map(|hint| hint.at(situation.now));
        let may_fall_back = match policy.fallback {
            FallbackUse::Never => false,
            FallbackUse::IfWanted => situation.asks_on_refusal,
            FallbackUse::Last => true,
        };
        match may_fall_back && situation.has_fallback {
            true => RetryDecision::Fallback { until: retry_at },
            false => RetryDecision::Stop { retry_at },
        }
    }

    /// The pause before the same request is sent again; none if it is not.
    fn pause(&mut self, hint: Option<WaitHint>, situation: AttemptSituation) -> Option<Duration> {
        let AttemptSituation { stage, has_shown, now, chance, .. } = situation;
        let hinted = hint.map(|hint| match hint {
            WaitHint::After(wait) => wait,
            WaitHint::Until(at) => Duration::from_secs(u64::try_from(at.saturating_sub(now)).unwrap_or(0)),
        });
        let is_spent = self.retries == 0 || (has_shown && self.shown_retries == 0);
        if is_spent || hinted.is_some_and(|wait| wait > LONGEST_WAIT) {
            return None;
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
        Some(wait)
    }
}

/// The change of the request that helps against this failure, if there is one.
fn repair_of(repair: KnownRepair, failure: &ModelFailure) -> Option<RequestRepair> {
    match repair {
        KnownRepair::Reasoning => Some(RequestRepair::DropReasoning),
        KnownRepair::Output => Some(RequestRepair::LowerOutput),
        KnownRepair::Images => Some(RequestRepair::LeaveOutImages),
        KnownRepair::Parameter => refused_parameter(failure).map(RequestRepair::DropParameter),
    }
}
