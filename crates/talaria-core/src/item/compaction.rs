//! A shortened conversation: who wanted it, how many tokens were in the context before and after, what stayed, what it cost.
//!
//! Only known figures are in here. On Codex they are its own: the tokens of the last model request, and its estimate for the
//! compacted conversation. On the built-in loop they are the provider's, or an estimate, and what stayed is known.

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
    /// Tokens in the context after, as an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// What stayed as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptContext>,
    /// Tokens that the summary took, those of attempts without a result included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<u64>,
    /// Its price in billionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
}

/// What a compaction leaves word for word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptContext {
    /// Messages: words of the person, whole answers, results.
    pub messages: u64,
    /// Tokens of the person's words that the summary repeats.
    pub words: u64,
    /// Is the plan part of the summary?
    pub plan: bool,
    /// Older steps that the summary does not cover, because they were too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
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
    /// The built-in loop did it by itself.
    Talaria,
}

impl Compaction {
    /// The figures, in one line for people.
    pub fn words(&self) -> String {
        let words = match self.by {
            Some(CompactionCause::User) => "you shortened the conversation with /compact",
            Some(CompactionCause::Codex) => {
                "Codex shortened the conversation by itself, to fit the model's context"
            }
            Some(CompactionCause::Talaria) => {
                "Talaria shortened the conversation by itself, to fit the model's context"
            }
            Some(CompactionCause::ModelChange) => "Codex shortened the conversation as the model changed",
            None => "the conversation was shortened",
        };
        let figures = match (self.before, self.after) {
            (Some(before), Some(after)) => {
                format!("{words}: {} → about {} tokens in context", amount(before), amount(after))
            }
            (Some(before), None) => format!("{words}: {} tokens were in context", amount(before)),
            (None, Some(after)) => format!("{words}: about {} tokens are in context now", amount(after)),
            (None, None) => words.to_owned(),
        };
        let kept = self.kept.map(KeptContext::words).unwrap_or_default();
        let price = self.amount.map(|amount| format!(" (${})", dollars(amount))).unwrap_or_default();
        let spent = self.spent.map(|spent| format!("; the summary took {} tokens{price}", amount(spent)));
        format!("{figures}{kept}{}", spent.unwrap_or_default())
    }

    /// Says that a conversation was not shortened, that nothing of it is lost, and how to try again.
    pub fn failure(why: &str) -> String {
        format!(
            "the conversation was not shortened, and nothing of it was dropped: {why}; /compact tries again"
        )
    }
}

impl KeptContext {
    fn words(self) -> String {
        let Self { messages, words, plan, left_out } = self;
        let plural = if messages == 1 { "" } else { "s" };
        let mut parts = vec![format!("{messages} message{plural}")];
        if words > 0 {
            parts.push(format!("{} tokens of your words", amount(words)));
        }
        if plan {
            parts.push("the plan".to_owned());
        }
        let rest = match left_out {
            0 => String::new(),
            1 => "; 1 older step was too long for the summary".to_owned(),
            steps => format!("; {steps} older steps were too long for the summary"),
        };
        format!("; kept as they are: {}{rest}", parts.join(", "))
    }
}

/// Ten-thousandths of a dollar, rounded up: a price is never shown as nothing.
fn dollars(amount: u64) -> String {
    let parts = amount.div_ceil(100_000);
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
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
        let words = |by, before, after| Compaction { by, before, after, ..Compaction::default() }.words();
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
        let kept = KeptContext { messages: 7, words: 1_240, plan: true, left_out: 2 };
        let facts = Compaction {
            by: Some(CompactionCause::Talaria),
            before: Some(181_000),
            after: Some(9_000),
            kept: Some(kept),
            spent: Some(41_230),
            amount: Some(82_460_000),
        };
        assert_eq!(
            facts.words(),
            "Talaria shortened the conversation by itself, to fit the model's context: 181.0k → about 9.0k tokens in context; \
             kept as they are: 7 messages, 1.2k tokens of your words, the plan; 2 older steps were too long for the summary; \
             the summary took 41.2k tokens ($0.0825)"
        );
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
