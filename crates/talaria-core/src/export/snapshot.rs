//! The file `sessions/session_ID.json` that other programs read: a conversation as it is after a turn, in the reference's form.
//! Pure: the engine writes it.

use serde::Serialize;

use super::trajectory::think_tags;
use crate::transcript::{Message, Role};

/// One conversation. The messages are the stored ones, whose secrets are masked.
#[derive(Clone, Debug, Serialize)]
pub struct SessionSnapshot {
    /// Its id.
    pub session_id: String,
    /// Its title.
    pub title: String,
    /// The provider of the model; `None` is Codex's own choice.
    pub provider: Option<String>,
    /// The model, where it is known.
    pub model: Option<String>,
    /// Always `talaria`: which program wrote it.
    pub platform: &'static str,
    /// The runtime of the conversation.
    pub runtime: String,
    /// When it began, RFC 3339.
    pub session_start: String,
    /// When it was last used, RFC 3339.
    pub last_updated: String,
    /// How many messages there are.
    pub message_count: usize,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}

impl SessionSnapshot {
    /// The name of its file.
    pub fn file_name(session: &str) -> String {
        format!("session_{session}.json")
    }

    /// The whole file.
    pub fn to_json(mut self) -> String {
        for message in self.messages.iter_mut().filter(|message| message.role == Role::Assistant) {
            if let Some(content) = &mut message.content {
                *content = think_tags(content).into_owned();
            }
        }
        self.message_count = self.messages.len();
        // Plain data always has a JSON form.
        serde_json::to_string_pretty(&self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::samples;

    #[test]
    fn a_snapshot_counts_its_messages_and_has_the_usual_thinking_tags() {
        let mut messages: Vec<Message> =
            samples::messages().into_iter().map(|stored| stored.message).collect();
        messages.push(Message::assistant("<REASONING_SCRATCHPAD>hm</REASONING_SCRATCHPAD>done"));
        let info = samples::detail().info;
        let snapshot = SessionSnapshot {
            session_id: info.id.to_string(),
            title: info.title,
            provider: info.provider,
            model: info.model,
            platform: "talaria",
            runtime: info.runtime,
            session_start: info.created_at.to_string(),
            last_updated: info.updated_at.to_string(),
            message_count: 0,
            messages,
        };
        let read: serde_json::Value = serde_json::from_str(&snapshot.to_json()).unwrap();
        assert_eq!(read["message_count"], 7);
        assert_eq!(read["messages"][6]["content"], "<think>hm</think>done");
        assert_eq!(read["messages"][1]["tool_calls"][1]["function"]["name"], "apply_patch");
        assert_eq!((&read["platform"], &read["session_id"]), (&"talaria".into(), &"0199a000".into()));
    }
}
