//! The sections `[recall]`, `[memory]` and `[delegation]`: search in earlier conversations, memory across them, and limits of
//! delegation. Read by the engine at every call of a tool.

use std::str::FromStr;

use crate::policy::UnknownName;

/// The section `[recall]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecallConfig {
    /// Which conversations a model searches. Unset: all of them, in a task that a model started only the task itself.
    pub scope: Option<RecallScope>,
}

/// The section `[delegation]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DelegationConfig {
    /// How many delegated tasks of one conversation may be unfinished at once. Unset: 3.
    pub max_children: Option<u64>,
    /// How deep tasks may delegate: 1 lets only conversations delegate. Unset: 1.
    pub max_depth: Option<u64>,
}

impl DelegationConfig {
    /// How many delegated tasks of one conversation may be unfinished at once.
    pub fn children(&self) -> u64 {
        self.max_children.unwrap_or(3)
    }

    /// How deep tasks may delegate.
    pub fn depth(&self) -> u64 {
        self.max_depth.unwrap_or(1)
    }
}

/// The section `[memory]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Whether every change of a model waits for a person. Unset: no; what looks like planted instructions always waits.
    pub write_approval: Option<bool>,
    /// How many characters of the memory a conversation starts with. Unset: 8,000.
    pub snapshot_chars: Option<u64>,
    /// Whether the tasks of a person may change the memory. Unset: no.
    pub tasks: Option<bool>,
}

/// Which conversations a model searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecallScope {
    /// The one it works in.
    Own,
    /// Those in the same project: below the same repository or directory.
    Project,
    /// Every conversation of this home.
    All,
}

impl RecallScope {
    /// Every name.
    pub const NAMES: [&'static str; 3] = ["own", "project", "all"];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Project => "project",
            Self::All => "all",
        }
    }
}

impl FromStr for RecallScope {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "own" => Ok(Self::Own),
            "project" => Ok(Self::Project),
            "all" => Ok(Self::All),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}
