//! A message that may still grow: paragraphs and thinking are added until someone else speaks.

use super::message::{Message, Role, Source};

/// A message that may still grow.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Position of its first words, by the projector's counter.
    pub(super) begun: u64,
    /// The paragraphs.
    pub(super) text: String,
    /// The thinking that led to it.
    pub(super) thought: String,
    /// The items it comes from.
    pub(super) sources: Vec<Source>,
}

impl Draft {
    /// Adds a paragraph and the item that it comes from.
    pub(super) fn add(&mut self, text: &str, source: Option<Source>) {
        join(&mut self.text, text);
        self.sources.extend(source);
    }

    /// Is this the end of a review, whose text Codex repeats as a message?
    pub(super) fn is_review(&self, text: &str) -> bool {
        self.sources.last().is_some_and(|source| source.kind == "review_ended")
            && self.text.trim_end().ends_with(text.trim_end())
    }

    /// Makes the message; a text that is empty is none.
    pub(super) fn into_message(self, role: Role) -> Message {
        Message {
            role,
            content: Some(self.text).filter(|text| !text.is_empty()),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: Some(self.thought).filter(|thought| !thought.is_empty()),
            sources: self.sources,
        }
    }
}

/// Adds a paragraph.
pub(super) fn join(text: &mut String, paragraph: &str) {
    if !text.is_empty() && !paragraph.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}
