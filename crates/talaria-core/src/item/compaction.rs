//! A shortened conversation: who wanted it, and how many tokens were in the context before and after.
//!
//! Only known figures are in here. They are Codex's own: the tokens of the last model request, and Codex's estimate for the
//! compacted conversation.

use serde::{Deserialize, Serialize};

/// Figures of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compaction {
    /// Why it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<CompactionCause>,
    /// Tokens in the context before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Tokens in the context after, as Codex estimates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// Why a conversation was shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactionCause {
    /// The person asked for it.
    User,
    /// Codex did it by itself.
    Codex,
    /// Codex did it by itself in a turn that began with another model.
    ModelChange,
}

impl Compaction {
    /// The figures, in one line for people.
    pub fn words(&self) -> String {
        let words = match self.by {
            Some(CompactionCause::User) => "you shortened the conversation with /compact",
            Some(CompactionCause::Codex) => {
                "Codex shortened the conversation by itself, to fit the model's context"
            }
            Some(CompactionCause::ModelChange) => "Codex shortened the conversation as the model changed",
            None => "the conversation was shortened",
        };
        match (self.before, self.after) {
            (Some(before), Some(after)) => {
                format!("{words}: {} → about {} tokens in context", amount(before), amount(after))
            }
            (Some(before), None) => format!("{words}: {} tokens were in context", amount(before)),
            (None, Some(after)) => format!("{words}: about {} tokens are in context now", amount(after)),
            (None, None) => words.to_owned(),
        }
    }
}

/// A number of tokens, rounded.
fn amount(tokens: u64) -> String {
    let tenths = |unit: u64| tokens.saturating_add(unit / 20) / (unit / 10);
    match (tokens, tenths(1000), tenths(1_000_000)) {
        (0..1000, ..) => tokens.to_string(),
        (_, tenths @ ..10_000, _) => format!("{}.{}k", tenths / 10, tenths % 10),
        (.., tenths) => format!("{}.{}M", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_who_wanted_it_and_only_figures_that_are_known() {
        let words = |by, before, after| Compaction { by, before, after }.words();
        assert_eq!(
            words(Some(CompactionCause::User), Some(96_240), Some(6_908)),
            "you shortened the conversation with /compact: 96.2k → about 6.9k tokens in context"
        );
        assert_eq!(
            words(Some(CompactionCause::Codex), Some(1_204_000), None),
            "Codex shortened the conversation by itself, to fit the model's context: 1.2M tokens were in context"
        );
        assert_eq!(
            words(Some(CompactionCause::ModelChange), None, Some(950)),
            "Codex shortened the conversation as the model changed: about 950 tokens are in context now"
        );
        assert_eq!(words(None, None, None), "the conversation was shortened");
    }

    #[test]
    fn what_older_builds_wrote_has_no_facts() {
        let item: crate::item::Item = serde_json::from_str(r#"{"id":"c","kind":"compaction"}"#).unwrap();
        assert!(
            matches!(item.body, crate::item::ItemBody::Compaction(facts) if facts == Compaction::default())
        );
        assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"id":"c","kind":"compaction"}"#);
    }
}
