//! Text of any length in bounded memory: its beginning, its end, and how much is missing between them.
//!
//! The kept part depends on the text alone, not on its chunking.

/// Represents a piece that was missed.
const CUT: &str = " … ";

/// The beginning and the end of a text.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    head: String,
    /// Up to twice as much as is shown, so that its front is not cut at every piece.
    tail: String,
    total: usize,
    line_ends: usize,
    limits: Limits,
}

/// Maximum number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Of the beginning.
    pub(super) head: usize,
    /// Of the end.
    pub(super) tail: usize,
}

/// The loaded part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// The beginning.
    pub(super) head: &'a str,
    /// Bytes that are gone.
    pub(super) missing: usize,
    /// The end; follows the beginning directly if nothing is missing.
    pub(super) tail: &'a str,
}

impl Kept {
    /// Nothing yet.
    pub(super) fn new(limits: Limits) -> Self {
        Self { head: String::new(), tail: String::new(), total: 0, line_ends: 0, limits }
    }

    /// Keeps a whole text.
    pub(super) fn of(text: &str, limits: Limits) -> Self {
        let mut kept = Self::new(limits);
        kept.push(text);
        kept
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: &str) {
        let mut rest = piece;
        if self.total == self.head.len() {
            let room = self.limits.head.saturating_sub(self.head.len());
            let (fits, behind) = piece.split_at(piece.floor_char_boundary(room));
            self.head.push_str(fits);
            rest = behind;
        }
        self.total += piece.len();
        self.line_ends += piece.bytes().filter(|&byte| byte == b'\n').count();
        // Of a giant piece only the end would stay.
        let skip = rest.len().saturating_sub(self.limits.tail.saturating_mul(2));
        if skip > 0 {
            self.tail.clear();
            rest = &rest[rest.ceil_char_boundary(skip)..];
        }
        self.tail.push_str(rest);
        if self.tail.len() > self.limits.tail.saturating_mul(2) {
            let cut = self.shown_tail_start();
            self.tail.drain(..cut);
        }
    }

    /// Prepends earlier text.
    pub(super) fn push_front(&mut self, earlier: &str) {
        let mut whole = Self::of(earlier, self.limits);
        let parts = self.parts();
        whole.push(parts.head);
        if parts.missing > 0 {
            // The gap remains: the parts before and after it are not contiguous.
            whole.total += parts.missing;
            whole.tail.clear();
        }
        whole.push(parts.tail);
        whole.line_ends = self.line_ends + earlier.bytes().filter(|&byte| byte == b'\n').count();
        *self = whole;
    }

    /// The loaded parts.
    pub(super) fn parts(&self) -> Parts<'_> {
        let tail = &self.tail[self.shown_tail_start()..];
        Parts { head: &self.head, missing: self.total - self.head.len() - tail.len(), tail }
    }

    /// How long the whole text is, in bytes.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Position of a gap, if the next piece is not contiguous; none if it is marked already.
    pub(super) fn cut(&self) -> &'static str {
        if self.total == 0 || self.last().ends_with(CUT) { "" } else { CUT }
    }

    /// The last part.
    fn last(&self) -> &str {
        let parts = self.parts();
        if parts.tail.is_empty() { parts.head } else { parts.tail }
    }

    /// How many lines the whole text has.
    pub(super) fn lines(&self) -> usize {
        let last = self.last();
        self.line_ends + usize::from(!last.is_empty() && !last.ends_with('\n'))
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        self.head.capacity() + self.tail.capacity()
    }

    /// The loaded text.
    pub(super) fn text(&self) -> String {
        let parts = self.parts();
        format!("{}{}", parts.head, parts.tail)
    }

    /// The same, with a word about what is missing.
    pub(super) fn shown(&self) -> String {
        let parts = self.parts();
        match missing_note(parts.missing) {
            Some(note) => format!("{}\n{note}\n{}", parts.head, parts.tail),
            None => self.text(),
        }
    }

    fn shown_tail_start(&self) -> usize {
        self.tail.ceil_char_boundary(self.tail.len().saturating_sub(self.limits.tail))
    }
}

/// Text of a gap.
pub(super) fn missing_note(bytes: usize) -> Option<String> {
    (bytes > 0).then(|| format!("... {} are not shown here; /export writes everything ...", size(bytes)))
}

/// Bytes, for people.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits { head: 4, tail: 4 };

    #[test]
    fn a_short_text_is_kept_whole() {
        let kept = Kept::of("abcdefgh", SMALL);
        assert_eq!((kept.text().as_str(), kept.parts().missing), ("abcdefgh", 0));
    }

    #[test]
    fn of_a_long_text_the_beginning_and_the_end_are_kept() {
        let kept = Kept::of("abcdefghijklm\nop", SMALL);
        assert_eq!(kept.parts(), Parts { head: "abcd", missing: 8, tail: "m\nop" });
        assert_eq!((kept.total(), kept.lines()), (16, 2));
    }

    #[test]
    fn any_chunking_keeps_the_same() {
        let text = "ab世界\n世 lorem ipsum dolor 界界\nx";
        let whole = Kept::of(text, SMALL);
        for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let mut kept = Kept::of(&text[..cut], SMALL);
            kept.push(&text[cut..]);
            assert_eq!((kept.parts(), kept.lines()), (whole.parts(), whole.lines()), "cut at {cut}");
        }
        let mut single = Kept::new(SMALL);
        text.chars().for_each(|c| single.push(c.encode_utf8(&mut [0; 4])));
        assert_eq!(single.parts(), whole.parts());
    }

    #[test]
    fn fifty_megabytes_take_little_room() {
        let limits = Limits { head: 1000, tail: 1000 };
        let mut kept = Kept::new(limits);
        (0..50).for_each(|_| kept.push(&"x".repeat(1_000_000)));
        assert!(kept.weight() < 10_000, "{}", kept.weight());
        assert_eq!(size(kept.parts().missing), "49.9 MB");
    }

    #[test]
    fn what_came_before_is_put_in_front() {
        let mut kept = Kept::of("cd", SMALL);
        kept.push_front("ab");
        assert_eq!(kept.text(), "abcd");
        let mut kept = Kept::of("abcdefghijklm", SMALL);
        kept.push_front("1\n");
        assert_eq!(kept.parts(), Parts { head: "1\nab", missing: 7, tail: "jklm" });
        assert_eq!(kept.lines(), 2);
    }
}
