//! How a turn ended: the words of `render`, with time and tokens.

use talaria_core::outcome::Report;

use super::cell::Page;
use super::wrap::{Break, rows};
use crate::chat::line::Line;
use crate::render::notice;

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

    /// Its rows.
    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<Line> {
        let text = notice::outcome(&self.report, self.took, page.paint);
        if text.is_empty() { Vec::new() } else { rows(&text, page.width, 2, Break::Words) }
    }
}
