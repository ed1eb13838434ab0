//! Finds the most similar name, for a "did you mean" hint.
//!
//! Owns how far a guess may go; a guess is only ever shown, never acted upon.
//! Called by the configuration reader for keys and values, and by the chat for its commands.

/// Returns the candidate closest to `word`, if one is close enough to be a likely slip of the keyboard.
///
/// Of equally close candidates the first wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One slip in three letters: more would suggest names that merely have the same length.
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Counts the insertions, deletions, replacements and swaps of neighbours that turn `left` into `right`.
///
/// Case does not count, nor does which of `-` and `_` was typed.
fn distance(left: &str, right: &str) -> usize {
    strsim::osa_distance(&folded(left), &folded(right))
}

fn folded(text: &str) -> String {
    text.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_slips() {
        for (left, right, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("sandbox", "sandbox", 0),
            ("sandbx", "sandbox", 1),
            ("sandobx", "sandbox", 1),
            ("sanddbox", "sandbox", 1),
            ("Turn-Timeout", "turn_timeout", 0),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(left, right), expected, "{left} {right}");
            assert_eq!(distance(right, left), expected, "{right} {left}");
        }
    }

    #[test]
    fn a_far_word_suggests_nothing() {
        let names = ["codex", "model", "memory"];
        assert_eq!(nearest("codx", names), Some("codex"));
        assert_eq!(nearest("mdoel", names), Some("model"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(nearest("", names), None);
    }
}
