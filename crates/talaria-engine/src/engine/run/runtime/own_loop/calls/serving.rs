//! A call of a tool of one of the user's MCP servers: judged, recorded, and made once.
//!
//! Only a tool that says of itself that it reads is called again after a crash. What a server may have done before it, its
//! connection or the engine ended is not known, and is reported as that.

use talaria_agent::history::{CallDisposition, LogPart};
use talaria_core::tool::ledger::ToolCallState;
use talaria_core::tool::{ToolEffect, ToolInvocation, ToolOutcome};
use talaria_guard::redact::redact;
use talaria_home::faults;
use talaria_mcp::{CallFailure, OfferedServerTool, ServerAnswer, ToolAccess};
use talaria_store::{ToolCallKey, ToolCallRow, ToolCallStep};

use super::judging::Judged;
use super::{CallEnd, CallScene, ended_state};
use crate::engine::run::runtime::own_loop::items::CallFace;

impl CallScene {
    /// Calls a tool of a server, or finds out what became of the call.
    pub(super) async fn run_server(
        &self,
        invocation: &ToolInvocation,
        key: &ToolCallKey,
        tool: &OfferedServerTool,
        row: Option<ToolCallRow>,
    ) -> CallEnd {
        let effect = match tool.access {
            ToolAccess::Reads => ToolEffect::Reads,
            ToolAccess::Changes => ToolEffect::Changes,
        };
        match row {
            Some(row) if row.state == ToolCallState::Offered => {}
            // The last engine ended while it ran: what only reads runs again.
            Some(row)
                if effect == ToolEffect::Reads
                    && matches!(row.state, ToolCallState::Running | ToolCallState::Unknown) => {}
            Some(row) if matches!(row.state, ToolCallState::Running | ToolCallState::Unknown) => {
                let why = format!(
                    "Talaria was stopped while {} ran; look at its effects before you call it again",
                    tool.name
                );
                return CallEnd::of(&ToolOutcome::unknown(&why));
            }
            Some(row) => return self.stored_end(&row),
            None => {}
        }
        let began = self.began(&invocation.item, &server_face(invocation, tool));
        self.record(Some(invocation.clone()), Vec::new(), began.into_iter().collect()).await;
        let launch = match self.servers.find(&tool.server) {
            Ok(launch) => launch,
            Err(why) => {
                let end = CallEnd::text(CallDisposition::Failed, why);
                self.step(key, ToolCallStep::Decline { result_sealed: self.sealed(&end) }).await;
                return end;
            }
        };
        if let Judged::Refuse(end) = self.judge_server(invocation, tool).await {
            faults::point("before:loop-call-declined").await;
            self.step(key, ToolCallStep::Decline { result_sealed: self.sealed(&end) }).await;
            faults::point("after:loop-call-declined").await;
            return end;
        }
        faults::point("before:loop-call-running").await;
        self.step(key, ToolCallStep::Run { effect, effect_record: None }).await;
        faults::point("after:loop-call-running").await;
        let arguments = invocation.arguments.as_object().cloned().unwrap_or_default();
        let mark = uuid::Uuid::new_v4().as_u64_pair().0;
        let mut stopped = self.stopped.clone();
        let is_stopped = async move { drop(stopped.wait_for(|stopped| *stopped).await) };
        let room = &self.engine.server_room;
        let end = match room.call(&launch, &tool.tool, arguments, mark, is_stopped).await {
            Ok(answer) => answered(answer),
            Err(failure) => failed(tool, effect, &failure),
        };
        let state = match end.disposition {
            CallDisposition::Done => ToolCallState::Done,
            CallDisposition::Unknown => ended_state(talaria_core::tool::ToolVerdict::Unknown),
            _ => ToolCallState::Failed,
        };
        faults::point("before:loop-call-done").await;
        self.step(key, ToolCallStep::End { state, result_sealed: self.sealed(&end) }).await;
        faults::point("after:loop-call-done").await;
        end
    }
}

/// The step that people see.
pub(super) fn server_face(invocation: &ToolInvocation, tool: &OfferedServerTool) -> CallFace {
    CallFace::Server {
        server: tool.server.clone(),
        tool: tool.tool.clone(),
        arguments: invocation.arguments.to_string(),
    }
}

fn answered(answer: ServerAnswer) -> CallEnd {
    let disposition = if answer.is_error { CallDisposition::Failed } else { CallDisposition::Done };
    let mut end = CallEnd::text(disposition, redact(&answer.text));
    let images = answer.images.into_iter().map(|image| LogPart::Image { mime: image.mime, data: image.data });
    end.parts.extend(images);
    end
}

fn failed(tool: &OfferedServerTool, effect: ToolEffect, failure: &CallFailure) -> CallEnd {
    let why = format!("{}: {failure}", tool.name);
    let outcome = match failure {
        CallFailure::NotSent(_) | CallFailure::Refused(_) => ToolOutcome::failed(&why),
        CallFailure::TimedOut(_) | CallFailure::Gone(_) | CallFailure::Stopped
            if effect == ToolEffect::Reads =>
        {
            ToolOutcome::failed(&why)
        }
        CallFailure::TimedOut(_) | CallFailure::Gone(_) | CallFailure::Stopped => ToolOutcome::unknown(&why),
    };
    CallEnd::of(&outcome)
}
