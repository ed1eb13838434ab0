//! Publishes recorded events to the followers of a conversation: stored events first, then live ones.
//!
//! A slow follower never blocks the writer: it reads events that it missed from the store. Only committed
//! events are published, so no one sees one that a crash could undo.

use std::sync::Arc;

use tokio::sync::broadcast;

/// How many lines wait for a slow follower before it has to read them from the store.
const WAITING: usize = 256;

/// An event of a conversation as one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// Its number.
    pub seq: i64,
    /// The whole event, with session and number.
    pub json: Arc<str>,
}

/// The live lines of one conversation.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    live: broadcast::Sender<EventLine>,
}

impl Default for Feed {
    fn default() -> Self {
        Self { live: broadcast::Sender::new(WAITING) }
    }
}

impl Feed {
    /// Publishes a line that was committed.
    pub(crate) fn publish(&self, line: EventLine) {
        // There may be no subscriber.
        let _ = self.live.send(line);
    }

    /// Whether there is a subscriber.
    pub(crate) fn has_followers(&self) -> bool {
        self.live.receiver_count() > 0
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<EventLine> {
        self.live.subscribe()
    }
}
