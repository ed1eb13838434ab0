//! How a turn ended: the words of `render`, with time and tokens.

use talaria_core::outcome::{Outcome, Report};

use super::cell::Page;
use super::wrap::{Break, rows};
use crate::chat::line::Line;
use crate::render::notice;

/// A window in which the tokens of a turn take more than one row.
const NARROW: usize = 60;

/// The end of a turn.
#[derive(Debug)]
pub(super) struct End {
    report: Report,
    took: Option<u64>,
}

impl End {
    /// Takes what was reported, and how long it took in milliseconds, where that is known.
    pub(super) fn new(report: &Report, took: Option<u64>) -> Self {
        // The answer stands above already.
        Self { report: Report { text: None, ..report.clone() }, took }
    }

    /// Its rows. In a narrow window a turn that did its work has none: what it cost would take the place of what it
    /// said, and stands in the status line.
    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<Line> {
        let is_news = self.report.declined > 0 || !matches!(self.report.outcome, Outcome::Completed);
        if page.width < NARROW && !is_news {
            return Vec::new();
        }
        let text = notice::outcome(&self.report, self.took, page.paint);
        if text.is_empty() { Vec::new() } else { rows(&text, page.width, 2, Break::Words) }
    }
}
