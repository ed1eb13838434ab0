//! Switching the conversation on the screen: state that is dropped with the previous one, and notes for the user.

use std::time::Duration;

use talaria_core::api::SessionInfo;
use talaria_core::ids::SessionId;
use talaria_guard::plain::one_line;

use super::known::Engine;
use super::pending::Pending;
use super::transcript::Tone;
use super::turn::{Sight, Turn};
use super::{Chat, folder};

impl Chat {
    /// Another conversation. Input held for the previous one returns to the input line.
    pub(super) fn opened(&mut self, session: Option<Box<SessionInfo>>) {
        let left =
            self.session.take().filter(|left| session.as_ref().is_none_or(|opened| opened.id != *left));
        let was_queued = self.is_turn_queued();
        let was_lost = self.sight == Sight::LostTurn && self.turn.is_idle();
        let goes_on = left.clone().filter(|_| self.turn.is_running() || was_lost);
        for prompt in self.pending.withdraw().into_iter().rev() {
            self.composer.put_back(prompt);
        }
        self.pending = Pending::default();
        self.clear_transcript();
        (self.has_talk, self.sent) = (false, None);
        (self.asked_older, self.older_again) = (None, None);
        self.lose_panel(|_| true);
        self.is_caught_up = session.is_none();
        self.session = session.as_ref().map(|session| session.id.clone());
        self.requests.open(self.session.as_ref());
        let is_running = session.as_ref().is_some_and(|session| session.running);
        (self.sight, self.is_stop_confirmed) = (Sight::Kept, false);
        (self.turn, self.ended) = (if is_running { Turn::found() } else { Turn::Idle }, 0);
        self.past = self.turn;
        self.arrival = session.as_ref().and_then(|session| self.arrival_words(session, left.as_ref()));
        self.known.open(session);
        self.first_is_opened();
        if let Some(left) = goes_on {
            let turn = match (was_queued, self.known.engine) {
                (true, _) => "the turn of the previous conversation is queued",
                (false, Engine::There) if !was_lost => "the previous conversation is still running",
                (false, _) => "the previous conversation may still be running",
            };
            self.note(Tone::Info, format!("{turn}; /resume {} opens it", left.short()));
        }
    }

    /// Notes for the user about an opened conversation: that it works elsewhere, that it is a task.
    fn arrival_words(&self, session: &SessionInfo, left: Option<&SessionId>) -> Option<String> {
        let mut words = Vec::new();
        if let Some(task) = &session.task {
            words.push(format!("this is task {}: your messages go to it", one_line(task)));
            words.extend(left.map(|left| format!("/resume {} goes back", left.short())));
        }
        if session.cwd != self.known.cwd {
            let folder = folder::shown(&session.cwd, self.known.home.as_deref());
            words
                .push(format!("this conversation works in {}, not in the current folder", one_line(&folder)));
        }
        Some(words.join("; ")).filter(|words| !words.is_empty())
    }

    /// All of the past has been reported. A turn that was asked for here in the meantime is newer than that.
    pub(super) fn caught_up(&mut self, now: Duration) {
        if self.is_caught_up {
            return;
        }
        self.is_caught_up = true;
        if let Some(words) = self.arrival.take() {
            self.note(Tone::Warn, words);
        }
        if self.sent.is_none() {
            let before = std::mem::replace(&mut self.turn, self.past);
            if before.is_stopping() {
                self.turn.stop();
            }
        }
        self.release_first(now);
    }
}
