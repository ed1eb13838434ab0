//! Whether a call of one of Talaria's own tools may run, by the user's `hooks.tool_call`.
//!
//! Rights and configuration come first: a call that is refused anyway is not asked about. The program allows, denies, or leaves
//! the call to a person; one that fails leaves it to a person too, and where no person can be asked the call does not run. A
//! question that was put about a call is on record: after a restart it is waited for, and the program is not asked again.

use std::sync::Arc;

use talaria_core::hook::{HookRuling, HookedCall};
use talaria_core::ids::{ItemId, SessionId, TicketId};
use talaria_core::request::{Ask, Who};
use talaria_core::tool::ToolInvocation;
use talaria_guard::redact::redact;
use talaria_home::clock::now_ms;
use talaria_store::{AuditOutcome, NewAudit, RequestRow, RequestState, StoreError};

use super::EngineTool;
use super::ledger::CallPermit;
use crate::engine::Inner;
use crate::engine::hooks::HookScene;
use crate::engine::journal::asker::QuestionTopic;
use crate::engine::journal::own_question::OwnQuestion;

/// Shown where the program has no reason.
const ASKS: &str = "hooks.tool_call leaves this to you";

impl Inner {
    /// Decides about a call of a conversation, and waits for a person if one has to be asked.
    pub(super) async fn judge_call(
        self: &Arc<Self>,
        session: &SessionId,
        tool: Option<EngineTool>,
        call: &ToolInvocation,
    ) -> CallPermit {
        // A call without rights is refused by the tool, with its reason.
        if tool.is_none_or(|tool| self.may_use(tool, call).is_err()) || !self.has_call_hook() {
            return CallPermit::Run { decided: None };
        }
        match self.question_about(session, &call.item).await {
            Ok(Some(ticket)) => return self.permit_by_person(session, ticket).await,
            Ok(None) => {}
            Err(error) => return refuse(format!("it cannot be found out whether this may run: {error}")),
        }
        let hooked = HookedCall::new(&call.tool, &call.arguments);
        let is_cut = hooked.is_cut;
        let verdict = self.consult_hook(HookScene::Session(session), hooked).await;
        match verdict.rule(is_cut, false) {
            HookRuling::Accept { why } => {
                CallPermit::Run { decided: Some(Box::new(audit(Some(session), "accept", &call.tool, &why))) }
            }
            HookRuling::Decline { why } => CallPermit::Refuse {
                decided: Some(Box::new(audit(Some(session), "decline", &call.tool, &why))),
                why: format!("declined by {why}"),
            },
            HookRuling::Undecided => CallPermit::Run { decided: None },
            HookRuling::Ask { why } if !call.confinement.asks => refuse(format!(
                "{}; the approval policy of this conversation permits no question, so the call did not run",
                why.as_deref().unwrap_or("hooks.tool_call leaves this to a person")
            )),
            HookRuling::Ask { why } => {
                let ask = Ask::OwnTool {
                    thread: call.thread.clone(),
                    item: call.item.clone(),
                    tool: call.tool.clone(),
                    arguments: call.arguments.to_string(),
                    reason: why.unwrap_or_else(|| ASKS.to_owned()),
                };
                match self.ask_in_turn(session, ask, QuestionTopic::OwnTool).await {
                    Ok(ticket) => self.permit_by_person(session, ticket).await,
                    Err(error) => refuse(format!("the user cannot be asked whether this may run: {error}")),
                }
            }
        }
    }

    /// Decides about a call from outside of any conversation, where no person can be asked. `Err` is the reason.
    pub(super) async fn judge_outside_call(&self, tool: &str, call: &ToolArguments) -> Result<(), String> {
        if !self.has_call_hook() {
            return Ok(());
        }
        let hooked = HookedCall::new(tool, call);
        let is_cut = hooked.is_cut;
        let ruling = self.consult_hook(HookScene::Outside, hooked).await.rule(is_cut, false);
        let (decision, why) = match ruling {
            HookRuling::Undecided => return Ok(()),
            HookRuling::Accept { why } => ("accept", why),
            HookRuling::Decline { why } => ("decline", why),
            HookRuling::Ask { why } => {
                let why = why.as_deref().unwrap_or("hooks.tool_call leaves this to a person").to_owned();
                return Err(format!("{why}; no person can be asked here, so the call did not run"));
            }
        };
        let kept = self.shelf.store.add_audit(audit(None, decision, tool, &why)).await;
        match (decision, kept) {
            ("accept", Ok(_)) => Ok(()),
            ("accept", Err(error)) => {
                Err(format!("the decision of hooks.tool_call cannot be stored: {error}"))
            }
            _ => Err(format!("declined by {why}")),
        }
    }

    /// The question that was put about this call, if one was.
    async fn question_about(
        &self,
        session: &SessionId,
        call: &ItemId,
    ) -> Result<Option<TicketId>, StoreError> {
        let is_about = |row: &RequestRow| matches!(serde_json::from_str::<Ask>(&row.ask), Ok(Ask::OwnTool { item, .. }) if item == *call);
        let asked = OwnQuestion::of_session(&self.shelf.store, session, QuestionTopic::OwnTool, None).await?;
        Ok(asked.iter().map(OwnQuestion::row).find(|row| is_about(row)).map(|row| row.id.clone()))
    }

    /// Waits until a person has answered, or the turn is over.
    async fn permit_by_person(self: &Arc<Self>, session: &SessionId, ticket: TicketId) -> CallPermit {
        loop {
            let changed = self.questions.changed();
            tokio::pin!(changed);
            // An answer that comes while the row is read is not missed.
            changed.as_mut().enable();
            let question = match OwnQuestion::find(&self.shelf.store, &ticket).await {
                Ok(Some(question)) => question,
                Ok(None) => return refuse("the question whether this may run is gone".to_owned()),
                Err(error) => return refuse(format!("it cannot be found out whether this may run: {error}")),
            };
            match question.row().state {
                RequestState::Open | RequestState::Answered => self.watch_question(session, ticket.clone()),
                RequestState::Delivered if question.decision().is_yes() => {
                    return CallPermit::Run { decided: None };
                }
                RequestState::Delivered => return refuse(declined_by(question.by())),
                _ => return refuse("the turn ended before the user was asked; nothing was done".to_owned()),
            }
            changed.await;
        }
    }
}

/// The arguments of a call.
type ToolArguments = serde_json::Value;

fn refuse(why: String) -> CallPermit {
    CallPermit::Refuse { why, decided: None }
}

/// Only a person who was asked has declined: a command without a terminal declines by itself.
fn declined_by(by: Who) -> String {
    match by {
        Who::User => "the user declined this call; nothing was done".to_owned(),
        by => format!("nothing was done: no person was there to ask (declined by {by})"),
    }
}

fn audit(session: Option<&SessionId>, decision: &str, tool: &str, why: &str) -> NewAudit {
    NewAudit {
        at: now_ms(),
        action: "decide".to_owned(),
        outcome: AuditOutcome::Done,
        principal: "hook".to_owned(),
        established: format!("decided by {}", Who::Hook),
        pid: None,
        terminal: None,
        program: None,
        session: session.map(ToString::to_string),
        request: None,
        digest: None,
        decision: Some(decision.to_owned()),
        reason: Some(redact(&format!("{tool}: {why}")).into_owned()),
    }
}
