//! Follows a conversation from a sequence number: stored events first, then live ones, without a gap or a
//! repeat.

use std::collections::VecDeque;

use talaria_core::ids::SessionId;
use talaria_store::{Store, StoreError};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use crate::engine::journal::feed::EventLine;
use crate::engine::journal::rows;

/// How many events are read from the store at once.
const PAGE: u32 = 256;

/// A client that follows a conversation.
#[derive(Debug)]
pub struct JournalFollower {
    store: Store,
    session: SessionId,
    last: i64,
    kept: VecDeque<EventLine>,
    /// There may be more in the store than was read.
    is_behind: bool,
    live: Receiver<EventLine>,
    ended: watch::Receiver<bool>,
}

impl JournalFollower {
    /// `live` must have been subscribed before, so that nothing is missed between it and the store.
    pub(crate) fn new(
        store: Store,
        session: SessionId,
        after: i64,
        live: Receiver<EventLine>,
        ended: watch::Receiver<bool>,
    ) -> Self {
        Self { store, session, last: after, kept: VecDeque::new(), is_behind: true, live, ended }
    }

    /// The next line; waits until there is one. `None` when the engine ends. Cancel-safe.
    pub async fn next(&mut self) -> Option<EventLine> {
        loop {
            if let Some(line) = self.kept.pop_front() {
                self.last = line.seq;
                return Some(line);
            }
            if self.is_behind {
                match page(&self.store, &self.session, self.last, PAGE).await {
                    Ok(lines) => {
                        self.is_behind = !lines.is_empty();
                        self.kept.extend(lines);
                    }
                    Err(error) => {
                        tracing::warn!("session {} cannot be read: {error}", self.session);
                        return None;
                    }
                }
                continue;
            }
            let line = tokio::select! {
                // How a turn ended is reported before the engine ends.
                biased;
                line = self.live.recv() => line,
                _ = self.ended.wait_for(|ended| *ended) => return None,
            };
            match line {
                Ok(line) if line.seq <= self.last => {}
                Ok(line) if line.seq == self.last + 1 => self.kept.push_back(line),
                // Too slow for the live stream, or a line that another task wrote: the store has everything.
                Ok(_) | Err(RecvError::Lagged(_)) => self.is_behind = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Events of a session as lines.
pub(crate) async fn page(
    store: &Store,
    session: &SessionId,
    after: i64,
    limit: u32,
) -> Result<Vec<EventLine>, StoreError> {
    let events = store.events(session, after, limit).await?;
    let line = |event: talaria_store::EventRow| {
        let json = rows::line(session, event.seq, event.at, event.turn, &event.json);
        EventLine { seq: event.seq, json: json.into() }
    };
    Ok(events.into_iter().map(line).collect())
}
