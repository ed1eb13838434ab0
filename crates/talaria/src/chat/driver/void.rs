//! Commands for a turn where none runs: they are refused, since what they would do instead was not asked for. The screen refuses
//! `/steer` itself, and keeps the words.

use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::{ChatEffect, News, PromptDraft};

use super::Driver;
use crate::chat::errand::MESSAGE;

/// Said of a conversation that is not followed.
const UNKNOWN: &str = "it is not known whether a turn is running here";

impl Driver {
    /// Whether the command needs a turn, and none is known to run.
    pub(super) fn is_void(&self, command: &SlashCommand) -> bool {
        let is_coming = || self.is_beginning || self.has_waiting_words();
        matches!(command, SlashCommand::Stop | SlashCommand::Steer(_))
            && !self.is_turn_there()
            && !is_coming()
    }

    /// Is a turn running, or a message for one being sent?
    pub(super) fn is_turn_there(&self) -> bool {
        self.is_running() || self.pending_wishes.names().iter().any(|name| name == MESSAGE)
    }

    /// Is it known whether a turn runs in the conversation on the screen?
    fn is_turn_known(&self) -> bool {
        let is_away = self.is_engine_away() && self.current.is_some();
        !self.progress.is_lost() && !is_away
    }

    /// Says so, and returns the words. If it is not known, the engine is asked to stop the turn.
    pub(super) fn refuse_void(&mut self, command: SlashCommand) {
        let is_known = self.is_turn_known();
        let turn = if is_known { "no turn is running" } else { UNKNOWN };
        let (what, prompt) = match command {
            SlashCommand::Stop if self.is_shell_running() => return self.wish(ChatEffect::StopShell),
            SlashCommand::Steer(text) => {
                let prompt = PromptDraft { text, images: Vec::new() };
                (format!("{turn}: just type it, without /steer"), Some(prompt))
            }
            _ if is_known => ("no turn is running here".to_owned(), None),
            _ => {
                self.ready.push_back(News::Reply(format!("{UNKNOWN}; asking the engine to stop it").into()));
                return self.wish(ChatEffect::Interrupt);
            }
        };
        self.ready.push_back(News::Refused { what, prompt, ticket: None });
    }
}
