//! Where an entry is in Codex's configuration: the three kinds of places that Talaria ever writes to.
//!
//! A place is what the record of a migration keeps, so its form in JSON (a list of names) must stay readable.

use std::fmt;

use serde::{Deserialize, Serialize};

use talaria_core::toml_write::push_key;

const SERVERS: &str = "mcp_servers";
const PLUGINS: &str = "plugins";
const PERMISSIONS: &str = "default_permissions";
/// Keys of a server's table, in any version of Codex.
const SERVER_KEYS: &[&str] = &[
    "args",
    "auth",
    "bearer_token",
    "bearer_token_env_var",
    "command",
    "cwd",
    "default_tools_approval_mode",
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "env",
    "env_http_headers",
    "env_vars",
    "environment_id",
    "experimental_environment",
    "http_headers",
    "name",
    "oauth",
    "oauth_resource",
    "omit_tools_from",
    "required",
    "scopes",
    "startup_readiness",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "supports_parallel_tool_calls",
    "tool_input_schema_max_bytes",
    "tool_timeout_sec",
    "tools",
    "url",
];
/// Keys of a plugin's table.
const PLUGIN_KEYS: &[&str] = &["enabled", "mcp_servers"];
/// The tables whose entries are ours to add.
pub(super) const TABLES: [&str; 2] = [SERVERS, PLUGINS];

/// The place of an entry. Shown as TOML writes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub enum EntryPlace {
    /// The permission default, a key of the top level.
    DefaultPermissions,
    /// An MCP server, by name.
    Server(String),
    /// A plugin, `name@marketplace`.
    Plugin(String),
}

/// A list of names that is no place.
#[derive(Debug, thiserror::Error)]
#[error("nothing of ours is ever written to {0:?}")]
pub struct NoPlace(Vec<String>);

impl EntryPlace {
    /// The table in which it is, or the key that it is.
    pub fn table(&self) -> &'static str {
        match self {
            Self::DefaultPermissions => PERMISSIONS,
            Self::Server(_) => SERVERS,
            Self::Plugin(_) => PLUGINS,
        }
    }

    /// Its name in the table; none for a key of the top level.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::DefaultPermissions => None,
            Self::Server(name) | Self::Plugin(name) => Some(name),
        }
    }

    /// Returns whether Codex knows this key in an entry of this kind.
    pub(super) fn has_key(&self, key: &str) -> bool {
        match self {
            Self::DefaultPermissions => false,
            Self::Server(_) => SERVER_KEYS.contains(&key),
            Self::Plugin(_) => PLUGIN_KEYS.contains(&key),
        }
    }

    /// The place of the entry to which a full path belongs, if it belongs to one that could be ours.
    pub(super) fn of<'p>(mut path: impl Iterator<Item = &'p str>) -> Option<Self> {
        match path.next()? {
            PERMISSIONS => Some(Self::DefaultPermissions),
            SERVERS => path.next().map(|name| Self::Server(name.to_owned())),
            PLUGINS => path.next().map(|name| Self::Plugin(name.to_owned())),
            _ => None,
        }
    }

    /// Returns whether our entries can be in, or be, the top-level item with this name.
    pub(super) fn is_known(first: &str) -> bool {
        first == PERMISSIONS || TABLES.contains(&first)
    }

    /// Writes it as TOML does.
    pub(super) fn write(&self, out: &mut String) {
        out.push_str(self.table());
        if let Some(name) = self.name() {
            out.push('.');
            push_key(out, name);
        }
    }
}

impl fmt::Display for EntryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = String::new();
        self.write(&mut shown);
        f.write_str(&shown)
    }
}

impl From<EntryPlace> for Vec<String> {
    fn from(place: EntryPlace) -> Self {
        [Some(place.table()), place.name()].into_iter().flatten().map(str::to_owned).collect()
    }
}

impl TryFrom<Vec<String>> for EntryPlace {
    type Error = NoPlace;

    fn try_from(path: Vec<String>) -> Result<Self, NoPlace> {
        let place = Self::of(path.iter().map(String::as_str));
        place.filter(|place| Vec::from(place.clone()) == path).ok_or(NoPlace(path))
    }
}
