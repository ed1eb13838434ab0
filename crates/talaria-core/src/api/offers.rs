//! The settings that a conversation in a folder would start with, and the choices, as reported by the caller's Codex.
//!
//! Nothing is guessed: a value that Codex does not report is `None`, with a note about the reason.

use serde::{Deserialize, Serialize};

use super::LocalCaller;
use crate::event::RateLimits;

/// The Codex and the folder that are asked about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookAt {
    /// What only a client on this machine knows.
    #[serde(default)]
    pub caller: LocalCaller,
    /// The folder; absolute.
    pub cwd: String,
}

/// The settings that a conversation there would start with, and the choices. No conversation is started for this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offers {
    /// The version of Codex.
    pub codex: String,
    /// Who is logged in.
    pub account: AccountInfo,
    /// The models to choose from, in Codex's order.
    pub models: Vec<ModelOffer>,
    /// Models that can be chosen although Codex does not show them.
    #[serde(default)]
    pub hidden_models: Vec<ModelOffer>,
    /// Are these all models of the provider? True for OpenAI's own; of any other provider Codex knows no list.
    #[serde(default)]
    pub lists_every_model: bool,
    /// The model that the user's configuration names.
    pub model: Option<String>,
    /// The effort that the user's configuration names.
    pub effort: Option<String>,
    /// The id of the model provider that the user's configuration names.
    pub provider: Option<String>,
    /// The sandbox that the user's configuration names, or what Codex takes where it names none.
    pub sandbox: Option<String>,
    /// Is that sandbox read-only because Codex does not know the folder, and no configuration names a sandbox?
    #[serde(default)]
    pub untrusted: bool,
    /// When Codex asks, as the user's configuration says, or as Codex does where it says nothing.
    pub approval: Option<String>,
    /// How much of the account's allowance is used.
    pub limits: Option<RateLimits>,
    /// What could not be found out, and why.
    pub notes: Vec<String>,
}

/// Who is logged in at Codex.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Account"))]
pub struct AccountInfo {
    /// A login is needed, and there is none.
    pub needed: bool,
    /// What kind of login it is: `chatgpt`, `apiKey`, …
    pub kind: Option<String>,
    /// The name of the account, where it has one.
    pub name: Option<String>,
    /// Its plan.
    pub plan: Option<String>,
}

/// A model to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelOffer {
    /// The value that selects it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Description.
    pub description: String,
    /// Its reasoning efforts, in Codex's order.
    pub efforts: Vec<EffortOffer>,
    /// How much it thinks if nothing is said.
    pub default_effort: Option<String>,
    /// Can it see images? `None` where Codex does not say.
    #[serde(default)]
    pub takes_images: Option<bool>,
    /// Is it the one that Codex takes if nothing is said?
    pub is_default: bool,
}

/// A reasoning effort of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffortOffer {
    /// The value that selects it.
    pub effort: String,
    /// Description.
    pub description: String,
}
