//! The origin of a request (Codex or Talaria itself), from which the answer is routed back. The store keeps it as opaque
//! text; requests are listed, answered and closed without it. Only the delivery of an answer reads it.

use serde::{Deserialize, Serialize};
use talaria_codex_proto::turn::RequestIdentity;
use talaria_core::ids::ItemId;
use talaria_store::RequestOrigin;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub(crate) enum Asker {
    /// Codex, which offers the question again under the same JSON-RPC id.
    Codex(RequestIdentity),
    /// A call of the built-in loop, which finds its request again by the step.
    LoopCall {
        /// The step.
        item: ItemId,
    },
    /// Talaria itself, which asks again by itself what it asked before.
    Talaria {
        /// What for.
        about: QuestionTopic,
    },
}

/// Requests of Talaria itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QuestionTopic {
    /// Whether a task may have more than its sandbox.
    TaskPower,
    /// Whether a model may read a web page.
    WebPage,
    /// Whether a call of one of Talaria's own tools may run.
    OwnTool,
    /// How much more than a budget a turn may spend.
    Budget,
}

impl Asker {
    /// The stored form. `host` is the host that sent the request.
    pub(crate) fn origin(&self, host: Option<String>) -> RequestOrigin {
        RequestOrigin { host, json: serde_json::to_string(self).unwrap_or_default() }
    }

    /// Reads what was recorded; `None` for an asker that this program does not know.
    pub(crate) fn of(origin: &RequestOrigin) -> Option<Self> {
        serde_json::from_str(&origin.json).ok()
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::ids::{RequestId, ThreadId};

    use super::*;

    /// The form that the migration of older databases writes for a request of Codex.
    #[test]
    fn a_request_of_an_older_database_is_read() {
        let asker = |json: &str| Asker::of(&RequestOrigin { host: None, json: json.to_owned() });
        let migrated =
            r#"{"from":"codex","id":9007199254740993,"method":"m","thread":"t","turn":null,"item":"i"}"#;
        let asked = RequestIdentity {
            id: RequestId::Number(9_007_199_254_740_993),
            method: "m".to_owned(),
            thread: Some(ThreadId::new("t")),
            turn: None,
            item: Some(ItemId::new("i")),
        };
        assert_eq!(asker(migrated), Some(Asker::Codex(asked.clone())));
        let text = r#"{"from":"codex","id":"7","method":"m","thread":null,"turn":null,"item":null}"#;
        let named =
            RequestIdentity { id: RequestId::Text("7".to_owned()), thread: None, item: None, ..asked };
        assert_eq!(asker(text), Some(Asker::Codex(named)));
        assert_eq!(asker(r#"{"from":"a later program"}"#), None);
    }

    #[test]
    fn what_is_written_down_is_read_back() {
        let asked = RequestIdentity {
            id: RequestId::Text("0".to_owned()),
            method: "m".to_owned(),
            thread: None,
            turn: None,
            item: None,
        };
        let asker = Asker::Codex(asked);
        let origin = asker.origin(Some("nonce".to_owned()));
        assert_eq!((origin.host.as_deref(), Asker::of(&origin)), (Some("nonce"), Some(asker)));
        let own = Asker::Talaria { about: QuestionTopic::TaskPower };
        assert_eq!(Asker::of(&own.origin(None)), Some(own));
    }
}
