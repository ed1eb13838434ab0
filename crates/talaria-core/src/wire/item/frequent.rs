//! The kinds that come all the time, read in one pass over the message.
//!
//! The fields of all of them are read together: that is twice as fast as letting the kind choose them, because the kind
//! stands somewhere among them. A kind that is not here must not get its fields here: each name makes every item slower.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{McpResult, WireBody, WireChange, WireContent, WireItem, WireSource, WireStatus};
use crate::ids::ItemId;

impl<'de> Deserialize<'de> for WireItem {
    /// Fails for a kind that is not here; `WireItem::second_look` is for those.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        fields.into_item().ok_or_else(|| de::Error::custom("an item of an unknown kind or shape"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    id: ItemId,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    phase: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    client_id: Option<String>,
    #[serde(default, borrow)]
    questions: Option<&'a RawValue>,
    #[serde(default)]
    summary: Option<Vec<String>>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    source: Option<WireSource>,
    #[serde(default)]
    status: Option<WireStatus>,
    #[serde(default)]
    aggregated_output: Option<String>,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    duration_ms: Option<u64>,
    #[serde(default)]
    changes: Option<Vec<WireChange>>,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    content_items: Option<Vec<WireContent>>,
    #[serde(default)]
    success: Option<bool>,
    #[serde(default)]
    error: Option<Value>,
}

impl Fields<'_> {
    /// Chooses by kind; `None` for a kind that is not here, or when one of its fields is missing.
    fn into_item(self) -> Option<WireItem> {
        let body = match self.kind.as_ref() {
            "userMessage" => {
                WireBody::UserMessage { content: part(self.content)?, client_id: self.client_id }
            }
            "agentMessage" => WireBody::AgentMessage {
                text: self.text?,
                phase: self.phase,
                questions: part(self.questions).unwrap_or_default(),
            },
            "reasoning" => WireBody::Reasoning {
                summary: self.summary.unwrap_or_default(),
                content: part(self.content).unwrap_or_default(),
            },
            "plan" => WireBody::Plan { text: self.text? },
            "commandExecution" => WireBody::CommandExecution {
                command: self.command?,
                cwd: self.cwd?,
                source: self.source.unwrap_or_default(),
                status: self.status?,
                aggregated_output: self.aggregated_output,
                exit_code: self.exit_code,
                duration_ms: self.duration_ms,
            },
            "fileChange" => WireBody::FileChange { changes: self.changes?, status: self.status? },
            "mcpToolCall" => WireBody::McpToolCall {
                server: self.server?,
                tool: self.tool?,
                status: self.status?,
                arguments: self.arguments.map(RawValue::to_owned),
                result: match self.result {
                    Some(_) => Some(part::<McpResult>(self.result)?),
                    None => None,
                },
                error: self.error,
                duration_ms: self.duration_ms,
            },
            "dynamicToolCall" => WireBody::DynamicToolCall {
                namespace: self.namespace,
                tool: self.tool?,
                status: self.status?,
                arguments: self.arguments.map(RawValue::to_owned),
                content_items: self.content_items,
                success: self.success,
                duration_ms: self.duration_ms,
            },
            "contextCompaction" => WireBody::ContextCompaction,
            _ => return None,
        };
        Some(WireItem { id: self.id, body })
    }
}

/// Reads a part that only some kinds have.
fn part<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}
