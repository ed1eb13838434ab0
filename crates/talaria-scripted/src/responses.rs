//! The steps of a reply as Responses events. Pure: the server does the waiting and the writing.
//!
//! An item is opened by its first chunk and closed by the next item or by the end of the stream; a stream that breaks
//! leaves it open, as a real one does.

use serde_json::{Value, json};

use crate::frame::input_pieces;
use crate::step::{Call, CallInput, ModelUsage, Phase, ReplyEnd};

/// Writes the events of one response; `number` makes its ids unique within the server.
pub(crate) struct Response {
    number: usize,
    model: String,
    output: Vec<Value>,
    open: Option<Open>,
    sequence: u64,
}

enum Open {
    Message { phase: Option<Phase>, text: String, refusal: String },
    Reasoning { summary: String, raw: String, seal: Option<String> },
}

impl Response {
    pub(crate) fn new(number: usize, model: &str) -> Self {
        Self { number, model: model.to_owned(), output: Vec::new(), open: None, sequence: 0 }
    }

    pub(crate) fn begin(&mut self) -> Vec<Value> {
        let header = self.header("in_progress");
        vec![
            self.event("response.created", json!({ "response": header })),
            self.event("response.in_progress", json!({ "response": header })),
        ]
    }

    pub(crate) fn start_message(&mut self, phase: Option<Phase>) -> Vec<Value> {
        let mut events = self.close();
        let open = Open::Message { phase, text: String::new(), refusal: String::new() };
        events.push(self.added(&open));
        self.open = Some(open);
        events
    }

    pub(crate) fn text(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = self.open_message();
        if matches!(&self.open, Some(Open::Message { text, .. }) if text.is_empty()) {
            events.push(self.part("response.content_part.added", 0, text_part("")));
        }
        if let Some(Open::Message { text, .. }) = &mut self.open {
            text.push_str(chunk);
        }
        let delta =
            json!({ "item_id": self.item_id("msg"), "content_index": 0, "delta": chunk, "logprobs": [] });
        events.push(self.event("response.output_text.delta", delta));
        events
    }

    pub(crate) fn refusal(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = self.open_message();
        let Some(Open::Message { text, refusal, .. }) = &mut self.open else { return events };
        let index = usize::from(!text.is_empty());
        let is_first = refusal.is_empty();
        refusal.push_str(chunk);
        if is_first {
            let part = json!({ "type": "refusal", "refusal": "" });
            events.push(self.part("response.content_part.added", index, part));
        }
        let delta = json!({ "item_id": self.item_id("msg"), "content_index": index, "delta": chunk });
        events.push(self.event("response.refusal.delta", delta));
        events
    }

    pub(crate) fn reasoning(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = self.open_reasoning();
        if matches!(&self.open, Some(Open::Reasoning { summary, .. }) if summary.is_empty()) {
            events.push(self.summary_part("response.reasoning_summary_part.added", ""));
        }
        if let Some(Open::Reasoning { summary, .. }) = &mut self.open {
            summary.push_str(chunk);
        }
        let delta = json!({ "item_id": self.item_id("rs"), "summary_index": 0, "delta": chunk });
        events.push(self.event("response.reasoning_summary_text.delta", delta));
        events
    }

    pub(crate) fn raw_reasoning(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = self.open_reasoning();
        if let Some(Open::Reasoning { raw, .. }) = &mut self.open {
            raw.push_str(chunk);
        }
        let delta = json!({ "item_id": self.item_id("rs"), "content_index": 0, "delta": chunk });
        events.push(self.event("response.reasoning_text.delta", delta));
        events
    }

    /// Seals the open reasoning; without one, an item that is nothing but sealed.
    pub(crate) fn seal(&mut self, sealed: &str) -> Vec<Value> {
        let events = self.open_reasoning();
        if let Some(Open::Reasoning { seal, .. }) = &mut self.open {
            *seal = Some(sealed.to_owned());
        }
        events
    }

    pub(crate) fn call(&mut self, call: &Call) -> Vec<Value> {
        let mut events = self.close();
        let call_id = call.id.clone().unwrap_or_else(|| self.item_id("call"));
        let (id, kind, field, event, input) = match &call.input {
            CallInput::Function(input) => {
                ("fc", "function_call", "arguments", "response.function_call_arguments", input)
            }
            CallInput::Custom(input) => {
                ("ctc", "custom_tool_call", "input", "response.custom_tool_call_input", input)
            }
        };
        let mut item = json!({
            "type": kind, "id": self.item_id(id), "call_id": call_id, "name": call.name, "status": "in_progress",
        });
        item[field] = json!("");
        events.push(self.item_event("response.output_item.added", &item));
        for piece in input_pieces(input) {
            let delta = json!({ "item_id": self.item_id(id), "delta": piece });
            events.push(self.event(&format!("{event}.delta"), delta));
        }
        let mut done = json!({ "item_id": self.item_id(id) });
        done[field] = json!(input);
        events.push(self.event(&format!("{event}.done"), done));
        item[field] = json!(input);
        item["status"] = json!("completed");
        events.push(self.item_event("response.output_item.done", &item));
        self.output.push(item);
        events
    }

    pub(crate) fn failed(&mut self, code: &str, message: &str) -> Vec<Value> {
        let mut response = self.header("failed");
        response["error"] = json!({ "code": code, "message": message });
        vec![self.event("response.failed", json!({ "response": response }))]
    }

    pub(crate) fn error(&mut self, code: &str, message: &str) -> Vec<Value> {
        vec![self.event("error", json!({ "code": code, "message": message, "param": null }))]
    }

    pub(crate) fn finish(&mut self, end: ReplyEnd, usage: ModelUsage) -> Vec<Value> {
        let mut events = self.close();
        let response = self.whole(end, usage);
        let kind = match end {
            ReplyEnd::Natural => "response.completed",
            _ => "response.incomplete",
        };
        events.push(self.event(kind, json!({ "response": response })));
        events
    }

    /// The response as one value; its last item must be closed.
    fn whole(&self, end: ReplyEnd, usage: ModelUsage) -> Value {
        let (status, reason) = match end {
            ReplyEnd::Natural => ("completed", None),
            ReplyEnd::MaxOutput | ReplyEnd::ContextWindow => ("incomplete", Some("max_output_tokens")),
            ReplyEnd::ContentFilter => ("incomplete", Some("content_filter")),
        };
        let mut response = self.header(status);
        response["output"] = json!(self.output);
        if let Some(reason) = reason {
            response["incomplete_details"] = json!({ "reason": reason });
        }
        response["usage"] = json!({
            "input_tokens": usage.input,
            "input_tokens_details": { "cached_tokens": usage.cached },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            "total_tokens": usage.input + usage.output,
        });
        response
    }

    fn open_message(&mut self) -> Vec<Value> {
        match self.open {
            Some(Open::Message { .. }) => Vec::new(),
            _ => self.start_message(None),
        }
    }

    fn open_reasoning(&mut self) -> Vec<Value> {
        if matches!(self.open, Some(Open::Reasoning { .. })) {
            return Vec::new();
        }
        let mut events = self.close();
        let open = Open::Reasoning { summary: String::new(), raw: String::new(), seal: None };
        events.push(self.added(&open));
        self.open = Some(open);
        events
    }

    fn close(&mut self) -> Vec<Value> {
        let Some(open) = self.open.take() else { return Vec::new() };
        let mut events = Vec::new();
        match &open {
            Open::Message { text, refusal, .. } => {
                let item_id = self.item_id("msg");
                if !text.is_empty() {
                    let done =
                        json!({ "item_id": item_id, "content_index": 0, "text": text, "logprobs": [] });
                    events.push(self.event("response.output_text.done", done));
                    events.push(self.part("response.content_part.done", 0, text_part(text)));
                }
                if !refusal.is_empty() {
                    let index = usize::from(!text.is_empty());
                    let done = json!({ "item_id": item_id, "content_index": index, "refusal": refusal });
                    events.push(self.event("response.refusal.done", done));
                    let part = json!({ "type": "refusal", "refusal": refusal });
                    events.push(self.part("response.content_part.done", index, part));
                }
            }
            Open::Reasoning { summary, raw, .. } => {
                let item_id = self.item_id("rs");
                if !summary.is_empty() {
                    let done = json!({ "item_id": item_id, "summary_index": 0, "text": summary });
                    events.push(self.event("response.reasoning_summary_text.done", done));
                    events.push(self.summary_part("response.reasoning_summary_part.done", summary));
                }
                if !raw.is_empty() {
                    let done = json!({ "item_id": item_id, "content_index": 0, "text": raw });
                    events.push(self.event("response.reasoning_text.done", done));
                }
            }
        }
        let mut item = self.item(&open, "completed");
        events.push(self.item_event("response.output_item.done", &item));
        if let Open::Reasoning { seal: Some(seal), .. } = &open {
            // The service encrypts the same reasoning again for the last event.
            item["encrypted_content"] = json!(format!("{seal}-again"));
        }
        self.output.push(item);
        events
    }

    fn added(&mut self, open: &Open) -> Value {
        let item = self.item(open, "in_progress");
        self.item_event("response.output_item.added", &item)
    }

    fn item(&self, open: &Open, status: &str) -> Value {
        match open {
            Open::Message { phase, text, refusal } => {
                let mut content = Vec::new();
                if !text.is_empty() {
                    content.push(text_part(text));
                }
                if !refusal.is_empty() {
                    content.push(json!({ "type": "refusal", "refusal": refusal }));
                }
                let mut item = json!({
                    "type": "message", "id": self.item_id("msg"), "role": "assistant", "status": status,
                    "content": content,
                });
                if let Some(phase) = phase {
                    item["phase"] = json!(phase.as_str());
                }
                item
            }
            Open::Reasoning { summary, raw, seal } => {
                let part = |kind: &str, text: &str| match text {
                    "" => json!([]),
                    text => json!([{ "type": kind, "text": text }]),
                };
                let mut item = json!({
                    "type": "reasoning", "id": self.item_id("rs"),
                    "summary": part("summary_text", summary), "content": part("reasoning_text", raw),
                });
                if let Some(seal) = seal {
                    item["encrypted_content"] = json!(seal);
                }
                item
            }
        }
    }

    fn part(&mut self, kind: &str, index: usize, part: Value) -> Value {
        let item_id = self.item_id("msg");
        self.event(kind, json!({ "item_id": item_id, "content_index": index, "part": part }))
    }

    fn summary_part(&mut self, kind: &str, text: &str) -> Value {
        let part = json!({ "type": "summary_text", "text": text });
        let item_id = self.item_id("rs");
        self.event(kind, json!({ "item_id": item_id, "summary_index": 0, "part": part }))
    }

    fn header(&self, status: &str) -> Value {
        json!({
            "id": format!("resp_{}", self.number), "object": "response", "created_at": 1_760_000_000 + self.number,
            "status": status, "model": self.model, "output": [], "error": null, "incomplete_details": null,
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "metadata": {}, "usage": null,
        })
    }

    fn item_id(&self, kind: &str) -> String {
        format!("{kind}_{}_{}", self.number, self.output.len())
    }

    fn item_event(&mut self, kind: &str, item: &Value) -> Value {
        self.event(kind, json!({ "item": item }))
    }

    fn event(&mut self, kind: &str, mut event: Value) -> Value {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.sequence);
        if event["item_id"].is_string() || event["item"].is_object() {
            event["output_index"] = json!(self.output.len());
        }
        self.sequence += 1;
        event
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(events: &[Value]) -> Vec<&str> {
        events.iter().filter_map(|event| event["type"].as_str()?.strip_prefix("response.")).collect()
    }

    fn call(name: &str, arguments: &str) -> Call {
        Call { id: None, name: name.into(), input: CallInput::Function(arguments.into()) }
    }

    #[test]
    fn chunks_form_one_message_and_the_next_item_closes_it() {
        let mut response = Response::new(7, "m");
        let mut events = response.text("a");
        events.extend(response.text("b"));
        events.extend(response.call(&call("t", r#"{"x":1}"#)));
        assert_eq!(
            kinds(&events),
            [
                "output_item.added",
                "content_part.added",
                "output_text.delta",
                "output_text.delta",
                "output_text.done",
                "content_part.done",
                "output_item.done",
                "output_item.added",
                "function_call_arguments.delta",
                "function_call_arguments.done",
                "output_item.done",
            ]
        );
        assert_eq!(events[6]["item"]["content"][0]["text"], "ab");
        assert_eq!(events[10]["item"]["call_id"], "call_7_1");
        assert_eq!(events[10]["item"]["arguments"], r#"{"x":1}"#);
        let indexes: Vec<_> = events.iter().map(|event| event["output_index"].as_u64().unwrap()).collect();
        assert_eq!(indexes, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn a_new_phase_is_a_new_message() {
        let mut response = Response::new(1, "m");
        let mut events = response.start_message(Some(Phase::Commentary));
        events.extend(response.text("on it"));
        events.extend(response.start_message(Some(Phase::FinalAnswer)));
        events.extend(response.text("done"));
        events.extend(response.finish(ReplyEnd::Natural, ModelUsage::default()));
        let output = &events[events.len() - 1]["response"]["output"];
        assert_eq!(output[0]["phase"], "commentary");
        assert_eq!(output[1]["phase"], "final_answer");
        assert_ne!(output[0]["id"], output[1]["id"]);
    }

    #[test]
    fn summary_raw_reasoning_and_seal_share_one_item() {
        let mut response = Response::new(1, "m");
        response.reasoning("think");
        response.raw_reasoning("hm");
        response.seal("sealed");
        let events = response.finish(ReplyEnd::Natural, ModelUsage::default());
        let done = events.iter().find(|event| event["type"] == "response.output_item.done").unwrap();
        assert_eq!(done["item"]["summary"][0]["text"], "think");
        assert_eq!(done["item"]["content"][0]["text"], "hm");
        assert_eq!(done["item"]["encrypted_content"], "sealed");
    }

    #[test]
    fn an_answer_over_the_limit_is_incomplete() {
        let mut response = Response::new(1, "m");
        response.text("half");
        let events = response.finish(ReplyEnd::MaxOutput, ModelUsage::default());
        let last = &events[events.len() - 1];
        assert_eq!(last["type"], "response.incomplete");
        assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
    }
}
