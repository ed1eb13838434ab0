//! The canonical history of a conversation of the loop: what was said and done, in no provider's words.
//!
//! Beside an entry may be the vendor's own bytes, bound to the provider, account and model that made them and to the
//! conversation before them. `encode` projects entries to the request of a family; nothing here renders. Entries are
//! appended and never changed. Arguments of calls are kept byte for byte.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use talaria_core::ids::ItemId;
use talaria_core::item::{Item, ItemBody};

use crate::family::ModelFamily;
use crate::rendered::PrefixDigest;

/// The name of the tool that searches the web, ours and those of providers.
pub const WEB_SEARCH: &str = "web_search";
/// How the names of items end that are results of the provider's own tools.
const SERVER_RESULT: &str = "_tool_result";

/// The endpoint and the account that vendor bytes belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelIssuer {
    /// The provider's name.
    pub provider: String,
    /// Its address.
    pub base_url: String,
    /// A digest of the account or key, never the key itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// What vendor bytes are bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayBinding {
    /// The family.
    pub family: ModelFamily,
    /// The endpoint and account.
    pub issuer: ModelIssuer,
    /// The model that was asked.
    pub model: String,
    /// The prefix of the request that they answered.
    pub prefix: PrefixDigest,
}

/// The vendor's own bytes of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeItem {
    /// JSON, as it was received.
    pub raw: String,
    /// Is it valid only where it was made: signed or encrypted?
    pub sealed: bool,
}

/// A name that joins a call and its result, unique in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl CallId {
    /// Wraps an id.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A part of what was said or returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LogPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// `image/png` and the like.
        mime: String,
        /// The bytes in base64.
        data: String,
    },
    /// The model declined, in its own words.
    Refusal {
        /// The words.
        text: String,
    },
}

impl LogPart {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// What a call was made with, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallInput {
    /// JSON, or what the model wrote in place of it.
    Json(String),
    /// Free text.
    Free(String),
}

impl CallInput {
    /// The bytes.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Json(text) | Self::Free(text) => text,
        }
    }

    /// The arguments, if they are a JSON object; nothing is repaired. No text at all means no arguments.
    pub fn arguments(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        match self {
            Self::Json(text) if text.trim().is_empty() => Some(serde_json::Map::new()),
            Self::Json(text) => serde_json::from_str(text).ok(),
            Self::Free(_) => None,
        }
    }
}

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallDisposition {
    /// It worked.
    Done,
    /// It did not work.
    Failed,
    /// It was never started.
    NotStarted,
    /// It was stopped while it ran.
    Stopped {
        /// After how long.
        after_ms: u64,
    },
    /// Whether it took effect is not known.
    Unknown,
    /// It was not started because the person said something else.
    Skipped,
    /// A person or a rule refused it.
    Refused,
}

impl CallDisposition {
    /// Does the result report success?
    pub fn is_success(self) -> bool {
        self == Self::Done
    }

    /// The first words of a result that the tool itself did not write.
    pub fn words(self) -> String {
        match self {
            Self::Done => "Done.".to_owned(),
            Self::Failed => "Failed.".to_owned(),
            Self::NotStarted => "Not started: the turn ended before this call began.".to_owned(),
            Self::Stopped { after_ms } => {
                format!("Stopped while it ran, after {}.{} s.", after_ms / 1000, after_ms % 1000 / 100)
            }
            Self::Unknown => {
                "Outcome unknown: the program was killed while this call ran. Check its effects before repeating it."
                    .to_owned()
            }
            Self::Skipped => "Skipped: the user said something else before this call began.".to_owned(),
            Self::Refused => "Refused.".to_owned(),
        }
    }
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LogItem {
    /// What a person said.
    User {
        /// The parts.
        parts: Vec<LogPart>,
    },
    /// What the model said.
    Assistant {
        /// The parts.
        parts: Vec<LogPart>,
        /// `commentary`, `final_answer`, or nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    /// What the model thought, as far as it is readable.
    Reasoning {
        /// Summary paragraphs.
        summary: Vec<String>,
        /// The thinking itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        text: Vec<String>,
    },
    /// A call of a tool.
    Call {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// What it was called with.
        input: CallInput,
    },
    /// What a call returned. Every call has exactly one result.
    Result {
        /// The call.
        call: CallId,
        /// Its fate.
        disposition: CallDisposition,
        /// What the model gets.
        parts: Vec<LogPart>,
    },
    /// An instruction of the program to the model, from here on.
    Operator {
        /// The text.
        text: String,
    },
    /// The end of a compaction: replaces the entries before it in requests, apart from those that it names.
    Summary {
        /// The text.
        text: String,
        /// Entries that stay and precede it.
        #[serde(default)]
        before: Vec<u64>,
        /// Entries that stay and follow it.
        #[serde(default)]
        after: Vec<u64>,
    },
    /// A compaction that failed. It changes nothing, and the next one waits until the conversation has grown.
    NotCompacted {
        /// The model of the conversation.
        model: String,
        /// The size of its prompt in tokens.
        tokens: u64,
    },
    /// Work of the provider's own tools.
    ServerTool {
        /// The tool.
        name: String,
        /// What it was asked, if that is readable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        query: Option<String>,
    },
    /// An item that this build does not know.
    Unknown {
        /// The provider's name for it.
        name: String,
    },
}

impl LogItem {
    /// Did the model produce it?
    pub fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Assistant { .. }
                | Self::Reasoning { .. }
                | Self::Call { .. }
                | Self::ServerTool { .. }
                | Self::Unknown { .. }
        )
    }

    /// The step that people see, if this is one that no tool reports. Calls are shown by their tools.
    pub fn step(&self, id: &ItemId) -> Option<Item> {
        let body = match self {
            Self::Assistant { parts, phase } => ItemBody::AgentMessage {
                text: plain_text(parts),
                phase: phase.clone(),
                questions: Vec::new(),
            },
            Self::Reasoning { summary, text } => {
                ItemBody::Reasoning { summary: summary.clone(), content: text.clone() }
            }
            Self::ServerTool { name, query } if name == WEB_SEARCH => {
                ItemBody::WebSearch { query: query.clone().unwrap_or_default(), action: None }
            }
            // What the tool before it returned.
            Self::ServerTool { name, .. } if name.ends_with(SERVER_RESULT) => return None,
            Self::ServerTool { name, .. } => {
                ItemBody::ToolOutput { namespace: None, tool: name.clone(), result: Default::default() }
            }
            _ => return None,
        };
        Some(Item { id: id.clone(), body })
    }
}

/// The texts of parts, joined.
pub fn plain_text(parts: &[LogPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        LogPart::Text { text } | LogPart::Refusal { text } => Some(text.as_str()),
        LogPart::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("")
}

/// One entry of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Its place.
    pub seq: u64,
    /// The attempt that made it, if the model did. Entries of one attempt are committed together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// What it is.
    pub item: LogItem,
    /// The vendor's bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeItem>,
    /// What the vendor's bytes are bound to; the same for all entries of an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Box<ReplayBinding>>,
}

impl LogEntry {
    /// An entry that no model made.
    pub fn own(seq: u64, item: LogItem) -> Self {
        Self { seq, attempt: None, item, native: None, binding: None }
    }
}

/// The entries that requests consist of: all of them, or, after a compaction, those that it kept, its summary, and what
/// followed. The same for every engine that reads the history.
pub fn in_force(log: &[LogEntry]) -> Vec<&LogEntry> {
    let last = log.iter().enumerate().rev().find_map(|(at, entry)| match &entry.item {
        LogItem::Summary { before, after, .. } => Some((at, before, after)),
        _ => None,
    });
    let Some((at, before, after)) = last else { return log.iter().collect() };
    let (earlier, later) = log.split_at(at);
    let named = |seqs: &[u64]| {
        let seqs: HashSet<u64> = seqs.iter().copied().collect();
        earlier.iter().filter(move |entry| seqs.contains(&entry.seq))
    };
    let (summary, later) = later.split_at(1);
    named(before).chain(summary).chain(named(after)).chain(later).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_replaces_what_it_does_not_name() {
        let said = |seq, text: &str| LogEntry::own(seq, LogItem::User { parts: vec![LogPart::text(text)] });
        let mut log: Vec<LogEntry> = (0..6).map(|seq| said(seq, "x")).collect();
        assert_eq!(in_force(&log).len(), 6);
        let summary = |before, after| LogItem::Summary { text: "s".to_owned(), before, after };
        log.push(LogEntry::own(6, summary(vec![0], vec![4, 5])));
        log.push(said(7, "y"));
        let seqs = |log: &[LogEntry]| in_force(log).iter().map(|entry| entry.seq).collect::<Vec<_>>();
        assert_eq!(seqs(&log), [0, 6, 4, 5, 7]);
        log.push(LogEntry::own(8, summary(vec![0], vec![7])));
        assert_eq!(seqs(&log), [0, 8, 7], "only the last one counts");
        let stored = r#"{"seq":1,"item":{"kind":"summary","text":"s"}}"#;
        let read: LogEntry = serde_json::from_str(stored).unwrap();
        assert_eq!(in_force(&[said(0, "x"), read]).len(), 1);
    }

    #[test]
    fn arguments_are_read_and_never_repaired() {
        assert_eq!(CallInput::Json(String::new()).arguments(), Some(serde_json::Map::new()));
        assert_eq!(CallInput::Json(r#"{"a":1}"#.to_owned()).arguments().unwrap().len(), 1);
        for bad in [r#"{"a":1"#, "[1]", "null", "{'a':1}", r#"{"a":1}}"#] {
            assert_eq!(CallInput::Json(bad.to_owned()).arguments(), None, "{bad}");
        }
        assert_eq!(CallInput::Free("{}".to_owned()).arguments(), None);
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = LogEntry {
            seq: 4,
            attempt: Some(2),
            item: LogItem::Call {
                call: CallId::new("call_1"),
                name: "run".to_owned(),
                input: CallInput::Json(r#"{ "b": 1,"a":2}"#.to_owned()),
            },
            native: Some(NativeItem { raw: "{}".to_owned(), sealed: false }),
            binding: None,
        };
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<LogEntry>(&text).unwrap(), entry);
        let own = LogEntry::own(1, LogItem::Operator { text: "x".to_owned() });
        assert_eq!(
            serde_json::to_string(&own).unwrap(),
            r#"{"seq":1,"item":{"kind":"operator","text":"x"}}"#
        );
    }
}
