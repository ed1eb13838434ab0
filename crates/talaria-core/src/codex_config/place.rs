//! Where an entry stands in Codex's configuration: the three kinds of places that Talaria ever writes to.
//!
//! A place is what the record of a migration keeps, so its form in JSON (a list of names) must stay readable.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::write;

/// The tables whose entries are ours to add.
pub(super) const TABLES: [&str; 2] = ["mcp_servers", "plugins"];
/// The one top-level key that is ours to add.
pub(super) const DEFAULT_PERMISSIONS: &str = "default_permissions";

/// The path of an entry, from the outermost table to its name. Shown as TOML writes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(Vec<String>);

impl Place {
    /// The place of an MCP server.
    pub fn server(name: &str) -> Self {
        Self(vec![TABLES[0].to_owned(), name.to_owned()])
    }

    /// The place of a plugin, `name@marketplace`.
    pub fn plugin(name: &str) -> Self {
        Self(vec![TABLES[1].to_owned(), name.to_owned()])
    }

    /// The place of the permission default.
    pub fn default_permissions() -> Self {
        Self(vec![DEFAULT_PERMISSIONS.to_owned()])
    }

    /// The names, from the outermost.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The place of the entry to which a full path belongs, if it belongs to one that could be ours.
    pub(super) fn of(path: &[String]) -> Option<Self> {
        match path {
            [first, ..] if first == DEFAULT_PERMISSIONS => Some(Self::default_permissions()),
            [first, name, ..] if TABLES.contains(&first.as_str()) => {
                Some(Self(vec![first.clone(), name.clone()]))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = String::new();
        for (number, part) in self.0.iter().enumerate() {
            if number > 0 {
                shown.push('.');
            }
            write::key(&mut shown, part);
        }
        f.write_str(&shown)
    }
}
