//! Requests of the built-in model loop: a row for each, from the plan to an end with evidence. `talaria_agent` decides what
//! they mean.

use talaria_core::budget::BudgetCharge;
use talaria_core::ids::SessionId;

use crate::model::model_history::NewHistoryEntry;
use crate::model::words::{AttemptEnding, AttemptState, UsagePurpose, UsageSource};

/// Names an attempt within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModelAttemptKey {
    /// Our own turn, by ordinal.
    pub ordinal: i64,
    /// Counts the attempts of the turn, whatever their purpose.
    pub number: i64,
}

/// An attempt that is about to be made. To be stored before its first byte is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewModelAttempt {
    pub key: ModelAttemptKey,
    pub purpose: UsagePurpose,
    pub provider: String,
    pub asked_model: String,
    pub request_digest: String,
    pub prefix_digest: String,
}

/// Facts about an attempt that accumulate: a text that is known is kept unless a later one replaces it, and numbers never fall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelAttemptFacts {
    /// The model that answered, as the provider named it.
    pub said_model: Option<String>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    pub first_byte_ms: Option<u64>,
    pub bytes: u64,
    pub events: u64,
    /// How much of its text was shown to people.
    pub shown_chars: u64,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAttemptEnd {
    pub ending: AttemptEnding,
    pub failure_class: Option<String>,
    /// The provider's words, secrets masked.
    pub failure_text: Option<String>,
    /// Tokens, as JSON.
    pub usage: Option<String>,
    pub usage_source: UsageSource,
    /// In billionths of a dollar; `None` if the price is not known.
    pub amount: Option<u64>,
    /// The most that it can have cost, where that is not known for certain.
    pub bound: Option<BudgetCharge>,
    /// The state of the price list that the amount is from.
    pub price_as_of: Option<String>,
    pub facts: ModelAttemptFacts,
    /// What it adds to the history of the session.
    pub items: Vec<NewHistoryEntry>,
}

impl ModelAttemptEnd {
    /// An end of which nothing else is known.
    pub fn new(ending: AttemptEnding) -> Self {
        Self {
            ending,
            failure_class: None,
            failure_text: None,
            usage: None,
            usage_source: UsageSource::Unknown,
            amount: None,
            bound: None,
            price_as_of: None,
            facts: ModelAttemptFacts::default(),
            items: Vec::new(),
        }
    }
}

/// A stored attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAttemptRow {
    pub session: SessionId,
    pub key: ModelAttemptKey,
    pub purpose: UsagePurpose,
    pub provider: String,
    pub asked_model: String,
    pub request_digest: String,
    pub prefix_digest: String,
    pub state: AttemptState,
    pub facts: ModelAttemptFacts,
    /// Known from its end on.
    pub ending: Option<AttemptEnding>,
    pub failure_class: Option<String>,
    pub failure_text: Option<String>,
    /// Tokens, as JSON.
    pub usage: Option<String>,
    pub usage_source: UsageSource,
    /// In billionths of a dollar; `None` if the price is not known.
    pub amount: Option<u64>,
    pub price_as_of: Option<String>,
    /// The engine that sends it.
    pub epoch: i64,
    pub planned_at: i64,
    pub ended_at: Option<i64>,
}
