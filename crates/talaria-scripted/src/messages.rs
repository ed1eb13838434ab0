//! The steps of a reply as events of the Anthropic Messages API. Pure.
//!
//! A block is opened by its first chunk and closed by the next block or by the end of the message.

use serde_json::{Value, json};

use crate::frame::input_pieces;
use crate::step::{Call, CallInput, ModelUsage, ReplyEnd};

/// Writes the events of one message.
pub(crate) struct Message {
    number: usize,
    model: String,
    usage: ModelUsage,
    content: Vec<Value>,
    open: Option<OpenBlock>,
    has_calls: bool,
    is_refused: bool,
}

enum OpenBlock {
    Text(String),
    Thinking { text: String, seal: Option<String> },
}

impl Message {
    pub(crate) fn new(number: usize, model: &str, usage: ModelUsage) -> Self {
        Self {
            number,
            model: model.to_owned(),
            usage,
            content: Vec::new(),
            open: None,
            has_calls: false,
            is_refused: false,
        }
    }

    pub(crate) fn begin(&mut self) -> Vec<Value> {
        let mut message = self.header();
        message["usage"] = json!({
            "input_tokens": self.usage.input.saturating_sub(self.usage.cached),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.usage.cached,
            "output_tokens": 1,
        });
        vec![json!({ "type": "message_start", "message": message })]
    }

    pub(crate) fn start_text(&mut self) -> Vec<Value> {
        let mut events = self.close();
        events.push(self.started(json!({ "type": "text", "text": "" })));
        self.open = Some(OpenBlock::Text(String::new()));
        events
    }

    pub(crate) fn text(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = match self.open {
            Some(OpenBlock::Text(_)) => Vec::new(),
            _ => self.start_text(),
        };
        if let Some(OpenBlock::Text(text)) = &mut self.open {
            text.push_str(chunk);
        }
        events.push(self.delta(json!({ "type": "text_delta", "text": chunk })));
        events
    }

    /// A refusal is text that ends with the stop reason `refusal`.
    pub(crate) fn refusal(&mut self, chunk: &str) -> Vec<Value> {
        self.is_refused = true;
        self.text(chunk)
    }

    pub(crate) fn thinking(&mut self, chunk: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if !matches!(self.open, Some(OpenBlock::Thinking { .. })) {
            events = self.close();
            events.push(self.started(json!({ "type": "thinking", "thinking": "", "signature": "" })));
            self.open = Some(OpenBlock::Thinking { text: String::new(), seal: None });
        }
        if let Some(OpenBlock::Thinking { text, .. }) = &mut self.open {
            text.push_str(chunk);
        }
        events.push(self.delta(json!({ "type": "thinking_delta", "thinking": chunk })));
        events
    }

    /// Signs the open thinking; without one, a block of sealed data alone.
    pub(crate) fn seal(&mut self, sealed: &str) -> Vec<Value> {
        if let Some(OpenBlock::Thinking { seal, .. }) = &mut self.open {
            *seal = Some(sealed.to_owned());
            return Vec::new();
        }
        let mut events = self.close();
        let block = json!({ "type": "redacted_thinking", "data": sealed });
        events.push(self.started(block.clone()));
        events.extend(self.stopped(block));
        events
    }

    pub(crate) fn call(&mut self, call: &Call) -> Vec<Value> {
        let mut events = self.close();
        self.has_calls = true;
        let id = call.id.clone().unwrap_or_else(|| format!("toolu_{}_{}", self.number, self.content.len()));
        let input = match &call.input {
            CallInput::Function(input) => input.clone(),
            // The family has no free text: the field is the one that a schema for it would have.
            CallInput::Custom(input) => json!({ "input": input }).to_string(),
        };
        let mut block = json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} });
        events.push(self.started(block.clone()));
        events.push(self.delta(json!({ "type": "input_json_delta", "partial_json": "" })));
        for piece in input_pieces(&input) {
            events.push(self.delta(json!({ "type": "input_json_delta", "partial_json": piece })));
        }
        block["input"] = serde_json::from_str(&input).unwrap_or(json!({}));
        events.extend(self.stopped(block));
        events
    }

    pub(crate) fn error(&mut self, code: &str, message: &str) -> Vec<Value> {
        vec![json!({ "type": "error", "error": { "type": code, "message": message } })]
    }

    pub(crate) fn finish(&mut self, end: ReplyEnd) -> Vec<Value> {
        let mut events = self.close();
        let delta = json!({ "stop_reason": self.stop_reason(end), "stop_sequence": null });
        let usage = json!({ "output_tokens": self.usage.output });
        events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    /// The message as one value; its last block must be closed.
    pub(crate) fn whole(&self, end: ReplyEnd) -> Value {
        let mut message = self.header();
        message["content"] = json!(self.content);
        message["stop_reason"] = json!(self.stop_reason(end));
        message["usage"] = json!({
            "input_tokens": self.usage.input.saturating_sub(self.usage.cached),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.usage.cached,
            "output_tokens": self.usage.output,
        });
        message
    }

    fn stop_reason(&self, end: ReplyEnd) -> &'static str {
        match end {
            ReplyEnd::Natural if self.is_refused => "refusal",
            ReplyEnd::Natural if self.has_calls => "tool_use",
            ReplyEnd::Natural => "end_turn",
            ReplyEnd::MaxOutput => "max_tokens",
            ReplyEnd::ContentFilter => "refusal",
            ReplyEnd::ContextWindow => "model_context_window_exceeded",
        }
    }

    fn close(&mut self) -> Vec<Value> {
        match self.open.take() {
            None => Vec::new(),
            Some(OpenBlock::Text(text)) => self.stopped(json!({ "type": "text", "text": text })),
            Some(OpenBlock::Thinking { text, seal }) => {
                let seal = seal.unwrap_or_else(|| format!("sig_{}_{}", self.number, self.content.len()));
                let mut events = vec![self.delta(json!({ "type": "signature_delta", "signature": seal }))];
                events
                    .extend(self.stopped(json!({ "type": "thinking", "thinking": text, "signature": seal })));
                events
            }
        }
    }

    fn started(&self, block: Value) -> Value {
        json!({ "type": "content_block_start", "index": self.content.len(), "content_block": block })
    }

    fn delta(&self, delta: Value) -> Value {
        json!({ "type": "content_block_delta", "index": self.content.len(), "delta": delta })
    }

    fn stopped(&mut self, block: Value) -> Vec<Value> {
        let index = self.content.len();
        self.content.push(block);
        vec![json!({ "type": "content_block_stop", "index": index })]
    }

    fn header(&self) -> Value {
        json!({
            "id": format!("msg_{}", self.number), "type": "message", "role": "assistant", "model": self.model,
            "content": [], "stop_reason": null, "stop_sequence": null,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_each_other_and_thinking_is_signed_before_it_stops() {
        let mut message = Message::new(2, "m", ModelUsage::default());
        let mut events = message.thinking("hm");
        events.extend(message.text("yes"));
        let call =
            Call { id: None, name: "t".into(), input: CallInput::Function(r#"{"x":"long enough"}"#.into()) };
        events.extend(message.call(&call));
        events.extend(message.finish(ReplyEnd::Natural));
        let shown: Vec<String> = events
            .iter()
            .map(|event| {
                let kind = event["delta"]["type"].as_str().or(event["content_block"]["type"].as_str());
                format!("{} {} {}", event["type"].as_str().unwrap(), event["index"], kind.unwrap_or("-"))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "content_block_start 0 thinking",
                "content_block_delta 0 thinking_delta",
                "content_block_delta 0 signature_delta",
                "content_block_stop 0 -",
                "content_block_start 1 text",
                "content_block_delta 1 text_delta",
                "content_block_stop 1 -",
                "content_block_start 2 tool_use",
                "content_block_delta 2 input_json_delta",
                "content_block_delta 2 input_json_delta",
                "content_block_delta 2 input_json_delta",
                "content_block_stop 2 -",
                "message_delta null -",
                "message_stop null -",
            ]
        );
        assert_eq!(message.whole(ReplyEnd::Natural)["stop_reason"], "tool_use");
    }

    #[test]
    fn input_is_counted_without_the_cached_part() {
        let mut message = Message::new(1, "m", ModelUsage { input: 10, cached: 4, output: 3, reasoning: 0 });
        let usage = &message.begin()[0]["message"]["usage"];
        assert_eq!(
            (usage["input_tokens"].as_u64(), usage["cache_read_input_tokens"].as_u64()),
            (Some(6), Some(4))
        );
    }
}
