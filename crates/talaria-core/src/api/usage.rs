//! What models cost, added up by day, model or conversation.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// What costs are added up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// The day, in UTC.
    #[default]
    Day,
    /// The model that answered.
    Model,
    /// The conversation.
    Session,
}

/// Which costs are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UsageQuery {
    /// What they are added up by.
    pub by: UsageBy,
    /// Today and this many days before it, less one.
    pub days: u32,
}

impl Default for UsageQuery {
    fn default() -> Self {
        Self { by: UsageBy::Day, days: 30 }
    }
}

/// Costs that were added up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageSum {
    /// The day (`2026-01-31`), the model, or the id of the conversation. The model is the one that answered, as its provider
    /// names it, or the one that was asked where none answered; null where neither is known.
    pub key: Option<String>,
    /// The title of the conversation, if it still exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many there were: on Codex turns, and questions beside them; on the built-in loop requests to a model, repeated ones
    /// included.
    pub requests: u64,
    /// For how many of them no tokens were reported. What they cost is not known.
    pub unreported: u64,
    /// For how many of them the provider reported no tokens, so that they were estimated from bytes.
    #[serde(default)]
    pub estimated: u64,
    /// Models that were asked for where another one answered.
    #[serde(default)]
    pub asked: Vec<String>,
    /// The price of those whose price is known, in billionths of a dollar; null if none is known.
    #[serde(default)]
    pub amount: Option<u64>,
    /// For how many of them no price is known, as on Codex. If there are some, `amount` is a lower bound.
    #[serde(default)]
    pub unpriced: u64,
    /// The tokens that were reported.
    pub usage: Usage,
    /// When the latest of them ended.
    pub last_at: Timestamp,
}
