//! Splits a byte stream into lines, for Codex on stdio.
//!
//! All state is in the decoder, so a cancelled read loses nothing and any chunking of the same bytes produces the same
//! lines. A line over the limit is not kept: it is reported once, with its length, and reading continues after its end.
//! No I/O here; `talaria-engine` feeds it.

use memchr::memchr;

/// One line of a stream, or the notice that one was too long to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The bytes of a line without its end.
    Whole(Vec<u8>),
    /// A line was longer than the limit and was thrown away.
    TooLong {
        /// How long it was.
        bytes: usize,
    },
}

/// Collects bytes and returns lines.
#[derive(Debug)]
pub struct LineDecoder {
    buffer: Vec<u8>,
    /// Bytes of `buffer` already given out as lines.
    consumed: usize,
    /// Bytes of `buffer` already searched for a line end.
    searched: usize,
    /// Length so far of a line that is being thrown away.
    discarded: usize,
    limit: usize,
}

impl LineDecoder {
    /// Makes a decoder that keeps lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), consumed: 0, searched: 0, discarded: 0, limit }
    }

    /// Appends the next bytes of the stream. Call `next_line` until it returns nothing, so that the buffer stays
    /// small.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.consumed > 0 {
            self.buffer.drain(..self.consumed);
            self.searched -= self.consumed;
            self.consumed = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete line. Empty lines are passed over; a trailing carriage return is not part of a line.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(at) = memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                self.drop_overlong_start();
                return None;
            };
            let end = self.searched + at;
            let line = &self.buffer[self.consumed..end];
            let bytes = self.discarded + line.len();
            let line = (bytes <= self.limit).then(|| line.strip_suffix(b"\r").unwrap_or(line).to_vec());
            self.consumed = end + 1;
            self.searched = end + 1;
            self.discarded = 0;
            match line {
                None => return Some(Line::TooLong { bytes }),
                Some(line) if line.is_empty() => {}
                Some(line) => return Some(Line::Whole(line)),
            }
        }
    }

    /// Returns what is left when the stream ended without a line end.
    pub fn finish(&mut self) -> Option<Line> {
        self.push(b"\n");
        self.next_line()
    }

    /// Keeps memory bounded: a line that is already over the limit is counted, not stored.
    fn drop_overlong_start(&mut self) {
        let held = self.buffer.len() - self.consumed;
        if self.discarded + held > self.limit {
            self.discarded += held;
            self.buffer = Vec::new();
            self.consumed = 0;
            self.searched = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(limit: usize, chunks: &[&[u8]]) -> Vec<Line> {
        let mut decoder = LineDecoder::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            decoder.push(chunk);
            lines.extend(std::iter::from_fn(|| decoder.next_line()));
        }
        lines.extend(decoder.finish());
        lines
    }

    #[test]
    fn a_line_over_the_limit_is_reported_once_and_the_next_one_is_whole() {
        let lines = decode(8, &[b"short\n0123456789", b"0123456789\nafter\n"]);
        assert_eq!(
            lines,
            [Line::Whole(b"short".to_vec()), Line::TooLong { bytes: 20 }, Line::Whole(b"after".to_vec())]
        );
    }

    #[test]
    fn an_overlong_line_is_not_held_in_memory() {
        let mut decoder = LineDecoder::new(1024);
        for _ in 0..1000 {
            decoder.push(&[b'x'; 1024]);
            assert_eq!(decoder.next_line(), None);
            assert!(decoder.buffer.capacity() <= 4096);
        }
        decoder.push(b"\n");
        assert_eq!(decoder.next_line(), Some(Line::TooLong { bytes: 1_024_000 }));
    }

    proptest! {
        #[test]
        fn any_chunking_of_the_same_bytes_gives_the_same_lines(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..300),
            cuts in prop::collection::vec(0usize..300, 0..20),
            limit in 0usize..40,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(decode(limit, &chunks), decode(limit, &[&bytes]));
        }
    }
}
