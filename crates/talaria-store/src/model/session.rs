//! Sessions: our conversations. Their rows, patches and pages, and what a typed id may mean.

use serde::{Deserialize, Serialize};
use talaria_core::ids::{SessionId, ThreadId};
use talaria_core::learning::progress::ReviewCount;

use crate::model::audit::NewAudit;
use crate::model::task::NewTaskRow;
use crate::model::turn::NewTurnRow;
use crate::model::words::{SessionKind, SessionState};

/// A new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSessionRow {
    pub id: SessionId,
    /// Its purpose.
    pub kind: SessionKind,
    /// The name of a task, `codex-` and twelve hex digits; unique.
    pub alias: Option<String>,
    pub title: Option<String>,
    pub cwd: String,
    /// Who runs its turns.
    pub runtime: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Options requested for its thread, as JSON.
    pub asked: Option<String>,
    /// The resolved settings of its turns, as JSON.
    pub settings: Option<String>,
    /// What makes it a task: there exactly if its kind is `task`.
    pub task: Option<NewTaskRow>,
    /// Its first turn, if it begins with one: a stored session is then always run.
    pub first_turn: Option<NewTurnRow>,
    /// When it was made.
    pub created_at: i64,
    /// The row of the audit log about its start.
    pub audit: Option<NewAudit>,
}

/// A new session that begins with the turns of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewForkRow {
    pub id: SessionId,
    /// The session that it has its beginning of.
    pub origin: SessionId,
    /// The last turn that it has of it.
    pub turn: i64,
    pub title: Option<String>,
    /// What its thread begins with, as JSON.
    pub basis: Option<String>,
    /// When it was made.
    pub created_at: i64,
    /// The row of the audit log about it.
    pub audit: NewAudit,
}

/// Changes of a session. `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPatch {
    pub title: Option<String>,
    pub cwd: Option<String>,
    /// Who runs its turns.
    pub runtime: Option<String>,
    pub model: Option<String>,
    /// Codex's thread; only after the first turn that it accepted, because a thread without one cannot be resumed.
    pub thread: Option<ThreadId>,
    /// The nonce of the host that has the thread.
    pub host: Option<String>,
    /// The version of Codex.
    pub codex_version: Option<String>,
    /// Options requested for the thread, as JSON.
    pub asked: Option<String>,
    /// Settings in force on the thread, as JSON.
    pub started: Option<String>,
    /// The resolved settings of its turns, as JSON.
    pub settings: Option<String>,
    /// Whether people see it in the ordinary list.
    pub archived: Option<bool>,
    /// Whether a turn runs.
    pub state: Option<SessionState>,
    /// Which tools its thread was started with.
    pub contract: Option<i64>,
    /// Whether it was said which tools the thread lacks.
    pub contract_said: Option<bool>,
    /// The tools of its thread with their sizes, as JSON.
    pub tools: Option<String>,
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    /// Its purpose.
    pub kind: SessionKind,
    /// The name of a task.
    pub alias: Option<String>,
    pub title: Option<String>,
    pub cwd: String,
    /// Who runs its turns.
    pub runtime: String,
    pub model: Option<String>,
    /// Codex's thread, once a turn was accepted on it.
    pub thread: Option<ThreadId>,
    /// The nonce of the host that has, or last had, the thread.
    pub host: Option<String>,
    /// The version of Codex.
    pub codex_version: Option<String>,
    /// Options requested for the thread, as JSON.
    pub asked: Option<String>,
    /// Settings in force on the thread, as JSON.
    pub started: Option<String>,
    /// The resolved settings of its turns, as JSON.
    pub settings: Option<String>,
    /// Whether a turn runs.
    pub state: SessionState,
    /// Which tools its thread was started with; `None` if that was not recorded.
    pub contract: Option<i64>,
    /// Whether it was said which tools the thread lacks.
    pub contract_said: bool,
    /// Counters since its last review was recorded.
    pub review: ReviewCount,
    /// The tools of its thread with their sizes, as JSON; `None` if that was not recorded.
    pub tools: Option<String>,
    /// Whether it is out of the ordinary list.
    pub archived: bool,
    /// The session that it was forked from, and the last turn that it has of it.
    pub forked_from: Option<(SessionId, i64)>,
    /// What the next thread begins with, as JSON.
    pub basis: Option<String>,
    /// When it was made.
    pub created_at: i64,
    /// When something was last written to it.
    pub updated_at: i64,
    /// The number of the oldest stored event.
    pub first_seq: i64,
    /// The number of the newest event.
    pub last_seq: i64,
}

/// One of several sessions that match an abbreviated id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCandidate {
    /// The id or the alias that matches.
    pub name: String,
    /// What people see of it.
    pub title: Option<String>,
}

/// The result of looking up a typed session id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLookup {
    /// This session.
    One(Box<SessionRow>),
    /// Several begin with it; some of them.
    Ambiguous(Vec<SessionCandidate>),
    /// None.
    Unknown,
}

/// Filter of sessions. `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    pub kind: Option<SessionKind>,
    pub state: Option<SessionState>,
    /// Archived ones only, or only the others.
    pub archived: Option<bool>,
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// When its last session was last written to.
    pub updated_at: i64,
    pub id: SessionId,
}

/// Some sessions, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPage {
    pub sessions: Vec<SessionRow>,
    /// Where to continue, if there may be more.
    pub next: Option<Cursor>,
}
