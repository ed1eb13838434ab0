//! An entry of `[mcp_servers]` in Codex's own words.
//!
//! The names of the fields are those of Codex's configuration; both supported versions accept all of them. Unset fields
//! are left out. Codex refuses a whole configuration for one key that does not belong to the transport, so only the
//! translation and the entry of Talaria's own tools make these. [`CodexServer::fields`] is the one list of the names;
//! JSON, TOML and digests are derived from it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// The fields of one server for Codex.
#[derive(Clone, Default, PartialEq)]
pub struct CodexServer {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it is started.
    pub cwd: Option<String>,
    /// The address.
    pub url: Option<String>,
    /// The variable with the token of `Authorization: Bearer`.
    pub bearer_token_env_var: Option<String>,
    /// Whether it is started; none means yes.
    pub enabled: Option<bool>,
    /// How long its start may take, in seconds.
    pub startup_timeout_sec: Option<Duration>,
    /// How long a tool may take, in seconds.
    pub tool_timeout_sec: Option<Duration>,
    /// Whether several of its tools may run at once.
    pub supports_parallel_tool_calls: Option<bool>,
    /// The tools that are offered.
    pub enabled_tools: Option<Vec<String>>,
    /// The tools that are not offered.
    pub disabled_tools: Option<Vec<String>>,
    /// Variables of Codex's own environment that the program gets.
    pub env_vars: Vec<String>,
    /// Variables with their values.
    pub env: BTreeMap<String, String>,
    /// Headers with their values.
    pub http_headers: BTreeMap<String, String>,
    /// Headers with the variables that contain their values.
    pub env_http_headers: BTreeMap<String, String>,
}

/// The value of one key.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum ServerField<'a> {
    /// A string.
    Text(&'a str),
    /// A boolean.
    Is(bool),
    /// An integer.
    Whole(i64),
    /// A float.
    Real(f64),
    /// An array of strings.
    List(&'a [String]),
    /// A table of strings.
    Named(&'a BTreeMap<String, String>),
}

impl CodexServer {
    /// The keys that are set, in the order in which they are written.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, ServerField<'_>)> {
        let fields = [
            ("command", self.command.as_deref().map(ServerField::Text)),
            ("args", list(&self.args)),
            ("cwd", self.cwd.as_deref().map(ServerField::Text)),
            ("url", self.url.as_deref().map(ServerField::Text)),
            ("bearer_token_env_var", self.bearer_token_env_var.as_deref().map(ServerField::Text)),
            ("enabled", self.enabled.map(ServerField::Is)),
            ("startup_timeout_sec", self.startup_timeout_sec.map(seconds)),
            ("tool_timeout_sec", self.tool_timeout_sec.map(seconds)),
            ("supports_parallel_tool_calls", self.supports_parallel_tool_calls.map(ServerField::Is)),
            ("enabled_tools", self.enabled_tools.as_deref().map(ServerField::List)),
            ("disabled_tools", self.disabled_tools.as_deref().map(ServerField::List)),
            ("env_vars", list(&self.env_vars)),
            ("env", named(&self.env)),
            ("http_headers", named(&self.http_headers)),
            ("env_http_headers", named(&self.env_http_headers)),
        ];
        fields.into_iter().filter_map(|(name, field)| Some((name, field?)))
    }
}

impl Serialize for CodexServer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.fields())
    }
}

// The values are the user's secrets as often as not.
impl fmt::Debug for CodexServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.command.is_some() { "stdio" } else { "streamable HTTP" };
        write!(f, "CodexServer({kind})")
    }
}

fn list(values: &[String]) -> Option<ServerField<'_>> {
    (!values.is_empty()).then_some(ServerField::List(values))
}

fn named(values: &BTreeMap<String, String>) -> Option<ServerField<'_>> {
    (!values.is_empty()).then_some(ServerField::Named(values))
}

/// Whole seconds are written without a point, as people do.
fn seconds(time: Duration) -> ServerField<'static> {
    match i64::try_from(time.as_secs()) {
        Ok(whole) if time.subsec_nanos() == 0 => ServerField::Whole(whole),
        _ => ServerField::Real(time.as_secs_f64()),
    }
}
