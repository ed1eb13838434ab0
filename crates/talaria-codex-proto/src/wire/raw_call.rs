//! Raw output of the model: the items of its response before Codex processes them.
//!
//! Codex sends them only for a thread that was started with `experimentalRawEvents`; a resumed thread has none. They are in
//! no schema. `wishes` needs the tool calls, `turn/calls` their results, and the texts of messages, which say when an image
//! was omitted. The bytes of images are skipped.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use talaria_core::ids::{ItemId, ThreadId, TurnId};

/// An item of the model's answer, complete.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawItemParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item: RawItem,
}

/// A complete response of the model; 0.166 reports it in addition to the items.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawResponseParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
}

/// An item as the model's server names it, with what is needed of a call.
#[derive(Clone, Debug, Deserialize)]
pub struct RawItem {
    /// `function_call`, `custom_tool_call`, `message`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The call; a request of Codex about it has the same id as its item.
    #[serde(default)]
    pub call_id: Option<ItemId>,
    #[serde(default)]
    pub name: Option<String>,
    /// JSON as text, as the model wrote it; `None` also when it is something else than text.
    #[serde(default, deserialize_with = "text_or_nothing")]
    pub arguments: Option<String>,
    /// Result of a call, as text: all of its text parts.
    #[serde(default, deserialize_with = "joined_texts")]
    pub output: Option<String>,
    /// Who speaks in a message.
    #[serde(default)]
    pub role: Option<String>,
    /// The text parts of a message.
    #[serde(default, deserialize_with = "texts")]
    pub content: Vec<String>,
}

#[derive(Deserialize)]
struct RawTextPart {
    #[serde(default)]
    text: Option<String>,
}

/// The texts of a text or of a list of parts; none of any other shape.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let value = Box::<RawValue>::deserialize(deserializer)?;
    if let Ok(text) = serde_json::from_str(value.get()) {
        return Ok(vec![text]);
    }
    let parts: Vec<RawTextPart> = serde_json::from_str(value.get()).unwrap_or_default();
    Ok(parts.into_iter().filter_map(|part| part.text).collect())
}

fn joined_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let texts = texts(deserializer)?;
    Ok((!texts.is_empty()).then(|| texts.join("\n")))
}

/// Some kinds of items have an object where a call has text.
fn text_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(value.get()).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::frame::{Decoded, Frame, decode_text};
    use crate::wire::notification::{Notification, Scope};

    fn read(item: &Value) -> Option<super::RawItem> {
        let params = json!({ "threadId": "t", "turnId": "u", "item": item });
        let text = json!({ "method": "rawResponseItem/completed", "params": params }).to_string();
        match decode_text(&text) {
            Decoded::Known(Frame::Notification(Notification::RawItemCompleted(params))) => Some(params.item),
            Decoded::Unknown(_) => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_is_read_with_its_arguments_as_text() {
        let item = read(&json!({
            "type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "id": "fc_1",
        }));
        let item = item.unwrap();
        let call_id = item.call_id.as_ref().map(talaria_core::ids::ItemId::as_str);
        assert_eq!((item.kind.as_str(), call_id), ("function_call", Some("c")));
        assert_eq!(
            (item.name.as_deref(), item.arguments.as_deref()),
            (Some("exec_command"), Some("{\"cmd\":\"ls\"}"))
        );
    }

    #[test]
    fn items_of_every_other_shape_are_known_too() {
        for arguments in
            [json!({ "query": "x" }), json!([1]), json!(null), json!(true), json!(1), json!(-1), json!(0.5)]
        {
            let item = read(&json!({ "type": "tool_search_call", "call_id": null, "arguments": arguments }));
            assert_eq!(item.unwrap().arguments, None, "{arguments}");
        }
        let message = read(
            &json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "x" }] }),
        );
        assert_eq!(message.unwrap().kind, "message");
        assert!(read(&json!({ "call_id": "c" })).is_none(), "an item without a type is kept raw");
    }

    #[test]
    fn what_a_call_brought_is_read_as_text_whatever_its_shape() {
        let output = |output: Value| {
            let item = json!({ "type": "function_call_output", "call_id": "c", "output": output });
            read(&item).unwrap().output
        };
        assert_eq!(output(json!("it failed")).as_deref(), Some("it failed"));
        let parts = json!([{ "type": "input_text", "text": "one" }, { "type": "input_image", "image_url": "data:" }, { "text": "two" }]);
        assert_eq!(output(parts).as_deref(), Some("one\ntwo"));
        for other in [json!(null), json!(1), json!({ "a": 1 }), json!([1]), json!([])] {
            assert_eq!(output(other.clone()), None, "{other}");
        }
    }

    #[test]
    fn it_belongs_to_its_thread_and_turn() {
        let text = json!({ "method": "rawResponse/completed", "params": { "threadId": "t", "turnId": "u", "responseId": "r" } });
        match decode_text(&text.to_string()) {
            Decoded::Known(Frame::Notification(notification)) => {
                assert_eq!(notification.scope(), Scope { thread: Some("t"), turn: Some("u") });
            }
            other => panic!("{other:?}"),
        }
    }
}
