//! One frame of an event stream before it becomes bytes.

use serde_json::Value;

/// A frame: an event with its data, a comment, or the word that ends a Chat stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StreamFrame {
    /// An event; the name is left out where the family has none.
    Event { name: Option<String>, data: Value },
    /// `data: [DONE]`.
    Done,
    /// A comment, which is no event.
    Comment(String),
}

impl StreamFrame {
    /// An event that is named after its `type`.
    pub(crate) fn typed(data: Value) -> Self {
        let name = data["type"].as_str().map(str::to_owned);
        Self::Event { name, data }
    }

    /// An event without a name.
    pub(crate) fn unnamed(data: Value) -> Self {
        Self::Event { name: None, data }
    }
}

/// Splits the input of a call into the few pieces in which it is streamed; an empty input has none.
pub(crate) fn input_pieces(input: &str) -> Vec<&str> {
    let size = (input.len() / 4).max(12);
    let mut pieces = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
