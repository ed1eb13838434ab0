//! The permissions of a conversation, shown and changed by a person. A change is recorded with the session; the next turn opens
//! the conversation with it, and the runtime's own report says what is in force (`actor`, `runtime`).
//!
//! A task keeps what it was started with. While a command of the conversation runs in the background on Codex, nothing is
//! changed: the thread has to be loaded again, which would end the command.

use std::path::{Component, Path};

use talaria_core::api::{PermissionsChange, PermissionsInForce, Problem, ProblemCode, SessionPermissions};
use talaria_core::event::Started;
use talaria_core::next_step::NextStep;
use talaria_core::policy::Sandbox;
use talaria_core::runtime::Runtime;
use talaria_home::faults;
use talaria_store::{Change, NewAudit, SessionPatch, SessionRow};

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;
use crate::engine::run::runtime::runtime_of;
use crate::engine::run::settings::{Settings, Wanted};

impl Engine {
    /// Returns the permissions of a conversation: those requested for its next turn, and those in force.
    pub async fn permissions(&self, id: &str) -> Result<SessionPermissions, Problem> {
        let _caller = self.inner.enter()?;
        Ok(shown(&self.find(id).await?))
    }

    /// Changes the permissions of a conversation from its next turn on.
    pub async fn change_permissions(
        &self,
        id: &str,
        change: PermissionsChange,
    ) -> Result<SessionPermissions, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "change_permissions", "change the permissions of a conversation")
            .await?;
        let session = self.find(id).await?;
        let wanted = self.changeable(&session)?;
        let wanted = filled(wanted, &session).changed_by(&change);
        check(&change, &wanted)?;
        let settings = Settings::of_row(&session).zip(wanted.answers());
        let settings = settings.map(|(settings, answers)| settings.answered_by(answers));
        let patch = SessionPatch {
            asked: serde_json::to_string(&wanted).ok(),
            // Input that waits runs with the next turn's answerer, too.
            settings: settings.and_then(|settings| serde_json::to_string(&settings).ok()),
            ..SessionPatch::default()
        };
        let audit =
            NewAudit { session: Some(session.id.to_string()), ..self.audit_entry("change_permissions") };
        self.inner.hold(&session.id).await?;
        faults::point("before:permissions").await;
        let written = self.inner.write(&session.id, vec![Change::Session(patch), Change::Audit(audit)]).await;
        written.map_err(|error| views::problem(&error))?;
        faults::point("after:permissions").await;
        Ok(shown(&self.find(session.id.as_str()).await?))
    }

    /// The recorded request of a conversation whose permissions a person may change now.
    fn changeable(&self, session: &SessionRow) -> Result<Wanted, Problem> {
        let conflict = |message: String| Problem::new(ProblemCode::Conflict, message);
        if let Some(task) = &session.alias {
            return Err(conflict(format!(
                "the permissions of {task} were decided when the task was started"
            ))
            .try_this("start another task with the permissions that it needs"));
        }
        let runtime = runtime_of(session)
            .ok_or_else(|| conflict("this conversation has not been continued here yet".to_owned()))?;
        let background = self.inner.shelf.background.of(&session.id).len();
        if runtime == Runtime::CodexAppServer && background > 0 {
            let what = if background == 1 { "a command runs" } else { "commands run" };
            return Err(conflict(format!(
                "{what} in the background, and a change of the permissions would end it"
            ))
            .next(NextStep::from("stop it first: `talaria ps` lists it, /ps does in the chat")));
        }
        Wanted::of_row(session).ok_or_else(|| {
            Problem::new(ProblemCode::Internal, "the stored request of the conversation cannot be read")
        })
    }
}

/// The same, asking for the sandbox and the policy in force where the configuration of the runtime had decided: what is not
/// changed stays as it is.
fn filled(wanted: Wanted, session: &SessionRow) -> Wanted {
    let Some(started) = started(session) else { return wanted };
    let keep = PermissionsChange {
        sandbox: wanted.sandbox().or_else(|| started.sandbox.parse().ok()),
        approval: wanted.approval().or_else(|| started.approval.parse().ok()),
        ..PermissionsChange::default()
    };
    if wanted.is_changed() { wanted } else { wanted.keeping(&keep) }
}

/// Checks the changed values against each other.
fn check(change: &PermissionsChange, wanted: &Wanted) -> Result<(), Problem> {
    let bad = |message: String| Problem::new(ProblemCode::BadRequest, message);
    let is_workspace = wanted.sandbox() == Some(Sandbox::WorkspaceWrite);
    let names_workspace = change.network.is_some() || change.writable_roots.is_some();
    if names_workspace && !is_workspace {
        let sandbox = wanted.sandbox().map_or("not known", Sandbox::as_str);
        return Err(bad(format!(
            "network and further directories belong to the sandbox workspace-write; the sandbox is {sandbox}"
        ))
        .try_this("choose workspace-write as well"));
    }
    for root in change.writable_roots.iter().flatten() {
        let path = Path::new(root);
        let is_clean =
            path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !path.is_absolute() || !is_clean {
            return Err(bad(format!("{root:?} is not an absolute path without `..`")));
        }
        if !path.is_dir() {
            return Err(bad(format!("{root} is not a directory")));
        }
    }
    Ok(())
}

fn started(session: &SessionRow) -> Option<Started> {
    serde_json::from_str(session.started.as_deref()?).ok()
}

fn shown(session: &SessionRow) -> SessionPermissions {
    let in_force = started(session).map(|started| PermissionsInForce {
        sandbox: started.sandbox,
        approval: started.approval,
        network: started.network,
        writable_roots: started.writable_roots,
    });
    let requested = Wanted::of_row(session).map(|wanted| wanted.permissions()).unwrap_or_default();
    SessionPermissions { requested, in_force }
}
