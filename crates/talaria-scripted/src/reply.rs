//! What the model says in answer to one request, as data.
//!
//! A reply is either an HTTP error or a list of steps that are streamed in order. Text steps that follow each other
//! form one message, also with a gate or a pause between them; so do reasoning steps. Calls are items of their own.
//! The same reply is written in the family of the request that it answers; `faults` has what goes wrong on the wire.
//! The tool names are those Codex 0.130 and 0.166 offer to the model `gpt-5.5`.

mod faults;

use std::time::Duration;

use serde_json::{Value, json};

use crate::step::{
    Answer, Call, CallInput, HttpBody, ModelUsage, Phase, PlanStepStatus, ReplyEnd, Step, StreamAnswer,
};
use crate::{ChatStyle, Gate};

/// One answer of the model; build it step by step, then queue it with
/// [`ScriptedModel::push`](crate::ScriptedModel::push).
#[derive(Clone, Debug)]
pub struct Reply(pub(crate) Answer);

impl Reply {
    /// An empty stream: created, then completed.
    pub fn new() -> Self {
        Self(Answer::Stream(StreamAnswer::default()))
    }

    /// A reply that is one message.
    pub fn say(text: impl Into<String>) -> Self {
        Self::new().text(text)
    }

    /// An HTTP answer instead of a stream; set `header` and `body` if they matter.
    pub fn status(status: u16) -> Self {
        let body = json!({ "error": { "message": format!("scripted status {status}") } });
        Self(Answer::Http { status, headers: Vec::new(), body: HttpBody::Json(body) })
    }

    /// A stream that ends with the model's own failure: `response.failed`, or an error frame in the other families.
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new().fail(code, message)
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Answer::Http { headers, .. } | Answer::Stream(StreamAnswer { headers, .. }) = &mut self.0 {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the JSON body of an HTTP answer.
    pub fn body(mut self, json: Value) -> Self {
        if let Answer::Http { body, .. } = &mut self.0 {
            *body = HttpBody::Json(json);
        }
        self
    }

    /// Adds a chunk to the open message, or starts one.
    pub fn text(self, chunk: impl Into<String>) -> Self {
        self.step(Step::Text(chunk.into()))
    }

    /// Adds several chunks to the open message, one delta each.
    pub fn text_chunks(self, chunks: impl IntoIterator<Item = impl Into<String>>) -> Self {
        chunks.into_iter().fold(self, Self::text)
    }

    /// Starts a new message of the given phase.
    pub fn message(self, phase: Phase, text: impl Into<String>) -> Self {
        self.step(Step::StartMessage(Some(phase))).text(text)
    }

    /// Adds to the summary of the model's reasoning.
    pub fn reasoning(self, chunk: impl Into<String>) -> Self {
        self.step(Step::Reasoning(chunk.into()))
    }

    /// Adds to the raw reasoning, which few models show.
    pub fn raw_reasoning(self, chunk: impl Into<String>) -> Self {
        self.step(Step::RawReasoning(chunk.into()))
    }

    /// Adds to a refusal: a part of its own, or text that ends as a refusal.
    pub fn refusal(self, chunk: impl Into<String>) -> Self {
        self.step(Step::Refusal(chunk.into()))
    }

    /// Seals the reasoning before it with what goes back unread: encrypted content or a signature. Without reasoning
    /// before it, the seal is all there is.
    pub fn sealed(self, seal: impl Into<String>) -> Self {
        self.step(Step::Seal(seal.into()))
    }

    /// Calls `exec_command`.
    pub fn command(self, command: impl Into<String>) -> Self {
        self.function("exec_command", json!({ "cmd": command.into() }))
    }

    /// Calls `exec_command` and asks to leave the sandbox.
    pub fn escalated_command(self, command: impl Into<String>, justification: impl Into<String>) -> Self {
        let arguments = json!({
            "cmd": command.into(),
            "sandbox_permissions": "require_escalated",
            "justification": justification.into(),
        });
        self.function("exec_command", arguments)
    }

    /// Calls `apply_patch` with the whole text, `*** Begin Patch` to `*** End Patch`.
    pub fn patch(self, patch: impl Into<String>) -> Self {
        self.call("apply_patch", CallInput::Custom(patch.into()))
    }

    /// Calls `update_plan`.
    pub fn plan<S: Into<String>>(
        self,
        explanation: &str,
        steps: impl IntoIterator<Item = (S, PlanStepStatus)>,
    ) -> Self {
        let steps: Vec<Value> = steps
            .into_iter()
            .map(|(step, status)| json!({ "step": step.into(), "status": status.as_str() }))
            .collect();
        self.function("update_plan", json!({ "explanation": explanation, "plan": steps }))
    }

    /// Calls any function tool.
    pub fn function(self, name: impl Into<String>, arguments: Value) -> Self {
        self.function_text(name, arguments.to_string())
    }

    /// Calls any function tool with arguments exactly as written, valid or not.
    pub fn function_text(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.call(name, CallInput::Function(arguments.into()))
    }

    /// Calls any custom (free text) tool.
    pub fn custom(self, name: impl Into<String>, input: impl Into<String>) -> Self {
        self.call(name, CallInput::Custom(input.into()))
    }

    /// Sets the `call_id` of the call just added, which becomes Codex's item id.
    pub fn call_id(mut self, call_id: impl Into<String>) -> Self {
        if let Answer::Stream(StreamAnswer { steps, .. }) = &mut self.0
            && let Some(Step::Call(call)) = steps.last_mut()
        {
            call.id = Some(call_id.into());
        }
        self
    }

    /// Waits here until the gate is open.
    pub fn gate(self, gate: &Gate) -> Self {
        self.step(Step::Gate(gate.clone()))
    }

    /// Waits here for a while, so that a person sees the streaming.
    pub fn pause(self, time: Duration) -> Self {
        self.step(Step::Pause(time))
    }

    /// Sends an event as it is; its `type` names it.
    pub fn event(self, event: Value) -> Self {
        self.step(Step::Event(event))
    }

    /// Ends the answer here and says how; steps after it are sent after the end. Without this step an answer ends
    /// naturally after its last one.
    pub fn finish(self, end: ReplyEnd) -> Self {
        self.step(Step::Finish(end))
    }

    /// Ends the stream here with the model's own failure.
    pub fn fail(self, code: impl Into<String>, message: impl Into<String>) -> Self {
        self.step(Step::Failed { code: code.into(), message: message.into() })
    }

    /// Sets the tokens reported at the end of the stream.
    pub fn usage(mut self, tokens: ModelUsage) -> Self {
        if let Answer::Stream(StreamAnswer { usage, .. }) = &mut self.0 {
            *usage = tokens;
        }
        self
    }

    /// Answers in the name of this model, whichever was asked.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        if let Answer::Stream(StreamAnswer { model, .. }) = &mut self.0 {
            *model = Some(name.into());
        }
        self
    }

    /// Sets the dialect in which Chat Completions are written.
    pub fn chat_style(mut self, chat: ChatStyle) -> Self {
        if let Answer::Stream(StreamAnswer { style, .. }) = &mut self.0 {
            *style = chat;
        }
        self
    }

    fn call(self, name: impl Into<String>, input: CallInput) -> Self {
        self.step(Step::Call(Call { id: None, name: name.into(), input }))
    }

    fn step(mut self, step: Step) -> Self {
        if let Answer::Stream(StreamAnswer { steps, .. }) | Answer::Raw(steps) = &mut self.0 {
            steps.push(step);
        }
        self
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}
