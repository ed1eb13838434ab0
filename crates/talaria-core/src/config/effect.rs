//! When a change of a key reaches the work that is done: some are read for each turn, some only when the engine starts.
//!
//! Follows where the engine and the commands read the file; a key that moves there moves here. Called by the code that
//! changes the file for a person.

use crate::edit::KeyPath;

/// When a changed key is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Whenever the engine needs it.
    AtOnce,
    /// When a turn is started; a conversation's own recorded setting takes precedence.
    NextTurn,
    /// The same, but the conversation in the terminal reads it when it is opened.
    NextTurnUnlessOpen,
    /// When a conversation is opened on Codex.
    NextOpening,
    /// When a conversation is started; one that exists keeps what it has.
    NextConversation,
    /// When a conversation is started, and never later.
    AtStartOfConversation,
    /// When the conversation in the terminal is opened.
    NextChat,
    /// When the engine starts.
    EngineStart,
}

/// Options that the engine reads when it starts.
const AT_START: [&str; 11] = [
    "engine.idle_timeout",
    "codex.max_hosts",
    "codex.threads_per_host",
    "codex.host_idle",
    "codex.host_memory_mib",
    "bridge.max_tasks",
    "web.listen",
    "web.names",
    "web.tls_cert",
    "web.tls_key",
    "web.trusted_proxies",
];

impl Effect {
    /// When a change of this key is read.
    pub fn of(path: &KeyPath) -> Self {
        let parts = path.parts();
        let name = parts.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(".");
        match parts.first().map(String::as_str) {
            _ if AT_START.contains(&name.as_str()) => Self::EngineStart,
            Some("mcp_servers") => Self::NextOpening,
            _ if name == "tools.environment" => Self::NextTurn,
            // A thread keeps the tools that it was started with; a tool that was switched off refuses at once.
            Some("tools") => Self::NextConversation,
            _ if name == "codex.hide_home" || name == "memory.snapshot_chars" => Self::NextOpening,
            _ if name.starts_with("model.fallback") => Self::NextTurn,
            _ if name == "model.context_file_max_chars" => Self::AtStartOfConversation,
            Some("chat") => Self::NextChat,
            Some(
                "notify" | "sessions" | "bridge" | "access" | "recall" | "memory" | "delegation" | "web"
                | "learning" | "auxiliary" | "budget" | "compression" | "hooks" | "skills" | "providers",
            ) => Self::AtOnce,
            _ if name == "codex.on_loss" => Self::AtOnce,
            // The engine reads the rules itself.
            Some("approvals") if parts.len() > 1 && name != "approvals.mode" => Self::NextTurn,
            _ => Self::NextTurnUnlessOpen,
        }
    }

    /// The same for people, as the end of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::AtOnce => "takes effect at once",
            Self::NextTurn => "takes effect from the next turn; conversations with their own setting keep it",
            Self::NextTurnUnlessOpen => {
                "takes effect from the next turn; conversations with their own setting keep it, and a chat that is open keeps \
                 what it was opened with: open it again"
            }
            Self::NextOpening => "takes effect when a conversation is opened on Codex",
            Self::NextConversation => {
                "takes effect at once if it is switched off, in new conversations if it is switched on"
            }
            Self::AtStartOfConversation => "takes effect in new conversations",
            Self::NextChat => "takes effect when `talaria` is opened the next time",
            Self::EngineStart => "takes effect when the engine starts",
        }
    }

    /// The same for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "at_once",
            Self::NextTurn | Self::NextTurnUnlessOpen => "next_turn",
            Self::NextOpening => "next_opening",
            Self::NextConversation | Self::AtStartOfConversation => "next_conversation",
            Self::NextChat => "next_chat",
            Self::EngineStart => "engine_start",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_open_chat_has_read_already_is_told_apart_from_what_the_engine_reads() {
        let of = |key: &str| Effect::of(&key.parse().unwrap());
        for key in ["codex.sandbox", "codex.approval_policy", "model.default", "approvals.mode", "approvals"]
        {
            assert_eq!(of(key), Effect::NextTurnUnlessOpen, "{key}");
            assert!(of(key).words().ends_with("open it again"));
        }
        assert_eq!(of("model.context_file_max_chars"), Effect::AtStartOfConversation);
        assert_eq!(of("approvals.deny"), Effect::NextTurn);
        assert_eq!(of("tools.environment"), Effect::NextTurn);
        assert_eq!(of("codex.on_loss"), Effect::AtOnce);
        assert_eq!(of("codex.sandbox").name(), "next_turn", "programs read it so");
    }
}
