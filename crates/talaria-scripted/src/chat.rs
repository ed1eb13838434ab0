//! The steps of a reply as chunks of Chat Completions, in the dialects that providers have of it. Pure.
//!
//! Chunks have no names. A finish reason ends the answer; usage and `[DONE]` follow it.

use serde_json::{Value, json};

use crate::frame::{StreamFrame, input_pieces};
use crate::step::{Call, CallInput, ModelUsage, ReplyEnd};

/// Where the tokens are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ChatUsagePlace {
    /// In a chunk of its own without choices, if the request asks for it (OpenAI).
    #[default]
    OwnChunk,
    /// On the finishing chunk (DeepSeek, Together).
    OnFinish,
    /// On a second copy of the finishing chunk (OpenRouter).
    OnSecondFinish,
    /// In the choice of the finishing chunk (Moonshot).
    InChoice,
    /// Nowhere.
    Never,
}

/// Where reasoning is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ChatReasoningField {
    /// `reasoning_content` (DeepSeek, Kimi, GLM, Qwen, llama.cpp).
    #[default]
    ReasoningContent,
    /// `reasoning` (Ollama, Groq).
    Reasoning,
    /// `reasoning` and `reasoning_details`, the seal as a signature (OpenRouter).
    Details,
    /// In the text, between `<think>` and `</think>`.
    ThinkTags,
}

/// The dialect of a Chat stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ChatStyle {
    /// Where the tokens are reported.
    pub usage: ChatUsagePlace,
    /// Where reasoning is written.
    pub reasoning: ChatReasoningField,
    /// Every call has the index 0 (Ollama, Gemini).
    pub index_zero: bool,
    /// A call comes in one chunk (Groq).
    pub whole_calls: bool,
    /// Every chunk has the role (OpenRouter).
    pub role_everywhere: bool,
    /// The finish reason is `stop` although there are calls (forced tools at OpenAI).
    pub stop_with_calls: bool,
    /// The stream ends without `[DONE]`.
    pub no_done: bool,
}

/// Writes the chunks of one completion.
pub(crate) struct Completion {
    number: usize,
    model: String,
    style: ChatStyle,
    /// The request has `stream_options.include_usage`.
    usage_asked: bool,
    text: String,
    reasoning: String,
    refusal: String,
    calls: Vec<Value>,
    /// A `<think>` was opened and not closed.
    is_thinking: bool,
}

impl Completion {
    pub(crate) fn new(number: usize, model: &str, style: ChatStyle, usage_asked: bool) -> Self {
        Self {
            number,
            model: model.to_owned(),
            style,
            usage_asked,
            text: String::new(),
            reasoning: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            is_thinking: false,
        }
    }

    pub(crate) fn begin(&mut self) -> Vec<StreamFrame> {
        let delta = json!({ "role": "assistant", "content": "", "refusal": null });
        vec![self.chunk(delta, None)]
    }

    pub(crate) fn text(&mut self, chunk: &str) -> Vec<StreamFrame> {
        let mut said = String::new();
        if std::mem::take(&mut self.is_thinking) {
            said.push_str("</think>");
        }
        said.push_str(chunk);
        self.text.push_str(&said);
        vec![self.chunk(json!({ "content": said }), None)]
    }

    pub(crate) fn refusal(&mut self, chunk: &str) -> Vec<StreamFrame> {
        self.refusal.push_str(chunk);
        vec![self.chunk(json!({ "refusal": chunk }), None)]
    }

    pub(crate) fn reasoning(&mut self, chunk: &str) -> Vec<StreamFrame> {
        self.reasoning.push_str(chunk);
        let delta = match self.style.reasoning {
            ChatReasoningField::ReasoningContent => json!({ "content": null, "reasoning_content": chunk }),
            ChatReasoningField::Reasoning => json!({ "content": "", "reasoning": chunk }),
            ChatReasoningField::Details => {
                let detail =
                    json!({ "type": "reasoning.text", "text": chunk, "format": "scripted", "index": 0 });
                json!({ "content": "", "reasoning": chunk, "reasoning_details": [detail] })
            }
            ChatReasoningField::ThinkTags => {
                let start = if self.is_thinking { "" } else { "<think>" };
                self.is_thinking = true;
                let said = format!("{start}{chunk}");
                self.text.push_str(&said);
                json!({ "content": said })
            }
        };
        vec![self.chunk(delta, None)]
    }

    /// Only reasoning with details has a place for a seal.
    pub(crate) fn seal(&mut self, seal: &str) -> Vec<StreamFrame> {
        if self.style.reasoning != ChatReasoningField::Details {
            return Vec::new();
        }
        let detail = match self.reasoning.is_empty() {
            true => json!({ "type": "reasoning.encrypted", "data": seal, "format": "scripted", "index": 0 }),
            false => {
                json!({ "type": "reasoning.text", "signature": seal, "format": "scripted", "index": 0 })
            }
        };
        vec![self.chunk(json!({ "content": "", "reasoning_details": [detail] }), None)]
    }

    pub(crate) fn call(&mut self, call: &Call) -> Vec<StreamFrame> {
        let slot = self.calls.len();
        let index = if self.style.index_zero { 0 } else { slot };
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{slot}", self.number));
        let (kind, field, input) = match &call.input {
            CallInput::Function(input) => ("function", "arguments", input),
            CallInput::Custom(input) => ("custom", "input", input),
        };
        let entry = |text: &str| json!({ "name": call.name, field: text });
        self.calls.push(json!({ "id": id, "type": kind, kind: entry(input) }));
        let opening = |text: &str| {
            let opened = json!({ "index": index, "id": id, "type": kind, kind: entry(text) });
            json!({ "tool_calls": [opened] })
        };
        if self.style.whole_calls {
            return vec![self.chunk(opening(input), None)];
        }
        let mut frames = vec![self.chunk(opening(""), None)];
        for piece in input_pieces(input) {
            let more = json!({ "index": index, kind: { field: piece } });
            frames.push(self.chunk(json!({ "tool_calls": [more] }), None));
        }
        frames
    }

    pub(crate) fn error(&mut self, code: &str, message: &str) -> Vec<StreamFrame> {
        let error = json!({ "message": message, "type": code, "code": code, "param": null });
        vec![StreamFrame::unnamed(json!({ "error": error }))]
    }

    pub(crate) fn finish(&mut self, end: ReplyEnd, usage: ModelUsage) -> Vec<StreamFrame> {
        let mut frames = Vec::new();
        if self.is_thinking {
            frames.extend(self.text(""));
        }
        let reason = self.finish_reason(end);
        let tokens = tokens(usage);
        let mut finishing = self.chunk_value(json!({}), Some(reason));
        match self.style.usage {
            ChatUsagePlace::OwnChunk => {
                frames.push(StreamFrame::unnamed(finishing));
                if self.usage_asked {
                    let mut own = self.chunk_value(json!({}), None);
                    own["choices"] = json!([]);
                    own["usage"] = tokens;
                    frames.push(StreamFrame::unnamed(own));
                }
            }
            ChatUsagePlace::OnFinish => {
                finishing["usage"] = tokens;
                frames.push(StreamFrame::unnamed(finishing));
            }
            ChatUsagePlace::OnSecondFinish => {
                frames.push(StreamFrame::unnamed(finishing.clone()));
                finishing["usage"] = tokens;
                frames.push(StreamFrame::unnamed(finishing));
            }
            ChatUsagePlace::InChoice => {
                finishing["choices"][0]["usage"] = tokens;
                frames.push(StreamFrame::unnamed(finishing));
            }
            ChatUsagePlace::Never => frames.push(StreamFrame::unnamed(finishing)),
        }
        if !self.style.no_done {
            frames.push(StreamFrame::Done);
        }
        frames
    }

    /// The completion as one value.
    pub(crate) fn whole(&self, end: ReplyEnd, usage: ModelUsage) -> Value {
        let mut message = json!({ "role": "assistant", "content": null, "refusal": null });
        let fields =
            [("content", &self.text), ("refusal", &self.refusal), ("reasoning_content", &self.reasoning)];
        for (field, text) in fields.into_iter().filter(|(_, text)| !text.is_empty()) {
            message[field] = json!(text);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = json!(self.calls);
        }
        let choice = json!({
            "index": 0, "message": message, "finish_reason": self.finish_reason(end), "logprobs": null,
        });
        let mut whole = self.chunk_value(json!({}), None);
        whole["object"] = json!("chat.completion");
        whole["choices"] = json!([choice]);
        whole["usage"] = tokens(usage);
        whole
    }

    fn finish_reason(&self, end: ReplyEnd) -> &'static str {
        match end {
            ReplyEnd::Natural if self.calls.is_empty() || self.style.stop_with_calls => "stop",
            ReplyEnd::Natural => "tool_calls",
            ReplyEnd::MaxOutput => "length",
            ReplyEnd::ContentFilter => "content_filter",
            ReplyEnd::ContextWindow => "model_context_window_exceeded",
        }
    }

    fn chunk(&self, delta: Value, finish: Option<&str>) -> StreamFrame {
        StreamFrame::unnamed(self.chunk_value(delta, finish))
    }

    fn chunk_value(&self, mut delta: Value, finish: Option<&str>) -> Value {
        if self.style.role_everywhere {
            delta["role"] = json!("assistant");
        }
        json!({
            "id": format!("chatcmpl-{}", self.number), "object": "chat.completion.chunk",
            "created": 1_760_000_000 + self.number, "model": self.model, "system_fingerprint": "fp_scripted",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null }],
        })
    }
}

fn tokens(usage: ModelUsage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(frames: &[StreamFrame]) -> Vec<Value> {
        let of = |frame: &StreamFrame| match frame {
            StreamFrame::Event { data, .. } => Some(data.clone()),
            _ => None,
        };
        frames.iter().filter_map(of).collect()
    }

    fn call() -> Call {
        Call { id: None, name: "t".into(), input: CallInput::Function(r#"{"x": 1}"#.into()) }
    }

    #[test]
    fn calls_have_their_index_and_the_arguments_arrive_as_written() {
        let mut completion = Completion::new(3, "m", ChatStyle::default(), true);
        completion.call(&call());
        let frames = data(&completion.call(&call()));
        let opened = &frames[0]["choices"][0]["delta"]["tool_calls"][0];
        assert_eq!((opened["index"].as_u64(), opened["id"].as_str()), (Some(1), Some("call_3_1")));
        let arguments: String = frames
            .iter()
            .filter_map(|frame| {
                frame["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str()
            })
            .collect();
        assert_eq!(arguments, r#"{"x": 1}"#);
    }

    #[test]
    fn usage_is_where_the_style_has_it() {
        let finish = |usage, asked| {
            let mut completion = Completion::new(1, "m", ChatStyle { usage, ..ChatStyle::default() }, asked);
            data(&completion.finish(ReplyEnd::Natural, ModelUsage::default()))
        };
        assert_eq!(finish(ChatUsagePlace::OwnChunk, false).len(), 1);
        let own = finish(ChatUsagePlace::OwnChunk, true);
        assert_eq!((own.len(), own[1]["usage"]["total_tokens"].as_u64()), (2, Some(1050)));
        assert!(finish(ChatUsagePlace::OnFinish, false)[0]["usage"].is_object());
        let twice = finish(ChatUsagePlace::OnSecondFinish, false);
        assert!(twice[0]["usage"].is_null() && twice[1]["usage"].is_object());
        assert!(finish(ChatUsagePlace::InChoice, false)[0]["choices"][0]["usage"].is_object());
    }

    #[test]
    fn thinking_in_the_text_is_closed_by_the_text() {
        let style = ChatStyle { reasoning: ChatReasoningField::ThinkTags, ..ChatStyle::default() };
        let mut completion = Completion::new(1, "m", style, true);
        completion.reasoning("hm");
        completion.text("yes");
        let whole = completion.whole(ReplyEnd::Natural, ModelUsage::default());
        assert_eq!(whole["choices"][0]["message"]["content"], "<think>hm</think>yes");
    }
}
