//! The decision table: what is tried against each class of failure. Data alone; `RetryBudget::decide` applies it in the order of
//! the fields.
//!
//! A request that is malformed or too long is never sent to another model: it would fail there as well, or lose what it is about.

use crate::failure::FailureClass;

/// A change of the request that is known to help. Each is made once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownRepair {
    /// Replayed reasoning is left out.
    Reasoning,
    /// The parameter that the provider names is left out.
    Parameter,
    /// Less output is asked for.
    Output,
    /// Images are left out.
    Images,
}

/// Whether the next model of the fallback chain is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackUse {
    /// Never.
    Never,
    /// If the user wants it for refusals.
    IfWanted,
    /// When nothing else is left.
    Last,
}

/// The remedies for a class of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailurePolicy {
    /// A repair, first and once.
    pub repair: Option<KnownRepair>,
    /// Another key of the same provider, at once.
    pub other_key: bool,
    /// The same request after a pause, within the budget of the turn.
    pub again: bool,
    /// The next model of the fallback chain.
    pub fallback: FallbackUse,
}

/// Nothing helps: the turn ends with the failure.
const STOP: FailurePolicy =
    FailurePolicy { repair: None, other_key: false, again: false, fallback: FallbackUse::Never };
/// It concerns the key or its account.
const KEY: FailurePolicy = FailurePolicy { other_key: true, fallback: FallbackUse::Last, ..STOP };
/// It passes by itself.
const PASSING: FailurePolicy = FailurePolicy { again: true, fallback: FallbackUse::Last, ..STOP };

impl FailurePolicy {
    /// The row of a class.
    pub fn of(class: FailureClass) -> Self {
        let repair = |repair| Self { repair: Some(repair), ..STOP };
        match class {
            FailureClass::Auth | FailureClass::Quota => KEY,
            FailureClass::RateLimit => Self { again: true, ..KEY },
            FailureClass::Overloaded | FailureClass::Server | FailureClass::Transport => PASSING,
            // The key is good: another one of the same user would only be refused as well.
            FailureClass::Entitlement | FailureClass::ModelGone => {
                Self { fallback: FallbackUse::Last, ..STOP }
            }
            FailureClass::ContentFilter => Self { fallback: FallbackUse::IfWanted, ..STOP },
            FailureClass::ReasoningRefused => repair(KnownRepair::Reasoning),
            FailureClass::OutputLimit => repair(KnownRepair::Output),
            FailureClass::Image => repair(KnownRepair::Images),
            FailureClass::InvalidRequest => repair(KnownRepair::Parameter),
            // It is made to fit before it is sent, or not at all.
            FailureClass::ContextTooLong | FailureClass::Certificate => STOP,
        }
    }

    /// The row of an answer that stopped without the provider's word.
    pub fn of_cut() -> Self {
        PASSING
    }
}
