//! A message in the shape that chat models and other agents read.
//!
//! Serialised it is the standard shape and nothing else, but for `reasoning`; the source of a message is internal.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::ids::ItemId;

/// One message of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text; `None` for an assistant that only calls a tool.
    pub content: Option<String>,
    /// The tools that the assistant calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Reasoning before the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Its source items. Within a turn no two messages of the same role share a source; a message without one
    /// belongs to no item: the outcome of the turn, or a filler for a missing role.
    #[serde(skip)]
    pub sources: Vec<Source>,
}

impl Message {
    /// Makes a message of a person's.
    pub fn user(content: impl Into<String>) -> Self {
        Self::plain(Role::User, content.into())
    }

    /// Makes a message of the assistant's.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::plain(Role::Assistant, content.into())
    }

    /// Makes the answer of a tool.
    pub fn tool(call: impl Into<String>, content: impl Into<String>) -> Self {
        Self { tool_call_id: Some(call.into()), ..Self::plain(Role::Tool, content.into()) }
    }

    fn plain(role: Role, content: String) -> Self {
        Self {
            role,
            content: Some(content),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: None,
            sources: Vec::new(),
        }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// Its id, Codex's own for the item.
    pub id: String,
    /// The called function.
    #[serde(rename = "type")]
    pub kind: CallKind,
    /// Which one, and with what.
    pub function: Function,
}

impl ToolCall {
    /// Makes a call; `arguments` is JSON text.
    pub fn new(id: impl Into<String>, name: impl Into<Cow<'static, str>>, arguments: String) -> Self {
        Self { id: id.into(), kind: CallKind::Function, function: Function { name: name.into(), arguments } }
    }
}

/// Always a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CallKind {
    /// A function.
    Function,
}

/// The function of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Function {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its arguments: JSON text with sorted keys at every depth.
    pub arguments: String,
}

/// The source item of a message. The kind belongs to the name: 0.130 uses an id twice in a review.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Codex's name for it.
    pub item: ItemId,
    /// Its kind, as in `ItemBody::kind`.
    pub kind: &'static str,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_message_has_the_standard_shape_and_nothing_else() {
        let call = ToolCall::new("call_1", "exec_command", r#"{"command":"ls"}"#.to_owned());
        let source = Source { item: ItemId::new("call_1"), kind: "command" };
        let calling = Message {
            content: None,
            tool_calls: vec![call],
            reasoning: Some("hm".to_owned()),
            sources: vec![source.clone()],
            ..Message::assistant("")
        };
        let answer = Message { sources: vec![source], ..Message::tool("call_1", "a\n") };
        let messages = [Message::user("list"), calling, answer, Message::assistant("One file.")];
        let lines = messages.map(|message| {
            let text = serde_json::to_string(&message).unwrap();
            let back: Message = serde_json::from_str(&text).unwrap();
            assert_eq!(back, Message { sources: Vec::new(), ..message });
            text
        });
        expect![[r#"
            {"role":"user","content":"list"}
            {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"ls\"}"}}],"reasoning":"hm"}
            {"role":"tool","content":"a\n","tool_call_id":"call_1"}
            {"role":"assistant","content":"One file."}"#]].assert_eq(&lines.join("\n"));
    }
}
