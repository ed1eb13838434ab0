//! Places in the text: graphemes, words, lines. A unit is one grapheme and one word.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::buffer::Buffer;

impl Buffer {
    /// The place at or after this one where the cursor may be.
    pub(crate) fn standing(&self, place: usize) -> usize {
        let place = place.min(self.text().len());
        if let Some(unit) = self.units().iter().find(|unit| unit.surrounds(place)) {
            return unit.end;
        }
        let place = (place..=self.text().len()).find(|&at| self.text().is_char_boundary(at)).unwrap_or(0);
        let (start, end) = self.stretch(place);
        if place == start || place == end {
            return place;
        }
        let text = &self.text()[start..end];
        let mut cursor = GraphemeCursor::new(place - start, text.len(), true);
        match cursor.is_boundary(text, 0) {
            Ok(false) => cursor.next_boundary(text, 0).ok().flatten().map_or(end, |at| start + at),
            _ => place,
        }
    }

    /// The text between units around a place.
    fn stretch(&self, place: usize) -> (usize, usize) {
        let start = self.units().iter().map(|unit| unit.end).filter(|&end| end <= place).max();
        let end = self.units().iter().map(|unit| unit.start).filter(|&start| start >= place).min();
        (start.unwrap_or(0), end.unwrap_or(self.text().len()))
    }

    /// One step to the left.
    pub(crate) fn before(&self, place: usize) -> usize {
        if let Some(unit) = self.units().iter().find(|unit| unit.end == place && unit.start < place) {
            return unit.start;
        }
        let (start, end) = self.stretch(place);
        let text = &self.text()[start..end];
        let mut cursor = GraphemeCursor::new(place - start, text.len(), true);
        cursor.prev_boundary(text, 0).ok().flatten().map_or(start, |at| start + at)
    }

    /// One step to the right.
    pub(crate) fn after(&self, place: usize) -> usize {
        if let Some(unit) = self.units().iter().find(|unit| unit.start == place && unit.end > place) {
            return unit.end;
        }
        // Nearly all text: two ASCII characters are two graphemes, unless they are an end of line.
        match self.text().as_bytes().get(place..place + 2) {
            Some(&[first, second]) if first.is_ascii() && second.is_ascii() && first != b'\r' => {
                return place + 1;
            }
            _ => {}
        }
        let (start, end) = self.stretch(place);
        let text = &self.text()[start..end];
        let mut cursor = GraphemeCursor::new(place - start, text.len(), true);
        cursor.next_boundary(text, 0).ok().flatten().map_or(end, |at| start + at)
    }

    /// The beginning of the word to the left.
    pub(crate) fn word_before(&self, place: usize) -> usize {
        self.walk_left(self.walk_left(place, Part::Between), Part::Word)
    }

    /// The beginning of what is between spaces to the left.
    pub(crate) fn token_before(&self, place: usize) -> usize {
        self.walk_left(self.walk_left(place, Part::Space), Part::Token)
    }

    /// The end of the word to the right.
    pub(crate) fn word_after(&self, place: usize) -> usize {
        self.walk_right(self.walk_right(place, Part::Between), Part::Word)
    }

    /// The beginning of the line.
    pub(crate) fn line_start(&self, place: usize) -> usize {
        let (mut at, mut before) = (place, self.before(place));
        while before < at && !self.is_line_end(before) {
            (at, before) = (before, self.before(before));
        }
        at
    }

    pub(crate) fn line_end(&self, place: usize) -> usize {
        let mut at = place;
        while at < self.text().len() && !self.is_line_end(at) {
            at = self.after(at);
        }
        at
    }

    fn is_line_end(&self, at: usize) -> bool {
        matches!(&self.text()[at..self.after(at)], "\n" | "\r\n") && !self.is_unit(at)
    }

    /// Does a unit begin here?
    pub(crate) fn is_unit(&self, at: usize) -> bool {
        self.units().iter().any(|unit| unit.start == at && unit.end > at)
    }

    fn walk_left(&self, mut at: usize, part: Part) -> usize {
        let mut is_first = true;
        while at > 0 {
            let before = self.before(at);
            let is_unit = self.is_unit(before);
            if !part.holds(&self.text()[before..at], is_unit) || (is_unit && !is_first) {
                break;
            }
            at = before;
            is_first = false;
            if is_unit {
                break;
            }
        }
        at
    }

    fn walk_right(&self, mut at: usize, part: Part) -> usize {
        let mut is_first = true;
        while at < self.text().len() {
            let after = self.after(at);
            let is_unit = self.is_unit(at);
            if !part.holds(&self.text()[at..after], is_unit) || (is_unit && !is_first) {
                break;
            }
            at = after;
            is_first = false;
            if is_unit {
                break;
            }
        }
        at
    }
}

/// The range that a motion covers.
#[derive(Clone, Copy)]
enum Part {
    /// Letters and digits.
    Word,
    /// Everything else.
    Between,
    /// Spaces.
    Space,
    /// No spaces.
    Token,
}

impl Part {
    fn holds(self, grapheme: &str, is_unit: bool) -> bool {
        let is_space = !is_unit && grapheme.chars().all(char::is_whitespace);
        let is_word = is_unit || grapheme.unicode_words().next().is_some() || grapheme.contains('_');
        match self {
            Self::Word => is_word,
            Self::Between => !is_word,
            Self::Space => is_space,
            Self::Token => !is_space,
        }
    }
}
