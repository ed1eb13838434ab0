//! The audit log: who answered, started or was refused something.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::PeerEvidence;

/// Which part of the audit log is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AuditQuery {
    /// Only rows older than this one.
    pub before: Option<i64>,
    /// At most this many.
    pub limit: usize,
}

impl Default for AuditQuery {
    fn default() -> Self {
        Self { before: None, limit: 50 }
    }
}

/// One row of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditEntry {
    /// Its number; later rows have higher ones.
    pub id: i64,
    /// When it happened.
    pub at: Timestamp,
    /// The action: `answer`, `start_task`, …; `decide` is a decision of the engine itself, by rule, mode or hard floor.
    pub action: String,
    /// Was it refused?
    pub refused: bool,
    /// Who wanted it: `person:ada`, `model:claude-code`; or what decided.
    pub principal: String,
    /// How that was established, in words.
    pub established: String,
    /// The caller's process.
    pub peer: PeerEvidence,
    /// The conversation concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The request concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The digest of the question that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
