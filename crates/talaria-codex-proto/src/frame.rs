//! One message of the peer, decoded. Three outcomes, never two: known, unknown (kept raw), corrupt.
//!
//! The message is read in one pass: once the method is known its parameters go straight into their type. Only what does
//! not fit is looked at a second time, to distinguish a new shape from garbage. Nothing here blocks, allocates without
//! bound or fails: any bytes make a `Decoded`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::notification::{ItemParams, Notification};
use crate::wire::rpc_error::RpcError;
use crate::wire::server_request::ServerRequest;
use talaria_core::ids::{RequestId, ThreadId, TurnId};

/// Result of one message.
#[derive(Clone, Debug)]
pub enum Decoded<'a> {
    /// A message in a shape that this build reads.
    Known(Frame<'a>),
    /// A proper message that this build does not read.
    Unknown(Box<Unknown>),
    /// No message at all.
    Corrupt(Corrupt),
}

/// A message in a shape that this build reads.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// Something happened.
    Notification(Notification<'a>),
    /// Codex asks something.
    Request {
        /// To be echoed in the answer.
        id: RequestId,
        /// The request.
        request: ServerRequest,
    },
    /// An answer to a request of ours.
    Response {
        /// Our request.
        id: RequestId,
        /// Its result.
        result: Result<&'a RawValue, RpcError>,
    },
}

/// A proper message that this build does not read, kept unchanged.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// Its method.
    pub method: String,
    /// Set if an answer is expected.
    pub id: Option<RequestId>,
    /// The conversation it belongs to, if it says so in the usual place.
    pub thread: Option<ThreadId>,
    /// The turn, likewise.
    pub turn: Option<TurnId>,
    /// Why it is not known: `None` for a new method, else what did not fit.
    pub misfit: Option<String>,
    /// The whole message.
    pub raw: Box<RawValue>,
}

/// Bytes that are no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// The error.
    pub reason: String,
    /// How many there were.
    pub bytes: usize,
}

/// Decodes one message from bytes that may be anything.
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => decode_text(text),
        Err(_) => corrupt("not valid UTF-8", bytes.len()),
    }
}

/// Decodes one message.
pub fn decode_text(text: &str) -> Decoded<'_> {
    match serde_json::from_str::<Message<'_>>(text) {
        Ok(Message(Some(frame))) => Decoded::Known(frame),
        Ok(Message(None)) => decode_unknown(text, None),
        Err(error) => decode_unknown(text, Some(error.to_string())),
    }
}

fn corrupt(reason: impl Into<String>, bytes: usize) -> Decoded<'static> {
    Decoded::Corrupt(Corrupt { reason: reason.into(), bytes })
}

/// The second look: is it at least a JSON-RPC message?
fn decode_unknown(text: &str, misfit: Option<String>) -> Decoded<'static> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(default)]
        id: Option<RequestId>,
        #[serde(default)]
        method: Option<String>,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Usual {
        #[serde(default)]
        thread_id: Option<ThreadId>,
        #[serde(default)]
        turn_id: Option<TurnId>,
        #[serde(default)]
        turn: Option<Value>,
    }
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) => return corrupt(format!("not a JSON-RPC message: {error}"), text.len()),
    };
    let Some(method) = envelope.method else {
        let reason = misfit.unwrap_or_else(|| "neither a method nor a result".to_owned());
        return corrupt(format!("not a JSON-RPC message: {reason}"), text.len());
    };
    if let (Some(params), None) = (envelope.params, &envelope.id)
        && let Some(notification) = keep_item_whole(&method, params)
    {
        return Decoded::Known(Frame::Notification(notification));
    }
    let usual = envelope.params.and_then(|params| serde_json::from_str::<Usual>(params.get()).ok());
    let (thread, turn) = usual.map_or((None, None), |usual| {
        let inner = usual.turn.as_ref().and_then(|turn| turn.get("id")?.as_str()).map(TurnId::new);
        (usual.thread_id, usual.turn_id.or(inner))
    });
    match RawValue::from_string(text.trim().to_owned()) {
        Ok(raw) => Decoded::Unknown(Box::new(Unknown { method, id: envelope.id, thread, turn, misfit, raw })),
        Err(error) => corrupt(format!("not JSON: {error}"), text.len()),
    }
}

/// An item of a kind that this build does not know is still an item that began or ended.
fn keep_item_whole(method: &str, params: &RawValue) -> Option<Notification<'static>> {
    match method {
        "item/started" => ItemParams::keep_whole(params).map(Notification::ItemStarted),
        "item/completed" => ItemParams::keep_whole(params).map(Notification::ItemCompleted),
        _ => None,
    }
}

/// A message that was read in one pass; `None` if its method is not in our tables.
struct Message<'a>(Option<Frame<'a>>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

enum Params<'a> {
    Missing,
    /// They precede the method.
    Early(&'a RawValue),
    Notification(Notification<'a>),
    Request(ServerRequest),
    NotInTables,
}

impl<'de> Deserialize<'de> for Message<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = Message<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message<'de>, A::Error> {
        let mut id: Option<RequestId> = None;
        let mut method: Option<Cow<'de, str>> = None;
        let mut params = Params::Missing;
        let mut result: Option<Result<&'de RawValue, RpcError>> = None;
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Id => id = map.next_value()?,
                Key::Method => method = Some(map.next_value::<BorrowedStr<'de>>()?.0),
                Key::Params => params = read_params(method.as_deref(), &mut map)?,
                Key::Result => result = Some(Ok(map.next_value()?)),
                Key::Error => result = Some(Err(map.next_value()?)),
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if let (Params::Early(raw), Some(method)) = (&params, method.as_deref()) {
            params = reread_params(method, raw).map_err(de::Error::custom)?;
        }
        Ok(Message(match (params, id, result) {
            (Params::Notification(notification), None, None) => Some(Frame::Notification(notification)),
            (Params::Request(request), Some(id), None) => Some(Frame::Request { id, request }),
            (Params::Missing, Some(id), Some(result)) if method.is_none() => {
                Some(Frame::Response { id, result })
            }
            _ => None,
        }))
    }
}

fn read_params<'de, A: MapAccess<'de>>(method: Option<&str>, map: &mut A) -> Result<Params<'de>, A::Error> {
    let Some(method) = method else {
        return Ok(Params::Early(map.next_value()?));
    };
    if let Some(notification) = Notification::read(method, map) {
        return notification.map(Params::Notification);
    }
    if let Some(request) = ServerRequest::read(method, map) {
        return request.map(Params::Request);
    }
    map.next_value::<IgnoredAny>()?;
    Ok(Params::NotInTables)
}

/// Reads parameters that precede their method: as a message with the method first.
fn reread_params<'a>(method: &str, raw: &RawValue) -> Result<Params<'a>, serde_json::Error> {
    struct OneKey;
    impl<'de> Visitor<'de> for OneKey {
        type Value = Params<'static>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("one method and its parameters")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params<'static>, A::Error> {
            let method = map.next_key::<String>()?;
            Ok(match read_params(method.as_deref(), &mut map)? {
                Params::Notification(notification) => Params::Notification(notification.into_owned()),
                Params::Request(request) => Params::Request(request),
                Params::Missing | Params::Early(_) | Params::NotInTables => Params::NotInTables,
            })
        }
    }
    let text = format!("{{{}:{}}}", serde_json::to_string(method)?, raw.get());
    serde_json::Deserializer::from_str(&text).deserialize_map(OneKey)
}

/// Text that is borrowed from the message unless it has escapes.
struct BorrowedStr<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for BorrowedStr<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = BorrowedStr<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, s: &'de str) -> Result<Self::Value, E> {
                Ok(BorrowedStr(Cow::Borrowed(s)))
            }

            fn visit_str<E: de::Error>(self, s: &str) -> Result<Self::Value, E> {
                Ok(BorrowedStr(Cow::Owned(s.to_owned())))
            }
        }
        deserializer.deserialize_str(V)
    }
}

#[cfg(test)]
mod tests;
