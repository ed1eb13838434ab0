//! Where the window is, and what is in it.
//!
//! The window is anchored to a row of a cell, or to the end. So text that is added below moves nothing, and the heights of
//! invisible cells are not needed: only visible cells, and those scrolled over, are laid out. Its rows are kept for a while.

use std::ops::Range;
use std::time::Duration;

use super::cell::{Body, KeyPress, Page, is_apart};
use super::code::Budget;
use super::roll::Entry;
use super::{Scroll, Transcript, View};
use talaria_render::{Style, StyledLine, cut};

/// How many cells stay laid out.
const LAID: usize = 200;
/// How much code is read for a frame, in bytes: about a millisecond.
const READ: usize = 250;

/// Anchor of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The end, wherever it moves.
    Bottom,
    /// The beginning, wherever it moves.
    Top,
    /// A row of a cell is the first row of the window. An empty row before the cell counts as one of its rows.
    At(KeyPress, usize),
}

/// An entry and a row of it.
type Position = (usize, usize);

impl Transcript {
    /// The visible rows of a window of this size. `now` is the time since the start of the program.
    pub fn view(&mut self, width: u16, height: u16, now: Duration) -> View {
        self.size = (usize::from(width).max(1), usize::from(height));
        self.now = now;
        self.frame += 1;
        let top = self.settle();
        let mut view =
            View { lines: Vec::new(), above: top != (0, 0), below: 0, needs_older: None, again: false };
        self.shown.clear();
        let mut budget = Budget(READ);
        let (mut at, mut skip) = top;
        while at < self.roll.len() && view.lines.len() < self.size.1 {
            let room = self.size.1 - view.lines.len();
            let height = self.height(at);
            view.again |= self.light(at, skip..skip + room, &mut budget);
            let taken = self.push_rows(at, skip, room, &mut view.lines);
            if skip + taken < height {
                break;
            }
            (at, skip) = (at + 1, 0);
        }
        view.below = self.roll.len() - at;
        view.needs_older = self.near_hole(top.0..at);
        view.again |= self.is_running() && self.is_heard;
        self.forget();
        view
    }

    /// Moves the window.
    pub fn scroll(&mut self, scroll: Scroll) {
        self.stop_unfolding();
        let page = self.size.1.saturating_sub(1).max(1);
        match scroll {
            Scroll::Top => self.anchor = Anchor::Top,
            Scroll::Bottom => self.anchor = Anchor::Bottom,
            Scroll::Up(rows) => self.move_up(rows),
            Scroll::PageUp => self.move_up(page),
            Scroll::Down(rows) => self.move_down(rows),
            Scroll::PageDown => self.move_down(page),
        }
    }

    /// Whether the window follows the end.
    pub fn is_at_bottom(&self) -> bool {
        self.anchor == Anchor::Bottom
    }

    /// The entries in and about the window.
    pub(super) fn view_range(&self) -> Range<usize> {
        let first = match self.anchor {
            Anchor::Bottom => self.roll.len().saturating_sub(self.size.1),
            Anchor::Top => 0,
            Anchor::At(key, _) => self.roll.position(key),
        };
        first..(first + self.size.1).min(self.roll.len())
    }

    /// Where the window begins. At the end of everything it hangs on the end.
    fn settle(&mut self) -> Position {
        let start = match self.anchor {
            Anchor::Bottom => return self.bottom(),
            Anchor::Top => (0, 0),
            Anchor::At(key, row) => {
                let at = self.roll.position(key).min(self.roll.len().saturating_sub(1));
                (at, row.min(self.height(at).saturating_sub(1)))
            }
        };
        let (mut at, mut rows) = (start.0, 0);
        while at < self.roll.len() && rows <= self.size.1 + start.1 {
            rows += self.height(at);
            at += 1;
        }
        // With a hole below, the end in view is not the end of what is being read.
        if rows <= self.size.1 + start.1 && self.is_whole_from(start.0) {
            self.anchor = Anchor::Bottom;
            return self.bottom();
        }
        if self.anchor != Anchor::Top {
            self.hang(start);
        }
        start
    }

    fn bottom(&mut self) -> Position {
        let (mut at, mut rows) = (self.roll.len(), 0);
        while at > 0 && rows < self.size.1 {
            at -= 1;
            rows += self.height(at);
        }
        (at, rows.saturating_sub(self.size.1))
    }

    fn hang(&mut self, (at, row): Position) {
        if let Some(entry) = self.roll.get(at) {
            self.anchor = Anchor::At(entry.key(), row);
        }
    }

    fn move_up(&mut self, mut rows: usize) {
        let (mut at, mut row) = self.settle();
        while rows > row && at > 0 {
            rows -= row + 1;
            at -= 1;
            row = self.height(at).max(1) - 1;
        }
        self.hang((at, row.saturating_sub(rows)));
    }

    fn move_down(&mut self, rows: usize) {
        if self.anchor == Anchor::Bottom {
            return;
        }
        let (mut at, row) = self.settle();
        let mut row = row + rows;
        while at < self.roll.len() {
            let height = self.height(at);
            if row < height {
                return self.hang((at, row));
            }
            row -= height;
            at += 1;
        }
        self.anchor = Anchor::Bottom;
    }

    /// How many rows an entry takes, an empty one before it included.
    fn height(&mut self, at: usize) -> usize {
        let gap = self.gap(at);
        let lights = self.lights.clone();
        let (paint, now, wall) = (self.paint, self.now, self.wall(self.now));
        let (frame, width, all, is_heard) = (self.frame, self.size.0, self.fold, self.is_heard);
        let Some(cell) = self.roll.cell_at(at) else { return usize::from(at < self.roll.len()) };
        if !cell.is_laid() {
            self.laid.push(cell.key);
        }
        cell.seen = frame;
        let fold = cell.fold.unwrap_or(all);
        let page = Page { paint, width, fold, now, wall, is_heard, lights: lights.as_deref() };
        match cell.rows(&page).len() {
            0 => 0,
            rows => rows + gap,
        }
    }

    /// How many empty rows are before an entry.
    fn gap(&self, at: usize) -> usize {
        let section = |at: usize| match self.roll.get(at) {
            Some(Entry::Cell(cell)) => Some(cell.section()),
            _ => None,
        };
        let is_apart = match (at.checked_sub(1).and_then(section), section(at)) {
            (Some(before), Some(after)) => is_apart(before, after),
            _ => false,
        };
        usize::from(is_apart)
    }

    /// Appends rows of an entry that was laid out. How many?
    fn push_rows(&mut self, at: usize, skip: usize, room: usize, out: &mut Vec<StyledLine>) -> usize {
        let gap = self.gap(at);
        let before = out.len();
        let key = match self.roll.get(at) {
            Some(Entry::Cell(cell)) => {
                let rows = cell.laid_rows();
                let empty = std::iter::repeat_n(StyledLine::default(), gap.min(gap * rows.len()));
                out.extend(
                    empty
                        .chain(rows.iter().skip(skip.saturating_sub(gap)).cloned())
                        .skip(skip.min(gap))
                        .take(room),
                );
                Some(cell.key)
            }
            Some(Entry::Hole(_)) => {
                let text = format!("{} earlier events are being fetched", self.paint.sign("…", "..."));
                let text = cut(&text, self.size.0, self.paint);
                out.push(StyledLine::of(self.paint.seen(Style::DIM), text));
                None
            }
            None => None,
        };
        self.shown.resize(out.len(), key);
        out.len() - before
    }

    /// Highlights code in these rows of an entry. Returns whether more work remains.
    fn light(&mut self, at: usize, rows: Range<usize>, budget: &mut Budget) -> bool {
        let gap = self.gap(at);
        let Some(lights) = &self.lights else { return false };
        match self.roll.cell_at(at).map(|cell| &mut cell.body) {
            Some(Body::Message(message)) => {
                message.light(rows.start.saturating_sub(gap)..rows.end.saturating_sub(gap), lights, budget)
            }
            _ => false,
        }
    }

    /// Forgets the rows of cells that were not in view for long.
    fn forget(&mut self) {
        if self.laid.len() <= LAID {
            return;
        }
        let mut laid: Vec<(u64, KeyPress)> = std::mem::take(&mut self.laid)
            .into_iter()
            .filter_map(|key| self.roll.cell(key).map(|cell| (cell.seen, key)))
            .collect();
        laid.sort_unstable();
        laid.dedup();
        let gone = laid.len().saturating_sub(LAID / 2);
        for (seen, key) in laid.drain(..gone) {
            match self.roll.cell(key) {
                Some(cell) if seen < self.frame => cell.forget(),
                _ => self.laid.push(key),
            }
        }
        self.laid.extend(laid.into_iter().map(|(_, key)| key));
    }
}
