//! How wide columns are, and text that is broken into them. For tables of others (`table`) and lists of ours (`sheet`).

use unicode_width::UnicodeWidthStr;

use super::flow::Flow;
use super::paint::Paint;
use super::styled::{StyledLine, StyledSpan, StyledText};

/// A column is narrower only if all of its cells are.
pub(crate) const NARROW: usize = 10;
/// How far the lines of a cell are indented after its first, where it has its own lines.
pub(crate) const HANG: usize = 2;
/// The longest line between two rows that are written cell by cell.
const RULE: usize = 24;

/// Distributes the width: every column has its preferred width if there is room, else the wide ones shrink, but none
/// below its minimum. `None` if that is not enough.
pub(crate) fn share(wanted: &[usize], least: &[usize], room: usize) -> Option<Vec<usize>> {
    if wanted.iter().sum::<usize>() <= room {
        return Some(wanted.to_vec());
    }
    let at_most = |level: usize| -> Vec<usize> {
        wanted.iter().zip(least).map(|(wanted, least)| level.clamp(*least.min(wanted), *wanted)).collect()
    };
    (0..=room).rev().map(at_most).find(|widths| widths.iter().sum::<usize>() <= room)
}

/// Breaks a cell between words. Every line but the first is indented.
pub(crate) fn broken(cell: &[StyledSpan], room: usize, indent: usize, paint: Paint) -> Vec<StyledLine> {
    let mut out = StyledText::default();
    Flow::within(paint, room, indent).put(cell, &mut out);
    out.into_lines()
}

/// How wide the longest word is.
pub(crate) fn longest_word(text: &str) -> usize {
    text.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// Separator of two rows that are written cell by cell.
pub(crate) fn rule(room: usize, paint: Paint) -> String {
    paint.sign("─", "-").repeat(room.min(RULE))
}
