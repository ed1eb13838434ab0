//! Frames of an answer, folded into steps: what people see while it is written, and the items that become history.
//!
//! Every frame is known, unknown (kept raw) or corrupt. An answer ends by the evidence of its family alone: `fold` returns
//! an end, or `finish` says after the last byte whether there was one. EOF is never success. State belongs to one attempt
//! and dies with it, so text of two attempts cannot be joined. Nothing here knows time or sockets.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;
use talaria_core::next_step::NextStep;

use crate::failure::{ModelFailure, classify_frame};
use crate::family::ModelFamily;
use crate::history::{LogItem, NativeItem};
use crate::profile::ProviderProfile;
use crate::spending::TokenCount;
use crate::sse::SseSignal;

mod chat;
mod messages;
mod relay_details;
mod responses;
#[cfg(test)]
mod tests;
mod whole;

use chat::ChatFold;
use messages::MessagesFold;
use responses::ResponsesFold;
pub use whole::fold_whole;

/// What kind of item the model began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerItemKind {
    /// Words for the person.
    Text,
    /// Thinking.
    Reasoning,
    /// A call of a tool.
    Call {
        /// The tool, if it is known already.
        name: String,
    },
    /// Something else, by the provider's name for it.
    Other(String),
}

/// An item of an answer that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerItem {
    /// What it is.
    pub item: LogItem,
    /// The vendor's bytes, where they are replayed.
    pub native: Option<NativeItem>,
}

/// Why an answer that ended by the provider's word stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done, or calls tools: whether there are calls decides, not the word.
    Finished,
    /// The provider paused the model; the same history sent again continues.
    Paused,
}

/// Why an answer is incomplete although the provider ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncompleteReason {
    /// The output limit.
    MaxOutput,
    /// The context is full.
    Context,
    /// A filter of the provider.
    ContentFilter,
    /// A reason that this build does not know.
    Other(String),
}

impl std::fmt::Display for IncompleteReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::MaxOutput => f.write_str("the output limit was reached"),
            Self::Context => f.write_str("the model's context is full"),
            Self::ContentFilter => f.write_str("a content filter of the provider stopped it"),
            Self::Other(reason) => write!(f, "the provider stopped it ({reason})"),
        }
    }
}

impl IncompleteReason {
    /// Reads the words of `Display`, which rows of attempts have.
    pub fn of_words(words: &str) -> Self {
        let known = [Self::MaxOutput, Self::Context, Self::ContentFilter];
        let reason = || words.strip_prefix("the provider stopped it (")?.strip_suffix(')');
        known
            .into_iter()
            .find(|reason| reason.to_string() == words)
            .unwrap_or_else(|| Self::Other(reason().unwrap_or(words).to_owned()))
    }

    /// What to do next.
    pub fn advice(&self) -> NextStep {
        let text = match self {
            Self::Context => return NextStep::BeginAnew,
            Self::MaxOutput => "ask the model to continue",
            Self::ContentFilter => "change the prompt, or choose another model",
            Self::Other(_) => "ask the model to continue, or choose another model",
        };
        NextStep::Advice { text: text.to_owned() }
    }
}

/// How an answer ended, by the provider's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The provider said that it is complete.
    Completed(StopReason),
    /// The provider said that it is not.
    Incomplete(IncompleteReason),
    /// The model or the provider refused; the text so far is no answer.
    Refused {
        /// The provider's category.
        category: Option<String>,
        /// The provider's explanation.
        text: String,
    },
    /// The provider reported an error.
    Failed(ModelFailure),
    /// The stream ended without the provider's word.
    Cut(String),
}

/// What a frame means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerStep<'a> {
    /// The provider began to answer.
    Began {
        /// Its id of the answer.
        id: Option<String>,
        /// The model that answers.
        model: Option<String>,
    },
    /// An item began.
    Opened {
        /// Its place in the answer.
        index: usize,
        /// What it is.
        kind: AnswerItemKind,
    },
    /// A piece of text.
    Text {
        /// The item.
        index: usize,
        /// The piece.
        piece: Cow<'a, str>,
    },
    /// A piece of thinking.
    Thought {
        /// The item.
        index: usize,
        /// The piece.
        piece: Cow<'a, str>,
    },
    /// An item is whole.
    Done {
        /// Its place in the answer.
        index: usize,
        /// The item.
        item: Box<AnswerItem>,
    },
    /// Tokens, as far as this frame knows them.
    Usage(TokenCount),
    /// A frame that this build does not know.
    Unknown {
        /// Its type.
        kind: String,
        /// The frame.
        raw: &'a str,
    },
    /// Data that is no frame.
    Corrupt {
        /// Its mistake.
        why: String,
        /// How long it is.
        bytes: usize,
    },
    /// The answer ended.
    End(AnswerEnd),
}

/// Folds the frames of one answer.
#[derive(Debug)]
pub enum AnswerFold {
    /// OpenAI Responses.
    Responses(Box<ResponsesFold>),
    /// Chat Completions.
    Chat(Box<ChatFold>),
    /// Anthropic Messages.
    Messages(Box<MessagesFold>),
}

impl AnswerFold {
    /// Begins an answer of this provider.
    pub fn new(profile: &ProviderProfile) -> Self {
        match profile.family {
            ModelFamily::Responses => Self::Responses(Box::default()),
            ModelFamily::Chat => Self::Chat(Box::new(ChatFold::new(&profile.quirks))),
            ModelFamily::Messages => Self::Messages(Box::default()),
        }
    }

    /// Folds one event of the stream.
    pub fn fold(&mut self, signal: &SseSignal<'_>, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        let SseSignal::Event { name, data } = signal else { return };
        match self {
            Self::Responses(fold) => fold.fold(*name, data, sink),
            Self::Chat(fold) => fold.fold(data, sink),
            Self::Messages(fold) => fold.fold(*name, data, sink),
        }
    }

    /// Has the provider said how the answer ended, though more may follow (usage)?
    pub fn is_concluded(&self) -> bool {
        match self {
            Self::Responses(_) => false,
            Self::Chat(fold) => fold.is_concluded(),
            Self::Messages(fold) => fold.is_concluded(),
        }
    }

    /// Ends the stream: concludes what the provider's word allows, and is a cut otherwise.
    pub fn finish(&mut self, why: &str, sink: &mut dyn FnMut(AnswerStep<'_>)) {
        match self {
            Self::Responses(_) => sink(AnswerStep::End(AnswerEnd::Cut(why.to_owned()))),
            Self::Chat(fold) => fold.finish(why, sink),
            Self::Messages(fold) => fold.finish(why, sink),
        }
    }
}

/// Reads a string out of raw JSON; anything else is nothing.
fn text_of(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw?.get();
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
}

/// A failure out of the JSON of an error frame.
fn failed(raw: &str) -> AnswerEnd {
    let value: Value = serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.to_owned()));
    AnswerEnd::Failed(classify_frame(&value, &[]))
}

fn corrupt(data: &str, error: &serde_json::Error) -> AnswerStep<'static> {
    AnswerStep::Corrupt { why: format!("not the JSON of an event: {error}"), bytes: data.len() }
}
