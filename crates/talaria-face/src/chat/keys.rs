//! The keys, for people: what F1 shows.

use super::line::Line;
use crate::render::{Paint, Style, cut};

const KEYS: [(&str, &str); 15] = [
    ("Enter", "send; while a turn runs: steer or queue (F3 changes that)"),
    ("Esc", "close what is open, else interrupt the turn"),
    ("Ctrl-C", "interrupt; without a turn: clear the input; twice: leave"),
    ("Ctrl-D", "leave, if the input is empty; nothing stops"),
    ("Ctrl-G", "answer the request that is shown, or back to the input"),
    ("F2", "requests that wait, of other conversations too"),
    ("PgUp PgDn", "scroll; Shift-Up and Shift-Down by a row"),
    ("Ctrl-End", "to the end; Ctrl-Home to the beginning"),
    ("Ctrl-O", "unfold or fold the last step; Alt-O all of them"),
    ("Up Down", "what was said before"),
    ("Ctrl-R", "search in what was said before"),
    ("Alt-Enter", "a new line"),
    ("Tab", "complete a command or a path"),
    ("/ @ !", "a command, a file, a shell command"),
    ("F1 or ?", "these keys"),
];

/// The rows, at most `height`.
pub(super) fn rows(width: usize, height: usize, paint: Paint) -> Vec<Line> {
    let title = Line::of(Style::BOLD, cut("Keys (any key closes this; /help lists commands)", width, paint));
    let row = |(key, meaning): &(&str, &str)| {
        let mut line = Line::of(Style::BOLD, format!("  {key:<10}"));
        line.push(Style::PLAIN, meaning);
        line
    };
    std::iter::once(title).chain(KEYS.iter().map(row)).take(height).collect()
}
