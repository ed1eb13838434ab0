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
    /// The day (`2026-01-31`), the model, or the id of the conversation; null where it is not known which model answered.
    pub key: Option<String>,
    /// The title of the conversation, if it still exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many turns, and questions beside them, there were.
    pub requests: u64,
    /// For how many of them no tokens were reported. What they cost is not known.
    pub unreported: u64,
    /// The tokens that were reported.
    pub usage: Usage,
    /// When the latest of them ended.
    pub last_at: Timestamp,
}
