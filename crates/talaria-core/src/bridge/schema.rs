//! The tool as models see it: description and parameters.

use serde_json::{Map, Value, json};

use super::Action;
use super::parameter::{ALL, Takes};

/// Description of the tool for models.
pub const DESCRIPTION: &str = "\
Delegates coding work to OpenAI Codex as background tasks that outlive this conversation. `start` returns at once with a \
task id; Codex then works by itself, in a sandbox. Use `wait` to follow a task: it returns when the task has ended, when it \
needs a person, or after timeout_seconds; do not poll `status` in a loop. `result` returns the answer of a task and what it \
changed, `events` what it did step by step, `send` starts a follow-up of a task that has ended on the same conversation, `steer` \
sends further words to a running one, `interrupt` (or `cancel`) stops it, `list` shows your tasks.

Codex asks before it does what is not harmless. Such a request appears in pending_requests and waits for as long as it takes. \
It is for the person, not for you: show them what is asked and how they answer it (the field `how`), then `wait` again. \
`respond` passes on an answer, and is refused unless the person's configuration allows you to answer that kind of request. \
Never claim that something was approved.

Status is one of queued, starting, working, waiting_for_approval, waiting_for_user_input, completed, failed, cancelled, lost. \
The transcript of a task is the resource talaria://tasks/<task id>/transcript.";

/// Description of the server for models.
pub const INSTRUCTIONS: &str = "\
Talaria runs OpenAI Codex in the background. The tool codex_bridge starts and follows its tasks; requests of Codex for \
approval are for the person at the keyboard, who answers them with `talaria requests answer`.";

/// Parameters of the tool, as JSON schema.
pub fn input_schema() -> Map<String, Value> {
    let mut properties = Map::new();
    let action = json!({ "type": "string", "enum": Action::NAMES, "description": "What to do." });
    properties.insert("action".to_owned(), action);
    for parameter in &ALL {
        let mut schema = takes(parameter.takes);
        schema.insert("description".to_owned(), parameter.about.into());
        properties.insert(parameter.name.to_owned(), schema.into());
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), json!(["action"]));
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

fn takes(takes: Takes) -> Map<String, Value> {
    let (mut schema, usual) = match takes {
        Takes::Text(_) | Takes::Id => (json!({ "type": "string" }), None),
        Takes::Word { allowed, usual } => {
            (json!({ "type": "string", "enum": allowed }), usual.map(Value::from))
        }
        Takes::Flag => (json!({ "type": "boolean" }), Some(false.into())),
        // A limit that JSON numbers cannot represent exactly would only confuse.
        Takes::Count { least, most, usual } if most > LARGEST_EXACT => {
            (json!({ "type": "integer", "minimum": least }), usual.map(Value::from))
        }
        Takes::Count { least, most, usual } => {
            (json!({ "type": "integer", "minimum": least, "maximum": most }), usual.map(Value::from))
        }
        Takes::Texts(_) => (json!({ "type": "array", "items": { "type": "string" } }), None),
        Takes::Object => (json!({ "type": "object", "additionalProperties": true }), None),
    };
    if let Some(usual) = usual {
        schema["default"] = usual;
    }
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// The largest whole number that every reader of JSON keeps as it is.
const LARGEST_EXACT: u64 = (1 << 53) - 1;
