//! Composition of a conversation's prompt.

use serde::{Deserialize, Serialize};

/// Token cost of a conversation's prompt, by part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextReport {
    /// The conversation.
    pub session: String,
    /// What runs its turns: `codex_app_server` or `own_loop`.
    #[serde(default)]
    pub runtime: String,
    /// The parts that Talaria adds, as they were sent. On the built-in loop these are all parts, as the next request has them.
    pub parts: Vec<ContextPart>,
    /// The tokens of these parts, estimated; missing if the size of one is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<u64>,
    /// The input tokens of the last request to the model, as reported; missing if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<u64>,
    /// Codex's own: `reported` without `ours`. Its instructions, its tools, project files and the conversation itself. Missing on
    /// the built-in loop, where nothing is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<u64>,
    /// The size of the model's context window, if Codex knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// A part of the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextPart {
    /// `persona`, `memory`, `task` (the words for background tasks), or the name of a tool; `tools` where it was not
    /// recorded which there are. On the built-in loop also `system prompt`, `settings` (directory, sandbox, approval),
    /// `project instructions` and `history`.
    pub name: String,
    /// Its size, exactly; missing if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its tokens, estimated from the size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}
