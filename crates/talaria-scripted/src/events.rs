//! The steps of a reply as Responses events. Pure: the server does the waiting and the writing.
//!
//! An item is opened by its first chunk and closed by the next item or by the end of the stream; a stream that breaks
//! leaves it open, as a real one does.

use serde_json::{Value, json};

use crate::step::{Call, CallInput, ModelUsage, Phase};

/// Writes the events of one response; `number` makes its ids unique within the server.
pub(crate) struct Response {
    number: usize,
    output: Vec<Value>,
    open: Option<Open>,
    sequence: u64,
}

enum Open {
    Message { phase: Option<Phase>, text: String },
    Reasoning { summary: String, raw: String },
}

impl Response {
    pub(crate) fn new(number: usize) -> Self {
        Self { number, output: Vec::new(), open: None, sequence: 0 }
    }

    pub(crate) fn created(&mut self) -> Vec<Value> {
        vec![self.event("response.created", json!({ "response": self.header("in_progress") }))]
    }

    pub(crate) fn start_message(&mut self, phase: Option<Phase>) -> Vec<Value> {
        let mut events = self.close();
        let open = Open::Message { phase, text: String::new() };
        events.push(self.added(&open));
        self.open = Some(open);
        events
    }

    pub(crate) fn text(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = match self.open {
            Some(Open::Message { .. }) => Vec::new(),
            _ => self.start_message(None),
        };
        if let Some(Open::Message { text, .. }) = &mut self.open {
            text.push_str(chunk);
        }
        let id = self.item_id("msg");
        let delta = json!({ "item_id": id, "content_index": 0, "delta": chunk });
        events.push(self.event("response.output_text.delta", delta));
        events
    }

    pub(crate) fn reasoning(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = self.open_reasoning();
        if matches!(&self.open, Some(Open::Reasoning { summary, .. }) if summary.is_empty()) {
            let part = json!({ "item_id": self.item_id("rs"), "summary_index": 0 });
            events.push(self.event("response.reasoning_summary_part.added", part));
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

    pub(crate) fn call(&mut self, call: &Call) -> Vec<Value> {
        let mut events = self.close();
        let call_id = call.id.clone().unwrap_or_else(|| self.item_id("call"));
        let (id, kind, field, input) = match &call.input {
            CallInput::Function(arguments) => ("fc", "function_call", "arguments", arguments.to_string()),
            CallInput::Custom(input) => ("ctc", "custom_tool_call", "input", input.clone()),
        };
        let mut item = json!({
            "type": kind, "id": self.item_id(id), "call_id": call_id, "name": call.name, "status": "in_progress",
        });
        item[field] = json!("");
        events.push(self.item_event("response.output_item.added", &item));
        item[field] = json!(input);
        item["status"] = json!("completed");
        events.push(self.item_event("response.output_item.done", &item));
        self.output.push(item);
        events
    }

    pub(crate) fn raw(&mut self, event: &Value) -> Vec<Value> {
        vec![event.clone()]
    }

    pub(crate) fn failed(&mut self, code: &str, message: &str) -> Vec<Value> {
        let mut response = self.header("failed");
        response["error"] = json!({ "code": code, "message": message });
        vec![self.event("response.failed", json!({ "response": response }))]
    }

    pub(crate) fn completed(&mut self, usage: ModelUsage) -> Vec<Value> {
        let mut events = self.close();
        let mut response = self.header("completed");
        response["output"] = json!(self.output);
        response["usage"] = json!({
            "input_tokens": usage.input,
            "input_tokens_details": { "cached_tokens": usage.cached },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            "total_tokens": usage.input + usage.output,
        });
        events.push(self.event("response.completed", json!({ "response": response })));
        events
    }

    fn open_reasoning(&mut self) -> Vec<Value> {
        if matches!(self.open, Some(Open::Reasoning { .. })) {
            return Vec::new();
        }
        let mut events = self.close();
        let open = Open::Reasoning { summary: String::new(), raw: String::new() };
        events.push(self.added(&open));
        self.open = Some(open);
        events
    }

    fn close(&mut self) -> Vec<Value> {
        let Some(open) = self.open.take() else { return Vec::new() };
        let item = self.item(&open, "completed");
        let event = self.item_event("response.output_item.done", &item);
        self.output.push(item);
        vec![event]
    }

    fn added(&mut self, open: &Open) -> Value {
        let item = self.item(open, "in_progress");
        self.item_event("response.output_item.added", &item)
    }

    fn item(&self, open: &Open, status: &str) -> Value {
        match open {
            Open::Message { phase, text } => {
                let content = match text.as_str() {
                    "" => json!([]),
                    text => json!([{ "type": "output_text", "text": text, "annotations": [] }]),
                };
                let mut item = json!({
                    "type": "message", "id": self.item_id("msg"), "role": "assistant", "status": status,
                    "content": content,
                });
                if let Some(phase) = phase {
                    item["phase"] = json!(phase.as_str());
                }
                item
            }
            Open::Reasoning { summary, raw } => {
                let part = |kind: &str, text: &str| match text {
                    "" => json!([]),
                    text => json!([{ "type": kind, "text": text }]),
                };
                json!({
                    "type": "reasoning", "id": self.item_id("rs"),
                    "summary": part("summary_text", summary), "content": part("reasoning_text", raw),
                })
            }
        }
    }

    fn header(&self, status: &str) -> Value {
        json!({ "id": format!("resp_{}", self.number), "object": "response", "status": status })
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
        if kind.contains("output_") || kind.contains("reasoning") {
            event["output_index"] = json!(self.output.len());
        }
        self.sequence += 1;
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(events: &[Value]) -> Vec<&str> {
        events.iter().filter_map(|event| event["type"].as_str()).collect()
    }

    #[test]
    fn chunks_form_one_message_and_the_next_item_closes_it() {
        let mut response = Response::new(7);
        let mut events = response.text("a");
        events.extend(response.text("b"));
        let call = Call { id: None, name: "t".into(), input: CallInput::Function(json!({ "x": 1 })) };
        events.extend(response.call(&call));
        assert_eq!(
            kinds(&events),
            [
                "response.output_item.added",
                "response.output_text.delta",
                "response.output_text.delta",
                "response.output_item.done",
                "response.output_item.added",
                "response.output_item.done",
            ]
        );
        assert_eq!(events[3]["item"]["content"][0]["text"], "ab");
        assert_eq!(events[5]["item"]["call_id"], "call_7_1");
        assert_eq!(events[5]["item"]["arguments"], r#"{"x":1}"#);
    }

    #[test]
    fn a_new_phase_is_a_new_message() {
        let mut response = Response::new(1);
        let mut events = response.start_message(Some(Phase::Commentary));
        events.extend(response.text("on it"));
        events.extend(response.start_message(Some(Phase::FinalAnswer)));
        events.extend(response.text("done"));
        events.extend(response.completed(ModelUsage::default()));
        let output = &events[events.len() - 1]["response"]["output"];
        assert_eq!(output[0]["phase"], "commentary");
        assert_eq!(output[1]["phase"], "final_answer");
        assert_ne!(output[0]["id"], output[1]["id"]);
    }

    #[test]
    fn summary_and_raw_reasoning_share_one_item() {
        let mut response = Response::new(1);
        response.reasoning("think");
        response.raw_reasoning("hm");
        let events = response.completed(ModelUsage::default());
        assert_eq!(events[0]["item"]["summary"][0]["text"], "think");
        assert_eq!(events[0]["item"]["content"][0]["text"], "hm");
    }
}
