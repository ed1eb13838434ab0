//! The request of Talaria itself: may a task that a model started have more than its sandbox?
//!
//! The wish is in the row of the session (`Widening`), apart from what is granted, until a person accepts: then
//! both are one, in the transaction that closes the request. So an engine that ends at any moment leaves either a question
//! or a decision. The task waits for neither a place nor Codex while there is no decision.

use talaria_core::ids::SessionId;
use talaria_core::outcome::{FailureCode, Report};
use talaria_core::request::{Answer, Ask, FileAccess, PathAccess, PermissionPlace, Permissions, Who};
use talaria_store::{
    AuditOutcome, Change, NewAudit, RequestRow, RequestState, SessionPatch, SessionRow, StoreError,
};

use crate::engine::Inner;
use crate::engine::journal::Journal;
use crate::engine::journal::asker::QuestionTopic;
use crate::engine::journal::feed::Feed;
use crate::engine::journal::own_question::OwnQuestion;
use crate::engine::run::opening::failed;
use crate::engine::run::settings::{Wanted, Widening};
use talaria_codex::conversation::Watcher as _;
use talaria_home::clock::now_ms;

/// Decision of a person about the power of a task.
pub(crate) enum Decided {
    /// Nothing yet.
    Nothing,
    /// The session has it now.
    Granted(Box<SessionRow>),
    /// The task does not begin.
    Refused(Box<Report>),
}

impl Inner {
    /// Opens the request of a task that was just recorded, before its own task begins: no client can follow it yet.
    pub(crate) async fn put_own_request(&self, session: &SessionId) -> Result<(), StoreError> {
        let store = &self.shelf.store;
        let unknown = || StoreError::UnknownSession(session.clone());
        let row = store.session(session).await?.ok_or_else(unknown)?;
        let turn = store.next_unsettled(session).await?.ok_or_else(unknown)?;
        let mut journal = self.journal_of_turn(session, &turn, Feed::default()).await?;
        self.put_power_request(&row, &mut journal).await
    }

    /// Opens the request unless it exists.
    pub(crate) async fn put_power_request(
        &self,
        row: &SessionRow,
        journal: &mut Journal,
    ) -> Result<(), StoreError> {
        let Some(wanted) = Wanted::of_row(row) else { return Ok(()) };
        let Some(widening) = wanted.widening() else { return Ok(()) };
        if OwnQuestion::find(&self.shelf.store, &widening.ticket).await?.is_some() {
            return Ok(());
        }
        let owner = self.shelf.store.task(&row.id).await?.map(|task| task.owner).unwrap_or_default();
        let ask = Ask::TaskPower {
            task: row.alias.clone().unwrap_or_default(),
            model: owner,
            cwd: row.cwd.clone(),
            permissions: permissions(widening),
        };
        OwnQuestion::open(&widening.ticket, ask, QuestionTopic::TaskPower, journal).await
    }

    /// Does what a person decided about the power of a task, if there is a decision. A refusal is recorded with the
    /// outcome.
    pub(crate) async fn settle_power(
        &self,
        row: &SessionRow,
        journal: &mut Journal,
    ) -> Result<Decided, StoreError> {
        let Some(wanted) = Wanted::of_row(row) else { return Ok(Decided::Nothing) };
        let Some(widening) = wanted.widening().cloned() else {
            return Ok(Decided::Granted(Box::new(row.clone())));
        };
        let store = &self.shelf.store;
        let Some(question) = OwnQuestion::find(store, &widening.ticket).await? else {
            return Ok(Decided::Nothing);
        };
        let request = question.row();
        if request.state == RequestState::Open {
            return Ok(Decided::Nothing);
        }
        let owner = store.task(&row.id).await?.map(|task| task.owner).unwrap_or_default();
        if request.state == RequestState::Answered && question.decision().is_yes() {
            let wanted = wanted.widened();
            let widened = SessionRow { asked: serde_json::to_string(&wanted).ok(), ..row.clone() };
            question.close(journal);
            journal.change(asked(wanted));
            journal.change(Change::Audit(audit(row, owner, request, AuditOutcome::Done, None)));
            journal.keep().await.map_err(|_| StoreError::Closed)?;
            return Ok(Decided::Granted(Box::new(widened)));
        }
        let what = permissions(&widening).lines().join(", ");
        let why = format!("what the task was to have beyond its sandbox was not granted: {what}");
        question.close(journal);
        journal.change(asked(wanted.unwidened()));
        journal.change(Change::Audit(audit(row, owner, request, AuditOutcome::Refused, Some(why.clone()))));
        let said = self.reason(request).map(|reason| format!("; the person says: {reason}"));
        let mut report = failed(FailureCode::NotSent, why + &said.unwrap_or_default());
        report.hint = Some("nothing was done; a further prompt runs within the sandbox".into());
        Ok(Decided::Refused(Box::new(report)))
    }

    /// Why a person declined, in their words.
    fn reason(&self, request: &RequestRow) -> Option<String> {
        let answer = self.shelf.seal.reveal(request.answer_sealed.as_deref()?)?;
        serde_json::from_str::<Answer>(&answer).ok()?.reason
    }

    /// Withdraws the request of a task that is stopped before there was a decision.
    pub(crate) fn withdraw_power_request(row: &SessionRow, by: Who, journal: &mut Journal) {
        let Some(wanted) = Wanted::of_row(row) else { return };
        if let Some(widening) = wanted.widening() {
            OwnQuestion::withdraw(&widening.ticket, by, "the task was stopped before it began", journal);
        }
        journal.change(asked(wanted.unwidened()));
    }
}

fn permissions(widening: &Widening) -> Permissions {
    let access =
        |root: &String| PathAccess { access: FileAccess::Write, place: PermissionPlace::Path(root.clone()) };
    Permissions {
        network: widening.network,
        files: widening.writable_roots.iter().map(access).collect(),
        unknown: Vec::new(),
    }
}

fn asked(wanted: Wanted) -> Change {
    Change::Session(SessionPatch { asked: serde_json::to_string(&wanted).ok(), ..SessionPatch::default() })
}

/// The row of the audit log for what became of the owner's wish. Who decided is in the row of the answer.
fn audit(
    row: &SessionRow,
    owner: String,
    request: &RequestRow,
    outcome: AuditOutcome,
    reason: Option<String>,
) -> NewAudit {
    NewAudit {
        at: now_ms(),
        action: "widen_task".to_owned(),
        outcome,
        principal: owner,
        established: "owner of the task".to_owned(),
        pid: None,
        terminal: None,
        program: None,
        session: Some(row.id.to_string()),
        request: Some(request.id.to_string()),
        digest: None,
        decision: request.decision.clone(),
        reason,
    }
}
