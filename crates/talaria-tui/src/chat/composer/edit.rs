//! What each key does to the text.

use super::fragment::Fragment;
use super::layout::Layout;
use super::undo::Reason;
use super::{Code, Composer, KeyPress, Reaction};

impl Composer {
    /// Takes a key that is for the text.
    pub(super) fn edit_key(&mut self, key: KeyPress) -> Reaction {
        match (key.code, key.ctrl, key.alt) {
            (Code::Enter, _, _) if key.alt || key.shift || key.ctrl => self.type_in("\n"),
            (Code::Enter, ..) => self.enter(),
            (Code::Char('j'), true, _) => self.type_in("\n"),
            (Code::Char(c), false, false) if !c.is_control() => self.type_in(c.encode_utf8(&mut [0; 4])),
            (Code::Char(c), true, false) => self.ctrl(c, key),
            (Code::Char(c), false, true) => self.alt(c),
            (Code::Backspace, ctrl, alt) if ctrl || alt => self.cut_to(Place::WordBefore),
            (Code::Backspace, ..) => self.delete(Place::Before),
            (Code::Delete, ctrl, alt) if ctrl || alt => self.cut_to(Place::WordAfter),
            (Code::Delete, ..) => self.delete(Place::After),
            (Code::Left, ctrl, alt) if ctrl || alt => self.go(Place::WordBefore),
            (Code::Left, ..) => self.go(Place::Before),
            (Code::Right, ctrl, alt) if ctrl || alt => self.go(Place::WordAfter),
            (Code::Right, ..) => self.go(Place::After),
            (Code::Home, true, _) => self.go(Place::Start),
            (Code::End, true, _) => self.go(Place::End),
            (Code::Home, ..) => self.go(Place::LineStart),
            (Code::End, ..) => self.go(Place::LineEnd),
            (Code::Up, false, false) => self.up(),
            (Code::Down, false, false) => self.down(),
            (Code::Tab, false, false) => self.reopen(),
            _ => Reaction::NotMine,
        }
    }

    fn ctrl(&mut self, c: char, key: KeyPress) -> Reaction {
        match c.to_ascii_lowercase() {
            'a' => self.go(Place::LineStart),
            'b' => self.go(Place::Before),
            'd' if self.buffer.is_empty() => Reaction::NotMine,
            'd' => self.delete(Place::After),
            'e' => self.go(Place::LineEnd),
            'f' => self.go(Place::After),
            'h' => self.delete(Place::Before),
            'k' => self.cut_to(Place::LineEnd),
            'n' => self.down(),
            'p' => self.up(),
            'r' => self.begin_search(),
            'u' => self.cut_to(Place::LineStart),
            'v' => Reaction::WantClipboard,
            'w' => self.cut_to(Place::TokenBefore),
            'y' => self.yank(),
            'z' if key.shift || c == 'Z' => self.redo(),
            // Terminals send the same byte for Ctrl with `_`, `/` and `7`.
            'z' | '_' | '/' | '7' => self.undo(),
            _ => Reaction::NotMine,
        }
    }

    fn alt(&mut self, c: char) -> Reaction {
        match c {
            'b' | 'B' => self.go(Place::WordBefore),
            'f' | 'F' => self.go(Place::WordAfter),
            'd' | 'D' => self.cut_to(Place::WordAfter),
            'z' | 'Z' | '_' | '/' => self.redo(),
            _ => Reaction::NotMine,
        }
    }

    fn type_in(&mut self, text: &str) -> Reaction {
        self.settle();
        let reason = if text == "\n" { Reason::Other } else { Reason::Typing };
        self.buffer.insert(Fragment::plain(text), reason);
        self.refresh()
    }

    fn enter(&mut self) -> Reaction {
        let cursor = self.buffer.cursor();
        let before = self.buffer.before(cursor);
        let is_continued = before < cursor
            && &self.buffer.text()[before..cursor] == "\\"
            && !self.buffer.is_unit(before)
            && self.buffer.line_end(cursor) == cursor;
        if !is_continued {
            return self.send();
        }
        self.settle();
        self.buffer.replace(before..cursor, Fragment::plain("\n"), Reason::Other);
        self.refresh()
    }

    fn go(&mut self, to: Place) -> Reaction {
        let place = self.place(to);
        (self.aim, self.kills, self.popup) = (None, false, None);
        if place == self.buffer.cursor() {
            return Reaction::Nothing;
        }
        self.buffer.move_to(place);
        Reaction::Changed
    }

    fn delete(&mut self, to: Place) -> Reaction {
        let (here, there) = (self.buffer.cursor(), self.place(to));
        self.settle();
        if here == there {
            return Reaction::Nothing;
        }
        self.buffer.cut(here.min(there)..here.max(there), Reason::Other);
        self.refresh()
    }

    /// Cuts text that Ctrl-Y pastes again. Consecutive cuts are joined.
    fn cut_to(&mut self, to: Place) -> Reaction {
        let (here, mut there) = (self.buffer.cursor(), self.place(to));
        if here == there && matches!(to, Place::LineEnd) {
            there = self.buffer.after(here);
        }
        let goes_on = self.kills;
        self.settle();
        if here == there {
            return Reaction::Nothing;
        }
        let mut cut = self.buffer.cut(here.min(there)..here.max(there), Reason::Other);
        if goes_on {
            let before = std::mem::take(&mut self.killed);
            let (mut whole, end) = if there < here { (cut, before) } else { (before, cut) };
            whole.push(end);
            cut = whole;
        }
        (self.killed, self.kills) = (cut, true);
        self.refresh()
    }

    fn yank(&mut self) -> Reaction {
        self.settle();
        if self.killed.text.is_empty() {
            return Reaction::Nothing;
        }
        self.buffer.insert(self.killed.clone(), Reason::Other);
        self.refresh()
    }

    fn undo(&mut self) -> Reaction {
        self.settle();
        self.popup = None;
        if !self.buffer.undo() {
            return Reaction::Nothing;
        }
        self.forget_draft();
        Reaction::Changed
    }

    fn redo(&mut self) -> Reaction {
        self.settle();
        self.popup = None;
        if self.buffer.redo() { Reaction::Changed } else { Reaction::Nothing }
    }

    fn up(&mut self) -> Reaction {
        let layout = Layout::of(&self.buffer, self.columns, self.look);
        match layout.row_of(self.buffer.cursor()).checked_sub(1) {
            Some(row) => self.enter_row(&layout, row),
            None => self.recall_older(),
        }
    }

    fn down(&mut self) -> Reaction {
        let layout = Layout::of(&self.buffer, self.columns, self.look);
        let row = layout.row_of(self.buffer.cursor()) + 1;
        if row < layout.count() { self.enter_row(&layout, row) } else { self.recall_newer() }
    }

    fn enter_row(&mut self, layout: &Layout, row: usize) -> Reaction {
        (self.kills, self.popup) = (false, None);
        let column = layout.column_of(&self.buffer, self.buffer.cursor(), self.look);
        let aim = *self.aim.get_or_insert(column);
        self.buffer.move_to(layout.place_at(&self.buffer, row, aim, self.look));
        Reaction::Changed
    }

    fn place(&self, to: Place) -> usize {
        let (buffer, here) = (&self.buffer, self.buffer.cursor());
        match to {
            Place::Before => buffer.before(here),
            Place::After => buffer.after(here),
            Place::WordBefore => buffer.word_before(here),
            Place::WordAfter => buffer.word_after(here),
            Place::TokenBefore => buffer.token_before(here),
            Place::LineStart => buffer.line_start(here),
            Place::LineEnd => buffer.line_end(here),
            Place::Start => 0,
            Place::End => buffer.text().len(),
        }
    }
}

/// Where a key leads.
#[derive(Clone, Copy)]
enum Place {
    Before,
    After,
    WordBefore,
    WordAfter,
    TokenBefore,
    LineStart,
    LineEnd,
    Start,
    End,
}
