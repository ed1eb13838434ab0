//! How long a prompt is: what the provider reported last, and an estimate of everything that was added since.
//!
//! A figure of another model, or from before a compaction, is never used: the estimate of the whole prompt is closer.

use super::text_of_item;
use crate::encode::RequestHead;
use crate::history::{LogEntry, LogItem, LogPart};

/// Bytes of text that are about one token.
const BYTES: usize = 4;
/// What an image takes, about.
const IMAGE: u64 = 1_500;
/// What an entry takes besides its text.
const FRAME: u64 = 8;

/// The last size that a provider reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredPrompt {
    /// Input tokens of the request.
    pub tokens: u64,
    /// The first entry that was not part of it.
    pub from: u64,
}

/// Estimates a text.
pub(crate) fn text_tokens(text: &str) -> u64 {
    u64::try_from(text.len().div_ceil(BYTES)).unwrap_or(u64::MAX)
}

/// Estimates the head of a request.
pub(crate) fn head_tokens(head: &RequestHead) -> u64 {
    let system: u64 = head.system.iter().map(|block| text_tokens(block)).sum();
    let tool = |tool: &crate::encode::LoopToolSpec| {
        text_tokens(&tool.name) + text_tokens(&tool.description) + text_tokens(&tool.schema.to_string())
    };
    system + head.tools.iter().map(tool).sum::<u64>()
}

/// Estimates entries.
pub(crate) fn entries_tokens<'a>(entries: impl IntoIterator<Item = &'a LogEntry>) -> u64 {
    entries.into_iter().map(entry_tokens).fold(0, u64::saturating_add)
}

fn entry_tokens(entry: &LogEntry) -> u64 {
    let images = match &entry.item {
        LogItem::User { parts } | LogItem::Assistant { parts, .. } | LogItem::Result { parts, .. } => {
            parts.iter().filter(|part| matches!(part, LogPart::Image { .. })).count()
        }
        LogItem::NotCompacted { .. } => return 0,
        _ => 0,
    };
    let text = match (&entry.item, &entry.native) {
        // Sealed thinking is sent as it was received.
        (LogItem::Reasoning { .. }, Some(native)) => text_tokens(&native.raw),
        (LogItem::Call { name, input, .. }, _) => text_tokens(name) + text_tokens(input.as_str()),
        (item, _) => text_tokens(&text_of_item(item)),
    };
    text + FRAME + IMAGE * u64::try_from(images).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_not_counted_by_its_bytes() {
        let image = LogPart::Image { mime: "image/png".to_owned(), data: "x".repeat(4_000_000) };
        let entry = LogEntry::own(0, LogItem::User { parts: vec![LogPart::text("x".repeat(400)), image] });
        assert_eq!(entries_tokens([&entry]), 102 + IMAGE + FRAME);
        let failed = LogItem::NotCompacted { model: "m".to_owned(), tokens: 9 };
        assert_eq!(entries_tokens([&LogEntry::own(1, failed)]), 0, "it is in no request");
    }
}
