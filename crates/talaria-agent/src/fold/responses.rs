//! OpenAI Responses: events by their `type`, items from `output_item.done`.
//!
//! The terminal event's own list of items is used only where nothing was streamed. An item that was begun and never done
//! makes the answer cut, whatever the terminal event says: nothing is synthesised. Any first frame is legal.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{
    AnswerEnd, AnswerItem, AnswerItemKind, AnswerStep, IncompleteReason, StopReason, corrupt, failed, text_of,
};
use crate::failure::classify_frame;
use crate::history::{CallId, CallInput, LogItem, LogPart, NativeItem};
use crate::spending::{TokenCount, TokenSource};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct ResponsesFold {
    has_begun: bool,
    items: Vec<OpenItem>,
    done: usize,
    /// The part of a reasoning summary that is being written.
    summary_part: u64,
}

#[derive(Debug)]
struct OpenItem {
    id: Option<String>,
    output_index: Option<u64>,
    is_announced: bool,
    is_done: bool,
    /// The ids of the item itself and of the call, once it is whole.
    whole: (Option<String>, Option<String>),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    item_id: Option<&'a RawValue>,
    output_index: Option<u64>,
    summary_index: Option<u64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Events that carry nothing that another one does not carry, too.
const SILENT: [&str; 15] = [
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.refusal.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.done",
    "response.web_search_call.in_progress",
    "response.web_search_call.searching",
    "response.web_search_call.completed",
];

impl ResponsesFold {
    pub(super) fn fold(&mut self, name: Option<&str>, data: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if data.trim() == "[DONE]" {
            return;
        }
        let envelope: Envelope<'_> = match serde_json::from_str(data) {
            Ok(envelope) => envelope,
            Err(error) => return sink(corrupt(data, &error)),
        };
        let kind = if envelope.kind.is_empty() { name.unwrap_or_default() } else { &envelope.kind };
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                let index = self.index(&envelope);
                if let Some(piece) = text_of(envelope.delta) {
                    self.announce(index, AnswerItemKind::Text, sink);
                    sink(AnswerStep::Text { index, piece });
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let index = self.index(&envelope);
                if let Some(piece) = text_of(envelope.delta) {
                    self.announce(index, AnswerItemKind::Reasoning, sink);
                    sink(AnswerStep::Thought { index, piece });
                }
            }
            "response.reasoning_summary_part.added" => {
                let part = envelope.summary_index.unwrap_or_default();
                if part > self.summary_part {
                    let index = self.index(&envelope);
                    self.announce(index, AnswerItemKind::Reasoning, sink);
                    sink(AnswerStep::Thought { index, piece: Cow::Borrowed("\n\n") });
                }
                self.summary_part = part;
            }
            "response.created" | "response.queued" | "response.in_progress" => self.begin(&envelope, sink),
            "response.output_item.added" => self.open(&envelope, sink),
            "response.output_item.done" => {
                let Some(raw) = envelope.item else { return };
                let index = self.index_of_item(&envelope, raw);
                self.summary_part = 0;
                let Some(open) = self.items.get_mut(index).filter(|open| !open.is_done) else {
                    // Some servers repeat it.
                    return;
                };
                (open.is_done, open.whole) = (true, ids_of(raw));
                self.done += 1;
                sink(AnswerStep::Done { index, item: Box::new(item_of(raw.get())) });
            }
            "response.completed" | "response.done" | "response.incomplete" | "response.failed" => {
                self.end(kind, &envelope, sink);
            }
            "error" => sink(AnswerStep::End(failed(data))),
            // A relay that knows no types sends a bare error.
            "" if envelope.error.is_some() => sink(AnswerStep::End(failed(data))),
            silent if SILENT.contains(&silent) => {}
            other => sink(AnswerStep::Unknown { kind: other.to_owned(), raw: data }),
        }
    }

    fn begin(&mut self, envelope: &Envelope<'_>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let response: Value = parse(envelope.response);
        let text = |name: &str| response[name].as_str().map(str::to_owned);
        sink(AnswerStep::Began { id: text("id"), model: text("model") });
    }

    fn open(&mut self, envelope: &Envelope<'_>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let Some(raw) = envelope.item else { return };
        let index = self.index_of_item(envelope, raw);
        let item: Value = parse(Some(raw));
        let name = item["name"].as_str().unwrap_or_default().to_owned();
        let kind = match item["type"].as_str().unwrap_or_default() {
            "message" => AnswerItemKind::Text,
            "reasoning" => AnswerItemKind::Reasoning,
            "function_call" | "custom_tool_call" => AnswerItemKind::Call { name },
            other => AnswerItemKind::Other(other.to_owned()),
        };
        self.announce(index, kind, sink);
    }

    /// Reports the beginning of an item once: some servers only send its pieces.
    fn announce(&mut self, index: usize, kind: AnswerItemKind, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if self.items.get_mut(index).is_some_and(|open| !std::mem::replace(&mut open.is_announced, true)) {
            sink(AnswerStep::Opened { index, kind });
        }
    }

    fn end(&mut self, kind: &str, envelope: &Envelope<'_>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let response: Value = parse(envelope.response);
        let usage = usage_of(&response["usage"]);
        if usage.source == TokenSource::Provider {
            sink(AnswerStep::Usage(usage));
        }
        if self.items.is_empty() {
            let raw: Option<Terminal<'_>> =
                envelope.response.and_then(|raw| serde_json::from_str(raw.get()).ok());
            for (index, raw) in
                raw.map(|terminal| terminal.output).unwrap_or_default().into_iter().enumerate()
            {
                sink(AnswerStep::Done { index, item: Box::new(item_of(raw.get())) });
            }
        }
        let status = response["status"].as_str().unwrap_or_default();
        let unfinished = self.items.len() - self.done;
        let end = match kind {
            "response.failed" => AnswerEnd::Failed(classify_frame(&response["error"], &[])),
            "response.incomplete" => incomplete(&response),
            _ if status == "incomplete" => incomplete(&response),
            _ if status == "failed" => AnswerEnd::Failed(classify_frame(&response["error"], &[])),
            _ if unfinished > 0 => AnswerEnd::Cut(format!(
                "the provider ended the answer while {unfinished} of its items were not whole"
            )),
            _ => AnswerEnd::Completed(StopReason::Finished),
        };
        sink(AnswerStep::End(end));
    }

    /// The place of the item that an event is about. Servers differ in what they send: an id, an index, or neither.
    fn index(&mut self, envelope: &Envelope<'_>) -> usize {
        let id = text_of(envelope.item_id);
        self.find_or_open(id.as_deref(), envelope.output_index)
    }

    fn index_of_item(&mut self, envelope: &Envelope<'_>, raw: &RawValue) -> usize {
        let (id, call) = ids_of(raw);
        let index = self.find_or_open(id.as_deref(), envelope.output_index);
        let is_other = self.items.get(index).is_some_and(|open| {
            let is_same = if call.is_some() { open.whole.1 == call } else { open.whole.0 == id };
            open.is_done && !is_same
        });
        // A server that counts wrong: the item that is whole stays as it is.
        if is_other { self.begin_item(id, envelope.output_index) } else { index }
    }

    fn find_or_open(&mut self, id: Option<&str>, output_index: Option<u64>) -> usize {
        let is_it = |open: &OpenItem| match (output_index, id) {
            (Some(index), _) if open.output_index.is_some() => open.output_index == Some(index),
            (_, Some(id)) => open.id.as_deref() == Some(id),
            (_, None) => !open.is_done,
        };
        if let Some(at) = self.items.iter().rposition(is_it) {
            return at;
        }
        self.begin_item(id.map(str::to_owned), output_index)
    }

    fn begin_item(&mut self, id: Option<String>, output_index: Option<u64>) -> usize {
        let whole = (None, None);
        self.items.push(OpenItem { id, output_index, is_announced: false, is_done: false, whole });
        self.items.len() - 1
    }
}

#[derive(Deserialize)]
struct Terminal<'a> {
    #[serde(borrow, default)]
    output: Vec<&'a RawValue>,
}

fn parse(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
}

/// The ids of an item and of its call.
fn ids_of(raw: &RawValue) -> (Option<String>, Option<String>) {
    let item: Value = parse(Some(raw));
    let text = |name: &str| item[name].as_str().map(str::to_owned);
    (text("id"), text("call_id"))
}

fn incomplete(response: &Value) -> AnswerEnd {
    AnswerEnd::Incomplete(match response["incomplete_details"]["reason"].as_str() {
        Some("max_output_tokens" | "max_tokens") => IncompleteReason::MaxOutput,
        Some("content_filter") => IncompleteReason::ContentFilter,
        Some(other) => IncompleteReason::Other(other.to_owned()),
        None => IncompleteReason::Other("no reason".to_owned()),
    })
}

/// The canonical item of an item as the provider wrote it, which is kept beside it.
pub(super) fn item_of(raw: &str) -> AnswerItem {
    let item: Value = serde_json::from_str(raw).unwrap_or(Value::Null);
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let texts = |name: &str| -> Vec<String> {
        let parts = item[name].as_array().map(Vec::as_slice).unwrap_or_default();
        parts.iter().filter_map(|part| part["text"].as_str()).map(str::to_owned).collect()
    };
    let kind = text("type");
    let log_item = match kind.as_str() {
        "message" => LogItem::Assistant {
            parts: item["content"].as_array().into_iter().flatten().filter_map(part_of).collect(),
            phase: item["phase"].as_str().map(str::to_owned),
        },
        "reasoning" => LogItem::Reasoning { summary: texts("summary"), text: texts("content") },
        "function_call" => LogItem::Call {
            call: CallId::new(text("call_id")),
            name: text("name"),
            input: CallInput::Json(text("arguments")),
        },
        "custom_tool_call" => LogItem::Call {
            call: CallId::new(text("call_id")),
            name: text("name"),
            input: CallInput::Free(text("input")),
        },
        _ if kind.ends_with("_call") => {
            let action = &item["action"];
            let asked = [&action["query"], &action["queries"][0], &action["url"]];
            let query = asked.into_iter().find_map(Value::as_str).map(str::to_owned);
            LogItem::ServerTool { name: kind.trim_end_matches("_call").to_owned(), query }
        }
        _ => LogItem::Unknown { name: kind },
    };
    let sealed = item["encrypted_content"].is_string();
    AnswerItem { item: log_item, native: Some(NativeItem { raw: raw.to_owned(), sealed }) }
}

fn part_of(part: &Value) -> Option<LogPart> {
    if let Some(text) = part["text"].as_str() {
        return Some(LogPart::text(text));
    }
    part["refusal"].as_str().map(|text| LogPart::Refusal { text: text.to_owned() })
}

pub(super) fn usage_of(usage: &Value) -> TokenCount {
    if !usage.is_object() {
        return TokenCount::default();
    }
    TokenCount {
        input: usage["input_tokens"].as_u64(),
        cached: usage["input_tokens_details"]["cached_tokens"].as_u64(),
        cache_write_short: usage["input_tokens_details"]["cache_write_tokens"].as_u64(),
        cache_write_long: None,
        output: usage["output_tokens"].as_u64(),
        reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64(),
        cost: None,
        source: TokenSource::Provider,
    }
}
