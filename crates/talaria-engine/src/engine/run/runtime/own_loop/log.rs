//! The stored history of a conversation on the built-in loop: what is said and done, sealed, and the head of its requests.
//!
//! The head is an entry like the others, the first one: a later engine sends the same bytes again, whatever the memory and the
//! project's instructions say by then.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use talaria_agent::history::{CallDisposition, CallId, LogEntry, LogItem, plain_text};
use talaria_core::ids::SessionId;
use talaria_mcp::OfferedServerTool;
use talaria_store::{NewHistoryEntry, StoreError};
use talaria_tools::files::{ContentDigest, resolve_path};
use talaria_tools::runner::ReadFiles;

use crate::engine::journal::EngineServices;

/// How many entries are read at once.
const PAGE: u32 = 500;
/// The requests of a conversation have one beginning until a compaction begins another.
const FIRST_PREFIX: i64 = 0;

/// The tools that show or change a file, whose results say what its content is.
const FILE_TOOLS: [&str; 3] = ["read", "edit", "write"];
/// What precedes the digest in the first line of their results.
const DIGEST: &str = " Digest ";

/// One entry as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
enum StoredEntry {
    /// The beginning of every request.
    Head(LoopHead),
    /// Something that was said or done.
    Log(LogEntry),
}

/// The beginning of every request of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoopHead {
    /// The system prompt, in tiers.
    pub(super) system: Vec<String>,
    /// Whether it offers a search of the web.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_search: bool,
    /// The tools of the user's MCP servers, as they were listed for the first turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) server_tools: Vec<OfferedServerTool>,
}

/// A history that was read.
#[derive(Debug, Default)]
pub(super) struct StoredLog {
    pub(super) head: Option<LoopHead>,
    pub(super) entries: Vec<LogEntry>,
    /// The turn of each entry.
    pub(super) turns: Vec<i64>,
    /// The number of the next entry.
    pub(super) next: u64,
    /// How many compactions there were.
    pub(super) prefix_epoch: i64,
}

/// Why a history cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("the history of the conversation can no longer be read: the key of this home has changed")]
    Sealed,
}

/// Reads the history of a session, without what was said and done in undone turns.
pub(super) async fn read(services: &EngineServices, session: &SessionId) -> Result<StoredLog, LogError> {
    let mut log = StoredLog::default();
    let undone = services.store.undone_turns(session).await?;
    loop {
        let from = i64::try_from(log.next).unwrap_or(i64::MAX);
        let page = services.store.model_history(session, from, PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        for row in page {
            log.prefix_epoch = row.prefix_epoch;
            let json = services.seal.reveal(&row.sealed).ok_or(LogError::Sealed)?;
            match serde_json::from_str(&json).map_err(|_| LogError::Sealed)? {
                StoredEntry::Head(head) => log.head = Some(head),
                // The turn was undone: no request has it any more.
                StoredEntry::Log(_) if undone.contains(&row.ordinal) => {}
                StoredEntry::Log(entry) => {
                    log.entries.push(entry);
                    log.turns.push(row.ordinal);
                }
            }
            log.next += 1;
        }
        if is_last {
            return Ok(log);
        }
    }
}

impl StoredLog {
    /// What the model said last in a turn.
    pub(super) fn said_in(&self, ordinal: i64) -> Option<String> {
        let of_turn = self.entries.iter().zip(&self.turns).rev().filter(|(_, turn)| **turn == ordinal);
        let said = |entry: &LogEntry| match &entry.item {
            LogItem::Assistant { parts, .. } => {
                Some(plain_text(parts)).filter(|text| !text.trim().is_empty())
            }
            _ => None,
        };
        of_turn.filter_map(|(entry, _)| said(entry)).next()
    }

    /// Did a compaction end in this turn?
    pub(super) fn is_compacted_in(&self, ordinal: i64) -> bool {
        let of_turn = self.entries.iter().zip(&self.turns).filter(|(_, turn)| **turn == ordinal);
        of_turn.into_iter().any(|(entry, _)| matches!(entry.item, LogItem::Summary { .. }))
    }

    /// The first words of the person in a turn.
    pub(super) fn request_of(&self, ordinal: i64) -> Option<u64> {
        let mut of_turn = self.entries.iter().zip(&self.turns).filter(|(_, turn)| **turn == ordinal);
        of_turn.find(|(entry, _)| matches!(entry.item, LogItem::User { .. })).map(|(entry, _)| entry.seq)
    }

    /// The last answer since the last compaction: its turn, its attempt, and its first entry.
    pub(super) fn last_answer(&self) -> Option<(i64, u64, u64)> {
        let since = self.entries.iter().zip(&self.turns).rev();
        let mut since = since.take_while(|(entry, _)| !matches!(entry.item, LogItem::Summary { .. }));
        let (entry, turn, attempt) =
            since.find_map(|(entry, turn)| entry.attempt.map(|attempt| (entry, *turn, attempt)))?;
        let earlier = since.take_while(|(entry, of)| entry.attempt == Some(attempt) && **of == turn);
        Some((turn, attempt, earlier.last().map_or(entry.seq, |(entry, _)| entry.seq)))
    }

    /// The calls that have no result, each with its turn.
    pub(super) fn open_calls(&self) -> Vec<(i64, u64, CallId)> {
        let mut open: Vec<(i64, u64, CallId)> = Vec::new();
        for (entry, turn) in self.entries.iter().zip(&self.turns) {
            match &entry.item {
                LogItem::Call { call, .. } => open.push((*turn, entry.seq, call.clone())),
                LogItem::Result { call, .. } => open.retain(|(_, _, one)| one != call),
                _ => {}
            }
        }
        open
    }
}

/// The files as the model has seen them, by the digests in the results of reads and changes. An engine that continues a
/// conversation knows them no other way.
pub(super) fn files_seen(entries: &[LogEntry], cwd: &Path, home: Option<&Path>) -> ReadFiles {
    let mut paths: HashMap<&CallId, String> = HashMap::new();
    let mut seen = ReadFiles::default();
    for entry in entries {
        match &entry.item {
            LogItem::Call { call, name, input } if FILE_TOOLS.contains(&name.as_str()) => {
                let path = input.arguments().and_then(|given| Some(given.get("path")?.as_str()?.to_owned()));
                paths.extend(path.map(|path| (call, path)));
            }
            LogItem::Result { call, disposition: CallDisposition::Done, parts } => {
                let text = plain_text(parts);
                let digest = digest_in(&text);
                let path = paths.remove(call).and_then(|path| resolve_path(cwd, home, &path).ok());
                if let (Some(digest), Some(path)) = (digest, path) {
                    seen.note(path.real, digest);
                }
            }
            _ => {}
        }
    }
    seen
}

/// The digest of a file in the result of a tool that shows or changes it.
pub(super) fn digest_in(result: &str) -> Option<ContentDigest> {
    let (_, rest) = result.lines().next()?.rsplit_once(DIGEST)?;
    ContentDigest::from_shown(rest.split('.').next()?)
}

/// The row of an entry; `prefix_epoch` counts the compactions before it, and one that it ends.
pub(super) fn row(
    services: &EngineServices,
    ordinal: i64,
    prefix_epoch: i64,
    entry: &LogEntry,
) -> Option<NewHistoryEntry> {
    let row = sealed(services, ordinal, entry.seq, &StoredEntry::Log(entry.clone()))?;
    Some(NewHistoryEntry { prefix_epoch, ..row })
}

/// The row of the head.
pub(super) fn head_row(
    services: &EngineServices,
    ordinal: i64,
    seq: u64,
    head: &LoopHead,
) -> Option<NewHistoryEntry> {
    sealed(services, ordinal, seq, &StoredEntry::Head(head.clone()))
}

fn sealed(services: &EngineServices, ordinal: i64, seq: u64, entry: &StoredEntry) -> Option<NewHistoryEntry> {
    let json = serde_json::to_string(entry).ok()?;
    Some(NewHistoryEntry {
        seq: i64::try_from(seq).ok()?,
        ordinal,
        prefix_epoch: FIRST_PREFIX,
        sealed: services.seal.close(&json).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use talaria_agent::history::LogPart;

    use super::*;

    #[test]
    fn an_answer_before_a_compaction_says_nothing_about_the_size_of_the_next_request() {
        let parts = || vec![LogPart::text("x")];
        let user = |seq| LogEntry::own(seq, LogItem::User { parts: parts() });
        let answer = |seq, attempt| {
            let item = LogItem::Assistant { parts: parts(), phase: None };
            LogEntry { attempt: Some(attempt), ..LogEntry::own(seq, item) }
        };
        let summary = LogItem::Summary { text: "s".to_owned(), before: Vec::new(), after: vec![5] };
        let mut log = StoredLog {
            entries: vec![user(1), answer(2, 1), answer(3, 2), answer(4, 2), user(5)],
            turns: vec![1, 1, 1, 1, 2],
            ..StoredLog::default()
        };
        assert_eq!(log.last_answer(), Some((1, 2, 3)), "all entries of the last attempt are new");
        assert_eq!((log.request_of(2), log.request_of(3)), (Some(5), None));
        log.entries.push(LogEntry::own(6, summary));
        log.turns.push(2);
        assert_eq!(log.last_answer(), None);
        assert!(log.is_compacted_in(2) && !log.is_compacted_in(1));
    }
}
