//! Calls for the available models and the rate limits of the account.

use serde::{Deserialize, Serialize};

use crate::wire::notification::WireRateLimits;

/// Asks for the models, a page at a time.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelList {
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Also the models that Codex itself does not show in a list.
    pub include_hidden: bool,
}

/// A page of models.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelListReply {
    /// The models, in Codex's order.
    pub data: Vec<WireModel>,
    /// Where this page ended, if it was not the last.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// A model.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireModel {
    /// The value that selects it.
    pub model: String,
    /// Its name for people.
    #[serde(default)]
    pub display_name: String,
    /// Description.
    #[serde(default)]
    pub description: String,
    /// Whether Codex itself would not show it in a list.
    #[serde(default)]
    pub hidden: bool,
    /// Its reasoning efforts.
    #[serde(default)]
    pub supported_reasoning_efforts: Vec<WireEffort>,
    /// How much it thinks if nothing is said.
    #[serde(default)]
    pub default_reasoning_effort: Option<String>,
    /// Its input types: `text`, `image`, … `None` if Codex does not report them.
    #[serde(default)]
    pub input_modalities: Option<Vec<String>>,
    /// Is it the one that Codex takes if nothing is said?
    #[serde(default)]
    pub is_default: bool,
}

/// A reasoning effort of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireEffort {
    /// The value that selects it.
    pub reasoning_effort: String,
    /// Description.
    #[serde(default)]
    pub description: String,
}

/// Asks how much of the account's allowance is used. It has no parameters, and this writes none.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RateLimitsRead;

/// How much of the account's allowance is used.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitsReadReply {
    pub rate_limits: WireRateLimits,
}
