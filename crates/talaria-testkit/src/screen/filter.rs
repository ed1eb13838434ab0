//! What differs from run to run, replaced by words that never differ; the columns of the rest stay where they are.
//!
//! A word of another width than what it replaces takes the difference from the next wide gap in the row, or from the
//! last one before it: columns and right borders do not move when 9.9s becomes 10.0s. Text that the program has wrapped
//! inside an id or a path is not found: choose a terminal that is wide enough.

use regex::Regex;

use super::{CellStyle, ScreenCell};

/// Ids, process ids, ports, times and the version; the last dots of a spinner.
const RULES: [(&str, &str); 10] = [
    (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "00000000-0000-0000-0000-000000000000",
    ),
    // Ids of one day begin alike, so they are shortened to more or fewer digits.
    (r"\b0[0-9a-f]{7}-[0-9a-f]{4}\b", "00000000-0000"),
    (r"\b(?P<what>pid|process) [0-9]+\b", "$what 00000"),
    (r"\b127\.0\.0\.1:[0-9]+\b", "127.0.0.1:00000"),
    (r"\b20[0-9]{2}-[01][0-9]-[0-3][0-9]\b", "2026-01-01"),
    (r"\b[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?Z?\b", "00:00"),
    (r"\b([0-9]+h ?)?([0-9]+m ?)?[0-9]+(\.[0-9]+)?s\b", "0.0s"),
    (r"\b[0-9]+ms\b", "0.0s"),
    (concat!(r"\b(?P<what>[Tt]alaria v?)", env!("CARGO_PKG_VERSION"), r"\b"), "${what}0.0.0"),
    (r"[\u{2801}-\u{28ff}]", "⠿"),
];

/// The replacements for one scene.
#[derive(Clone, Debug)]
pub struct Filter {
    rules: Vec<(Regex, String)>,
}

impl Filter {
    /// Replaces what differs in every scene.
    pub fn new() -> Self {
        let rule = |(pattern, word): (&str, &str)| (compiled(pattern), word.to_owned());
        Self { rules: RULES.into_iter().map(rule).collect() }
    }

    /// Replaces a text of this scene as well, such as its folder; texts that were named first win.
    pub fn replace(mut self, text: &str, word: &str) -> Self {
        let named = self.rules.len() - RULES.len();
        self.rules.insert(named, (compiled(&regex::escape(text)), word.replace('$', "$$")));
        self
    }

    /// Replaces in one line of text, without regard to columns.
    pub fn text(&self, line: &str) -> String {
        let replaced = |line: String, (pattern, word): &(Regex, String)| {
            pattern.replace_all(&line, word.as_str()).into_owned()
        };
        self.rules.iter().fold(line.to_owned(), replaced)
    }

    /// Replaces in a row of that many columns.
    pub(super) fn apply(&self, mut row: Vec<ScreenCell>, columns: u16) -> Vec<ScreenCell> {
        for (pattern, word) in &self.rules {
            let mut from = 0;
            while let Some((start, end, word)) = next(&row, pattern, word, from) {
                let style = row.get(start).map(|cell| cell.style).unwrap_or_default();
                let shrunk = width(&row[start..end]) - i32::try_from(word.chars().count()).unwrap_or(0);
                from = start + word.chars().count();
                row.splice(start..end, word.chars().map(|char| plain(char, style)));
                absorb(&mut row, start, from, shrunk);
            }
        }
        fit(&mut row, columns);
        row
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self::new()
    }
}

fn compiled(pattern: &str) -> Regex {
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(cause) => panic!("{pattern:?} is no pattern: {cause}"),
    }
}

/// The next match from a cell on that is not already what it shall become: its cells, and the word for it.
fn next(row: &[ScreenCell], pattern: &Regex, word: &str, from: usize) -> Option<(usize, usize, String)> {
    let text: String = row.iter().map(|cell| cell.text.as_str()).collect();
    let starts: Vec<usize> = row
        .iter()
        .scan(0, |at, cell| {
            let start = *at;
            *at += cell.text.len();
            Some(start)
        })
        .collect();
    let cell_at = |byte: usize| starts.partition_point(|start| *start < byte);
    pattern.captures_iter(&text).find_map(|captures| {
        let whole = captures.get(0)?;
        let (start, end) = (cell_at(whole.start()), cell_at(whole.end()));
        let mut new = String::new();
        captures.expand(word, &mut new);
        (start >= from && new != whole.as_str()).then_some((start, end, new))
    })
}

/// Returns columns to, or takes them from, the next gap, else the last one before.
fn absorb(row: &mut Vec<ScreenCell>, start: usize, end: usize, shrunk: i32) {
    let is_gap = |row: &[ScreenCell], at: usize| {
        row.get(at).is_some_and(|cell| cell.text == " ")
            && row.get(at + 1).is_some_and(|cell| cell.text == " ")
    };
    let gap = (end..row.len()).find(|at| is_gap(row, *at));
    // A gap before is used from its left end, so that all of it can be taken.
    let before = (0..start.saturating_sub(1)).rev().skip_while(|at| !is_gap(row, *at));
    let gap = gap.or_else(|| before.take_while(|at| is_gap(row, *at)).last());
    let Some(gap) = gap else { return };
    let style = row[gap].style;
    for _ in 0..shrunk.max(0) {
        row.insert(gap, plain(' ', style));
    }
    for _ in 0..(-shrunk).max(0) {
        if is_gap(row, gap) {
            row.remove(gap);
        }
    }
}

/// Makes the row as wide as the screen again.
fn fit(row: &mut Vec<ScreenCell>, columns: u16) {
    while width(row) > i32::from(columns) {
        row.pop();
    }
    while width(row) < i32::from(columns) {
        row.push(plain(' ', CellStyle::default()));
    }
}

fn plain(char: char, style: CellStyle) -> ScreenCell {
    ScreenCell { text: char.into(), width: 1, style }
}

fn width(cells: &[ScreenCell]) -> i32 {
    cells.iter().map(|cell| i32::from(cell.width)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::Screen;
    use super::*;

    fn filtered(text: &str) -> String {
        let filter = Filter::new().replace("/tmp/t8sK/work", "/work").replace("$HOME", "$0");
        Screen::drawn(1, 60, text.as_bytes()).filtered(&filter).text()
    }

    #[test]
    fn what_differs_from_run_to_run_is_replaced() {
        for (text, expected) in [
            ("in 019a8c3e-1234-7abc-8def-0123456789ab.", "in 00000000-0000-0000-0000-000000000000."),
            ("session 019a8c3e-1234 is", "session 00000000-0000 is"),
            ("engine: process 123, pid 4567890", "engine: process 00000, pid 00000"),
            ("at 127.0.0.1:8080/x", "at 127.0.0.1:00000/x"),
            ("since 2027-11-16 13:33:29", "since 2026-01-01 00:00"),
            ("took 1m 20s, 12.5s, 3s and 420ms", "took 0.0s, 0.0s, 0.0s and 0.0s"),
            (concat!("Talaria ", env!("CARGO_PKG_VERSION"), " here"), "Talaria 0.0.0 here"),
            ("⠹ working", "⠿ working"),
            ("in /tmp/t8sK/work now, $HOME", "in /work now, $0"),
            ("codex 0.166.0, 7 files, 12 tokens", "codex 0.166.0, 7 files, 12 tokens"),
        ] {
            assert_eq!(filtered(text), expected);
        }
    }

    #[test]
    fn columns_and_borders_stay_whatever_was_replaced() {
        for time in ["3s", "12.5s", "1m 20s"] {
            assert_eq!(
                filtered(&format!("│ {:<10}done in 日本{:>8}│", time, "")),
                "│ 0.0s      done in 日本        │"
            );
            let right = format!("name{:>56}", format!("{time} │"));
            assert_eq!(filtered(&right), format!("name{:>56}", "0.0s │"));
        }
        let full = "x".repeat(54);
        assert_eq!(filtered(&format!("{full} 12.5s")), format!("{full} 0.0s"), "without a gap");
        assert_eq!(filtered(&format!("7s {full} yz")), format!("0.0s {full}"), "the row keeps its width");
    }

    #[test]
    fn the_look_of_a_word_stays() {
        let screen = Screen::drawn(1, 20, b"\x1b[32mpid 12345678\x1b[m x").filtered(&Filter::new());
        assert_eq!(screen.text(), "pid 00000 x");
        assert_eq!(screen.style_of("00000").unwrap().foreground, vt100::Color::Idx(2));
        assert_eq!(screen.style_of("x").unwrap(), CellStyle::default());
    }
}
