//! Tasks of the old bridge (`codex_bridge.db`): read as they were left (`read`), and converted to tasks of ours that
//! are over (`import`).
//!
//! The file may be older than its last columns, in use, damaged, or something else altogether.

mod import;
mod read;

pub use import::{ImportedTasks, import};
pub use read::read;

/// A task as the old bridge left it. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgeTask {
    /// Its name.
    pub id: String,
    /// How far it was, in the bridge's word.
    pub status: String,
    /// The beginning of the prompt: the bridge stored no more.
    pub prompt: Option<String>,
    /// Where it worked.
    pub cwd: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The bridge's result; usually ids and times, not the answer.
    pub final_summary: Option<String>,
    /// The error.
    pub error: Option<String>,
    /// The notification targets.
    pub notify: Option<String>,
    /// When it was made.
    pub created_at: Option<i64>,
    /// When it last changed.
    pub updated_at: Option<i64>,
    /// When it ended.
    pub completed_at: Option<i64>,
    /// The model's messages, in order, from the events.
    pub said: Vec<String>,
    /// Unanswered requests.
    pub open_requests: usize,
}
