//! The input of a turn from a person, independent of the runtime that will run it.

use serde::{Deserialize, Serialize};

/// A part of the input of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum InputPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image file on the machine where the turn runs.
    LocalImage {
        /// Its absolute path.
        path: String,
    },
}

impl InputPart {
    /// Returns a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
