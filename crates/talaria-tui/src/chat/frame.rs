//! One picture of the screen: rows of text and where the cursor is. No colour is decided here.
//!
//! A frame always has exactly the rows of the window, and none is wider than it.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use talaria_render::{StyledLine, StyledSpan};

/// Content of the screen. Equal frames look the same, so that nothing needs to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatFrame {
    /// The rows, from top to bottom.
    pub lines: Vec<StyledLine>,
    /// Where the cursor is, as column and row; without it the cursor is not shown.
    pub cursor: Option<(u16, u16)>,
}

impl ChatFrame {
    /// Cuts rows to the window and adds what is missing below.
    pub(super) fn fitted(
        mut lines: Vec<StyledLine>,
        cursor: Option<(usize, usize)>,
        columns: u16,
        rows: u16,
    ) -> Self {
        let (width, height) = (usize::from(columns), usize::from(rows));
        lines.resize_with(height, StyledLine::default);
        let lines = lines.into_iter().map(|line| fit(line, width)).collect();
        let last = |size: u16| size.saturating_sub(1);
        let cursor = cursor.filter(|_| columns > 0 && rows > 0).map(|(column, row)| {
            let within = |place: usize, size: u16| u16::try_from(place).unwrap_or(u16::MAX).min(last(size));
            (within(column, columns), within(row, rows))
        });
        Self { lines, cursor }
    }

    /// The text of the rows, without looks and without spaces at their ends.
    pub fn text(&self) -> String {
        let rows = self.lines.iter().map(|line| line.text().trim_end().to_owned() + "\n");
        rows.collect()
    }
}

/// Cuts what does not fit; a wide character is never cut in half.
pub(super) fn fit(line: StyledLine, width: usize) -> StyledLine {
    if line.width() <= width {
        return line;
    }
    let (mut cut, mut used) = (StyledLine::default(), 0);
    for StyledSpan { text, style } in line.spans {
        let mut end = 0;
        for piece in text.graphemes(true) {
            if used + piece.width() > width {
                cut.push(style, &text[..end]);
                return cut;
            }
            used += piece.width();
            end += piece.len();
        }
        cut.push(style, &text);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use talaria_render::Style;

    #[test]
    fn a_frame_is_as_large_as_the_window() {
        let long = StyledLine::of(Style::PLAIN, "世界世界");
        let frame = ChatFrame::fitted(vec![long.clone(), long.clone(), long], Some((9, 9)), 5, 2);
        assert_eq!((frame.text().as_str(), frame.cursor), ("世界\n世界\n", Some((4, 1))));
        assert_eq!(ChatFrame::fitted(Vec::new(), Some((0, 0)), 0, 3).cursor, None);
        assert_eq!(ChatFrame::fitted(Vec::new(), None, 9, 3).lines.len(), 3);
    }
}
