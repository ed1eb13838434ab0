//! Memory across conversations, as data and decisions. Pure: the engine has rows and files.
//!
//! Map: an entry is a text in a scope. `draft` decides what operations change, `find` which entry a text means, `file` is the
//! form of the files that people edit, `merge` turns their edits into changes, `scan` flags texts that read like instructions,
//! `snapshot` is what a new conversation starts with. Nothing here drops a text: a removal is a change like any other.

pub mod draft;
pub mod file;
pub mod find;
pub mod merge;
pub mod scan;
pub mod snapshot;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The longest entry, in characters.
pub const LONGEST_ENTRY: usize = 4_000;

/// How much of the memory a conversation starts with, in characters, unless the configuration says otherwise.
pub const SNAPSHOT_CHARS: usize = 8_000;

/// Scope of an entry: where it is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MemoryScope {
    /// The person: preferences, style.
    User,
    /// The machine, its tools, lessons.
    Notes,
    /// One project, by its directory.
    Project(String),
}

impl MemoryScope {
    /// The words by which models and people name a scope.
    pub const NAMES: [&'static str; 3] = ["user", "notes", "project"];

    /// Its word, without the directory of a project.
    pub fn name(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Notes => "notes",
            Self::Project(_) => "project",
        }
    }

    /// Reads a word; `project` is the directory that the word `project` means here.
    pub fn named(word: &str, project: &str) -> Option<Self> {
        match word {
            "user" => Some(Self::User),
            "notes" => Some(Self::Notes),
            "project" => Some(Self::Project(project.to_owned())),
            _ => None,
        }
    }

    /// Reads the stored form, which `Display` writes.
    pub fn from_stored(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None => Self::named(text, "").filter(|scope| !matches!(scope, Self::Project(_))),
            Some(("project", directory)) => Some(Self::Project(directory.to_owned())),
            Some(_) => None,
        }
    }

    /// The file that mirrors it, below the directory of all of them.
    pub fn file(&self) -> String {
        match self {
            Self::User => "USER.md".to_owned(),
            Self::Notes => "MEMORY.md".to_owned(),
            Self::Project(directory) => {
                let name = Path::new(directory).file_name().unwrap_or_default().to_string_lossy();
                let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
                let name: String = name.chars().filter(|letter| plain(*letter)).take(40).collect();
                let name = name.trim_start_matches('.');
                let name = if name.is_empty() { "project" } else { name };
                format!("projects/{name}-{}.md", &digest(directory)[..8])
            }
        }
    }
}

impl fmt::Display for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Project(directory) => write!(f, "project:{directory}"),
            other => f.write_str(other.name()),
        }
    }
}

impl From<MemoryScope> for String {
    fn from(scope: MemoryScope) -> Self {
        scope.to_string()
    }
}

impl TryFrom<String> for MemoryScope {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::from_stored(&text).ok_or_else(|| format!("{text:?} is no scope of the memory"))
    }
}

/// One remembered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEntry {
    /// `mem-` and twelve hex digits.
    pub id: String,
    /// Its scope.
    pub scope: MemoryScope,
    /// The text, tidy: no blank ends, no line with `§` alone.
    pub text: String,
    /// The number of the revision that wrote it.
    pub revision: i64,
}

/// One change of an entry: `before` is missing if it did not exist, `after` if it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    /// The entry's id.
    pub entry: String,
    /// Its scope.
    pub scope: MemoryScope,
    /// The revision that the decision was made on; missing for a new entry.
    pub expects: Option<i64>,
    /// Its text before.
    pub before: Option<String>,
    /// Its text after.
    pub after: Option<String>,
}

/// Returns the digest of a text, in hex.
pub fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_back_and_has_a_file_of_its_own() {
        let odd = MemoryScope::Project("/home/me/..:ä b".to_owned());
        for scope in [MemoryScope::User, MemoryScope::Notes, odd.clone()] {
            assert_eq!(MemoryScope::from_stored(&scope.to_string()), Some(scope));
        }
        assert_eq!(MemoryScope::from_stored("project"), None);
        assert_eq!(MemoryScope::from_stored("other:x"), None);
        let files = ["/a/talaria", "/b/talaria", "/", "/a/..", "/a/.hidden"]
            .map(|directory| MemoryScope::Project(directory.to_owned()).file());
        for (at, file) in files.iter().enumerate() {
            assert!(!files[..at].contains(file) && file.starts_with("projects/"), "{file}");
            assert!(!file.contains("..") && !file.contains("/."), "{file}");
        }
        assert!(odd.file().starts_with("projects/b-"), "{}", odd.file());
    }
}
