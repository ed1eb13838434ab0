//! Splits a query into words. Pure.

/// Maximum number of words; further ones are ignored.
const MOST: usize = 16;
/// Maximum number of characters of a word; further ones are ignored.
const LONGEST: usize = 256;

/// A text to be found, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    text: String,
    chars: Vec<char>,
}

impl Word {
    fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().take(LONGEST).map(lower).collect();
        Self { text: chars.iter().collect(), chars }
    }

    /// The word in lower case.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The word in lower case, by characters.
    pub(crate) fn chars(&self) -> &[char] {
        &self.chars
    }

    /// Returns whether it is too short for the index.
    pub(crate) fn is_short(&self) -> bool {
        self.chars.len() < 3
    }

    /// Returns whether this text contains it.
    pub(crate) fn occurs_in(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().map(lower).collect();
        text.windows(self.chars.len()).any(|part| part == self.chars)
    }
}

/// The lower case of a character, if it is one character.
pub(crate) fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}

/// Splits the query at blanks; text in quotation marks is one word.
pub(crate) fn parse(typed: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (number, part) in typed.replace('\0', " ").split('"').enumerate() {
        if number % 2 == 1 {
            words.push(part.trim().to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words.retain(|word| !word.is_empty());
    words.dedup();
    words.iter().take(MOST).map(|word| Word::new(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_blanks_and_kept_together_by_quotation_marks() {
        let parsed =
            |typed: &str| parse(typed).iter().map(|word| word.as_str().to_owned()).collect::<Vec<_>>();
        assert_eq!(parsed("  Cargo  TEST\t中国 "), ["cargo", "test", "中国"]);
        assert_eq!(parsed(r#"say "Hello  World" now"#), ["say", "hello  world", "now"]);
        assert_eq!(parsed(r#"open "without end"#), ["open", "without end"]);
        assert_eq!(parsed(r#" "" " " "#), [] as [&str; 0]);
        assert_eq!(parsed("NOT a* OR (b"), ["not", "a*", "or", "(b"]);
    }
}
