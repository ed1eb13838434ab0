//! The part of a question that is seen, and how much of it has been seen.
//!
//! An accepted request must have been on the screen: a jump to the end does not count for skipped rows.

use std::ops::Range;

/// Which rows of how many are shown.
#[derive(Debug, Default)]
pub(super) struct Page {
    top: usize,
    height: usize,
    total: usize,
    width: usize,
    /// The rows that were laid out last, until they are on the screen.
    laid_out: Option<Range<usize>>,
    /// Which rows have been shown.
    seen: Vec<bool>,
    is_whole: bool,
}

impl Page {
    /// Lays the rows into a window. With another width the rows differ, so that counting restarts.
    pub(super) fn show(&mut self, total: usize, width: usize, height: usize) -> Range<usize> {
        if width != self.width {
            *self = Self { width, is_whole: self.is_whole, ..Self::default() };
        }
        (self.total, self.height) = (total, height);
        self.seen.resize(total, false);
        self.top = self.top.min(total.saturating_sub(height));
        let shown = self.top..(self.top + height).min(total);
        self.laid_out = Some(shown.clone());
        shown
    }

    /// The last layout is on the screen: marks its rows as seen.
    pub(super) fn was_drawn(&mut self) -> bool {
        let Some(shown) = self.laid_out.take() else { return false };
        self.seen.get_mut(shown).into_iter().flatten().for_each(|seen| *seen = true);
        self.is_whole |= !self.seen.contains(&false);
        true
    }

    /// The first rows that have not been on the screen, and are not among those that are laid out for it.
    pub(super) fn unseen(&self) -> Option<Range<usize>> {
        let is_unseen = |row: &usize| {
            let is_laid_out = self.laid_out.as_ref().is_some_and(|shown| shown.contains(row));
            !is_laid_out && self.seen.get(*row) == Some(&false)
        };
        let first = (0..self.total).find(is_unseen).filter(|_| !self.is_whole)?;
        Some(first..(first..self.total).find(|row| !is_unseen(row)).unwrap_or(self.total))
    }

    /// The last layout was not drawn.
    pub(super) fn was_hidden(&mut self) {
        self.laid_out = None;
    }

    /// Have the first rows been on the screen?
    pub(super) fn has_seen(&self, rows: usize) -> bool {
        self.is_whole || self.seen.get(..rows).is_some_and(|seen| !seen.contains(&false))
    }

    /// Has everything been on the screen?
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// How many rows there are.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Whether there are more rows than fit.
    pub(super) fn overflows(&self) -> bool {
        self.total > self.height
    }

    /// Is the last row shown?
    pub(super) fn is_at_end(&self) -> bool {
        self.top + self.height >= self.total
    }

    /// Scrolls to the first unseen row.
    pub(super) fn go_on(&mut self) {
        self.top = self.unseen().map_or(self.top, |unseen| unseen.start);
    }

    /// Moves by rows.
    pub(super) fn scroll(&mut self, rows: isize) {
        self.top = self.top.saturating_add_signed(rows).min(self.total.saturating_sub(self.height));
    }

    /// The number of rows in a page.
    pub(super) fn height(&self) -> isize {
        isize::try_from(self.height).unwrap_or(1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Page {
        fn shown(&mut self, total: usize, width: usize, height: usize) -> Range<usize> {
            let shown = self.show(total, width, height);
            assert!(self.was_drawn());
            shown
        }
    }

    #[test]
    fn what_was_laid_out_and_not_drawn_was_not_seen() {
        let mut page = Page::default();
        page.show(3, 80, 4);
        assert!(!page.is_whole());
        page.was_hidden();
        assert!(!page.was_drawn() && !page.is_whole());
    }

    #[test]
    fn only_what_was_shown_counts() {
        let mut page = Page::default();
        assert_eq!(page.shown(10, 80, 4), 0..4);
        page.scroll(isize::MAX);
        assert_eq!(page.shown(10, 80, 4), 6..10);
        assert!(!page.is_whole(), "rows 4 and 5 were jumped over");
        assert_eq!(page.unseen(), Some(4..6));
        page.go_on();
        assert_eq!(page.show(10, 80, 4), 4..8);
        assert_eq!(page.unseen(), None, "they are about to be shown");
        assert!(!page.is_whole());
        assert!(page.was_drawn() && page.is_whole());
    }

    #[test]
    fn another_width_begins_anew_unless_all_was_seen() {
        let mut page = Page::default();
        page.shown(10, 80, 8);
        page.shown(40, 20, 8);
        page.scroll(3);
        page.shown(40, 20, 8);
        assert!(!page.is_whole());
        page.shown(8, 100, 8);
        assert!(page.is_whole());
        page.shown(40, 20, 8);
        assert!(page.is_whole(), "it was seen whole in another width");
    }
}
