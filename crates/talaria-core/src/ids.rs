//! Identifiers as types, so that a turn id can never be passed as a thread id.
//!
//! `RequestId` keeps the JSON type of the peer: Codex silently ignores an answer to `0` that is addressed to `"0"`,
//! and the turn then waits indefinitely. Nothing here mints ids; they come from the peer or from the shell.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps an id as the peer wrote it.
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(IdText).map(Self)
            }
        }
    };
}

/// Reads an id into shared text: it is cloned for every table that it is in.
struct IdText;

impl Visitor<'_> for IdText {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<Arc<str>, E> {
        Ok(id.into())
    }
}

text_id! {
    /// A Codex conversation.
    ThreadId
}
text_id! {
    /// One exchange on a thread.
    TurnId
}
text_id! {
    /// One step of a turn.
    ItemId
}
text_id! {
    /// One of our conversations, a UUIDv7.
    SessionId
}
text_id! {
    /// Our name for a question that Codex asked, `req-` and twelve hex digits.
    TicketId
}
text_id! {
    /// Our name for a command that runs in the background, `bg-` and six hex digits.
    BackgroundId
}

impl SessionId {
    /// The part of the id that people see and type; see [`short_id`].
    pub fn short(&self) -> &str {
        short_id(self.as_str())
    }
}

/// The part of an id that people see: the last eight characters of a UUID, because the beginnings of those made within
/// minutes are alike. Any other id is shown whole.
pub fn short_id(id: &str) -> &str {
    let is_uuid = id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_uuid { &id[28..] } else { id }
}

/// The id of a JSON-RPC request, echoed with the type it had.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum RequestId {
    /// Codex's own request ids, counted from 0.
    Number(i64),
    /// Allowed by the protocol, seen from other peers.
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Text(s) => write!(f, "{s:?}"),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Id;
        impl Visitor<'_> for Id {
            type Value = RequestId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer or a string")
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<RequestId, E> {
                Ok(RequestId::Number(n))
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<RequestId, E> {
                i64::try_from(n).map(RequestId::Number).map_err(|_| E::custom("request id out of range"))
            }

            fn visit_str<E: de::Error>(self, s: &str) -> Result<RequestId, E> {
                Ok(RequestId::Text(s.to_owned()))
            }
        }
        deserializer.deserialize_any(Id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_echoed_with_its_json_type() {
        for text in ["0", "-7", "9007199254740993", r#""0""#, r#""a-1""#] {
            let id: RequestId = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&id).unwrap(), text);
        }
    }

    #[test]
    fn other_json_types_are_no_request_id() {
        for text in ["1.5", "null", "true", "[]", "{}", "18446744073709551615"] {
            assert!(serde_json::from_str::<RequestId>(text).is_err(), "{text}");
        }
    }
}
