//! Stopping: the turn, input on its way to one, a shell command.

use talaria_tui::chat::contract::{ChatEffect, News};

use super::{Driver, Shell};
use crate::chat::errand::Errand;
use crate::exec::milliseconds;

impl Driver {
    /// Stops what was said, wherever it is: the turn, one that is about to begin, and words that wait for a choice.
    pub(super) fn interrupt(&mut self) {
        let is_about_words = self.has_waiting_words() && !self.is_turn_there();
        self.take_back_words();
        if self.is_beginning {
            self.held.push_back(ChatEffect::Interrupt);
        } else if !is_about_words {
            // If the turn is not followed, the result of this would not be received either.
            if !self.is_engine_stopped() {
                self.follow_again(self.epoch);
            }
            self.run(Errand::Interrupt { turn: self.progress.turn() });
        }
    }

    /// The stop request was confirmed. A confirmation for a conversation that was left does not concern this
    /// one.
    pub(super) fn stopping(&mut self, turn: i64, epoch: u64) {
        if epoch == self.epoch {
            self.progress.stopping(turn);
        }
    }

    /// Stops the command of the person that runs.
    pub(super) fn stop_shell(&mut self) {
        if let Some(Shell { number, task, since }) = self.shell.take() {
            // Codex ends the command when its listener is gone; its end is not reported.
            task.abort();
            self.pending_wishes.end(number);
            let (took_ms, note) = (Some(milliseconds(since.elapsed())), Some("asked to stop".to_owned()));
            self.ready.push_back(News::ShellEnded { exit: None, took_ms, note });
        }
    }
}
