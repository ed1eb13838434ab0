//! The MCP servers of `[mcp_servers.NAME]`, and their translation for Codex.
//!
//! `Server` is what the configuration reader makes of one entry, with the reference's key names already resolved;
//! [`translate`] converts it to Codex's keys. Reads no file and no environment: a reference to a variable stays a
//! reference. A server with one wrong key is not started at all, because a partial one would be a different
//! server. Called by the engine for every conversation, by `migrate` and by `doctor`.

mod codex;
mod given;
mod names;
mod secret;
mod translate;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use codex::CodexServer;
pub use codex::ServerField;
pub use given::ValueSource;
pub use given::reference;
pub(crate) use names::is_header_name;
pub use names::{is_server_name, is_variable_name, variable_for};
pub use secret::{holds_secret, looks_secret};
pub use translate::{Literals, Referred, Translated, translate};

/// One entry of `[mcp_servers]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name, which becomes part of the tool names in Codex.
    pub name: String,
    /// Its transport; none if that could not be read, with the reason in `wrong`.
    pub transport: Option<Transport>,
    /// How long a tool of it may take.
    pub timeout: Option<Duration>,
    /// How long it may take to start.
    pub connect_timeout: Option<Duration>,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Which of its tools are offered.
    pub tools: Offered,
    /// Whether several of its tools may run at once.
    pub parallel: Option<bool>,
    /// Keys that have no effect, and why.
    pub unused: Vec<Skipped>,
    /// Why it cannot be used, one line per key.
    pub wrong: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that is started and talks over its standard streams.
    Stdio {
        /// The program; a leading `~` included until [`Server::at_home`].
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: BTreeMap<String, ValueSource>,
        /// Where it is started.
        cwd: Option<String>,
    },
    /// An address that speaks streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, ValueSource>,
    },
}

// Arguments and addresses can contain secrets, and a failed assertion prints a configuration.
impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", env)
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &talaria_guard::redact::redact(url))
                .field("headers", headers)
                .finish(),
        }
    }
}

/// Which tools of a server are offered to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Offered {
    /// Every one.
    #[default]
    All,
    /// These.
    Only(Vec<String>),
    /// Every one but these.
    Without(Vec<String>),
}

/// A key that has no effect.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// The key, as it is written below the server's name.
    pub key: String,
    /// Why.
    pub why: String,
}

impl Server {
    /// The variables of the environment that it refers to.
    pub fn variables(&self) -> BTreeSet<&str> {
        let given = match &self.transport {
            Some(Transport::Stdio { env: given, .. } | Transport::Http { headers: given, .. }) => given,
            None => return BTreeSet::new(),
        };
        given.values().filter_map(ValueSource::variable).collect()
    }

    /// Replaces a leading `~` of the program and its directory by `home`; Codex does not expand it.
    pub fn at_home(&mut self, home: &str) {
        let Some(Transport::Stdio { command, cwd, .. }) = &mut self.transport else { return };
        for path in std::iter::once(command).chain(cwd) {
            if path == "~" || path.starts_with("~/") {
                path.replace_range(..1, home.trim_end_matches('/'));
            }
        }
    }
}
