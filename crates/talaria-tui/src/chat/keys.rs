//! The keys, for people: the one table that F1 and `/help` show. `typing` and `composer` implement them.

use super::contract::Code;
use super::line::fitting;
use super::welcome::wrapped;
use talaria_render::{Paint, Style, StyledLine, cut};

/// How wide the column of the keys is.
const COLUMN: usize = 20;
/// In narrower windows a key is on the row above its description.
const NARROW: usize = 50;

/// Each key with what it does, the most important first.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; during a turn: steer or queue, as shown"),
    ("Esc", "close a list or panel, else stop the running turn"),
    ("Ctrl-C", "stop a ! command, else the turn, else clear; twice: leave"),
    ("Ctrl-D", "leave, if the input is empty; turns continue"),
    ("y s a n r x, 1-9", "answer a request: the keys beside its choices"),
    ("Up, Down, Enter", "mark a choice of a request, and take the marked one"),
    ("u", "accept a long patch after the list of its files"),
    ("Ctrl-G", "switch between a request and the input"),
    ("F1, ?", "show the keys"),
    ("F2", "show the open requests of all conversations"),
    ("Shift-Tab", "switch between the modes auto and approval-required"),
    ("F3", "choose whether Enter steers or queues"),
    ("PageUp, PageDown", "scroll; Shift-Up, Shift-Down: by a row"),
    ("Ctrl-Home, Ctrl-End", "go to the beginning or the end of the conversation"),
    ("Ctrl-O, Alt-O", "expand the last step, again: the one before it; or all"),
    ("Up, Down", "move between rows, then through sent messages"),
    ("Ctrl-V", "insert the image or the text of the clipboard"),
    ("Ctrl-R", "search sent messages"),
    ("Tab", "choose from a list and insert it"),
    ("Alt-Enter, Ctrl-J", "start a new line; so does a backslash before Enter"),
    ("Ctrl-A, Ctrl-E", "go to the beginning or the end of the line"),
    ("Alt-B, Alt-F", "go back or forward one word"),
    ("Ctrl-W, Alt-D", "cut the word before or after the cursor"),
    ("Ctrl-U, Ctrl-K", "cut the line up to or from the cursor"),
    ("Ctrl-Y", "paste what was cut"),
    ("Ctrl-_, Alt-_", "undo, redo"),
    ("Ctrl-Z", "suspend the program; `fg` returns"),
];

/// The table on the screen, and how far it was scrolled.
#[derive(Debug, Default)]
pub(super) struct Keys {
    top: usize,
    /// As it was shown last.
    height: usize,
    total: usize,
}

impl Keys {
    /// The rows, at most `height`.
    pub(super) fn rows(&mut self, width: usize, height: usize, paint: Paint) -> Vec<StyledLine> {
        let all: Vec<StyledLine> = KEYS.iter().flat_map(|(key, meaning)| row(key, meaning, width)).collect();
        (self.total, self.height) = (all.len(), height.saturating_sub(1));
        self.top = self.top.min(self.total.saturating_sub(self.height));
        let last = (self.top + self.height).min(self.total);
        let place = format!("Keys {}-{last}/{}", self.top + 1, self.total);
        let title = if self.overflows() {
            let words = ["arrows and pages scroll, another key closes", "arrows scroll", "arrows"];
            let room = width.saturating_sub(place.len() + 3);
            format!("{place} ({})", fitting(&words, room))
        } else {
            "Keys (any key closes this; /help lists commands)".to_owned()
        };
        let title = StyledLine::of(Style::BOLD, cut(&title, width, paint));
        std::iter::once(title).chain(all.into_iter().skip(self.top)).take(height).collect()
    }

    /// Takes a key that scrolls; where all is seen, none does.
    pub(super) fn scroll(&mut self, code: Code) -> bool {
        let page = self.height.max(1);
        let top = match code {
            _ if !self.overflows() => return false,
            Code::Up => self.top.saturating_sub(1),
            Code::Down => self.top + 1,
            Code::PageUp => self.top.saturating_sub(page),
            Code::PageDown => self.top + page,
            Code::Home => 0,
            Code::End => self.total,
            _ => return false,
        };
        self.top = top.min(self.total.saturating_sub(self.height));
        true
    }

    fn overflows(&self) -> bool {
        self.total > self.height
    }
}

/// A key with what it does; in narrow windows that is below it.
fn row(key: &str, meaning: &str, width: usize) -> Vec<StyledLine> {
    let (mut line, indent) = if width < NARROW {
        (StyledLine::of(Style::BOLD, format!("  {key}")), 4)
    } else {
        (StyledLine::of(Style::BOLD, format!("  {key:<COLUMN$}")), COLUMN + 2)
    };
    let mut lines = Vec::new();
    if width < NARROW {
        lines.push(std::mem::replace(&mut line, StyledLine::of(Style::PLAIN, " ".repeat(indent))));
    }
    for words in wrapped(meaning, width.saturating_sub(indent).max(1)) {
        line.push(Style::PLAIN, &words);
        lines.push(std::mem::replace(&mut line, StyledLine::of(Style::PLAIN, " ".repeat(indent))));
    }
    lines
}
