//! Which white space belongs between two pieces of text, judged by where they are on the page. Pure.
//!
//! A PDF file has letters at places, not words and lines: a space is often only a gap.

/// A gap of this part of the letters' height is a space.
const SPACE: f32 = 0.15;
/// A step of this part of the height to another base line is a new line.
const LINE: f32 = 0.5;
/// A step of this many heights is a new paragraph.
const PARAGRAPH: f32 = 1.9;

/// Where a piece of text is: from where to where, and how high its letters are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) from: (f32, f32),
    pub(super) to: (f32, f32),
    pub(super) height: f32,
}

/// The text of a page while it is put together.
#[derive(Debug, Default)]
pub(super) struct PageText {
    text: String,
    last: Option<Extent>,
}

impl PageText {
    /// Adds a piece.
    pub(super) fn add(&mut self, piece: &str, extent: Extent) {
        if piece.is_empty() {
            return;
        }
        if let Some(last) = self.last {
            self.separate(last, extent, piece);
        }
        self.text.push_str(piece);
        self.last = Some(extent);
    }

    /// How long it is, in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the text, without white space at the ends of lines.
    pub(super) fn finish(self) -> String {
        let lines: Vec<&str> = self.text.lines().map(str::trim_end).collect();
        lines.join("\n").trim().to_owned()
    }

    fn separate(&mut self, last: Extent, next: Extent, piece: &str) {
        let height = last.height.max(next.height).max(f32::MIN_POSITIVE);
        let down = (last.to.1 - next.from.1).abs() / height;
        let gap = (next.from.0 - last.to.0) / height;
        // Back to the left on the same line: another column, or the same text again for a shadow.
        if down > PARAGRAPH {
            self.text.push_str("\n\n");
        } else if down > LINE || gap < -2.0 {
            self.text.push('\n');
        } else if gap > SPACE && !self.is_separated(piece) {
            self.text.push(' ');
        }
    }

    /// Returns whether there is a space already, or the letters are of a script without spaces.
    fn is_separated(&self, piece: &str) -> bool {
        match (self.text.chars().next_back(), piece.chars().next()) {
            (Some(before), Some(after)) => {
                before.is_whitespace()
                    || after.is_whitespace()
                    || (is_ideograph(before) && is_ideograph(after))
            }
            _ => true,
        }
    }
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(x: f32, to: f32, y: f32) -> Extent {
        Extent { from: (x, y), to: (to, y), height: 10.0 }
    }

    #[test]
    fn places_become_spaces_lines_and_paragraphs() {
        let mut page = PageText::default();
        page.add("Hel", piece(0.0, 15.0, 100.0));
        page.add("lo", piece(15.4, 25.0, 100.0));
        page.add("there", piece(28.0, 50.0, 100.5));
        page.add("next line", piece(0.0, 40.0, 88.0));
        page.add("a column", piece(-40.0, 0.0, 88.0));
        page.add("new paragraph ", piece(0.0, 60.0, 60.0));
        page.add("中", piece(0.0, 10.0, 48.0));
        page.add("文", piece(14.0, 24.0, 48.0));
        page.add("", piece(0.0, 0.0, 0.0));
        assert_eq!(page.finish(), "Hello there\nnext line\na column\n\nnew paragraph\n中文");
    }

    #[test]
    fn places_that_are_no_numbers_do_no_harm() {
        let mut page = PageText::default();
        for y in [f32::NAN, f32::INFINITY, 0.0, -f32::MAX] {
            page.add("x", Extent { from: (y, y), to: (f32::NAN, y), height: 0.0 });
        }
        assert_eq!(page.finish().matches('x').count(), 4);
    }
}
