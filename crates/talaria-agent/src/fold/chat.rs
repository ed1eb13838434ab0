//! Chat Completions: chunks without types, assembled into one message.
//!
//! A `finish_reason` is the evidence; `[DONE]` alone is none. Nothing ends before `[DONE]`, the end of the stream or a
//! pause after the finish, because usage may follow in further chunks; the last one that is not null wins. Whether there
//! are calls is decided by the calls, not by the reason.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::relay_details::RelayDetails;
use super::{
    AnswerEnd, AnswerItem, AnswerItemKind, AnswerStep, IncompleteReason, StopReason, corrupt, failed, text_of,
};
use crate::failure::classify_code;
use crate::history::{CallId, CallInput, LogItem, LogPart, NativeItem};
use crate::profile::{InlineThinking, ProviderQuirks};
use crate::spending::{TokenCount, TokenSource};
use crate::thinking::{InlineSide, InlineThinkingSplitter};

/// The item of thinking, of text and the first call.
const REASONING: usize = 0;
const TEXT: usize = 1;
const FIRST_CALL: usize = 2;

/// The state of one answer.
#[derive(Debug)]
pub struct ChatFold {
    has_begun: bool,
    text: String,
    refusal: String,
    reasoning: String,
    /// `reasoning_details` of a relay.
    details: RelayDetails,
    calls: Vec<CallSlot>,
    splitter: Option<InlineThinkingSplitter>,
    finish: Option<String>,
    has_ended: bool,
}

#[derive(Debug)]
struct CallSlot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// The signature of a call, as received.
    extra: Option<String>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    x_groq: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    /// Servers that do not stream send the whole message.
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_details: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl ChatFold {
    pub(super) fn new(quirks: &ProviderQuirks) -> Self {
        let splits = quirks.inline_thinking == InlineThinking::AtStart;
        Self {
            has_begun: false,
            text: String::new(),
            refusal: String::new(),
            reasoning: String::new(),
            details: RelayDetails::default(),
            calls: Vec::new(),
            splitter: splits.then(InlineThinkingSplitter::default),
            finish: None,
            has_ended: false,
        }
    }

    pub(super) fn is_concluded(&self) -> bool {
        self.finish.is_some()
    }

    pub(super) fn fold(&mut self, data: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if data.trim() == "[DONE]" {
            return self.finish("the provider ended the stream without saying why the answer stopped", sink);
        }
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(error) => return sink(corrupt(data, &error)),
        };
        if let Some(error) = chunk.error.filter(|error| error.get() != "null") {
            self.has_ended = true;
            return sink(AnswerStep::End(failed(&format!("{{\"error\":{}}}", error.get()))));
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            let text =
                |raw: Option<&RawValue>| text_of(raw).filter(|text| !text.is_empty()).map(Cow::into_owned);
            sink(AnswerStep::Began { id: text(chunk.id), model: text(chunk.model) });
        }
        for choice in chunk.choices.into_iter().flatten() {
            self.take_choice(choice, sink);
        }
        let groq = chunk.x_groq.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let groq = groq.map(|value| usage_of(&value["usage"]));
        let own = chunk.usage.map(|raw| usage_of(&serde_json::from_str(raw.get()).unwrap_or(Value::Null)));
        for usage in [groq, own].into_iter().flatten().filter(|usage| usage.source == TokenSource::Provider) {
            sink(AnswerStep::Usage(usage));
        }
    }

    fn take_choice(&mut self, choice: Choice<'_>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if let Some(delta) = choice.delta.or(choice.message) {
            self.take_delta(delta, sink);
        }
        let usage = choice.usage.map(|raw| usage_of(&serde_json::from_str(raw.get()).unwrap_or(Value::Null)));
        if let Some(usage) = usage.filter(|usage| usage.source == TokenSource::Provider) {
            sink(AnswerStep::Usage(usage));
        }
        if let Some(error) = choice.error.filter(|error| error.get() != "null") {
            self.has_ended = true;
            return sink(AnswerStep::End(failed(&format!("{{\"error\":{}}}", error.get()))));
        }
        if let Some(finish) = text_of(choice.finish_reason).filter(|finish| !finish.is_empty()) {
            self.finish.get_or_insert_with(|| finish.into_owned());
        }
    }

    fn take_delta(&mut self, delta: Delta<'_>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        // Some relays send the same thought in both members.
        let thought = text_of(delta.reasoning_content).filter(|piece| !piece.is_empty());
        let thought = thought.or_else(|| text_of(delta.reasoning)).filter(|piece| !piece.is_empty());
        if let Some(piece) = thought {
            self.think(&piece, sink);
        }
        delta.reasoning_details.into_iter().flatten().for_each(|raw| self.details.take(raw.get()));
        if let Some(content) = delta.content {
            match text_of(Some(content)) {
                Some(piece) if piece.is_empty() => {}
                Some(piece) => self.take_text(&piece, sink),
                None => self.take_parts(content, sink),
            }
        }
        if let Some(piece) = text_of(delta.refusal).filter(|piece| !piece.is_empty()) {
            self.open_text(sink);
            self.refusal.push_str(&piece);
            sink(AnswerStep::Text { index: TEXT, piece });
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.take_call(&call, sink);
        }
    }

    /// Content as a list: text and thinking (Mistral).
    fn take_parts(&mut self, content: &RawValue, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let parts: Vec<Value> = serde_json::from_str(content.get()).unwrap_or_default();
        for part in parts {
            let nested =
                part["thinking"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
            let thought = part["thinking"].as_str().map_or_else(|| nested.collect::<String>(), str::to_owned);
            if !thought.is_empty() {
                self.think(&thought, sink);
            } else if let Some(text) = part["text"].as_str() {
                self.take_text(text, sink);
            }
        }
    }

    fn think(&mut self, piece: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if self.reasoning.is_empty() {
            sink(AnswerStep::Opened { index: REASONING, kind: AnswerItemKind::Reasoning });
        }
        self.reasoning.push_str(piece);
        sink(AnswerStep::Thought { index: REASONING, piece: Cow::Borrowed(piece) });
    }

    fn take_text(&mut self, piece: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let Some(mut splitter) = self.splitter.take() else { return self.write(piece, sink) };
        let mut pieces = Vec::new();
        splitter.feed(piece, &mut |side, piece| pieces.push((side, piece.to_owned())));
        self.splitter = Some(splitter);
        self.take_split(pieces, sink);
    }

    fn take_split(&mut self, pieces: Vec<(InlineSide, String)>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        for (side, piece) in pieces {
            match side {
                InlineSide::Thought => self.think(&piece, sink),
                InlineSide::Text => self.write(&piece, sink),
            }
        }
    }

    /// Announces the text before its first piece.
    fn open_text(&self, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if self.text.is_empty() && self.refusal.is_empty() {
            sink(AnswerStep::Opened { index: TEXT, kind: AnswerItemKind::Text });
        }
    }

    fn write(&mut self, piece: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if piece.is_empty() {
            return;
        }
        self.open_text(sink);
        self.text.push_str(piece);
        sink(AnswerStep::Text { index: TEXT, piece: Cow::Borrowed(piece) });
    }

    fn take_call(&mut self, delta: &CallDelta<'_>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let id = text_of(delta.id).filter(|id| !id.is_empty());
        let function = delta.function.as_ref();
        let name = function.and_then(|function| text_of(function.name)).filter(|name| !name.is_empty());
        let at = self.slot(delta.index, id.as_deref());
        let slot = match at {
            Some(at) => at,
            None => {
                self.calls.push(CallSlot {
                    index: delta.index,
                    id: id.as_deref().unwrap_or_default().to_owned(),
                    name: String::new(),
                    arguments: String::new(),
                    extra: None,
                });
                let at = self.calls.len() - 1;
                let name = name.as_deref().unwrap_or_default().to_owned();
                sink(AnswerStep::Opened { index: FIRST_CALL + at, kind: AnswerItemKind::Call { name } });
                at
            }
        };
        let Some(slot) = self.calls.get_mut(slot) else { return };
        if slot.id.is_empty() {
            slot.id = id.map(Cow::into_owned).unwrap_or_default();
        }
        // Set once: some servers repeat the name in every piece.
        if slot.name.is_empty() {
            slot.name = name.map(Cow::into_owned).unwrap_or_default();
        }
        match function.and_then(|function| function.arguments) {
            Some(raw) if raw.get().starts_with('{') => slot.arguments.push_str(raw.get()),
            raw => slot.arguments.push_str(&text_of(raw).unwrap_or_default()),
        }
        if let Some(extra) = delta.extra_content {
            slot.extra = Some(extra.get().to_owned());
        }
    }

    /// The slot of a piece: by its index, unless another id is there already; without an index by id, else the last one.
    fn slot(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        match (index, id) {
            (Some(index), id) => {
                let at = self.calls.iter().rposition(|slot| slot.index == Some(index))?;
                let differs = id.is_some_and(|id| !self.calls[at].id.is_empty() && self.calls[at].id != id);
                (!differs).then_some(at)
            }
            (None, Some(id)) => self.calls.iter().position(|slot| slot.id == id),
            (None, None) => self.calls.len().checked_sub(1),
        }
    }

    pub(super) fn finish(&mut self, why: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let Some(finish) = self.finish.take() else {
            return sink(AnswerStep::End(AnswerEnd::Cut(why.to_owned())));
        };
        if let Some(mut splitter) = self.splitter.take() {
            let mut pieces = Vec::new();
            splitter.finish(&mut |side, piece| pieces.push((side, piece.to_owned())));
            self.take_split(pieces, sink);
        }
        for (index, item) in self.items() {
            sink(AnswerStep::Done { index, item: Box::new(item) });
        }
        sink(AnswerStep::End(end_of(&finish)));
    }

    fn items(&mut self) -> Vec<(usize, AnswerItem)> {
        let mut items = Vec::new();
        if !self.reasoning.is_empty() || !self.details.is_empty() {
            let text = std::mem::take(&mut self.reasoning);
            let native = if self.details.is_empty() {
                NativeItem { raw: Value::String(text.clone()).to_string(), sealed: false }
            } else {
                NativeItem { raw: self.details.to_json(), sealed: true }
            };
            let text = if text.is_empty() { Vec::new() } else { vec![text] };
            let item = LogItem::Reasoning { summary: Vec::new(), text };
            items.push((REASONING, AnswerItem { item, native: Some(native) }));
        }
        let text = std::mem::take(&mut self.text);
        let refusal = std::mem::take(&mut self.refusal);
        let mut parts = Vec::new();
        parts.extend((!text.is_empty()).then(|| LogPart::text(text)));
        parts.extend((!refusal.is_empty()).then_some(LogPart::Refusal { text: refusal }));
        if !parts.is_empty() {
            items.push((TEXT, AnswerItem { item: LogItem::Assistant { parts, phase: None }, native: None }));
        }
        for (at, slot) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let item = LogItem::Call {
                call: CallId::new(slot.id),
                name: slot.name,
                input: CallInput::Json(slot.arguments),
            };
            let native = slot.extra.map(|raw| NativeItem { raw, sealed: true });
            items.push((FIRST_CALL + at, AnswerItem { item, native }));
        }
        items
    }
}

fn end_of(finish: &str) -> AnswerEnd {
    match finish {
        "stop" | "end" | "eos" | "end_turn" | "stop_sequence" | "tool_calls" | "tool_use"
        | "function_call" => AnswerEnd::Completed(StopReason::Finished),
        "length" | "model_length" | "max_tokens" => AnswerEnd::Incomplete(IncompleteReason::MaxOutput),
        "model_context_window_exceeded" => AnswerEnd::Incomplete(IncompleteReason::Context),
        "content_filter" | "sensitive" => AnswerEnd::Incomplete(IncompleteReason::ContentFilter),
        "error" | "network_error" => AnswerEnd::Failed(classify_code(
            "server_error",
            "the provider stopped the answer because of an error",
        )),
        "insufficient_system_resource" => AnswerEnd::Failed(classify_code(
            "server_is_overloaded",
            "the provider stopped the answer for lack of resources",
        )),
        other => AnswerEnd::Incomplete(IncompleteReason::Other(other.to_owned())),
    }
}

fn usage_of(usage: &Value) -> TokenCount {
    let Some(input) = usage["prompt_tokens"].as_u64() else { return TokenCount::default() };
    let details = &usage["prompt_tokens_details"];
    let cached = [&details["cached_tokens"], &usage["prompt_cache_hit_tokens"], &usage["cached_tokens"]];
    let cost = usage["cost"].as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0);
    TokenCount {
        input: Some(input),
        cached: cached.into_iter().find_map(Value::as_u64),
        cache_write_short: details["cache_write_tokens"].as_u64(),
        cache_write_long: None,
        output: usage["completion_tokens"].as_u64(),
        reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
        cost: cost.and_then(|dollars| format!("{:.0}", dollars * 1e9).parse().ok()),
        source: TokenSource::Provider,
    }
}
