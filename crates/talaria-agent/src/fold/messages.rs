//! Anthropic Messages: blocks by their index, the reason in `message_delta`, the end in `message_stop`.
//!
//! Thinking keeps its signature: the block is built again from the deltas, which the provider verifies. Pings are nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{
    AnswerEnd, AnswerItem, AnswerItemKind, AnswerStep, IncompleteReason, StopReason, corrupt, failed, text_of,
};
use crate::history::{CallId, CallInput, LogItem, LogPart, NativeItem};
use crate::spending::{TokenCount, TokenSource};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct MessagesFold {
    blocks: BTreeMap<usize, OpenBlock>,
    usage: TokenCount,
    /// Input without what was read from or written to the cache.
    plain_input: Option<u64>,
    stop: Option<(String, Value)>,
    has_ended: bool,
}

#[derive(Debug)]
struct OpenBlock {
    start: Value,
    text: String,
    signature: String,
    input: String,
    is_announced: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: usize,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_details: Option<&'a RawValue>,
}

impl MessagesFold {
    pub(super) fn is_concluded(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn fold(&mut self, name: Option<&str>, data: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let envelope: Envelope<'_> = match serde_json::from_str(data) {
            Ok(envelope) => envelope,
            Err(error) => return sink(corrupt(data, &error)),
        };
        let kind = if envelope.kind.is_empty() { name.unwrap_or_default() } else { &envelope.kind };
        match kind {
            "content_block_delta" => {
                if let Some(delta) = envelope.delta {
                    self.take_delta(envelope.index, &delta, data, sink);
                }
            }
            "content_block_start" => self.open(envelope.index, envelope.content_block, sink),
            "content_block_stop" => self.close(envelope.index, sink),
            "message_start" => {
                let message: Value = parse(envelope.message);
                let text = |name: &str| message[name].as_str().map(str::to_owned);
                sink(AnswerStep::Began { id: text("id"), model: text("model") });
                self.count(&message["usage"], sink);
            }
            "message_delta" => {
                if let Some(delta) = &envelope.delta
                    && let Some(stop) = text_of(delta.stop_reason)
                {
                    self.stop = Some((stop.into_owned(), parse(delta.stop_details)));
                }
                self.count(&parse(envelope.usage), sink);
            }
            "message_stop" => self.finish("the provider ended the answer without a reason", sink),
            "ping" => {}
            "error" => self.fail(data, sink),
            _ if envelope.error.is_some() => self.fail(data, sink),
            other => sink(AnswerStep::Unknown { kind: other.to_owned(), raw: data }),
        }
    }

    fn fail(&mut self, data: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        self.has_ended = true;
        sink(AnswerStep::End(failed(data)));
    }

    fn open(&mut self, index: usize, block: Option<&RawValue>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let start: Value = parse(block);
        let kind = match start["type"].as_str().unwrap_or_default() {
            "text" => AnswerItemKind::Text,
            "thinking" | "redacted_thinking" => AnswerItemKind::Reasoning,
            "tool_use" => {
                AnswerItemKind::Call { name: start["name"].as_str().unwrap_or_default().to_owned() }
            }
            other => AnswerItemKind::Other(other.to_owned()),
        };
        let text = |name: &str| start[name].as_str().unwrap_or_default().to_owned();
        let mut open = OpenBlock {
            text: text("text"),
            signature: text("signature"),
            input: String::new(),
            // A text that stays empty is no item: it is announced with its first piece.
            is_announced: kind != AnswerItemKind::Text || !text("text").is_empty(),
            start: Value::Null,
        };
        if open.is_announced {
            sink(AnswerStep::Opened { index, kind });
        }
        if open.text.is_empty() {
            open.text = text("thinking");
        }
        if !open.text.is_empty() && start["type"] == "text" {
            sink(AnswerStep::Text { index, piece: Cow::Borrowed(&open.text) });
        }
        open.start = start;
        self.blocks.insert(index, open);
    }

    fn take_delta(
        &mut self,
        index: usize,
        delta: &Delta<'_>,
        data: &str,
        sink: &mut dyn FnMut(AnswerStep<'_>),
    ) {
        let Some(block) = self.blocks.get_mut(&index) else {
            let why = format!("a piece of block {index}, which was not begun");
            return sink(AnswerStep::Corrupt { why, bytes: data.len() });
        };
        match &*delta.kind {
            "text_delta" => {
                if let Some(piece) = text_of(delta.text).filter(|piece| !piece.is_empty()) {
                    if !std::mem::replace(&mut block.is_announced, true) {
                        sink(AnswerStep::Opened { index, kind: AnswerItemKind::Text });
                    }
                    block.text.push_str(&piece);
                    sink(AnswerStep::Text { index, piece });
                }
            }
            "thinking_delta" => {
                if let Some(piece) = text_of(delta.thinking) {
                    block.text.push_str(&piece);
                    sink(AnswerStep::Thought { index, piece });
                }
            }
            "signature_delta" => block.signature.push_str(&text_of(delta.signature).unwrap_or_default()),
            "input_json_delta" => block.input.push_str(&text_of(delta.partial_json).unwrap_or_default()),
            "citations_delta" => {}
            other => sink(AnswerStep::Unknown { kind: other.to_owned(), raw: data }),
        }
    }

    fn close(&mut self, index: usize, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if let Some(block) = self.blocks.remove(&index)
            && let Some(item) = item_of(block)
        {
            sink(AnswerStep::Done { index, item: Box::new(item) });
        }
    }

    fn count(&mut self, usage: &Value, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if !usage.is_object() {
            return;
        }
        let creation = &usage["cache_creation"];
        let short = creation["ephemeral_5m_input_tokens"].as_u64();
        self.plain_input = usage["input_tokens"].as_u64().or(self.plain_input);
        self.usage.merge(TokenCount {
            input: None,
            cached: usage["cache_read_input_tokens"].as_u64(),
            cache_write_short: short.or_else(|| usage["cache_creation_input_tokens"].as_u64()),
            cache_write_long: creation["ephemeral_1h_input_tokens"].as_u64(),
            output: usage["output_tokens"].as_u64(),
            reasoning: usage["output_tokens_details"]["thinking_tokens"].as_u64(),
            cost: None,
            source: TokenSource::Provider,
        });
        let cache = [self.usage.cached, self.usage.cache_write_short, self.usage.cache_write_long];
        let cache: u64 = cache.into_iter().flatten().sum();
        self.usage.input = self.plain_input.map(|plain| plain + cache);
        sink(AnswerStep::Usage(self.usage));
    }

    pub(super) fn finish(&mut self, why: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let Some((stop, details)) = self.stop.take() else {
            return sink(AnswerStep::End(AnswerEnd::Cut(why.to_owned())));
        };
        for index in self.blocks.keys().copied().collect::<Vec<_>>() {
            self.close(index, sink);
        }
        sink(AnswerStep::End(end_of(&stop, &details)));
    }
}

fn parse(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
}

/// The item of a block; none for a text without a letter.
fn item_of(block: OpenBlock) -> Option<AnswerItem> {
    let text = |name: &str| block.start[name].as_str().unwrap_or_default().to_owned();
    let kind = text("type");
    let own = |item| Some(AnswerItem { item, native: None });
    let sealed = |item, raw: Value| {
        Some(AnswerItem { item, native: Some(NativeItem { raw: raw.to_string(), sealed: true }) })
    };
    match kind.as_str() {
        "text" if block.text.is_empty() => None,
        "text" => own(LogItem::Assistant { parts: vec![LogPart::text(block.text)], phase: None }),
        "thinking" => {
            let raw =
                serde_json::json!({"type": "thinking", "thinking": block.text, "signature": block.signature});
            let text = if block.text.is_empty() { Vec::new() } else { vec![block.text] };
            sealed(LogItem::Reasoning { summary: Vec::new(), text }, raw)
        }
        "redacted_thinking" => {
            sealed(LogItem::Reasoning { summary: Vec::new(), text: Vec::new() }, block.start)
        }
        "tool_use" => {
            let given = &block.start["input"];
            let is_given = given.as_object().is_some_and(|members| !members.is_empty());
            let input = match (block.input.is_empty(), is_given) {
                (false, _) => block.input.clone(),
                (true, true) => given.to_string(),
                // No arguments, or an answer that was cut before them: how it ended decides.
                (true, false) => String::new(),
            };
            own(LogItem::Call {
                call: CallId::new(text("id")),
                name: text("name"),
                input: CallInput::Json(input),
            })
        }
        _ => {
            let mut raw = block.start.clone();
            if let Ok(input) = serde_json::from_str::<Value>(&block.input) {
                raw["input"] = input;
            }
            let name = if kind == "server_tool_use" { text("name") } else { kind.clone() };
            let query = raw["input"]["query"].as_str().map(str::to_owned);
            let item = if kind.contains("tool") {
                LogItem::ServerTool { name, query }
            } else {
                LogItem::Unknown { name }
            };
            sealed(item, raw)
        }
    }
}

fn end_of(stop: &str, details: &Value) -> AnswerEnd {
    match stop {
        "end_turn" | "tool_use" | "stop_sequence" => AnswerEnd::Completed(StopReason::Finished),
        "pause_turn" => AnswerEnd::Completed(StopReason::Paused),
        "max_tokens" => AnswerEnd::Incomplete(IncompleteReason::MaxOutput),
        "model_context_window_exceeded" => AnswerEnd::Incomplete(IncompleteReason::Context),
        "refusal" => AnswerEnd::Refused {
            category: details["category"].as_str().map(str::to_owned),
            text: details["explanation"].as_str().unwrap_or("the model refused to answer").to_owned(),
        },
        other => AnswerEnd::Incomplete(IncompleteReason::Other(other.to_owned())),
    }
}
