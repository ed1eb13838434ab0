//! An answer to a question: the decision, and its details.
//!
//! A secret that was typed is in here on its way to Codex and nowhere else: neither `Debug` nor `Serialize` writes it.
//! `reply` reads it, and `revealed` writes it for the private socket between a command and the engine. The turn machine
//! records the decision alone.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Decision;

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// Yes or no, and for how long.
    pub decision: Decision,
    /// Why not; the model gets it before the request is declined.
    #[serde(default)]
    pub reason: Option<String>,
    /// Details of a yes.
    #[serde(default)]
    pub content: Content,
}

impl Answer {
    /// A no that says why.
    pub fn decline_because(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Decision::Decline.into() }
    }

    /// A yes with what was asked for.
    pub fn with(content: Content) -> Self {
        Self { content, ..Decision::Accept.into() }
    }
}

impl Answer {
    /// Why not, if someone said why.
    pub fn given_reason(&self) -> Option<&str> {
        self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty())
    }

    /// The answer with its secrets, as `Deserialize` reads it: `{"secret": …}` marks one. Not for eyes or files.
    pub fn revealed(&self) -> Value {
        let given = |given: &Given| match given.is_secret {
            true => serde_json::json!({ "secret": given.value }),
            false => given.value.clone(),
        };
        let content = match &self.content {
            Content::Nothing => serde_json::json!({ "kind": "nothing" }),
            Content::Grant(grant) => serde_json::json!({ "kind": "grant", "given": grant }),
            Content::Answers(answers) => {
                let answers: BTreeMap<_, Vec<Value>> =
                    answers.iter().map(|(id, all)| (id, all.iter().map(given).collect())).collect();
                serde_json::json!({ "kind": "answers", "given": answers })
            }
            Content::Form(fields) => {
                let fields: BTreeMap<_, Value> =
                    fields.iter().map(|(name, value)| (name, given(value))).collect();
                serde_json::json!({ "kind": "form", "given": fields })
            }
        };
        serde_json::json!({ "decision": self.decision, "reason": self.reason, "content": content })
    }
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self { decision, reason: None, content: Content::Nothing }
    }
}

/// Details of a yes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "given", rename_all = "snake_case")]
pub enum Content {
    /// Nothing: the yes says it all.
    #[default]
    Nothing,
    /// The part of the permissions that is granted; without it all of them are.
    Grant(Grant),
    /// Answers to questions of the model, by the question's id.
    Answers(BTreeMap<String, Vec<Given>>),
    /// Values of a form, by the field's name.
    Form(BTreeMap<String, Given>),
}

/// The part of requested permissions that is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// Everything that was asked for.
    All,
    /// Only the network.
    Network,
    /// Only files and directories.
    Files,
}

/// A value from a person, perhaps a secret.
#[derive(Clone, PartialEq)]
pub struct Given {
    value: Value,
    is_secret: bool,
}

impl Given {
    /// Something that may be seen.
    pub fn plain(value: impl Into<Value>) -> Self {
        Self { value: value.into(), is_secret: false }
    }

    /// Something that must not be seen.
    pub fn secret(value: impl Into<Value>) -> Self {
        Self { value: value.into(), is_secret: true }
    }

    /// Whether the value is secret and must not be persisted.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// The thing itself: for the wire and for checks only.
    pub fn reveal(&self) -> &Value {
        &self.value
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_secret { f.write_str("(secret)") } else { fmt::Display::fmt(&self.value, f) }
    }
}

/// A secret is written as null, so that a later reader can see that something was there, and not what.
impl Serialize for Given {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_secret { serializer.serialize_unit() } else { self.value.serialize(serializer) }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Given {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Given".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Something that a person gave. An object marks a secret, which is kept nowhere.",
            "anyOf": [
                { "not": { "type": "object" } },
                { "type": "object", "properties": { "secret": true }, "required": ["secret"], "additionalProperties": false },
            ]
        })
    }
}

/// Values of answers are never objects, so an object can only say that this is a secret.
impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value {
            Value::Object(mut object) if object.len() == 1 && object.contains_key("secret") => {
                Ok(Self::secret(object.remove("secret").unwrap_or_default()))
            }
            value => Ok(Self::plain(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_nowhere() {
        let given = [Given::secret("hunter2"), Given::plain("blue")];
        let answers = BTreeMap::from([("q".to_owned(), given.to_vec())]);
        let form = BTreeMap::from([("pin".to_owned(), Given::secret(4711))]);
        for content in [Content::Answers(answers), Content::Form(form)] {
            let answer = Answer::with(content);
            let json = serde_json::to_string(&answer).unwrap();
            for text in [format!("{answer:?}"), format!("{answer:#?}"), json] {
                assert!(!text.contains("hunter2") && !text.contains("4711"), "{text}");
            }
        }
        assert_eq!(serde_json::to_string(&given).unwrap(), r#"[null,"blue"]"#);
        assert_eq!(format!("{given:?}"), r#"[(secret), "blue"]"#);
    }
    #[test]
    fn what_is_revealed_can_be_read_back_with_its_secrets() {
        let given = vec![Given::secret("hunter2"), Given::plain("blue")];
        let answers = Content::Answers(BTreeMap::from([("q".to_owned(), given.clone())]));
        let form = Content::Form(BTreeMap::from([("pin".to_owned(), Given::secret(4711))]));
        for content in [answers, form, Content::Grant(Grant::Network), Content::Nothing] {
            let answer = Answer { reason: Some("why".to_owned()), ..Answer::with(content) };
            let back: Answer = serde_json::from_value(answer.revealed()).unwrap();
            assert_eq!(back.revealed(), answer.revealed());
        }
        let short: Answer = serde_json::from_str(r#"{"decision":"accept"}"#).unwrap();
        assert!(matches!(short.content, Content::Nothing));
    }
}
