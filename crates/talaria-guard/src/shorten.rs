//! Shortens long text: its beginning, with an ellipsis. Lengths are characters; text for terminal columns is cut where it is
//! drawn.

use std::borrow::Cow;

/// Shortens text to `most` characters, the ellipsis included.
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    let at = |characters: usize| text.char_indices().nth(characters).map(|(at, _)| at);
    match at(most) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(format!("{}…", &text[..at(most.saturating_sub(1)).unwrap_or(0)])),
    }
}

/// The same on one line, with single spaces. Of a long text only the beginning is looked at.
pub fn shorten_line(text: &str, most: usize) -> String {
    let beginning = &text[..text.floor_char_boundary(most.saturating_mul(8))];
    let mut line = beginning.split_whitespace().collect::<Vec<_>>().join(" ");
    if beginning.len() < text.len() {
        line.push('…');
    }
    shorten(&line, most).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_ends_with_an_ellipsis_within_the_limit() {
        assert_eq!(shorten("", 0), "");
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("abcd", 3), "ab…");
        assert_eq!(shorten("äöüß", 3), "äö…");
        assert_eq!(shorten("ab", 1), "…");
    }

    #[test]
    fn a_long_line_ends_with_an_ellipsis_and_only_its_beginning_is_looked_at() {
        assert_eq!(shorten_line(" a\n\tb ", 9), "a b");
        assert_eq!(shorten_line(&"x".repeat(9), 9), "x".repeat(9));
        assert_eq!(shorten_line(&"x".repeat(10), 9), format!("{}…", "x".repeat(8)));
        assert_eq!(shorten_line(&"é".repeat(10), 9), format!("{}…", "é".repeat(8)));
        // Words after a long gap are beyond what is looked at.
        assert_eq!(shorten_line(&format!("a{}b", " ".repeat(72)), 9), "a…");
        assert_eq!(shorten_line(&format!("a{}b", " ".repeat(63)), 9), "a b");
    }
}
