//! The kinds that come all the time, read in one pass over the message.
//!
//! Codex writes the kind first, and it selects the fields: only those of that kind are parsed. An item whose kind
//! is elsewhere, or is not here, is parsed a second time.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{McpResult, WireBody, WireChange, WireContent, WireInput, WireItem, WireSource, WireStatus};
use talaria_core::ids::ItemId;

impl<'de> Deserialize<'de> for WireItem {
    /// Fails for a kind that is not here or not first; `WireItem::second_look` is for those.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ItemVisitor)
    }
}

/// Reads the fields of a frequent kind, in whatever order; `None` for another kind, or when they do not fit.
pub(super) fn read(kind: &str, raw: &RawValue) -> Option<WireItem> {
    let kind = Kind::deserialize(de::value::StrDeserializer::<de::value::Error>::new(kind)).ok()?;
    let mut fields = serde_json::Deserializer::from_str(raw.get());
    fields.deserialize_map(FieldsVisitor(kind)).ok()
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum FirstKey {
    Type,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Kind {
    UserMessage,
    AgentMessage,
    Reasoning,
    Plan,
    CommandExecution,
    FileChange,
    McpToolCall,
    DynamicToolCall,
    ContextCompaction,
    #[serde(other)]
    Other,
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = WireItem;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireItem, A::Error> {
        match map.next_key()? {
            Some(FirstKey::Type) => {
                let kind = map.next_value()?;
                FieldsVisitor(kind).visit_map(map)
            }
            Some(FirstKey::Other) | None => {
                Err(de::Error::custom("an item that does not begin with its kind"))
            }
        }
    }
}

struct FieldsVisitor(Kind);

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = WireItem;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fields of an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WireItem, A::Error> {
        let fields = MapAccessDeserializer::new(map);
        match self.0 {
            Kind::UserMessage => UserMessage::deserialize(fields).map(UserMessage::into_item),
            Kind::AgentMessage => AgentMessage::deserialize(fields).map(AgentMessage::into_item),
            Kind::Reasoning => Reasoning::deserialize(fields).map(Reasoning::into_item),
            Kind::Plan => Plan::deserialize(fields).map(Plan::into_item),
            Kind::CommandExecution => CommandExecution::deserialize(fields).map(CommandExecution::into_item),
            Kind::FileChange => FileChange::deserialize(fields).map(FileChange::into_item),
            Kind::McpToolCall => McpToolCall::deserialize(fields)?.into_item().ok_or_else(unknown_shape),
            Kind::DynamicToolCall => DynamicToolCall::deserialize(fields).map(DynamicToolCall::into_item),
            Kind::ContextCompaction => {
                ContextCompaction::deserialize(fields).map(ContextCompaction::into_item)
            }
            Kind::Other => Err(unknown_shape()),
        }
    }
}

fn unknown_shape<E: de::Error>() -> E {
    E::custom("an item of an unknown kind or shape")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserMessage {
    id: ItemId,
    content: Vec<WireInput>,
    #[serde(default)]
    client_id: Option<String>,
}

impl UserMessage {
    fn into_item(self) -> WireItem {
        let body = WireBody::UserMessage { content: self.content, client_id: self.client_id };
        WireItem { id: self.id, body }
    }
}

#[derive(Deserialize)]
struct AgentMessage<'a> {
    id: ItemId,
    text: String,
    #[serde(default)]
    phase: Option<String>,
    #[serde(default, borrow)]
    questions: Option<&'a RawValue>,
}

impl AgentMessage<'_> {
    fn into_item(self) -> WireItem {
        let questions = part(self.questions).unwrap_or_default();
        WireItem {
            id: self.id,
            body: WireBody::AgentMessage { text: self.text, phase: self.phase, questions },
        }
    }
}

#[derive(Deserialize)]
struct Reasoning<'a> {
    id: ItemId,
    #[serde(default)]
    summary: Option<Vec<String>>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

impl Reasoning<'_> {
    fn into_item(self) -> WireItem {
        let content = part(self.content).unwrap_or_default();
        let body = WireBody::Reasoning { summary: self.summary.unwrap_or_default(), content };
        WireItem { id: self.id, body }
    }
}

#[derive(Deserialize)]
struct Plan {
    id: ItemId,
    text: String,
}

impl Plan {
    fn into_item(self) -> WireItem {
        WireItem { id: self.id, body: WireBody::Plan { text: self.text } }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandExecution {
    id: ItemId,
    command: String,
    cwd: String,
    #[serde(default)]
    source: Option<WireSource>,
    status: WireStatus,
    #[serde(default)]
    aggregated_output: Option<String>,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    duration_ms: Option<u64>,
}

impl CommandExecution {
    fn into_item(self) -> WireItem {
        let body = WireBody::CommandExecution {
            command: self.command,
            cwd: self.cwd,
            source: self.source.unwrap_or_default(),
            status: self.status,
            aggregated_output: self.aggregated_output,
            exit_code: self.exit_code,
            duration_ms: self.duration_ms,
        };
        WireItem { id: self.id, body }
    }
}

#[derive(Deserialize)]
struct FileChange {
    id: ItemId,
    changes: Vec<WireChange>,
    status: WireStatus,
}

impl FileChange {
    fn into_item(self) -> WireItem {
        WireItem { id: self.id, body: WireBody::FileChange { changes: self.changes, status: self.status } }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpToolCall<'a> {
    id: ItemId,
    server: String,
    tool: String,
    status: WireStatus,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    duration_ms: Option<u64>,
}

impl McpToolCall<'_> {
    fn into_item(self) -> Option<WireItem> {
        let result = match self.result {
            Some(_) => Some(part::<McpResult>(self.result)?),
            None => None,
        };
        let body = WireBody::McpToolCall {
            server: self.server,
            tool: self.tool,
            status: self.status,
            arguments: self.arguments.map(RawValue::to_owned),
            result,
            error: self.error,
            duration_ms: self.duration_ms,
        };
        Some(WireItem { id: self.id, body })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DynamicToolCall<'a> {
    id: ItemId,
    #[serde(default)]
    namespace: Option<String>,
    tool: String,
    status: WireStatus,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    content_items: Option<Vec<WireContent>>,
    #[serde(default)]
    success: Option<bool>,
    #[serde(default)]
    duration_ms: Option<u64>,
}

impl DynamicToolCall<'_> {
    fn into_item(self) -> WireItem {
        let body = WireBody::DynamicToolCall {
            namespace: self.namespace,
            tool: self.tool,
            status: self.status,
            arguments: self.arguments.map(RawValue::to_owned),
            content_items: self.content_items,
            success: self.success,
            duration_ms: self.duration_ms,
        };
        WireItem { id: self.id, body }
    }
}

#[derive(Deserialize)]
struct ContextCompaction {
    id: ItemId,
}

impl ContextCompaction {
    fn into_item(self) -> WireItem {
        WireItem { id: self.id, body: WireBody::ContextCompaction }
    }
}

/// Reads a part that may have a shape that is not known, without losing the rest.
fn part<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}
