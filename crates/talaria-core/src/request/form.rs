//! A form of an MCP server: its fields and their types.
//!
//! Codex lets through the flat forms of the MCP specification and nothing else; `project` reads the schema, `read` turns
//! what a person types into values. A field that looks like a secret is treated as one, whatever the server says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod formats;
mod read;

/// A form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Form {
    /// The fields, in the order in which Codex reports them.
    pub fields: Vec<Field>,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Field {
    /// Names it in the answer.
    pub name: String,
    /// Its heading.
    pub title: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Must it be filled in?
    pub required: bool,
    /// Must the value stay unseen?
    pub secret: bool,
    /// Its type.
    #[serde(flatten)]
    pub kind: FieldKind,
    /// The meaning of an empty line. None for a secret field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// Type of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "takes", rename_all = "snake_case")]
pub enum FieldKind {
    /// Text.
    Text {
        /// `email`, `uri`, `date`, `date-time`, or something newer.
        format: Option<String>,
        /// The fewest characters.
        min_length: Option<u64>,
        /// The most characters.
        max_length: Option<u64>,
    },
    /// A number.
    Number {
        /// The least.
        minimum: Option<f64>,
        /// The greatest.
        maximum: Option<f64>,
    },
    /// A whole number.
    Integer {
        /// The least.
        minimum: Option<f64>,
        /// The greatest.
        maximum: Option<f64>,
    },
    /// Yes or no.
    Boolean,
    /// One of several.
    One {
        /// The options.
        options: Vec<FormOption>,
    },
    /// Any of several.
    Many {
        /// The options.
        options: Vec<FormOption>,
        /// How many at least.
        min_items: Option<u64>,
        /// How many at most.
        max_items: Option<u64>,
    },
}

/// Something that may be chosen in a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormOption {
    /// The value in the answer.
    pub value: String,
    /// What people are shown.
    pub title: Option<String>,
}

impl FormOption {
    /// What people are shown.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

impl Field {
    /// What people are shown as its name.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Whether a field of this name probably contains a secret.
    pub fn is_secret_name(name: &str) -> bool {
        const WORDS: [&str; 11] = [
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "secret",
            "token",
            "apikey",
            "accesskey",
            "privatekey",
            "credential",
            "otp",
        ];
        let plain: String = name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        plain == "pin" || plain == "pwd" || WORDS.iter().any(|word| plain.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_sounds_like_a_secret_is_one() {
        for name in ["password", "DB_PASSWORD", "Api-Key", "api key", "GitHub token", "clientSecret", "PIN"] {
            assert!(Field::is_secret_name(name), "{name}");
        }
        for name in ["name", "email", "pinned", "shipping", "key", "author"] {
            assert!(!Field::is_secret_name(name), "{name}");
        }
    }
}
