//! Importing what other agents remember, and undoing that. The command reads their files; the engine decides what is new.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ImportHow;

/// An agent whose memory is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AgentProgram {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
}

impl AgentProgram {
    /// Its name in commands and origins.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }
}

impl fmt::Display for AgentProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
        })
    }
}

/// The memory of another agent, to be imported, or an import to be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryImport {
    /// Whose memory it is.
    pub program: AgentProgram,
    /// Whether to import, to undo, or to preview either.
    #[serde(default)]
    pub how: ImportHow,
    /// The files; none for an undo.
    #[serde(default)]
    pub files: Vec<MemoryImportFile>,
}

/// One file of another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryImportFile {
    /// Its path, relative to the agent's home.
    pub name: String,
    /// `user`, `notes` or `project:DIRECTORY`.
    pub scope: String,
    /// Its text, divided into entries.
    pub texts: Vec<String>,
}

/// What became, or would become, of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryImported {
    /// Each file.
    pub files: Vec<MemoryImportedFile>,
    /// A secret was masked.
    pub is_masked: bool,
    /// Entries that were removed, when an import is undone.
    pub removed: usize,
    /// Entries that were changed since and stay, when an import is undone.
    pub changed: usize,
    /// Proposals that were rejected, when an import is undone.
    pub rejected: usize,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// What became, or would become, of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryImportedFile {
    /// Its path, relative to the agent's home.
    pub name: String,
    /// `user`, `notes` or `project:DIRECTORY`.
    pub scope: String,
    /// New entries.
    pub new: usize,
    /// Texts that were imported before, or are here from elsewhere.
    pub known: usize,
    /// Texts that look like planted instructions and wait for a person.
    pub waiting: usize,
    /// Why nothing of it was imported, if it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
