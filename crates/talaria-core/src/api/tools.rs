//! Calls of Talaria's tools that do not come from a turn, as `talaria mcp` passes them on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call of a tool from outside of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
    /// The thread that the client says it works for. Believed only if its process descends from the host of that thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

/// Result of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideResult {
    /// One text, with secrets masked.
    pub text: String,
    /// Did the tool not work, or not for certain? The text says why.
    pub is_error: bool,
}
