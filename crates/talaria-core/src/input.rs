//! The input of a turn from a person, independent of the runtime that will run it.

use std::borrow::Cow;

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

    /// Describes the part as text, for people and for the search: an image by its path.
    fn as_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text { text } => Cow::Borrowed(text),
            Self::LocalImage { path } => Cow::Owned(format!("[image {path}]")),
        }
    }
}

/// The input as text: its parts on lines of their own, images by their paths. Not for a model.
pub fn input_text(input: &[InputPart]) -> String {
    input.iter().map(InputPart::as_text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_in_the_text_of_an_input() {
        let input = [InputPart::text("look"), InputPart::LocalImage { path: "/w/a b.png".to_owned() }];
        assert_eq!(input_text(&input), "look\n[image /w/a b.png]");
        assert_eq!(input_text(&[]), "");
    }
}
