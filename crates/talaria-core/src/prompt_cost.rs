//! Token cost of the prompt parts that Talaria adds; the rest is the runtime's. Pure.
//!
//! Sizes in bytes are exact. Tokens are estimated from them as Codex does it, because no tokenizer of a model is known here;
//! the tokens of a whole prompt are what the provider reported.

use crate::api::{ContextPart, ContextReport};

/// How many bytes a token has on average.
const BYTES_PER_TOKEN: u64 = 4;

/// Estimates the tokens of a text.
pub fn estimate_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// A part whose size is known, or not.
pub fn part(name: impl Into<String>, bytes: Option<u64>) -> ContextPart {
    ContextPart { name: name.into(), bytes, tokens: bytes.map(estimate_tokens) }
}

/// Completes an account: the reported total minus our parts is the runtime's. Nothing is derived from a part of unknown
/// size.
pub fn account(
    session: String,
    parts: Vec<ContextPart>,
    reported: Option<u64>,
    window: Option<u64>,
) -> ContextReport {
    let ours = parts.iter().map(|part| part.tokens).sum::<Option<u64>>();
    // Ours are estimates: where they exceed what was reported, the rest is not known, and not nothing.
    let rest = reported.zip(ours).and_then(|(reported, ours)| reported.checked_sub(ours));
    ContextReport { session, runtime: String::new(), parts, ours, reported, rest, window }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_what_was_reported_without_ours() {
        let parts = vec![part("memory", Some(401)), part("talaria_memory", Some(1200))];
        let report = account("s".to_owned(), parts, Some(5000), Some(200_000));
        assert_eq!((report.ours, report.rest), (Some(401), Some(4599)));
        assert_eq!(account("s".to_owned(), Vec::new(), Some(7), None).rest, Some(7));
        assert_eq!(account("s".to_owned(), vec![part("memory", Some(400))], Some(7), None).rest, None);
    }

    #[test]
    fn what_is_not_known_is_not_derived() {
        let unknown = account("s".to_owned(), vec![part("tools", None)], Some(5000), None);
        assert_eq!((unknown.ours, unknown.rest), (None, None));
        let unreported = account("s".to_owned(), vec![part("memory", Some(400))], None, None);
        assert_eq!((unreported.ours, unreported.rest), (Some(100), None));
    }
}
