//! Commands for a turn where none runs: they are refused, since what they would do instead was not asked for. The screen refuses
//! `/steer` itself, and keeps the words.

use talaria_tui::chat::commands::Command;
use talaria_tui::chat::contract::{News, Prompt, Wish};

use super::Driver;
use crate::chat::errand::MESSAGE;

/// Said of a conversation that is not followed.
const UNKNOWN: &str = "it is not known whether a turn runs here";

impl Driver {
    /// Is the command meant for a turn, and none is known to run?
    pub(super) fn is_void(&self, command: &Command) -> bool {
        let is_coming = || self.is_beginning || self.has_waiting_words();
        matches!(command, Command::Stop | Command::Steer(_)) && !self.is_turn_there() && !is_coming()
    }

    /// Does a turn run, or is a message for one under way?
    pub(super) fn is_turn_there(&self) -> bool {
        self.is_running() || self.under_way.names().iter().any(|name| name == MESSAGE)
    }

    /// Is it known whether a turn runs in the conversation on the screen?
    fn is_turn_known(&self) -> bool {
        let is_away = self.is_engine_away() && self.current.is_some();
        !self.progress.is_lost() && !is_away
    }

    /// Says so, and returns the words. If it is not known, the engine is asked to stop the turn.
    pub(super) fn refuse_void(&mut self, command: Command) {
        let is_known = self.is_turn_known();
        let turn = if is_known { "no turn runs" } else { UNKNOWN };
        let (what, prompt) = match command {
            Command::Stop if self.is_shell_running() => return self.wish(Wish::StopShell),
            Command::Steer(text) => {
                let prompt = Prompt { text, images: Vec::new() };
                (format!("{turn}: just type it, without /steer"), Some(prompt))
            }
            _ if is_known => ("no turn runs here".to_owned(), None),
            _ => {
                self.ready.push_back(News::Reply(format!("{UNKNOWN}; asking the engine to stop it").into()));
                return self.wish(Wish::Interrupt);
            }
        };
        self.ready.push_back(News::Refused { what, prompt, ticket: None });
    }
}
