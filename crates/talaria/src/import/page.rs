//! The lines of a report: heads, items under them, numbers and names in words.

use std::fmt::Write as _;

use talaria_render::plain_line;

/// More of these are not listed in a report; `--json` has all.
pub(super) const SHOWN: usize = 20;

/// Lines of which nothing can do harm in a terminal.
#[derive(Default)]
pub(super) struct ImportPage(pub(super) String);

impl ImportPage {
    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.0, "{}", plain_line(text));
    }

    pub(super) fn head(&mut self, text: &str) {
        let _ = writeln!(self.0, "\n{text}");
    }

    pub(super) fn item(&mut self, text: &str) {
        let _ = writeln!(self.0, "  {}", plain_line(text));
    }
}

/// A number with its noun.
pub(super) fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// The first of many names.
pub(super) fn some(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
