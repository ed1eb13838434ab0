//! A request of Codex to the model, kept so that a route can match it and a test can inspect it.

use serde_json::Value;

/// One request for a reply, as it arrived.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Counts the requests of this server, from 1.
    pub number: usize,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as Codex sent it.
    pub body: Value,
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
        let is_output = |item: &&Value| {
            matches!(item["type"].as_str(), Some("function_call_output" | "custom_tool_call_output"))
        };
        self.input().iter().filter(is_output).map(|item| text_of(&item["output"])).collect()
    }

    /// Returns whether the request carries the result of a tool and not a new prompt.
    pub fn is_after_tool(&self) -> bool {
        let last = self.input().last().and_then(|item| item["type"].as_str());
        matches!(last, Some("function_call_output" | "custom_tool_call_output"))
    }

    /// Returns the names of the tools offered to the model.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().or_else(|| tool["type"].as_str())).collect()
    }

    fn input(&self) -> &[Value] {
        self.body["input"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn message_texts(&self, role: &str) -> Vec<&str> {
        let messages = self.input().iter().filter(|item| item["role"] == role);
        let parts =
            messages.flat_map(|item| item["content"].as_array().map(Vec::as_slice).unwrap_or_default());
        parts.filter_map(|part| part["text"].as_str()).collect()
    }
}

/// Tool output is a string, or a list of parts with text in them.
fn text_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => other.to_string(),
    }
}
