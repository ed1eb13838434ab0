//! A conversation as Codex reports it when it is read: its turns, oldest first, each with its items.
//!
//! Read after a loss, so nothing here fails because of one odd item: it is kept whole. The user's messages have
//! our own id if the version stores it. `settle` interprets the result.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::item::{WireBody, WireInput, WireItem};
use super::notification::{TurnError, TurnStatus};
use talaria_core::gap::Extent;
use talaria_core::ids::{ThreadId, TurnId};

/// The answer to `thread/read`.
#[derive(Clone, Debug, Deserialize)]
pub struct ThreadReadReply {
    pub thread: History,
}

/// A conversation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    pub id: ThreadId,
    pub status: ThreadStatus,
    /// Storage mode: `paginated` returns all steps when read, anything else, or nothing (0.130), only messages.
    #[serde(default)]
    pub history_mode: Option<String>,
    /// The beginning of what the person said first; empty before that.
    #[serde(default)]
    pub preview: String,
    /// Its turns, oldest first, if they were asked for.
    #[serde(default)]
    pub turns: Vec<HistoryTurn>,
}

/// Status of a conversation, an object with a `type`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ThreadStatus {
    /// It is not loaded.
    NotLoaded,
    /// It waits for input.
    Idle,
    /// A turn runs.
    Active,
    /// Its last turn broke.
    SystemError,
    /// A word that this build does not know.
    #[serde(other)]
    Unknown,
}

/// A turn of a conversation that was read.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryTurn {
    pub id: TurnId,
    pub status: TurnStatus,
    #[serde(default)]
    pub error: Option<TurnError>,
    /// How much of its items was reported: `full`, or less.
    #[serde(default = "full")]
    pub items_view: String,
    /// Its items, as far as they were reported.
    #[serde(default)]
    pub items: Vec<HistoryItem>,
    /// What else than messages is known to be among them; `rollout` adds to it.
    #[serde(skip)]
    pub extent: Extent,
}

impl History {
    /// Says that this is the answer to `thread/resume` of a Codex that had the thread loaded: it reports all steps of the
    /// turn that runs, also on 0.130.
    #[must_use]
    pub fn resumed_warm(mut self) -> Self {
        for turn in self.turns.iter_mut().filter(|turn| turn.status == TurnStatus::InProgress) {
            turn.extent = Extent::Steps;
        }
        self
    }

    /// A reported turn.
    pub fn extent(&self, turn: &HistoryTurn) -> Extent {
        match self.history_mode.as_deref() {
            Some("paginated") => Extent::Steps,
            _ => turn.extent,
        }
    }
}

fn full() -> String {
    "full".to_owned()
}

/// An item of a turn that was read.
#[derive(Clone, Debug)]
pub struct HistoryItem(pub WireItem);

impl<'de> Deserialize<'de> for HistoryItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let item = WireItem::read(&raw);
        item.map(Self).ok_or_else(|| D::Error::custom("an item without an id or a kind"))
    }
}

/// The person's input, as stored in the conversation.
#[derive(Clone, Copy, Debug)]
pub struct UserMessageRef<'a> {
    pub content: &'a [WireInput],
    /// Our own id for it.
    pub client_id: Option<&'a str>,
}

impl HistoryTurn {
    /// The person's inputs in this turn, in order.
    pub fn said(&self) -> impl Iterator<Item = UserMessageRef<'_>> {
        self.items.iter().filter_map(|item| match &item.0.body {
            WireBody::UserMessage { content, client_id } => {
                Some(UserMessageRef { content, client_id: client_id.as_deref() })
            }
            _ => None,
        })
    }

    /// Does it shorten the conversation, and nothing else? One that runs has no step yet.
    pub fn is_compaction(&self) -> bool {
        let has_step = self.items.iter().any(|item| matches!(item.0.body, WireBody::ContextCompaction));
        let is_beginning = self.status == TurnStatus::InProgress && self.items.is_empty();
        self.said().next().is_none() && (has_step || is_beginning)
    }

    /// Were all of its items reported?
    pub fn is_whole(&self) -> bool {
        self.items_view == "full"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_odd_item_is_kept_and_does_not_hide_the_turn() {
        let reply = json!({ "thread": { "id": "t", "status": { "type": "brandNew" }, "turns": [{
            "id": "u", "status": "completed", "items": [
                { "type": "brandNew", "id": "1", "x": [1] },
                { "type": "agentMessage", "id": "2" },
                { "type": "userMessage", "id": "3", "clientId": "mine", "content": [{ "type": "text", "text": "hi" }] },
            ],
        }] } });
        let history = serde_json::from_str::<ThreadReadReply>(&reply.to_string()).unwrap().thread;
        assert_eq!(history.status, ThreadStatus::Unknown);
        let turn = &history.turns[0];
        assert!(turn.is_whole() && turn.items.len() == 3);
        let said: Vec<_> = turn.said().collect();
        assert_eq!((said.len(), said[0].client_id), (1, Some("mine")));
    }
}
