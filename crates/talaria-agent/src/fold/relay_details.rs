//! `reasoning_details` of a relay: blocks of reasoning that are streamed in fragments and go back whole.
//!
//! A fragment continues a block with the same index, kind and id. A block that came in one piece, or without an index, is
//! kept byte for byte: the vendor that the relay calls verifies what it signed.

use serde_json::{Map, Value};

/// Members whose pieces are joined; of any other member the last value that is not null counts.
const JOINED: [&str; 3] = ["text", "summary", "data"];

/// The blocks of one answer, in order.
#[derive(Debug, Default)]
pub(super) struct RelayDetails(Vec<DetailBlock>);

#[derive(Debug)]
struct DetailBlock {
    members: Map<String, Value>,
    /// The block as received, if it came in one piece.
    raw: Option<String>,
}

impl RelayDetails {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a fragment, or a whole block.
    pub(super) fn take(&mut self, raw: &str) {
        let members: Map<String, Value> = serde_json::from_str(raw).unwrap_or_default();
        match self.0.iter_mut().rfind(|block| block.is_continued_by(&members)) {
            Some(block) => block.join(members),
            None => self.0.push(DetailBlock { members, raw: Some(raw.to_owned()) }),
        }
    }

    /// The list as it goes back.
    pub(super) fn to_json(&self) -> String {
        let blocks = self.0.iter().map(|block| match &block.raw {
            Some(raw) => raw.clone(),
            None => Value::Object(block.members.clone()).to_string(),
        });
        format!("[{}]", blocks.collect::<Vec<_>>().join(","))
    }
}

impl DetailBlock {
    fn is_continued_by(&self, fragment: &Map<String, Value>) -> bool {
        let value = |members: &Map<String, Value>, name: &str| {
            members.get(name).filter(|value| !value.is_null()).cloned()
        };
        let index = value(fragment, "index");
        let agrees = |name: &str| match (value(&self.members, name), value(fragment, name)) {
            (Some(known), Some(new)) => known == new,
            _ => true,
        };
        index.is_some() && index == value(&self.members, "index") && agrees("type") && agrees("id")
    }

    fn join(&mut self, fragment: Map<String, Value>) {
        self.raw = None;
        for (name, value) in fragment {
            match (self.members.get_mut(&name), value) {
                (Some(Value::String(text)), Value::String(piece)) if JOINED.contains(&name.as_str()) => {
                    text.push_str(&piece);
                }
                (Some(_), Value::Null) => {}
                (_, value) => {
                    self.members.insert(name, value);
                }
            }
        }
    }
}
