//! When a change of a key reaches the work that is done: some are read for each turn, some only when the engine starts.
//!
//! Follows where the engine and the commands read the file; a key that moves there moves here. Called by whoever changes
//! the file for a person.

use crate::edit::KeyPath;

/// When a changed key is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Whenever the engine needs it.
    AtOnce,
    /// When a turn is started; what a conversation recorded as its own goes before it.
    NextTurn,
    /// When a conversation is opened on Codex.
    NextOpening,
    /// When the conversation in the terminal is opened.
    NextChat,
    /// When the engine starts.
    EngineStart,
}

/// What the engine takes into its options when it starts.
const AT_START: [&str; 6] = [
    "engine.idle_timeout",
    "codex.max_hosts",
    "codex.threads_per_host",
    "codex.host_idle",
    "codex.host_memory_mib",
    "bridge.max_tasks",
];

impl Effect {
    /// When a change of this key is read.
    pub fn of(path: &KeyPath) -> Self {
        let parts = path.parts();
        let name = parts.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(".");
        match parts.first().map(String::as_str) {
            _ if AT_START.contains(&name.as_str()) => Self::EngineStart,
            Some("mcp_servers") => Self::NextOpening,
            Some("chat") => Self::NextChat,
            Some("notify" | "sessions" | "bridge") => Self::AtOnce,
            _ if name == "codex.on_loss" => Self::AtOnce,
            _ => Self::NextTurn,
        }
    }

    /// The same for people, as the end of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::AtOnce => "takes effect at once",
            Self::NextTurn => "takes effect from the next turn; what a conversation has of its own stays",
            Self::NextOpening => "takes effect when a conversation is opened on Codex",
            Self::NextChat => "takes effect when `talaria` is opened the next time",
            Self::EngineStart => "takes effect when the engine starts",
        }
    }

    /// The same for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "at_once",
            Self::NextTurn => "next_turn",
            Self::NextOpening => "next_opening",
            Self::NextChat => "next_chat",
            Self::EngineStart => "engine_start",
        }
    }
}
