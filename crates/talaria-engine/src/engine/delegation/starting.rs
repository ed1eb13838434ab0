//! Starts delegated tasks: depth and number are bounded before the first of them, and none has more than its parent.
//!
//! A task works where its parent works (or in a worktree of that), with the sandbox that is in force there at most, and always
//! asks a person. Two calls at once cannot exceed the number: one starts after the other. The name of a task's row is the call
//! and the goal, so that no goal of a call becomes two tasks: a call that the ledger runs again, because a task could not be
//! stored, continues after those that it has started.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use talaria_codex::spec::Surroundings;
use talaria_core::api::{Dirty, NewTask, NewTurn, ProblemCode, TaskStarted, TaskStatus};
use talaria_core::config::DelegationConfig;
use talaria_core::event::Started;
use talaria_core::ids::SessionId;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::principal::Principal;
use talaria_core::provider::CODEX_PROVIDER;
use talaria_core::quantity::quantity;
use talaria_core::runtime::{Runtime, RuntimeChoice};
use talaria_core::tool::ToolInvocation;
use talaria_store::{DelegationRow, NewDelegation, SessionRow, StoreError, ToolCallKey};

use super::DelegatedGoal;
use crate::engine::Inner;
use crate::engine::run::input;
use crate::engine::run::runtime::runtime_of;
use crate::engine::run::settings::{Settings, Wanted};
use crate::engine::tasks::TaskStart;
use crate::engine::tools::ledger::ToolFailure;
use crate::worktree;

/// The conversation that delegates.
struct DelegatingParent {
    row: SessionRow,
    /// Settings in force in the parent.
    started: Started,
    /// How deep its tasks are.
    depth: i64,
    /// How many of its tasks have not ended.
    unfinished: usize,
    /// The tasks that this call has started before.
    begun: Vec<DelegationRow>,
}

impl Inner {
    /// Starts one task for each goal; `Err` says to the model why none was started.
    pub(crate) async fn start_delegated(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        limits: &DelegationConfig,
        surroundings: Surroundings,
        goals: Vec<DelegatedGoal>,
    ) -> Result<String, ToolFailure> {
        let _one_at_a_time = self.delegating.lock().await;
        self.has_delegations.store(true, Ordering::Relaxed);
        let key =
            ToolCallKey { thread: call.thread.clone(), turn: call.turn.clone(), call: call.item.clone() };
        let parent = self.delegating_parent(session, &key).await?;
        let count = goals.len();
        check_limits(&parent, limits, count.saturating_sub(parent.begun.len()))?;
        let mut lines = Vec::with_capacity(count);
        let mut failure = None;
        for (number, goal) in goals.into_iter().enumerate() {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            if let Some(row) = parent.begun.iter().find(|row| row.goal == number) {
                let task = self.delegated_task(row).await?;
                let branch = task.worktree.as_ref().map(|worktree| worktree.branch.as_str());
                lines.push(started_line(&task.id, task.status, &task.cwd, branch));
                continue;
            }
            let (parent_id, depth) = (session.clone(), parent.depth);
            let delegation = NewDelegation { parent: parent_id, call: key.clone(), goal: number, depth };
            match self.start_goal(&parent, call, surroundings.clone(), goal, delegation).await {
                Ok(task) => {
                    lines.push(started_line(&task.id, task.status, &task.cwd, task.branch.as_deref()));
                }
                Err(ToolFailure::Refused(why)) => {
                    failure = Some(format!("goal {} was not started: {why}", number + 1));
                    break;
                }
                Err(unstored) => return Err(unstored),
            }
        }
        match (lines.len(), failure) {
            (0, Some(why)) => Err(why.into()),
            (started, failure) => {
                let heading = format!("Delegated tasks (complete): {started} of {count} started.");
                let rest = "They run beside this conversation. Collect with op wait; a result that you do not collect arrives \
                            with the user's next message.";
                let lines = std::iter::once(heading).chain(lines).chain(failure);
                Ok(lines.chain([rest.to_owned()]).collect::<Vec<_>>().join("\n"))
            }
        }
    }

    async fn delegating_parent(
        &self,
        session: &SessionId,
        call: &ToolCallKey,
    ) -> Result<DelegatingParent, ToolFailure> {
        let store = &self.shelf.store;
        let read = async {
            let row = store.session(session).await?;
            let own = store.delegation(session).await?;
            Ok::<_, StoreError>((row, own, store.delegations(session).await?))
        };
        let (row, own, children) = read.await.map_err(|error| {
            ToolFailure::of_store(format!("delegated tasks cannot be read now: {error}"), &error)
        })?;
        let row = row.ok_or("this conversation no longer exists")?;
        let started = row.started.as_deref().and_then(|json| serde_json::from_str(json).ok());
        let started = started.ok_or("it is not known what is in force in this conversation")?;
        let unfinished = children.iter().filter(|child| child.ended_at.is_none()).count();
        let begun = children.into_iter().filter(|child| child.call == *call).collect();
        Ok(DelegatingParent { row, started, depth: own.map_or(0, |own| own.depth) + 1, unfinished, begun })
    }

    async fn start_goal(
        self: &Arc<Self>,
        parent: &DelegatingParent,
        call: &ToolInvocation,
        surroundings: Surroundings,
        goal: DelegatedGoal,
        delegation: NewDelegation,
    ) -> Result<TaskStarted, ToolFailure> {
        let (sandbox, approval) = bounds(&parent.started);
        let settings =
            Settings::of_row(&parent.row).ok_or("the settings of this conversation cannot be read")?;
        if goal.has_worktree {
            check_worktree(parent, sandbox).await?;
        }
        let text = match &goal.context {
            Some(context) => format!("{}\n\nContext:\n{context}", goal.goal),
            None => goal.goal,
        };
        // Not what is usual by now: the task has what its parent has.
        let (provider, runtime) = match runtime_of(&parent.row) {
            Some(Runtime::OwnLoop) => (settings.provider().map(str::to_owned), RuntimeChoice::Off),
            _ => (Some(CODEX_PROVIDER.to_owned()), RuntimeChoice::CodexAppServer),
        };
        let new = NewTask {
            cwd: parent.row.cwd.clone(),
            model: Some(parent.started.model.clone()).filter(|model| !model.is_empty()),
            sandbox: Some(sandbox),
            approval: Some(approval),
            writable_roots: Vec::new(),
            network: sandbox == Sandbox::WorkspaceWrite && call.confinement.has_network,
            worktree: goal.has_worktree.then_some(Dirty::Copy),
            notify: Vec::new(),
            codex_home: None,
            started_in: None,
            terminal: None,
            turn: NewTurn {
                input: input::text(text),
                provider,
                runtime: Some(runtime),
                effort: parent.started.effort.clone(),
                caller: settings.caller(),
                ..NewTurn::default()
            },
        };
        let owner = Principal::delegating(&parent.row.id);
        let start = TaskStart {
            owner,
            widening: None,
            delegation: Some(delegation),
            surroundings: Some(surroundings),
        };
        self.as_owner().start_delegated_task(new, start).await.map_err(|problem| {
            let text = match problem.hint {
                Some(hint) => format!("{} ({hint})", problem.message),
                None => problem.message,
            };
            match problem.code {
                // Nothing was written.
                ProblemCode::Store => ToolFailure::NotStored { why: text.clone(), text },
                _ => ToolFailure::Refused(text),
            }
        })
    }
}

/// Depth and number, before anything is started.
fn check_limits(parent: &DelegatingParent, limits: &DelegationConfig, goals: usize) -> Result<(), String> {
    let depth = u64::try_from(parent.depth).unwrap_or(u64::MAX);
    if depth > limits.depth() {
        return Err(format!(
            "nothing was started: this conversation is itself a delegated task, and tasks are delegated {} deep at most \
             (delegation.max_depth); do the work here",
            limits.depth()
        ));
    }
    let most = usize::try_from(limits.children()).unwrap_or(usize::MAX);
    if parent.unfinished.saturating_add(goals) > most {
        return Err(format!(
            "nothing was started: at most {} of a conversation may be unfinished (delegation.max_children); unfinished now: {}, \
             wanted: {goals}. Wait for one, stop one, or do the work here",
            quantity(most, "delegated task", "delegated tasks"),
            parent.unfinished
        ));
    }
    Ok(())
}

/// The sandbox and the approval policy of a task: at most those of its parent, never none, and it always asks.
fn bounds(parent: &Started) -> (Sandbox, ApprovalPolicy) {
    let sandbox = match parent.sandbox.as_str() {
        "workspace-write" | "danger-full-access" => Sandbox::WorkspaceWrite,
        // Also what this version does not know.
        _ => Sandbox::ReadOnly,
    };
    let approval = match parent.approval.as_str() {
        "on-request" => ApprovalPolicy::OnRequest,
        _ => ApprovalPolicy::Untrusted,
    };
    (sandbox, approval)
}

/// A worktree opens the whole repository and parts of its git directory: the parent must be able to write both.
async fn check_worktree(parent: &DelegatingParent, sandbox: Sandbox) -> Result<(), String> {
    if sandbox == Sandbox::ReadOnly {
        return Err(
            "this conversation may not write, so that a worktree is of no use; leave worktree out".to_owned()
        );
    }
    if parent.started.sandbox == "danger-full-access" {
        return Ok(());
    }
    let places = worktree::places(Path::new(&parent.row.cwd)).await.map_err(|error| error.to_string())?;
    let open: Vec<PathBuf> = Wanted::of_row(&parent.row)
        .iter()
        .flat_map(Wanted::directories)
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect();
    match places.iter().find(|place| !open.iter().any(|open| place.starts_with(open))) {
        None => Ok(()),
        Some(place) => Err(format!(
            "a worktree needs {}, which this conversation may not write; leave worktree out",
            place.display()
        )),
    }
}

fn started_line(id: &str, status: TaskStatus, cwd: &str, branch: Option<&str>) -> String {
    let branch = branch.map(|branch| format!(", branch {branch}")).unwrap_or_default();
    format!("{id} {} in {cwd}{branch}", status.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_force(sandbox: &str, approval: &str) -> Started {
        serde_json::from_value(serde_json::json!({
            "thread": "t", "cwd": "/", "model": "m", "provider": "p", "effort": null, "sandbox": sandbox,
            "approval": approval, "codex": "0", "path": null,
        }))
        .unwrap()
    }

    #[test]
    fn a_task_never_has_more_than_its_parent_and_always_asks() {
        let words = |sandbox, approval| {
            let (sandbox, approval) = bounds(&in_force(sandbox, approval));
            (sandbox.as_str(), approval.as_str())
        };
        assert_eq!(words("read-only", "never"), ("read-only", "untrusted"));
        assert_eq!(words("workspace-write", "on-request"), ("workspace-write", "on-request"));
        assert_eq!(words("danger-full-access", "on-failure"), ("workspace-write", "untrusted"));
        assert_eq!(words("something new", "something new"), ("read-only", "untrusted"));
    }
}
