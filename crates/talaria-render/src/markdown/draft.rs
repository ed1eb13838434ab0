//! The unsettled part of a streamed text: laid out, shown, and erased.

use super::super::inline;
use super::super::sanitize::sanitize;
use super::super::style::Style;
use super::super::styled::{StyledSpan, StyledText};
use super::{LONGEST_PIECE, Markdown, Place};

/// A draft of more rows could scroll out of reach of the cursor.
pub(super) const DRAFT_ROWS: usize = 8;

impl Markdown {
    /// The unsettled part, laid out from the current position. Long drafts lose their middle.
    pub fn draft(&self) -> StyledText {
        // Copies only the position on the row: the held text may be long, and a draft is built at every flush.
        let mut flow = self.flow.clone();
        let mut out = StyledText::default();
        match self.place {
            Place::Text(style) => flow.put(&inline::spans(&self.pending, style), &mut out),
            Place::Code(fence) if self.code.is_some() => {
                if !self.pending.is_empty() && !fence.may_be_closed_by(&self.pending) {
                    self.push_gap(&mut out);
                    self.push_code(fence, &mut out);
                }
            }
            _ if self.table.is_empty() && self.pending.is_empty() => {}
            _ => {
                self.push_gap(&mut out);
                let last = self.table.len().saturating_sub(DRAFT_ROWS);
                let held = self.table[last..].iter().chain([&self.pending]);
                for (index, line) in held.filter(|line| !line.is_empty()).enumerate() {
                    if index > 0 {
                        flow.end(&mut out);
                    }
                    flow.begin(0, "", Style::PLAIN, &mut out);
                    flow.put(&[span(tail(line), self.base)], &mut out);
                }
            }
        }
        out.drop_middle(DRAFT_ROWS);
        out
    }
}

fn span(text: &str, style: Style) -> StyledSpan {
    StyledSpan { text: sanitize(text).into_owned(), style }
}

/// The end of a long line; more of it would not be shown.
fn tail(line: &str) -> &str {
    let start = line.len().saturating_sub(LONGEST_PIECE);
    (start..line.len()).find_map(|at| line.get(at..)).unwrap_or(line)
}
