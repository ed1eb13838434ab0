//! The keys, for people: the one table that F1 and `/help` show. What they do is `typing` and `composer`.

use super::line::Line;
use crate::render::{Paint, Style, cut};

/// Each key with what it does, the most important first.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; while a turn runs: steer or queue, as the screen says"),
    ("Esc", "close what is open, else stop the running turn"),
    ("Ctrl-C", "stop the turn; if none runs: clear the input; twice: leave"),
    ("Ctrl-D", "leave, if the input is empty; nothing stops"),
    ("Ctrl-G", "go between a request and the input"),
    ("F1, ?", "show the keys"),
    ("F2", "show what waits, of other conversations too"),
    ("F3", "choose whether Enter steers or queues"),
    ("PageUp, PageDown", "scroll; Shift-Up, Shift-Down: by a row"),
    ("Ctrl-Home, Ctrl-End", "go to the beginning or the end of the conversation"),
    ("Ctrl-O, Alt-O", "unfold or fold the last step, or all of them"),
    ("Up, Down", "move between rows, then through what was sent before"),
    ("Ctrl-R", "search in what was sent before"),
    ("Tab", "choose from a list and put it in"),
    ("Alt-Enter, Ctrl-J", "begin a new line; so does a backslash before Enter"),
    ("Ctrl-A, Ctrl-E", "go to the beginning or the end of the line"),
    ("Alt-B, Alt-F", "go a word back or on"),
    ("Ctrl-W, Alt-D", "cut the word before or behind the cursor"),
    ("Ctrl-U, Ctrl-K", "cut the line up to or from the cursor"),
    ("Ctrl-Y", "put in what was cut"),
    ("Ctrl-_, Alt-_", "take a change back, make it again"),
    ("Ctrl-Z", "put the program aside; `fg` comes back"),
];

/// The rows, at most `height`.
pub(super) fn rows(width: usize, height: usize, paint: Paint) -> Vec<Line> {
    let title = "Keys (any key closes this; /help lists commands)";
    let title = Line::of(Style::BOLD, cut(title, width, paint));
    let row = |(key, meaning): &(&str, &str)| {
        let mut line = Line::of(Style::BOLD, format!("  {key:<20}"));
        line.push(Style::PLAIN, meaning);
        line
    };
    std::iter::once(title).chain(KEYS.iter().map(row)).take(height).collect()
}
