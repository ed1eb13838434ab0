//! What models cost: a row for each turn on Codex and each question beside one, and for each request of the built-in loop. The
//! rows of the loop are written by the end of their attempts.

use talaria_core::api::UsageBy;
use talaria_core::event::Usage;

use crate::model::words::UsagePurpose;

/// A cost to be recorded. One with a name that the session has already changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewModelUsage {
    /// Names what it was for within the session.
    pub name: String,
    pub purpose: UsagePurpose,
    /// The model that answered, if that is known.
    pub model: Option<String>,
    pub usage: Usage,
}

/// Which costs are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageFilter {
    pub by: UsageBy,
    /// Only costs from this time on.
    pub since: i64,
}

/// Costs that were added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSumRow {
    /// The day, in days since 1970, the model, or the session; none where the model is not known. Where no model answered, the one
    /// that was asked counts.
    pub key: Option<String>,
    /// How many turns and questions.
    pub requests: i64,
    /// How many of them have no reported tokens.
    pub unreported: i64,
    /// How many of them have tokens that were estimated here.
    pub estimated: i64,
    /// Models that were asked for and are not the ones that answered.
    pub asked: Vec<String>,
    /// In billionths of a dollar, of those with a known price; none if none has one.
    pub amount: Option<u64>,
    /// How many of them have no known price.
    pub unpriced: i64,
    pub usage: Usage,
    /// The latest of them.
    pub last_at: i64,
}
