//! The first words of a longer text, without their marks: reasoning in one line. Pure.

use super::inline::spans;
use super::style::Style;

/// The first line that has words, as plain text on one line.
pub(crate) fn of(text: &str) -> Option<String> {
    text.lines().map(words).find(|line| !line.is_empty())
}

fn words(line: &str) -> String {
    let line = line.trim().trim_start_matches('#').trim_start();
    let text: String = spans(line, Style::PLAIN).into_iter().map(|span| span.text).collect();
    // A mark whose other half is missing is no word either.
    text.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | ' ')).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_has_words_and_no_marks() {
        let shown = |text: &str| of(text).unwrap_or_default();
        assert_eq!(shown("**Looking** at `src`\n\nand so on"), "Looking at src");
        assert_eq!(shown("\n## Plan\nfirst"), "Plan");
        assert_eq!(shown("**half of\nit**"), "half of");
        assert_eq!(shown("a \u{1b}[2J b"), "a ␛[2J b");
        assert_eq!(of(" \n** **\n"), None);
    }
}
