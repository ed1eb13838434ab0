//! A conversation as one trajectory: a JSON object on a line, in the ShareGPT form that trainers and the reference read.
//!
//! `conversations` has the words in order, `from` a person (`human`), the model (`gpt`) or its tools (`tool`). Thinking is between
//! `<think>` tags at the beginning of each word of the model, calls are between `<tool_call>` tags, results between
//! `<tool_response>` tags; results in a row are one entry. There is no `system` entry: what was sent before the first word is not
//! part of the stored messages. Written in pieces, so that a long conversation need not fit into memory. Pure.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::patches::{PatchBook, unified_diff};
use crate::api::{SessionDetail, StoredMessage};
use crate::json_line::json_line;
use crate::outcome::Outcome;
use crate::transcript::{Message, Role, ToolCall};

/// Writes one trajectory: `begin`, every message, `end`.
#[derive(Debug, Default)]
pub struct TrajectoryWriter {
    is_begun: bool,
    /// Results of calls, until something else follows.
    results: Vec<String>,
}

#[derive(Serialize)]
struct Entry<'a> {
    from: &'a str,
    value: &'a str,
}

impl TrajectoryWriter {
    /// The text before the first message.
    pub fn begin(&self) -> String {
        r#"{"conversations":["#.to_owned()
    }

    /// The text for one message; results of tools are held until the next other message.
    pub fn message(&mut self, stored: &StoredMessage, patches: &mut PatchBook) -> String {
        // Models are trained on it: the conversation continued without this.
        if stored.undone {
            return String::new();
        }
        let Message { role, content, tool_calls, tool_call_id, reasoning, .. } = &stored.message;
        let content = content.as_deref().unwrap_or_default();
        match role {
            Role::Tool => {
                let response = json!({ "tool_call_id": tool_call_id, "content": content });
                self.results.push(format!("<tool_response>\n{response}\n</tool_response>"));
                String::new()
            }
            Role::User => self.results() + &self.entry("human", content),
            Role::Assistant => {
                let mut value = think_tags(content).into_owned();
                for call in tool_calls {
                    let call = call_json(call, patches.take(stored, &call.id).as_deref());
                    let line_end = if value.is_empty() { "" } else { "\n" };
                    value += &format!("{line_end}<tool_call>\n{call}\n</tool_call>");
                }
                // Readers expect the tags in every word of the model.
                let thought = think_tags(reasoning.as_deref().unwrap_or_default());
                if !thought.is_empty() || !value.contains("<think>") {
                    let inside = if thought.is_empty() { String::new() } else { format!("{thought}\n") };
                    value = format!("<think>\n{inside}</think>\n{value}");
                }
                self.results() + &self.entry("gpt", &value)
            }
        }
    }

    /// The text after the last message.
    pub fn end(&mut self, detail: &SessionDetail) -> String {
        let last = detail.turns.last().and_then(|turn| turn.outcome.as_ref());
        let is_completed = last.is_some_and(|report| report.outcome == Outcome::Completed);
        let rest = json!({
            "timestamp": detail.info.updated_at.to_string(),
            "model": detail.info.model,
            "completed": is_completed,
        });
        let rest = json_line(&rest);
        format!("{}],{}", self.results(), rest.trim_start_matches('{'))
    }

    fn results(&mut self) -> String {
        match std::mem::take(&mut self.results) {
            results if results.is_empty() => String::new(),
            results => self.entry("tool", &results.join("\n")),
        }
    }

    fn entry(&mut self, from: &str, value: &str) -> String {
        let comma = if std::mem::replace(&mut self.is_begun, true) { "," } else { "" };
        format!("{comma}{}", json_line(&Entry { from, value }).trim_end())
    }
}

/// A call with its arguments as an object; a patch has its diffs.
fn call_json(call: &ToolCall, changes: Option<&[crate::item::FileChange]>) -> Value {
    let arguments = match changes {
        Some(changes) => {
            let change = |change: &crate::item::FileChange| json!({ "kind": change.action, "path": change.path, "diff": unified_diff(change) });
            json!({ "changes": changes.iter().map(change).collect::<Vec<_>>() })
        }
        None => serde_json::from_str(&call.function.arguments)
            .unwrap_or_else(|_| Value::String(call.function.arguments.clone())),
    };
    json!({ "name": call.function.name, "arguments": arguments })
}

/// Thinking between the tags that are usual today; the reference's scratchpad has tags of its own.
pub(super) fn think_tags(text: &str) -> Cow<'_, str> {
    const TAGS: [(&str, &str); 2] =
        [("<REASONING_SCRATCHPAD>", "<think>"), ("</REASONING_SCRATCHPAD>", "</think>")];
    if !text.contains("REASONING_SCRATCHPAD>") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(TAGS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::export::samples;

    #[test]
    fn a_conversation_is_one_line_of_human_gpt_and_tool() {
        let mut patches = samples::patches();
        let mut writer = TrajectoryWriter::default();
        let mut line = writer.begin();
        for stored in samples::messages() {
            line += &writer.message(&stored, &mut patches);
        }
        line += &writer.end(&samples::detail());
        assert_eq!(line.matches('\n').count(), 1, "one line: {line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        expect![[r#"
            {
              "completed": false,
              "conversations": [
                {
                  "from": "human",
                  "value": "count the words"
                },
                {
                  "from": "gpt",
                  "value": "<think>\ntwo\nlines\n</think>\n<tool_call>\n{\"arguments\":{\"command\":\"wc -w a\",\"cwd\":\"/work/a`b\"},\"name\":\"exec_command\"}\n</tool_call>\n<tool_call>\n{\"arguments\":{\"changes\":[{\"diff\":\"--- a/work/a\\n+++ b/work/a\\n@@ -1 +1 @@\\n-one\\n+<b>two</b>\",\"kind\":\"update\",\"path\":\"/work/a\"}]},\"name\":\"apply_patch\"}\n</tool_call>"
                },
                {
                  "from": "tool",
                  "value": "<tool_response>\n{\"content\":\"```\\n5 a\\n````\\n\",\"tool_call_id\":\"c\"}\n</tool_response>\n<tool_response>\n{\"content\":\"1 update: /work/a\",\"tool_call_id\":\"p\"}\n</tool_response>"
                },
                {
                  "from": "gpt",
                  "value": "<think>\n</think>\nThere are **5** words.\n\n- done <script>\n"
                }
              ],
              "model": "gpt-5.5",
              "timestamp": "1970-01-01T00:17:30Z"
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&read).unwrap());
    }

    #[test]
    fn a_scratchpad_is_thinking() {
        assert_eq!(think_tags("a <REASONING_SCRATCHPAD>b</REASONING_SCRATCHPAD>"), "a <think>b</think>");
        assert_eq!(think_tags("a <think>"), "a <think>");
    }
}
