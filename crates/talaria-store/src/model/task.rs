//! Tasks: the additional data of a session of the kind `task`, and the list of tasks. The status of a task is derived
//! from its turns and requests and never stored.

use talaria_core::event::Stage;
use talaria_core::ids::SessionId;

use crate::model::delegation::NewDelegation;
use crate::model::session::Cursor;

/// What makes a new session a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTaskRow {
    /// Its owner.
    pub owner: String,
    /// The worktree it works in, as JSON.
    pub worktree: Option<String>,
    /// Whom to notify, one target each.
    pub notify: Vec<String>,
    /// Its origin, if it was imported.
    pub origin: Option<String>,
    /// What delegated it, if a conversation did.
    pub delegation: Option<NewDelegation>,
}

/// A stored task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    pub session: SessionId,
    /// The requester.
    pub owner: String,
    /// The worktree it works in, as JSON.
    pub worktree: Option<String>,
    /// Whom to notify, one target each.
    pub notify: Vec<String>,
    /// Its origin, if it was imported.
    pub origin: Option<String>,
}

/// Filter of tasks. `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Wanted by this one.
    pub owner: Option<String>,
    /// Those with a turn that is not settled, or only the others.
    pub active: Option<bool>,
}

/// A task as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLineRow {
    pub id: SessionId,
    pub alias: Option<String>,
    pub title: Option<String>,
    pub cwd: String,
    /// When it was made.
    pub created_at: i64,
    /// When something was last written to it.
    pub updated_at: i64,
    /// The requester.
    pub owner: String,
    /// The worktree it works in, as JSON.
    pub worktree: Option<String>,
    /// The turn that runs; if none does, the last one.
    pub turn: Option<LastTurn>,
    /// How many requests wait for a person.
    pub open_requests: i64,
    /// True if one of them needs text from a person, not only a decision (kinds `input` and `elicitation`).
    pub wants_input: bool,
}

/// The turn that decides the status of a task: the first unsettled one, else the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastTurn {
    /// Its number in the session, from 1.
    pub ordinal: i64,
    /// How far it is.
    pub stage: Stage,
    /// Its outcome, as a word.
    pub outcome_kind: Option<String>,
    /// Why it failed, as a word.
    pub code: Option<String>,
    /// Who interrupted it, as a word.
    pub interrupted_by: Option<String>,
    /// When it was prepared.
    pub created_at: i64,
    /// When it was settled.
    pub settled_at: Option<i64>,
}

/// Some tasks, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPage {
    pub tasks: Vec<TaskLineRow>,
    /// Where to continue, if there may be more.
    pub next: Option<Cursor>,
}

impl TaskLineRow {
    /// Where a page ends that ends with it.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { updated_at: self.updated_at, id: self.id.clone() }
    }
}
