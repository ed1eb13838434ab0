//! Who is notified of what: a notification is recorded in one transaction with its event, and sent as soon as
//! possible. Its text is composed when it is sent, from the rows of the task.
//!
//! Targets may contain secrets (a webhook's address, a program's arguments): they are stored sealed, and shown by
//! their label.

use talaria_core::api::{NoticeInfo, NoticeState, Problem, ProblemCode};
use talaria_core::ids::TicketId;
use talaria_core::notice::Target;
use talaria_store::{NewOutbox, OutboxRow, OutboxState};

use crate::engine::Engine;
use crate::engine::journal::TaskContext;
use crate::engine::queries::views;
use crate::engine::seal::Seal;
use talaria_home::clock::now_ms;

/// The prefix of a target that is sealed.
const SEALED: &str = "sealed:";
/// The target that needs no seal.
const LOCAL: &str = "local";

/// The notification for the end of a task's turn. Also without a target: then that can be seen.
pub(crate) fn outcome(task: &TaskContext, ordinal: i64) -> impl Iterator<Item = NewOutbox> {
    let name = format!("{}/{ordinal}", task.id);
    let nobody = task.notify.is_empty().then_some(None);
    let targets = task.notify.iter().cloned().map(Some).chain(nobody).enumerate();
    targets.map(move |(at, target)| entry(format!("{name}/{at}"), "outcome", target, &ordinal.to_string()))
}

/// Notifications for a task that waits for a person.
pub(crate) fn request(task: &TaskContext, id: &TicketId) -> impl Iterator<Item = NewOutbox> {
    let targets = task.notify.iter().cloned().enumerate();
    targets.map(move |(at, target)| entry(format!("{id}/{at}"), "request", Some(target), id.as_str()))
}

fn entry(id: String, kind: &str, target: Option<String>, about: &str) -> NewOutbox {
    let payload = serde_json::json!({ "about": about }).to_string();
    NewOutbox { id, kind: kind.to_owned(), payload, target, due_at: now_ms() }
}

/// Subject of an entry: the number of a turn, or the id of a request.
pub(crate) fn about(payload: &str) -> Option<String> {
    let payload: serde_json::Value = serde_json::from_str(payload).ok()?;
    Some(payload.get("about")?.as_str()?.to_owned())
}

/// A target in its stored form.
pub(crate) fn seal_target(target: &str, seal: &Seal) -> Result<String, Problem> {
    if target == LOCAL {
        return Ok(LOCAL.to_owned());
    }
    let sealed = seal
        .close(target)
        .map_err(|error| Problem::new(ProblemCode::Store, format!("the target cannot be sealed: {error}")))?;
    Ok(format!("{SEALED}{}", hex::encode(sealed)))
}

/// A target as it was given.
pub(crate) fn revealed(kept: &str, seal: &Seal) -> Option<Target> {
    let Some(digits) = kept.strip_prefix(SEALED) else { return kept.parse().ok() };
    seal.reveal(&hex::decode(digits).ok()?)?.parse().ok()
}

impl Engine {
    /// Reads the targets of a new task, and returns them as they are stored.
    pub(crate) fn kept_targets(&self, targets: &[String]) -> Result<Vec<String>, Problem> {
        let config = self.inner.home.load_config().map(|(config, _)| config.notify).unwrap_or_default();
        let mut read: Vec<Target> = Vec::new();
        for text in targets {
            let target: Target = text.trim().parse().map_err(|error: talaria_core::notice::BadTarget| {
                Problem::new(ProblemCode::BadRequest, format!("invalid notification target: {error}"))
            })?;
            config.ready(&target).map_err(|missing| {
                Problem::new(ProblemCode::BadRequest, missing.to_string())
                    .try_this("complete the section [notify] of config.toml, then try again")
            })?;
            if !read.contains(&target) {
                read.push(target);
            }
        }
        read.iter().map(|target| seal_target(&target.to_string(), &self.inner.shelf.seal)).collect()
    }

    /// The state of a notification.
    pub(crate) fn notice_info(&self, owed: &OutboxRow, task: &str) -> NoticeInfo {
        let label = |kept: &String| {
            revealed(kept, &self.inner.shelf.seal)
                .map_or_else(|| "a target that can no longer be read".to_owned(), |target| target.label())
        };
        let is_waiting =
            matches!(owed.state, OutboxState::Pending | OutboxState::Failed) && owed.target.is_some();
        NoticeInfo {
            id: owed.id.clone(),
            task: task.to_owned(),
            kind: owed.kind.clone(),
            target: owed.target.as_ref().map(label),
            state: match owed.state {
                // It remains in the outbox and is never sent.
                OutboxState::Pending if owed.target.is_none() => NoticeState::NoTarget,
                OutboxState::Pending => NoticeState::Pending,
                OutboxState::Sending => NoticeState::Sending,
                OutboxState::Sent => NoticeState::Sent,
                OutboxState::Failed => NoticeState::Failed,
                OutboxState::Abandoned => NoticeState::Abandoned,
                OutboxState::NoTarget => NoticeState::NoTarget,
            },
            attempts: owed.attempts,
            error: owed.error.clone(),
            sent_at: owed.sent_at.map(views::time),
            due_at: is_waiting.then(|| views::time(owed.due_at)),
            repeat: owed.repeat,
            message: None,
        }
    }
}
