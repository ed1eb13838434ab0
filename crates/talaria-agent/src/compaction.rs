//! Compaction: a conversation that outgrows the context of its model continues with a summary of its beginning. Pure.
//!
//! This decides when (`CompactionSettings`), what stays as it is (`plan`), what the model that summarises reads
//! (`transcript`) and whether its answer is a summary (`summary`). `loop_turn` makes the request and appends the result;
//! nothing of the history is changed or removed.

use crate::history::{LogEntry, LogItem, LogPart, ModelIssuer};
use crate::profile::ProviderProfile;

mod plan;
mod size;
mod summary;
mod transcript;

pub(crate) use plan::CompactionPlan;
pub use size::MeasuredPrompt;
pub(crate) use size::{entries_tokens, head_tokens};
pub(crate) use summary::{compose, read_summary};
pub(crate) use transcript::{INSTRUCTIONS, transcript};

/// Tokens that are kept free for an answer at least.
const LEAST_RESERVE: u64 = 16_384;
/// The user's own words that a summary repeats, in tokens.
const USER_WORDS: u64 = 20_000;
/// A model with less context than this does not summarise.
pub const LEAST_SUMMARISER_WINDOW: u64 = 8_192;

/// When a conversation is compacted and what stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Without a request of the person.
    pub is_automatic: bool,
    /// Percent of the context at which it happens, if that is earlier than usual.
    pub threshold: Option<u64>,
    /// Messages at the beginning that stay.
    pub protect_first: usize,
    /// Messages at the end that stay.
    pub protect_last: usize,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { is_automatic: true, threshold: None, protect_first: 3, protect_last: 6 }
    }
}

impl CompactionSettings {
    /// The size of a prompt at which a conversation is compacted: there has to be room for the answer.
    pub fn limit(&self, window: u64, output: Option<u64>) -> u64 {
        let reserve = output.unwrap_or_default().max(LEAST_RESERVE).min(window / 2);
        let earlier = self.threshold.map(|percent| window.saturating_mul(percent) / 100);
        let usual = window.saturating_sub(reserve);
        earlier.map_or(usual, |earlier| earlier.min(usual))
    }
}

/// A model that can summarise.
#[derive(Clone, Debug)]
pub struct Summariser {
    /// Its provider.
    pub profile: ProviderProfile,
    /// Endpoint and account.
    pub issuer: ModelIssuer,
    /// The model.
    pub model: String,
}

/// What a turn needs to compact its conversation.
#[derive(Clone, Debug, Default)]
pub struct CompactionSetup {
    /// When, and what stays.
    pub settings: CompactionSettings,
    /// Who summarises, in order; the model of the conversation follows them.
    pub summarisers: Vec<Summariser>,
    /// The entry with the person's request of this turn. It and what the person said later stay as they are.
    pub request: Option<u64>,
    /// The last size that the provider reported for this conversation and this model.
    pub measured: Option<MeasuredPrompt>,
}

/// The readable text of an item. Images are a word.
fn text_of_item(item: &LogItem) -> String {
    match item {
        LogItem::User { parts } | LogItem::Assistant { parts, .. } | LogItem::Result { parts, .. } => {
            let texts = parts.iter().map(|part| match part {
                LogPart::Text { text } | LogPart::Refusal { text } => text.as_str(),
                LogPart::Image { .. } => "[image]",
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        LogItem::Reasoning { summary, text } => [summary.join("\n"), text.join("\n")].concat(),
        LogItem::Operator { text } | LogItem::Summary { text, .. } => text.clone(),
        LogItem::Call { input, .. } => input.as_str().to_owned(),
        LogItem::ServerTool { name, .. } | LogItem::Unknown { name } => name.clone(),
        LogItem::NotCompacted { .. } => String::new(),
    }
}

/// Is it part of the conversation itself?
fn is_sent(entry: &LogEntry) -> bool {
    !matches!(entry.item, LogItem::Summary { .. } | LogItem::NotCompacted { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_leaves_room_for_the_answer_and_the_threshold_only_lowers_it() {
        let usual = CompactionSettings::default();
        assert_eq!(usual.limit(200_000, None), 200_000 - 16_384);
        assert_eq!(usual.limit(400_000, Some(128_000)), 272_000);
        assert_eq!(usual.limit(8_192, Some(4_096)), 4_096, "a small window is not all reserve");
        let early = CompactionSettings { threshold: Some(50), ..usual.clone() };
        assert_eq!(early.limit(200_000, None), 100_000);
        let late = CompactionSettings { threshold: Some(99), ..usual };
        assert_eq!(late.limit(200_000, None), 200_000 - 16_384);
    }
}
