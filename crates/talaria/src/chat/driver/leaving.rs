//! Pending actions when a person leaves: they have a moment to reach the engine, and what was not confirmed
//! by then is named.

use std::time::Duration;

use talaria_core::ids::SessionId;
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::{ChatEffect, News};

use tokio::task::JoinHandle;

use super::Driver;
use super::choosing::name;
use crate::chat::errand::{ANSWER, MESSAGE, STOP, answer_to};
use crate::conversation::news::Stream;

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How a conversation was left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// The conversation, if there is one.
    pub(crate) session: Option<SessionId>,
    /// Fate of its turn, as far as was reported.
    pub(crate) turn: Turn,
    /// Unconfirmed actions.
    pub(crate) unconfirmed: Vec<String>,
    /// Refusals at the last moment, as text.
    pub(crate) refused: Vec<String>,
    /// Did a shell command of the person end with the chat?
    pub(crate) has_ended_shell: bool,
}

/// Fate of a turn when a person leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    /// None runs.
    #[default]
    Over,
    /// It continues.
    GoesOn,
    /// It continues when a person has answered.
    Waits,
    /// It was asked to stop, and was not seen to end.
    Stopping,
    /// A person stopped the engine before it was seen to end.
    Unseen,
    /// The engine is away.
    Unheard,
    /// It waits for a place, and has not begun.
    Queued,
    /// Whether it continues is not known: the conversation could no longer be followed, or it was not confirmed that the
    /// turn was asked to stop.
    Unknown,
}

impl Driver {
    /// Waits briefly until the last input reaches the engine, and returns the result.
    pub(crate) async fn leave(self) -> Left {
        self.leave_within(LAST_WORDS).await
    }

    /// `talaria --last` finds this conversation from now on.
    pub(super) fn note_open(&self) -> Option<JoinHandle<()>> {
        self.current.as_ref().map(|current| self.last_open.note(&current.id))
    }

    pub(super) async fn leave_within(mut self, limit: Duration) -> Left {
        let (was_running, was_waiting) = (self.shell.is_some(), self.has_waiting_shell());
        let was_away = self.is_engine_away();
        self.stop_shell();
        let last_words = async {
            // Lists of files and the like are not waited for.
            while !self.pending_wishes.names().is_empty() {
                let Some(done) = self.results.recv().await else { return };
                self.done(done);
            }
        };
        // What takes longer is named below.
        let _ = tokio::time::timeout(limit, last_words).await;
        // Results that arrived already count, though no front end shows them any more.
        while let Some(arrived) = self.stream.as_mut().and_then(Stream::waiting) {
            self.take_arrival(arrived);
        }
        let mut unconfirmed = self.pending_wishes.names();
        let turn = match self.turn_left(&unconfirmed) {
            Turn::GoesOn | Turn::Waits if was_away && self.is_engine_away() => Turn::Unheard,
            turn => turn,
        };
        for wish in self.held.iter().chain(&self.after_choice) {
            let name = match wish {
                ChatEffect::Send(_)
                | ChatEffect::Say(..)
                | ChatEffect::Run(SlashCommand::Steer(_) | SlashCommand::Queue(_)) => MESSAGE.to_owned(),
                ChatEffect::Interrupt => STOP.to_owned(),
                ChatEffect::Shell(_) => "your shell command".to_owned(),
                ChatEffect::Run(command) => name(command),
                _ => continue,
            };
            if !unconfirmed.contains(&name) {
                unconfirmed.push(name);
            }
        }
        let refused = self.ready.drain(..).filter_map(|news| match news {
            News::Refused { what, .. } => Some(what),
            _ => None,
        });
        let mut refused: Vec<String> = refused.collect();
        if was_waiting && self.shell.is_none() && !self.has_waiting_shell() {
            refused.push("the shell command was not run".to_owned());
        }
        // One that began at the last moment ends with us too.
        let has_ended_shell = was_running || self.shell.is_some();
        // Another chat may have been opened here since.
        if let Some(noted) = self.note_open() {
            // Lines not written by then are written a moment later, or lost, which affects only the history.
            let _ = tokio::time::timeout(LAST_WORDS, noted).await;
        }
        let session = self.current.take().map(|current| current.id);
        Left { session, turn, unconfirmed, refused, has_ended_shell }
    }

    /// Fate of the turn. An answer that was not confirmed may have been accepted.
    fn turn_left(&self, unconfirmed: &[String]) -> Turn {
        let is_unconfirmed = |name: &str| unconfirmed.iter().any(|open| open == name);
        let mut questions = self.progress.questions().iter();
        if self.progress.has_lost_turn() {
            Turn::Unknown
        } else if self.progress.is_queued() {
            Turn::Queued
        } else if !self.is_running() {
            Turn::Over
        } else if self.is_engine_stopped() {
            Turn::Unseen
        } else if self.progress.is_stopping() {
            Turn::Stopping
        } else if is_unconfirmed(STOP) {
            Turn::Unknown
        } else if questions.any(|ticket| !is_unconfirmed(&answer_to(ticket)) && !is_unconfirmed(ANSWER)) {
            Turn::Waits
        } else {
            Turn::GoesOn
        }
    }
}
