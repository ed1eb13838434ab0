//! Commands for a turn where none runs: they are refused, since what they would do instead was not asked for. The screen refuses
//! `/steer` itself, and keeps the words.

use talaria_face::chat::commands::Command;
use talaria_face::chat::contract::{News, Prompt, Wish};

use super::Driver;
use crate::chat::errand::MESSAGE;

impl Driver {
    /// Is the command meant for a turn, and none runs?
    pub(super) fn is_void(&self, command: &Command) -> bool {
        let is_coming = || self.is_beginning || self.has_waiting_words();
        matches!(command, Command::Stop | Command::Steer(_)) && !self.is_turn_there() && !is_coming()
    }

    /// Does a turn run, or is a message for one under way?
    pub(super) fn is_turn_there(&self) -> bool {
        self.is_running() || self.under_way.names().iter().any(|name| name == MESSAGE)
    }

    /// Says so, and gives the words back.
    pub(super) fn refuse_void(&mut self, command: Command) {
        let (what, prompt) = match command {
            Command::Stop if self.is_shell_running() => return self.wish(Wish::StopShell),
            Command::Steer(text) => {
                ("no turn runs: just type it, without /steer", Some(Prompt { text, images: Vec::new() }))
            }
            _ => ("no turn runs here", None),
        };
        self.ready.push_back(News::Refused { what: what.to_owned(), prompt, ticket: None });
    }
}
