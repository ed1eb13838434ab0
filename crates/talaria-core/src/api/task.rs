//! Tasks: conversations that work in the background.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CodexProgram, NewTurn, RequestInfo};
use crate::event::Usage;
use crate::ids::SessionId;
use crate::outcome::Report;
use crate::policy::{ApprovalPolicy, Sandbox};
use crate::principal::Principal;

/// The state of a task. Derived from its last turn and its open requests, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It waits for a place among those that run.
    Queued,
    /// Its turn was recorded and Codex does not have it yet.
    Starting,
    /// Codex works on it.
    Working,
    /// It waits for a person's decision.
    WaitingForApproval,
    /// It waits for a person's words.
    WaitingForUserInput,
    /// Codex said that it completed.
    Completed,
    /// It failed.
    Failed,
    /// Someone stopped it.
    Cancelled,
    /// Its outcome is unknown.
    Lost,
}

impl TaskStatus {
    /// The word used in JSON and on screen.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Working => "working",
            Self::WaitingForApproval => "waiting_for_approval",
            Self::WaitingForUserInput => "waiting_for_user_input",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }

    /// Is its last turn over?
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Lost)
    }

    /// Does it wait for a person?
    pub const fn is_waiting(self) -> bool {
        matches!(self, Self::WaitingForApproval | Self::WaitingForUserInput)
    }
}

/// What happens to uncommitted changes in the user's checkout when a task gets its own worktree. The checkout itself is
/// never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dirty {
    /// The task is not started.
    Refuse,
    /// The task starts from the last commit and does not see them.
    Leave,
    /// They become a commit of their own that the task starts from, so that its work is separate from them and fits the
    /// checkout afterwards. Includes new files, but not ignored ones or what a submodule has checked out.
    Copy,
}

/// A new task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewTask {
    /// Where it works; absolute.
    pub cwd: String,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// The sandbox; `None` is the tightest.
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
    /// When Codex asks; `None` is `untrusted`.
    #[serde(default)]
    pub approval: Option<ApprovalPolicy>,
    /// Directories that may be written besides the working directory; absolute.
    #[serde(default)]
    pub writable_roots: Vec<String>,
    /// May its commands use the network?
    #[serde(default)]
    pub network: bool,
    /// Create a git worktree and a branch for it.
    #[serde(default)]
    pub worktree: Option<Dirty>,
    /// Who is notified when it ends or waits for a person.
    #[serde(default)]
    pub notify: Vec<String>,
    /// Where Codex keeps its things, if a model named it; it must be listed.
    #[serde(default)]
    pub codex_home: Option<String>,
    /// The directory in which the caller was started: a model works in there, unless other roots are configured.
    #[serde(default)]
    pub started_in: Option<String>,
    /// The terminal of the person who started it.
    #[serde(default)]
    pub terminal: Option<String>,
    /// Its first turn.
    pub turn: NewTurn,
}

/// A task was recorded and will be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskStarted {
    /// Its name.
    pub id: String,
    /// The conversation that it is.
    pub session: SessionId,
    /// Its state.
    pub status: TaskStatus,
    /// Where it works.
    pub cwd: String,
    /// Its branch, if it has its own.
    pub branch: Option<String>,
    /// Events of its first turn have greater numbers.
    pub after: i64,
    /// The Codex that runs it.
    #[serde(default)]
    pub codex: Option<CodexProgram>,
}

/// A follow-up was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskSent {
    /// Which turn it is, unless another one runs before it.
    pub turn: Option<i64>,
    /// Does it wait until the turn that runs has ended?
    pub waits: bool,
    /// Events of it have greater numbers.
    pub after: i64,
}

/// Which tasks are listed, the one first in which something happened last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskQuery {
    /// The maximum number.
    pub limit: usize,
    /// Only entries after this one: the id of the last task of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Only those that have not ended.
    pub active: bool,
}

impl Default for TaskQuery {
    fn default() -> Self {
        Self { limit: 50, before: None, active: false }
    }
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskLine {
    /// Its name.
    pub id: String,
    /// The conversation that it is.
    pub session: SessionId,
    /// Its state.
    pub status: TaskStatus,
    /// Its title.
    pub title: String,
    /// Who started it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub owner: Principal,
    /// Where it works.
    pub cwd: String,
    /// How many requests wait for a person.
    pub open_requests: u32,
    /// When it was asked for; it may have waited for a place.
    pub created_at: Timestamp,
    /// When something happened last.
    pub updated_at: Timestamp,
    /// When its last turn had an outcome.
    pub completed_at: Option<Timestamp>,
    /// The variable with the key of its model provider, where the turn cannot continue without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

/// A task with what it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskInfo {
    /// Its name.
    pub id: String,
    /// The conversation that it is.
    pub session: SessionId,
    /// Its state.
    pub status: TaskStatus,
    /// Its title.
    pub title: String,
    /// How its last turn ended.
    pub outcome: Option<Report>,
    /// Its final answer.
    pub answer: Option<String>,
    /// The files that it changed.
    pub files: Vec<String>,
    /// The commands that it ran.
    pub commands: Vec<String>,
    /// The commands that run now.
    #[serde(default)]
    pub running: Vec<String>,
    /// Input queued after the running turn, in order, secrets masked.
    #[serde(default)]
    pub queued: Vec<String>,
    /// The request that it waits for.
    pub requests: Vec<RequestInfo>,
    /// What all its turns cost.
    pub usage: Option<Usage>,
    /// When it was asked for; it may have waited for a place.
    pub created_at: Timestamp,
    /// When the turn that runs, or else the last one, was sent to Codex.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// When it had an outcome.
    pub completed_at: Option<Timestamp>,
    /// When something happened last.
    pub updated_at: Timestamp,
    /// Who started it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub owner: Principal,
    /// Where it works.
    pub cwd: String,
    /// The model.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: Option<Sandbox>,
    /// When Codex asks.
    pub approval: Option<ApprovalPolicy>,
    /// Writable roots besides its working directory; in a worktree also four places of the git directory.
    #[serde(default)]
    pub writable_roots: Vec<String>,
    /// May its commands use the network?
    #[serde(default)]
    pub network: bool,
    /// How many turns it has, those included that are queued.
    pub turns: i64,
    /// How many tasks come before it, while it waits for a place.
    #[serde(default)]
    pub ahead: Option<usize>,
    /// Its own worktree, if it has one.
    #[serde(default)]
    pub worktree: Option<WorktreeInfo>,
    /// Its notifications.
    #[serde(default)]
    pub notices: Vec<NoticeInfo>,
    /// The last things that happened, pieces of text left out.
    #[serde(default)]
    pub events: Vec<TaskEvent>,
    /// Its origin, if it was imported.
    #[serde(default)]
    pub origin: Option<String>,
}

/// Something that happened in a task, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskEvent {
    /// Its number.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// Its type, as in the event stream.
    pub kind: String,
    /// One line about it.
    pub text: String,
}

/// A worktree of a task, and what was changed in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreeInfo {
    /// The user's own checkout.
    pub repository: String,
    /// Where it is.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// The commit that it began with.
    pub base: String,
    /// The changes since then; `None` if unknown, and `problem` has the reason.
    pub changes: Option<Changes>,
    /// Why that is not known; of a worktree that was discarded, that it was.
    #[serde(default)]
    pub problem: Option<String>,
}

/// Changes against the base.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changes {
    /// The files.
    pub files: Vec<TaskFileChange>,
    /// The commits, the oldest first: id and subject.
    pub commits: Vec<(String, String)>,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Whether there are uncommitted changes.
    pub uncommitted: bool,
    /// Whether there are more files than listed.
    pub truncated: bool,
}

impl Changes {
    /// One line about it.
    pub fn stat(&self) -> String {
        let count = self.files.len();
        let more = if self.truncated { "more than " } else { "" };
        let files = if count == 1 { "file" } else { "files" };
        format!("{more}{count} {files} changed, +{} -{}", self.insertions, self.deletions)
    }
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FileChange"))]
pub struct TaskFileChange {
    /// Where, from the top of the repository.
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed`, …
    pub status: String,
    /// Lines added; `None` if it is not text.
    pub added: Option<u64>,
    /// Lines removed; `None` if it is not text.
    pub removed: Option<u64>,
}

/// The difference to the base, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskDiff {
    /// The unified diff; cut off at the end if it is very long, and says so.
    pub diff: String,
}

/// The changes of a task were applied to the user's checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Applied {
    /// The checkout.
    pub repository: String,
    /// The files that were changed in it, not committed.
    pub files: Vec<String>,
    /// The checkout had all of the changes before: they were applied already, and nothing was written.
    #[serde(default)]
    pub already_applied: bool,
}

/// A request to discard a worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Discard {
    /// Also if there is work in it that is nowhere else.
    #[serde(default)]
    pub force: bool,
}

/// A worktree was thrown away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Discarded {
    /// The branch that is gone.
    pub branch: String,
    /// The commit with the work, available until git's garbage collection.
    pub commit: Option<String>,
    /// The result, and how to restore the work.
    pub message: String,
}

/// A notification, pending or sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticeInfo {
    /// Its name.
    pub id: String,
    /// The task.
    pub task: String,
    /// `outcome` or `request`.
    pub kind: String,
    /// Whom; `None` if no one was named.
    pub target: Option<String>,
    /// Its state.
    pub state: NoticeState,
    /// How often it was tried.
    pub attempts: i64,
    /// Why the last try failed.
    pub error: Option<String>,
    /// When it was sent.
    pub sent_at: Option<Timestamp>,
    /// When it is tried next.
    pub due_at: Option<Timestamp>,
    /// Might the receiver have it twice?
    pub repeat: bool,
    /// The content that would be sent, for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The state of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeState {
    /// It will be sent.
    Pending,
    /// It is being sent.
    Sending,
    /// The receiver has it.
    Sent,
    /// A try failed; there will be another.
    Failed,
    /// It is not tried any more.
    Abandoned,
    /// No one was named.
    NoTarget,
}

/// A request to send undelivered notifications now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Notify {
    /// The maximum number.
    pub limit: usize,
    /// Only say what would be sent.
    pub dry_run: bool,
}

impl Default for Notify {
    fn default() -> Self {
        Self { limit: 10, dry_run: false }
    }
}
