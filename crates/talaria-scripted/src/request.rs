//! What a client sent to the model, kept so that a route can match it and a test can inspect it.
//!
//! The readers understand all three families: a script that chooses by the prompt works for each of them.

use serde_json::Value;

use crate::ScriptedFamily;

/// One request for a reply, as it arrived.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Counts the requests of this server, from 1.
    pub number: usize,
    /// The family in which it was asked.
    pub family: ScriptedFamily,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
    /// The bytes of the body, as text.
    pub text: String,
}

impl ModelRequest {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the texts of all user messages in order, including the context that Codex adds.
    pub fn user_texts(&self) -> Vec<&str> {
        self.message_texts("user")
    }

    /// Returns the texts of all earlier answers of the model, in order.
    pub fn assistant_texts(&self) -> Vec<&str> {
        self.message_texts("assistant")
    }

    /// Returns the last user text: the prompt of the running turn.
    pub fn prompt(&self) -> &str {
        self.user_texts().last().copied().unwrap_or_default()
    }

    /// Returns the tool outputs that the model receives, in order, as text.
    pub fn tool_outputs(&self) -> Vec<String> {
        self.entries().iter().flat_map(|entry| self.results_of(entry)).map(text_of).collect()
    }

    /// Returns whether the request carries the result of a tool and not a new prompt.
    pub fn is_after_tool(&self) -> bool {
        self.entries().last().is_some_and(|entry| !self.results_of(entry).is_empty())
    }

    /// Returns the names of the tools offered to the model.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name_of = |tool| -> Option<&str> {
            let tool: &Value = tool;
            let named = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
            named.or_else(|| tool["type"].as_str())
        };
        tools.iter().filter_map(name_of).collect()
    }

    /// The conversation: items or messages.
    fn entries(&self) -> &[Value] {
        let field = match self.family {
            ScriptedFamily::Responses => "input",
            ScriptedFamily::Chat | ScriptedFamily::Messages => "messages",
        };
        self.body[field].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The contents of the tool results in an entry.
    fn results_of<'a>(&self, entry: &'a Value) -> Vec<&'a Value> {
        match self.family {
            ScriptedFamily::Responses => {
                let is_output = matches!(
                    entry["type"].as_str(),
                    Some("function_call_output" | "custom_tool_call_output")
                );
                if is_output { vec![&entry["output"]] } else { Vec::new() }
            }
            ScriptedFamily::Chat if entry["role"] == "tool" => vec![&entry["content"]],
            ScriptedFamily::Chat => Vec::new(),
            ScriptedFamily::Messages => {
                let blocks = entry["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                blocks
                    .iter()
                    .filter(|block| block["type"] == "tool_result")
                    .map(|block| &block["content"])
                    .collect()
            }
        }
    }

    fn message_texts(&self, role: &str) -> Vec<&str> {
        let messages = self.entries().iter().filter(|item| item["role"] == role);
        messages.flat_map(|item| texts_in(&item["content"])).collect()
    }
}

/// Content is a string, or a list of parts with text in them.
fn texts_in(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

fn text_of(output: &Value) -> String {
    match output {
        Value::String(_) | Value::Array(_) => texts_in(output).concat(),
        other => other.to_string(),
    }
}
