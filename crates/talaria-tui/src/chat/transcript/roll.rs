//! All cells in their order, and the holes where cells were, or could be fetched.
//!
//! Memory is bounded here: cells far from the view are replaced by a hole that records their events. Cells that further
//! events may change are kept, so that filling a hole again is complete. A hole takes one row and requests its events when
//! it is near the view.

use std::collections::{HashMap, VecDeque};
use std::ops::{Range, RangeInclusive};

use talaria_core::ids::{ItemId, ThreadId, TicketId};

use super::cell::{Cell, KeyPress};

/// Memory in bytes above which cells far from the view are dropped.
const HEAVY: usize = 8 * 1024 * 1024;
/// How much is left then.
const LIGHT: usize = 4 * 1024 * 1024;
/// Cells on both sides of the view, and at the end, that stay.
const NEAR: usize = 150;
/// Where cells that no event made are.
pub(super) const LOCAL: u32 = 1000;
/// Where what was typed and not confirmed is: below everything.
pub(super) const PENDING: i64 = i64::MAX;

/// By what events find the cell that they change. Ids are only unique within a turn; a sub-agent that works on in another turn
/// is reported there, where it is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Handle {
    Item(Option<i64>, ItemId),
    Ticket(TicketId),
    Plan(Option<i64>),
    Agent(Option<i64>, ThreadId),
    /// Something that is reported once in a turn, and then counted.
    News(Option<i64>, String),
}

/// A cell, or a hole.
#[derive(Debug)]
pub(super) enum Entry {
    Cell(Box<Cell>),
    Hole(Hole),
}

/// Events that are not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    /// The first number.
    pub(super) first: i64,
    /// The last number.
    pub(super) last: i64,
}

impl Entry {
    /// The first event that is not before it. A cell without an event follows the event of its number.
    fn first(&self) -> i64 {
        let (seq, sub) = self.key();
        if sub >= LOCAL { seq.saturating_add(1) } else { seq }
    }

    /// Its place.
    pub(super) fn key(&self) -> KeyPress {
        match self {
            Self::Cell(cell) => cell.key,
            Self::Hole(hole) => (hole.first, 0),
        }
    }
}

/// All cells.
#[derive(Debug, Default)]
pub(super) struct Roll {
    entries: VecDeque<Entry>,
    index: HashMap<Handle, KeyPress>,
}

impl Roll {
    /// How many there are, holes included.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entry at a place.
    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// The cell at a place.
    pub(super) fn cell_at(&mut self, at: usize) -> Option<&mut Cell> {
        match self.entries.get_mut(at) {
            Some(Entry::Cell(cell)) => Some(cell),
            _ => None,
        }
    }

    pub(super) fn cells(&mut self) -> impl DoubleEndedIterator<Item = &mut Cell> {
        self.entries.iter_mut().filter_map(|entry| match entry {
            Entry::Cell(cell) => Some(&mut **cell),
            Entry::Hole(_) => None,
        })
    }

    /// Everything, holes included.
    pub(super) fn entries(&mut self) -> impl DoubleEndedIterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// Index of a position, or of the next cell.
    pub(super) fn position(&self, key: KeyPress) -> usize {
        self.entries.partition_point(|entry| entry.key() < key)
    }

    /// The cell at a place.
    pub(super) fn cell(&mut self, key: KeyPress) -> Option<&mut Cell> {
        let at = self.position(key);
        self.cell_at(at).filter(|cell| cell.key == key)
    }

    /// The cell that a handle leads to.
    pub(super) fn find(&mut self, handle: &Handle) -> Option<&mut Cell> {
        let key = *self.index.get(handle)?;
        self.cell(key)
    }

    /// Lets a handle lead to a cell.
    pub(super) fn bind(&mut self, handle: Handle, key: KeyPress) {
        self.index.insert(handle, key);
    }

    /// Inserts a cell at its position, after a cell that is there already.
    pub(super) fn insert(&mut self, mut cell: Cell) -> KeyPress {
        let mut at = self.position(cell.key);
        while self.entries.get(at).is_some_and(|entry| entry.key() == cell.key) {
            cell.key.1 += 1;
            at += 1;
        }
        let key = cell.key;
        self.entries.insert(at, Entry::Cell(Box::new(cell)));
        key
    }

    /// The place after an event and after all remarks at it, also if earlier ones have gone.
    pub(super) fn behind(&self, seq: i64) -> KeyPress {
        let next = self.position((seq.saturating_add(1), 0));
        let last = next.checked_sub(1).and_then(|at| self.entries.get(at)).map(Entry::key);
        match last {
            Some((at, sub)) if at == seq && sub >= LOCAL => (seq, sub.saturating_add(1)),
            _ => (seq, LOCAL),
        }
    }

    /// Takes a cell out.
    pub(super) fn remove(&mut self, key: KeyPress) -> Option<Cell> {
        let at = self.position(key);
        if !matches!(self.entries.get(at), Some(Entry::Cell(cell)) if cell.key == key) {
            return None;
        }
        self.index.retain(|_, to| *to != key);
        match self.entries.remove(at) {
            Some(Entry::Cell(cell)) => Some(*cell),
            _ => None,
        }
    }

    /// Says that there may be events which are not here.
    pub(super) fn dig(&mut self, hole: Hole) {
        if hole.first <= hole.last {
            let at = self.position((hole.first, 0));
            self.entries.insert(at, Entry::Hole(hole));
        }
    }

    /// The hole that an event lies in.
    pub(super) fn hole(&self, seq: i64) -> Option<Hole> {
        let at = self.position((seq, 1)).checked_sub(1)?;
        match self.entries.get(at) {
            Some(Entry::Hole(hole)) if (hole.first..=hole.last).contains(&seq) => Some(*hole),
            _ => None,
        }
    }

    /// Says that of a hole these events are here now.
    pub(super) fn fill(&mut self, hole: Hole, here: RangeInclusive<i64>) {
        let at = self.position((hole.first, 0));
        if matches!(self.entries.get(at), Some(Entry::Hole(there)) if *there == hole) {
            self.entries.remove(at);
            self.dig(Hole { first: hole.first, last: *here.start() - 1 });
            self.dig(Hole { first: here.end().saturating_add(1), last: hole.last });
        }
    }

    /// Lets cells go that are far from those in view, if there is too much.
    pub(super) fn trim(&mut self, view: Range<usize>) {
        let mut weight: usize = self.cells().map(|cell| cell.weight()).sum();
        if weight <= HEAVY {
            return;
        }
        let above = 0..view.start.saturating_sub(NEAR);
        let end = self.len().saturating_sub(NEAR);
        let below = (view.end + NEAR).min(end)..end;
        // From below first, so that the places above stay.
        self.evict(below, &mut weight);
        self.evict(above, &mut weight);
    }

    fn evict(&mut self, range: Range<usize>, weight: &mut usize) {
        let Some(cut) = self.entries.get(range.end).map(Entry::first) else { return };
        let before =
            range.start.checked_sub(1).and_then(|at| self.entries.get(at)).map(|entry| entry.key().0);
        let mut kept: Vec<Entry> = Vec::new();
        let mut gone: Vec<KeyPress> = Vec::new();
        for entry in self.entries.drain(range.clone()) {
            let hole = match entry {
                Entry::Hole(hole) => hole,
                Entry::Cell(cell) => {
                    // Unconfirmed input counts as open, too: no event could restore it.
                    let may_change = cell.is_open() || cell.last >= cut;
                    if *weight <= LIGHT || may_change {
                        kept.push(Entry::Cell(cell));
                        continue;
                    }
                    *weight -= cell.weight().min(*weight);
                    gone.push(cell.key);
                    // No event restores it.
                    if cell.key.1 >= LOCAL {
                        continue;
                    }
                    Hole { first: cell.key.0, last: cell.key.0 }
                }
            };
            match kept.last_mut() {
                Some(Entry::Hole(last)) => last.last = hole.last.max(last.last),
                _ => kept.push(Entry::Hole(hole)),
            }
        }
        stretch(&mut kept, before, cut);
        self.index.retain(|_, key| gone.binary_search(key).is_err());
        for entry in kept.into_iter().rev() {
            self.entries.insert(range.start, entry);
        }
    }
}

/// A hole reaches from one neighbour to the other: events that made no cell, or belonged to one that is gone, are in it too.
fn stretch(entries: &mut [Entry], before: Option<i64>, cut: i64) {
    let mut next = cut;
    for entry in entries.iter_mut().rev() {
        if let Entry::Hole(hole) = entry {
            hole.last = hole.last.max(next - 1);
        }
        next = entry.first();
    }
    let mut before = before;
    for entry in entries {
        if let (Entry::Hole(hole), Some(before)) = (&mut *entry, before) {
            hole.first = hole.first.min(before + 1);
        }
        before = Some(entry.key().0);
    }
}
