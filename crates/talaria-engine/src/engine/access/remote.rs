//! What holds for callers over TCP alone: their token's directories, the digest that an answer needs, no facts about
//! this machine from outside of it, never a conversation without a sandbox.
//!
//! The scopes themselves are in `Access`, as for every other caller.

use talaria_core::access::{RouteNeed, is_below};
use talaria_core::api::{LocalCaller, Problem, ProblemCode, Shell};
use talaria_core::event::Started;
use talaria_core::ids::SessionId;
use talaria_core::policy::Sandbox;
use talaria_core::principal::Principal;
use talaria_core::request::Decision;
use talaria_guard::place::Place;
use talaria_store::{RequestRow, SessionRow, TaskLineRow};

use crate::engine::Engine;
use crate::engine::access::scope;
use crate::engine::journal::rows;
use crate::engine::queries::views;
use crate::engine::run::settings::Wanted;
use crate::engine::tasks::worktrees::Kept;

/// Says that a token lacks the scope of a route.
pub(crate) fn no_scope(principal: &Principal, needs: RouteNeed) -> Problem {
    match needs.scope() {
        Some(scope) => {
            let message = format!("{principal} lacks the scope `{scope}`");
            Problem::new(ProblemCode::Forbidden, message).try_this("use a token that has it")
        }
        None => Problem::new(ProblemCode::Forbidden, "this is not possible over TCP")
            .try_this("run the command on the machine of the engine"),
    }
}

/// Is it known that a conversation works in a sandbox?
fn is_sandboxed(session: &SessionRow) -> bool {
    let started = session.started.as_deref().and_then(|json| serde_json::from_str::<Started>(json).ok());
    match started {
        Some(started) => {
            started.sandbox.parse().is_ok_and(|sandbox: Sandbox| sandbox != Sandbox::DangerFullAccess)
        }
        None => {
            let wanted: Option<Wanted> =
                session.asked.as_deref().and_then(|json| serde_json::from_str(json).ok());
            let sandbox = wanted.and_then(|wanted| wanted.sandbox());
            sandbox.is_some_and(|sandbox| sandbox != Sandbox::DangerFullAccess)
        }
    }
}

impl Engine {
    /// Refuses a description of this machine that comes from outside of it: it names programs and variables.
    pub(crate) fn check_local(&self, caller: &LocalCaller) -> Result<(), Problem> {
        if !self.identity().is_remote() || *caller == LocalCaller::default() {
            return Ok(());
        }
        let message = "`caller` is only for clients on the machine of the engine";
        Err(Problem::new(ProblemCode::BadRequest, message)
            .try_this("leave it out: the engine then uses its own environment"))
    }

    /// Is this conversation within the directories of the token? Every other caller has no such limit.
    pub(crate) async fn is_within(&self, session: &SessionId) -> Result<bool, Problem> {
        if self.bound_roots().is_none() {
            return Ok(true);
        }
        let row = self.inner.shelf.store.session(session).await.map_err(|error| views::problem(&error))?;
        match row {
            Some(row) => self.is_session_within(&row).await,
            None => Ok(false),
        }
    }

    /// The same for a conversation that was read already. A task in a worktree is where its repository is.
    pub(crate) async fn is_session_within(&self, session: &SessionRow) -> Result<bool, Problem> {
        let Some(roots) = self.bound_roots() else { return Ok(true) };
        if is_below(&session.cwd, &roots) {
            return Ok(true);
        }
        if session.alias.is_none() {
            return Ok(false);
        }
        let task = self.inner.shelf.store.task(&session.id).await.map_err(|error| views::problem(&error))?;
        Ok(task.is_some_and(|task| is_worktree_within(task.worktree.as_deref(), &roots)))
    }

    /// The same for a line of the list of tasks.
    pub(crate) fn is_line_within(&self, line: &TaskLineRow) -> bool {
        let Some(roots) = self.bound_roots() else { return true };
        is_below(&line.cwd, &roots) || is_worktree_within(line.worktree.as_deref(), &roots)
    }

    /// Refuses a decision that reaches further than the token.
    pub(crate) async fn check_decision(
        &self,
        request: &RequestRow,
        decision: Decision,
    ) -> Result<(), Problem> {
        if !self.identity().is_remote() {
            return Ok(());
        }
        let place = request.place.as_deref().and_then(rows::value::<Place>);
        let Some(missing) = self.access().missing_for(decision, &request.kind, place) else { return Ok(()) };
        let message = format!("{} lacks the scope `{missing}`, which this answer needs", self.principal());
        let problem =
            Problem::new(ProblemCode::Forbidden, message).try_this("decline it, or use a token that has it");
        Err(self.refused("answer", Some(request.id.as_str()), problem).await)
    }

    /// Over TCP an answer names what was shown: a page that is old, or another one, answers nothing.
    pub(crate) async fn check_shown(
        &self,
        request: &RequestRow,
        shown: Option<&str>,
        digest: Option<&str>,
    ) -> Result<(), Problem> {
        if !self.identity().is_remote() || shown == digest {
            return Ok(());
        }
        let message = match shown {
            None => format!("the answer to {} needs the digest of what was shown", request.id),
            Some(_) => {
                format!("{} asks something else than what was shown, so nothing was answered", request.id)
            }
        };
        let problem = Problem::new(ProblemCode::Misfit, message)
            .try_this("read the request again, and send its `digest` with the answer");
        Err(self.refused("answer", Some(request.id.as_str()), problem).await)
    }

    /// May this caller continue, steer or end what runs in this conversation? A token never drives one without a sandbox.
    pub(crate) async fn check_drive(&self, action: &str, session: &SessionRow) -> Result<(), Problem> {
        if !self.identity().is_remote() || is_sandboxed(session) {
            return Ok(());
        }
        let message = format!("{} may not work in a conversation without a sandbox", self.principal());
        let problem =
            Problem::new(ProblemCode::Forbidden, message).try_this("start a task: it always has a sandbox");
        Err(self.refused(action, Some(session.id.as_str()), problem).await)
    }

    /// Refuses a command of a token outside of its directories or without a sandbox.
    pub(crate) async fn check_shell(
        &self,
        shell: &Shell,
        session: Option<&SessionRow>,
    ) -> Result<(), Problem> {
        if !self.identity().is_remote() {
            return Ok(());
        }
        if let Some(session) = session {
            return self.check_drive("shell", session).await;
        }
        let cwd = scope::directory("cwd", &shell.cwd).await?;
        let is_within = self.bound_roots().is_none_or(|roots| is_below(&cwd.to_string_lossy(), &roots));
        let message = match shell.sandbox {
            Some(Sandbox::ReadOnly | Sandbox::WorkspaceWrite) if is_within => return Ok(()),
            _ if is_within => format!("{} needs a sandbox for its commands", self.principal()),
            _ => format!("{} may not work in {}", self.principal(), cwd.display()),
        };
        let problem = Problem::new(ProblemCode::Forbidden, message)
            .try_this("name a sandbox, and a directory of the token");
        Err(self.refused("shell", None, problem).await)
    }
}

fn is_worktree_within(worktree: Option<&str>, roots: &[String]) -> bool {
    let kept: Option<Kept> = worktree.and_then(|json| serde_json::from_str(json).ok());
    kept.is_some_and(|kept| is_below(&kept.made.repository.to_string_lossy(), roots))
}
