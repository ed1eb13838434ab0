//! Words of ours that have to fit a row.

use unicode_width::UnicodeWidthStr;

/// Of the same words, the longest first, those that fit; the last ones if none do.
pub(super) fn fitting<'a>(words: &[&'a str], width: usize) -> &'a str {
    let fits = words.iter().find(|words| words.width() <= width);
    fits.or(words.last()).copied().unwrap_or_default()
}
