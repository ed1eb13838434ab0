//! The additional permissions of a wider sandbox, as text for people.
//!
//! Granted permissions are returned to Codex unchanged; this module displays them. Unknown permissions are listed
//! unchanged, never left out.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A wider sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Permissions {
    /// Would the network be reachable?
    pub network: bool,
    /// Which files and directories would be, and how.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathAccess>,
    /// Unknown permissions, unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl Permissions {
    /// Is nothing asked for?
    pub fn is_empty(&self) -> bool {
        !self.network && self.files.is_empty() && self.unknown.is_empty()
    }

    /// The permissions, one line each.
    pub fn lines(&self) -> Vec<String> {
        let network = self.network.then(|| "may use the network".to_owned());
        let files = self.files.iter().map(ToString::to_string);
        let unknown =
            self.unknown.iter().map(|raw| format!("something that this version does not know: {raw}"));
        network.into_iter().chain(files).chain(unknown).collect()
    }
}

/// Access to a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathAccess {
    /// How.
    pub access: FileAccess,
    /// Where.
    #[serde(flatten)]
    pub place: PermissionPlace,
}

/// File permissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileAccess {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
    /// Neither: 0.166 calls it `deny`, 0.130 `none`.
    Deny,
}

/// A place in the file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PermissionPlace {
    /// A file or directory.
    Path(String),
    /// Whatever fits a pattern.
    Pattern(String),
    /// A place that Codex has a word for.
    Special(String),
}

impl fmt::Display for PathAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.access {
            FileAccess::Read => "may read",
            FileAccess::Write => "may read and write",
            FileAccess::Deny => "may not touch",
        };
        match &self.place {
            PermissionPlace::Path(path) => write!(f, "{verb} {path}"),
            PermissionPlace::Pattern(pattern) => write!(f, "{verb} whatever fits {pattern}"),
            PermissionPlace::Special(word) => write!(f, "{verb} {word}"),
        }
    }
}
