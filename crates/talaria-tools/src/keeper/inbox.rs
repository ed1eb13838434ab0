//! Messages to a running command: a file for each message, moved when it was passed on. Durable and never passed on twice.
//!
//! The engine writes a message into `in` and rings; the keeper passes it on and moves it to `done`, or to `refused` if the
//! command has closed its input. A message is named by its ticket, so that an engine that asks again, or the next one,
//! finds what became of it. Messages are passed on in the order of their numbers.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::directory::{CommandDirectory, PASSED_ON, REFUSED, WAITING};

/// A message to a keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// Text for the standard input of the command.
    Write(String),
    /// The end of its standard input.
    EndInput,
    /// The command is to be ended with everything below it.
    Stop,
}

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageState {
    Absent,
    Waiting,
    PassedOn,
    Refused,
}

impl CommandDirectory {
    /// Sends a message, unless one with this ticket was sent before. Rings in both cases.
    pub(super) fn post(&self, ticket: &str, message: &Message) -> io::Result<()> {
        if self.message_state(ticket)? == MessageState::Absent {
            let number =
                self.names(WAITING)?.len() + self.names(PASSED_ON)?.len() + self.names(REFUSED)?.len();
            let name = format!("{WAITING}/{number:06}-{ticket}");
            self.publish(&name, &serde_json::to_vec(message)?)?;
        }
        self.ring();
        Ok(())
    }

    /// Where the message with this ticket is.
    pub(super) fn message_state(&self, ticket: &str) -> io::Result<MessageState> {
        // In the order in which a message moves: one that moves meanwhile is found in the next place.
        let places = [
            (WAITING, MessageState::Waiting),
            (PASSED_ON, MessageState::PassedOn),
            (REFUSED, MessageState::Refused),
        ];
        for (place, state) in places {
            if self
                .names(place)?
                .iter()
                .any(|name| name.split_once('-').is_some_and(|(_, rest)| rest == ticket))
            {
                return Ok(state);
            }
        }
        Ok(MessageState::Absent)
    }

    /// The waiting messages, in order. One that cannot be read is refused.
    pub(super) fn waiting(&self) -> io::Result<Vec<(String, Message)>> {
        let mut found = Vec::new();
        for name in self.names(WAITING)? {
            let bytes = fs::read(self.path().join(WAITING).join(&name));
            match bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
                Some(message) => found.push((name, message)),
                None => self.settle(&name, MessageState::Refused),
            }
        }
        Ok(found)
    }

    /// Moves a waiting message to where it belongs now.
    pub(super) fn settle(&self, name: &str, state: MessageState) {
        let place = if state == MessageState::PassedOn { PASSED_ON } else { REFUSED };
        // If it cannot be moved it counts as waiting, which claims nothing.
        let _ = fs::rename(self.path().join(WAITING).join(name), self.path().join(place).join(name));
    }

    /// Wakes the keeper. Without one no process listens; the next keeper looks at its inbox when it starts.
    fn ring(&self) {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        if let Ok(mut bell) = File::options().write(true).custom_flags(flags).open(self.bell()) {
            let _ = bell.write(&[1]);
        }
    }

    fn names(&self, place: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.path().join(place))?;
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }
}
