//! The audit log: who answered, started or was refused something, and how the engine knew who it was.

use crate::model::words::AuditOutcome;

/// How many refusals are kept; older ones are removed first.
pub const REFUSALS_KEPT: i64 = 10_000;

/// A row to be added to the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAudit {
    pub at: i64,
    /// The requested action, by the name of its route.
    pub action: String,
    /// Whether it was done.
    pub outcome: AuditOutcome,
    /// The requester.
    pub principal: String,
    /// How that was established, in words.
    pub established: String,
    pub pid: Option<i32>,
    pub terminal: Option<String>,
    /// The caller's program file.
    pub program: Option<String>,
    pub session: Option<String>,
    pub request: Option<String>,
    /// The digest of the question that was answered.
    pub digest: Option<String>,
    /// The decision in a word.
    pub decision: Option<String>,
    /// Why it was refused.
    pub reason: Option<String>,
}

/// A row of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number; later rows have higher ones.
    pub id: i64,
    pub entry: NewAudit,
}
