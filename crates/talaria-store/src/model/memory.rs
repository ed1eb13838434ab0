//! Memory across conversations: entries, their revisions, proposals, the mirrored files, and snapshots.

use talaria_core::ids::SessionId;
use talaria_core::memory::{MemoryChange, MemoryEntry};

use crate::model::origin::ChangeOrigin;
use crate::model::words::{MemoryAuthor, MemoryProposalState};

/// An entry, also a removed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEntryRow {
    pub entry: MemoryEntry,
    pub is_removed: bool,
    pub updated_at: i64,
}

/// Who changed the memory.
pub type MemoryOrigin = ChangeOrigin<MemoryAuthor>;

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRevisionRow {
    pub id: i64,
    /// `expects` is the revision that it followed, if it is known.
    pub change: MemoryChange,
    pub origin: MemoryOrigin,
    pub undoes: Option<i64>,
    pub at: i64,
}

/// Changes that wait for a person, or were decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryProposalRow {
    pub id: String,
    pub state: MemoryProposalState,
    pub reason: String,
    /// The changes, as JSON.
    pub changes: String,
    pub origin: MemoryOrigin,
    pub at: i64,
    pub decided_at: Option<i64>,
}

/// The text of a file as Talaria last wrote or read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMirror {
    /// The scope, in its stored form.
    pub scope: String,
    pub text: String,
}

/// A write that is applied completely or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryWrite {
    pub changes: Vec<MemoryChange>,
    pub origin: MemoryOrigin,
    pub undoes: Option<i64>,
    /// The proposal that this decides.
    pub decides: Option<(String, MemoryProposalState)>,
    /// The text that the file of a scope has now.
    pub mirror: Option<MemoryMirror>,
    /// A text that a person wrote into a file.
    pub file_text: Option<MemoryMirror>,
    pub at: i64,
}

impl MemoryWrite {
    /// Changes by an author, and nothing else.
    pub fn new(changes: Vec<MemoryChange>, origin: MemoryOrigin, at: i64) -> Self {
        Self { changes, origin, undoes: None, decides: None, mirror: None, file_text: None, at }
    }
}

/// Result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryWriteResult {
    /// It was done; the numbers of the revisions, in the order of the changes.
    Written(Vec<i64>),
    /// This entry changed since it was read. Nothing was written.
    Stale { entry: String },
    /// The proposal was decided before. Nothing was written.
    Decided { state: MemoryProposalState },
}

/// Filter of revisions. `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryRevisionFilter {
    pub entry: Option<String>,
    /// Older than this one.
    pub before: Option<i64>,
    /// Made by this call of a tool, or this review.
    pub call: Option<String>,
}

/// The memory that was sent to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySnapshotRow {
    pub session: SessionId,
    pub digest: String,
    pub text: String,
    pub entries: Vec<String>,
    pub at: i64,
}
