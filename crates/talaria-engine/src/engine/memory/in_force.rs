//! Which recorded snapshot a conversation has in its prompt now.
//!
//! Codex keeps the instructions that a thread was started with until a compaction, and then uses the newest that it was sent
//! by then. So the events that began the thread and that shortened the conversation decide, not the newest record. Called
//! by the list of the memory and by the account of a prompt.

use serde::Deserialize;
use talaria_core::ids::SessionId;
use talaria_store::{EventRow, MemorySnapshotRow, StoreError};

use crate::engine::Inner;

impl Inner {
    /// Returns the snapshot that is in the prompt of a conversation; none if it has none, or has not begun.
    pub(crate) async fn snapshot_in_force(
        &self,
        session: &SessionId,
    ) -> Result<Option<MemorySnapshotRow>, StoreError> {
        let snapshots = self.shelf.store.memory_snapshots(session).await?;
        if snapshots.is_empty() {
            return Ok(None);
        }
        let landmarks = self.shelf.store.landmarks(session, 0).await?;
        Ok(in_force(snapshots, &landmarks))
    }
}

/// The part of `session_started` that is read here.
#[derive(Deserialize)]
struct StartedThread {
    thread: String,
}

/// Decides by the events that began threads or shortened the conversation, in order.
fn in_force(snapshots: Vec<MemorySnapshotRow>, landmarks: &[EventRow]) -> Option<MemorySnapshotRow> {
    let mut threads: Vec<String> = Vec::new();
    let (mut since, mut is_first) = (None, true);
    for event in landmarks {
        let thread = match event.kind.as_str() {
            "session_started" => serde_json::from_str::<StartedThread>(&event.json).ok(),
            _ => {
                (since, is_first) = (Some(event.at), false);
                None
            }
        };
        if let Some(StartedThread { thread }) = thread
            && threads.last() != Some(&thread)
        {
            (since, is_first) = (Some(event.at), threads.is_empty());
            threads.push(thread);
        }
    }
    let since = since?;
    let mut sent = snapshots.into_iter().filter(|snapshot| snapshot.at <= since);
    // Old events are trimmed: the remaining events of the first thread may begin after it was resumed.
    let found = if is_first { sent.next() } else { sent.next_back() };
    found.filter(|snapshot| !snapshot.text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_start(at: i64, thread: &str) -> EventRow {
        let json = format!(r#"{{"type":"session_started","thread":"{thread}","model":"m"}}"#);
        EventRow { seq: at, turn: None, at, kind: "session_started".to_owned(), json }
    }

    fn compaction(at: i64) -> EventRow {
        EventRow { seq: at, turn: None, at, kind: "compacted".to_owned(), json: "{}".to_owned() }
    }

    fn decided(snapshots: &[(i64, &str)], landmarks: &[EventRow]) -> Option<String> {
        let row = |(at, text): &(i64, &str)| MemorySnapshotRow {
            session: SessionId::new("s"),
            digest: String::new(),
            text: (*text).to_owned(),
            entries: Vec::new(),
            at: *at,
        };
        in_force(snapshots.iter().map(row).collect(), landmarks).map(|snapshot| snapshot.text)
    }

    #[test]
    fn the_first_text_stays_until_a_compaction_or_another_thread() {
        let sent = [(10, "first"), (30, "second"), (60, "third")];
        let resumed = [at_start(11, "a"), at_start(31, "a"), at_start(61, "a")];
        assert_eq!(decided(&sent, &resumed).as_deref(), Some("first"));
        assert_eq!(decided(&sent, &resumed[1..]).as_deref(), Some("first"), "the beginning was trimmed");
        let shortened = [at_start(11, "a"), at_start(31, "a"), compaction(40), at_start(61, "a")];
        assert_eq!(decided(&sent, &shortened).as_deref(), Some("second"), "what it had by then");
        let anew = [at_start(11, "a"), compaction(20), at_start(31, "b"), at_start(61, "b")];
        assert_eq!(decided(&sent, &anew).as_deref(), Some("second"));
    }

    #[test]
    fn a_conversation_without_a_text_has_none() {
        assert_eq!(decided(&[], &[at_start(11, "a")]), None);
        assert_eq!(decided(&[(10, "first")], &[]), None, "it has not begun");
        assert_eq!(decided(&[(30, "late")], &[at_start(11, "a"), at_start(31, "a")]), None);
        assert_eq!(decided(&[(10, "first"), (30, "")], &[at_start(11, "a"), compaction(40)]), None);
    }
}
