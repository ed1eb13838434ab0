//! An entry of `[mcp_servers]` in Codex's own words.
//!
//! The names of the fields are those of Codex's configuration; both supported versions know every one of them. What is
//! not set is left out. Codex refuses a whole configuration for one key that does not belong to the transport, so only
//! the translation makes these.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// What Codex reads of one server.
#[derive(Clone, Default, PartialEq, Serialize)]
pub struct CodexServer {
    /// The program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Where it is started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The variable with the token of `Authorization: Bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env_var: Option<String>,
    /// Whether it is started; none means yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How long its start may take, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds")]
    pub startup_timeout_sec: Option<Duration>,
    /// How long a tool may take, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds")]
    pub tool_timeout_sec: Option<Duration>,
    /// Whether several of its tools may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_parallel_tool_calls: Option<bool>,
    /// The tools that are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_tools: Option<Vec<String>>,
    /// The tools that are not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_tools: Option<Vec<String>>,
    /// Variables of Codex's own environment that the program gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_vars: Vec<String>,
    /// Variables with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Headers with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub http_headers: BTreeMap<String, String>,
    /// Headers with the variables that hold their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env_http_headers: BTreeMap<String, String>,
}

impl CodexServer {
    /// The same as a TOML table; variables and headers become inline tables.
    pub fn to_table(&self) -> Result<toml_edit::Table, toml_edit::ser::Error> {
        let mut table = std::mem::take(toml_edit::ser::to_document(self)?.as_table_mut());
        table.set_implicit(false);
        Ok(table)
    }
}

// The values are the user's secrets as often as not.
impl fmt::Debug for CodexServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.command.is_some() { "stdio" } else { "streamable HTTP" };
        write!(f, "CodexServer({kind})")
    }
}

/// Whole seconds are written without a point, as people do.
#[expect(clippy::ref_option, reason = "serde hands the field over by reference")]
fn seconds<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) if time.subsec_nanos() == 0 => to.serialize_u64(time.as_secs()),
        Some(time) => to.serialize_f64(time.as_secs_f64()),
        None => to.serialize_none(),
    }
}
