//! The section `[compression]`, and the model that summarises: when a conversation on the built-in loop is shortened and what
//! stays. Read by the engine for each turn.

use toml_edit::Item;

use super::keys::{Wrong, wrong_type};

/// Messages at the beginning that stay.
const FIRST: u64 = 3;
/// Messages at the end that stay.
const LAST: u64 = 6;
/// More messages than this are not protected.
const MOST_MESSAGES: i64 = 1_000;

/// The section `[compression]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompressionConfig {
    /// Whether conversations are shortened without a request. Unset: they are.
    pub enabled: Option<bool>,
    /// Percent of the context at which that happens at the latest. Unset: when there is no room for an answer.
    pub threshold: Option<u64>,
    /// Messages at the beginning that stay. Unset: 3.
    pub protect_first_n: Option<u64>,
    /// Messages at the end that stay. Unset: 6.
    pub protect_last_n: Option<u64>,
}

impl CompressionConfig {
    /// Messages at the beginning and at the end that stay.
    pub fn protected(&self) -> (u64, u64) {
        (self.protect_first_n.unwrap_or(FIRST), self.protect_last_n.unwrap_or(LAST))
    }
}

/// A model for side work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuxiliaryModel {
    /// Its provider. Unset: that of the conversation.
    pub provider: Option<String>,
    /// The model.
    pub model: String,
}

/// Reads a part of the context as percent.
pub(super) fn threshold(item: &Item) -> Result<u64, Wrong> {
    let wanted = "a part of the context between 0.1 and 1.0";
    let part = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
    let part = part.ok_or_else(|| wrong_type(item, wanted))?;
    if !(0.1..=1.0).contains(&part) {
        return Err(Wrong { message: format!("must be {wanted}, not {part}"), hint: None, start: None });
    }
    // In range, so that nothing is cut.
    Ok((part * 100.0).round() as u64)
}

/// Reads a number of messages; none is a number.
pub(super) fn messages(item: &Item) -> Result<u64, Wrong> {
    let wanted = format!("a whole number from 0 to {MOST_MESSAGES}");
    let number = item.as_integer().ok_or_else(|| wrong_type(item, &wanted))?;
    let in_range = Some(number).filter(|number| (0..=MOST_MESSAGES).contains(number));
    in_range.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| Wrong {
        message: format!("must be {wanted}, not {number}"),
        hint: None,
        start: None,
    })
}

/// Reads a model: its name alone, or with its provider.
pub(super) fn model(item: &Item) -> Result<AuxiliaryModel, Wrong> {
    let wanted = "the name of a model, or `{ provider = \"…\", model = \"…\" }`";
    let name = |item: &Item| item.as_str().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    if let Some(model) = name(item) {
        return Ok(AuxiliaryModel { provider: None, model });
    }
    let wrong = || wrong_type(item, wanted);
    let table = item.as_table_like().ok_or_else(wrong)?;
    if let Some((key, _)) = table.iter().find(|(key, _)| !["provider", "model"].contains(key)) {
        return Err(Wrong {
            message: format!("has no key {key}"),
            hint: Some(format!("write {wanted}")),
            start: None,
        });
    }
    let missing = || Wrong { message: format!("must be {wanted}"), hint: None, start: None };
    let provider = match table.get("provider") {
        Some(item) => Some(name(item).ok_or_else(missing)?),
        None => None,
    };
    let model = table.get("model").and_then(name).ok_or_else(missing)?;
    Ok(AuxiliaryModel { provider, model })
}

#[cfg(test)]
mod tests {
    use crate::config::parse;

    use super::*;

    #[test]
    fn no_message_at_all_can_be_protected_and_a_model_may_have_another_provider() {
        let text = "[compression]\nenabled = false\nthreshold = 0.5\nprotect_first_n = 0\n\
                    [auxiliary]\ncompression = { provider = \"groq\", model = \"small\" }\n";
        let parsed = parse(text).unwrap();
        assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
        let compression = parsed.config.compression;
        assert_eq!((compression.enabled, compression.threshold), (Some(false), Some(50)));
        assert_eq!(compression.protected(), (0, LAST));
        let model = AuxiliaryModel { provider: Some("groq".to_owned()), model: "small".to_owned() };
        assert_eq!(parsed.config.auxiliary.compression, Some(model));
        let alone = parse("auxiliary.compression = \"small\"\n").unwrap().config.auxiliary.compression;
        assert_eq!(alone, Some(AuxiliaryModel { provider: None, model: "small".to_owned() }));
    }

    #[test]
    fn values_without_a_meaning_are_refused() {
        for line in [
            "compression.threshold = 0",
            "compression.threshold = 70",
            "compression.threshold = \"half\"",
            "compression.protect_first_n = -1",
            "compression.protect_last_n = 5000",
            "auxiliary.compression = \"\"",
            "auxiliary.compression = { provider = \"groq\" }",
            "auxiliary.compression = { model = \"a\", modle = \"b\" }",
        ] {
            assert_eq!(parse(line).unwrap().problems.len(), 1, "{line}");
        }
    }
}
