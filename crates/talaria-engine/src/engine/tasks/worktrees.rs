//! The worktrees of tasks, as the API exposes them: created with the task, compared with their base, applied to the
//! user's checkout, discarded.

use serde::{Deserialize, Serialize};
use talaria_core::api::{
    Applied, Changes, Discard, Discarded, NewTask, Problem, ProblemCode, TaskDiff, TaskFileChange,
    WorktreeInfo,
};
use talaria_core::next_step::NextStep;
use talaria_guard::redact::redact;
use talaria_store::{Change, SessionRow, TaskRow};

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::journal::rows;
use crate::engine::queries::views;
use crate::worktree::{self, Force, Made, WorktreeError};

/// The longest diff that is shown, in bytes.
const LONGEST_DIFF: usize = 1024 * 1024;

/// How long a look at what was changed may take.
const LOOK: std::time::Duration = std::time::Duration::from_secs(15);

/// Stored facts about a worktree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) made: Made,
    /// Report of the discard.
    #[serde(default)]
    pub(crate) discarded: Option<String>,
}

impl Kept {
    /// Reads the row of a task.
    pub(crate) fn of(row: &TaskRow) -> Option<Self> {
        serde_json::from_str(row.worktree.as_deref()?).ok()
    }

    /// Why nothing can be done with it, if it was thrown away.
    pub(crate) fn problem(&self, what: &str) -> Option<Problem> {
        let discarded = self.discarded.as_ref()?;
        let message = format!("the worktree of this task is gone ({discarded}): {what}");
        Some(Problem::new(ProblemCode::Conflict, message).try_this("start a new task"))
    }
}

impl Engine {
    /// Creates the worktree that a task asked for.
    pub(crate) async fn make_worktree(&self, new: &NewTask, task: &str) -> Result<Option<Made>, Problem> {
        let Some(dirty) = new.worktree else { return Ok(None) };
        let made = worktree::make(new.cwd.as_ref(), task, &self.inner.home.worktrees_dir(), dirty).await;
        made.map(Some).map_err(|error| trouble(&error))
    }

    /// The state of the worktree of a task.
    pub(crate) async fn worktree_of(&self, row: &TaskRow) -> Option<WorktreeInfo> {
        let kept = Kept::of(row)?;
        let (changes, problem) = match &kept.discarded {
            Some(discarded) => (None, Some(discarded.clone())),
            None => match tokio::time::timeout(LOOK, kept.made.changes()).await {
                Ok(Ok(changes)) => (Some(describe(&changes)), altered(&changes)),
                Ok(Err(error)) => (None, Some(redact(&error.to_string()).into_owned())),
                Err(_) => (None, Some("git takes too long to say what was changed".to_owned())),
            },
        };
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        Some(WorktreeInfo {
            repository: text(&kept.made.repository),
            path: text(&kept.made.worktree),
            branch: kept.made.branch,
            base: kept.made.base,
            changes,
            problem,
        })
    }

    /// The changes of a task, as a diff.
    pub async fn diff(&self, id: &str) -> Result<TaskDiff, Problem> {
        let (_, kept) = self.find_worktree(id).await?;
        let diff = kept.made.diff(LONGEST_DIFF).await.map_err(|error| trouble(&error))?;
        Ok(TaskDiff { diff: redact(&diff).into_owned() })
    }

    /// Applies the changes of a task to the user's checkout.
    pub async fn apply(&self, id: &str) -> Result<Applied, Problem> {
        self.require(Needs::Land, "apply", "apply changes to the user's checkout").await?;
        let (session, kept) = self.find_worktree(id).await?;
        self.check_still(&session, "apply its work").await?;
        let applied = kept.made.apply().await.map_err(|error| trouble(&error))?;
        let repository = kept.made.repository.to_string_lossy().into_owned();
        Ok(Applied { repository, files: applied.files, already_applied: applied.is_repeated })
    }

    /// Discards the worktree of a task.
    pub async fn discard(&self, id: &str, discard: Discard) -> Result<Discarded, Problem> {
        self.require(Needs::Land, "discard", "discard a worktree").await?;
        let (session, mut kept) = self.find_worktree(id).await?;
        self.check_still(&session, "discard its worktree").await?;
        self.check_own(&kept)?;
        let force = if discard.force { Force::DropWork } else { Force::KeepWork };
        let gone = kept.made.discard(force).await.map_err(|error| trouble(&error))?;
        let message = farewell(&gone);
        kept.discarded = Some(message.clone());
        self.inner.hold(&session.id).await?;
        let change = Change::TaskWorktree(serde_json::to_string(&kept).ok());
        self.inner.write(&session.id, vec![change]).await.map_err(|error| views::problem(&error))?;
        Ok(Discarded { branch: kept.made.branch, commit: gone.kept.or(gone.tip), message })
    }

    /// The worktree of a task, if it has one.
    async fn find_worktree(&self, id: &str) -> Result<(SessionRow, Kept), Problem> {
        let session = self.find(id).await?;
        let (name, row) = self.task_row(&session).await?;
        let kept = Kept::of(&row).ok_or_else(|| {
            Problem::new(ProblemCode::Conflict, format!("{name} has no worktree of its own"))
                .try_this("it worked in the directory itself; start one with --worktree")
        })?;
        match kept.problem("there is nothing to be done with it") {
            Some(problem) => Err(problem),
            None => Ok((session, kept)),
        }
    }

    /// A copy of a home does not throw away what the original works in.
    fn check_own(&self, kept: &Kept) -> Result<(), Problem> {
        let worktree = kept.made.worktree.canonicalize().unwrap_or_else(|_| kept.made.worktree.clone());
        match &self.inner.identity.copy_of {
            Some(original) if worktree.starts_with(original) => {
                let message = format!("this home is a copy, and the worktree belongs to {original}");
                Err(Problem::new(ProblemCode::Conflict, message)
                    .try_this(format!("discard it there: TALARIA_HOME={original} talaria task discard …")))
            }
            _ => Ok(()),
        }
    }

    /// Work is never taken away from under a running turn.
    async fn check_still(&self, session: &SessionRow, what: &str) -> Result<(), Problem> {
        let runs = self.inner.shelf.store.next_unsettled(&session.id).await;
        match runs.map_err(|error| views::problem(&error))? {
            None => Ok(()),
            Some(_) => {
                let name = session.alias.as_deref().unwrap_or_default();
                let step = NextStep::StopTask { task: name.to_owned(), then: what.to_owned() };
                Err(Problem::new(ProblemCode::Busy, format!("{name} still works")).next(step))
            }
        }
    }
}

/// Message about a discarded worktree, and how to restore its work.
fn farewell(gone: &worktree::DiscardedWorktree) -> String {
    match gone.recovery() {
        Some(command) => format!("discarded; to restore it (until git gc): {command}"),
        None => "discarded; there was no work in it".to_owned(),
    }
}

pub(crate) fn trouble(error: &WorktreeError) -> Problem {
    Problem::new(ProblemCode::Conflict, redact(&error.to_string()).into_owned()).next(error.next_step())
}

fn describe(changes: &worktree::WorktreeChanges) -> Changes {
    let file = |file: &worktree::ChangedFile| TaskFileChange {
        path: file.path.clone(),
        status: rows::word(&file.status),
        added: file.added,
        removed: file.removed,
    };
    Changes {
        files: changes.files.iter().map(file).collect(),
        commits: changes
            .commits
            .iter()
            .rev()
            .map(|commit| (commit.id.clone(), redact(&commit.subject).into_owned()))
            .collect(),
        insertions: changes.insertions,
        deletions: changes.deletions,
        uncommitted: changes.uncommitted,
        truncated: changes.truncated,
    }
}

fn altered(changes: &worktree::WorktreeChanges) -> Option<String> {
    let nested = (!changes.nested.is_empty())
        .then(|| format!("repositories inside of it are left out: {}", changes.nested.join(", ")));
    let altered = (!changes.altered.is_empty()).then(|| {
        format!(
            "the task changed git's own files there ({}): do not run git in it",
            changes.altered.join(", ")
        )
    });
    let told: Vec<String> = altered.into_iter().chain(nested).collect();
    (!told.is_empty()).then(|| told.join("; "))
}
