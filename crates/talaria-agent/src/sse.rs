//! Server-sent events out of bytes, in any chunking. Borrows from the chunk where an event lies in it whole.
//!
//! Accepts CR, LF and CRLF, a byte order mark, comments, several `data` lines, events without a name, a last event
//! without an empty line (`finish`), and bytes that are no UTF-8: those become U+FFFD and are counted. Knows nothing of
//! what the data means. A frame above the limit ends the decoding; everything else continues.

use std::borrow::Cow;

use memchr::memchr2;

/// The largest frame, name and data together.
pub const LARGEST_FRAME: usize = 32 * 1024 * 1024;

const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// A decoded piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseSignal<'a> {
    /// An event.
    Event {
        /// The name, if one was sent.
        name: Option<&'a str>,
        /// The data, lines joined.
        data: Cow<'a, str>,
    },
    /// A comment: the connection is alive, and nothing happened.
    Comment,
}

/// A frame is larger than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the provider sent an event of more than {limit} bytes")]
pub struct FrameTooLarge {
    /// The limit.
    pub limit: usize,
}

/// Decodes one stream.
#[derive(Debug)]
pub struct SseDecoder {
    /// How many bytes of a byte order mark were seen; `None` after the beginning.
    bom: Option<usize>,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The beginning of a line whose end did not come yet.
    line: Vec<u8>,
    /// Data of the open event that had to be copied.
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    limit: usize,
    bad_bytes: u64,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(LARGEST_FRAME)
    }
}

impl SseDecoder {
    /// Decodes with another limit of a frame.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            bom: Some(0),
            after_cr: false,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: Vec::new(),
            limit,
            bad_bytes: 0,
        }
    }

    /// How many events had bytes that are no UTF-8.
    pub fn repaired(&self) -> u64 {
        self.bad_bytes
    }

    /// Decodes the next bytes.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl FnMut(SseSignal<'_>)) -> Result<(), FrameTooLarge> {
        let mut rest = self.skip_bom(chunk);
        // The one data line of the open event, as long as it lies in this chunk alone.
        let mut single: Option<&[u8]> = None;
        loop {
            if self.after_cr && !rest.is_empty() {
                self.after_cr = false;
                if rest[0] == b'\n' {
                    rest = &rest[1..];
                }
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else { break };
            self.after_cr = rest[end] == b'\r';
            let (head, tail) = (&rest[..end], &rest[end + 1..]);
            rest = tail;
            if self.line.is_empty() {
                self.take_line(head, &mut single, sink)?;
            } else {
                self.line.extend_from_slice(head);
                let line = std::mem::take(&mut self.line);
                let mut copied = None;
                self.spill(&mut single);
                self.take_line(&line, &mut copied, sink)?;
                self.spill(&mut copied);
                self.line = line;
                self.line.clear();
            }
        }
        self.spill(&mut single);
        self.line.extend_from_slice(rest);
        self.check(0)
    }

    /// Ends the stream: an event without an empty line after it is an event, too.
    pub fn finish(&mut self, sink: &mut impl FnMut(SseSignal<'_>)) -> Result<(), FrameTooLarge> {
        if let Some(seen) = self.bom.take() {
            self.line.extend_from_slice(&BOM[..seen]);
        }
        let line = std::mem::take(&mut self.line);
        let mut single = None;
        if !line.is_empty() {
            self.take_line(&line, &mut single, sink)?;
        }
        self.dispatch(&mut single, sink);
        Ok(())
    }

    fn skip_bom<'c>(&mut self, mut chunk: &'c [u8]) -> &'c [u8] {
        while let (Some(seen), Some(&byte)) = (self.bom, chunk.first()) {
            if byte == BOM[seen] {
                chunk = &chunk[1..];
                self.bom = (seen < 2).then_some(seen + 1);
            } else {
                self.line.extend_from_slice(&BOM[..seen]);
                self.bom = None;
            }
        }
        chunk
    }

    fn take_line<'c>(
        &mut self,
        line: &'c [u8],
        single: &mut Option<&'c [u8]>,
        sink: &mut impl FnMut(SseSignal<'_>),
    ) -> Result<(), FrameTooLarge> {
        if line.is_empty() {
            self.dispatch(single, sink);
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(0) => {
                sink(SseSignal::Comment);
                return Ok(());
            }
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" => {
                if self.has_data {
                    self.spill(single);
                    self.data.push(b'\n');
                    self.data.extend_from_slice(value);
                } else {
                    *single = Some(value);
                }
                self.has_data = true;
                self.check(single.map_or(0, <[u8]>::len))
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn dispatch(&mut self, single: &mut Option<&[u8]>, sink: &mut impl FnMut(SseSignal<'_>)) {
        if self.has_data {
            let bytes = single.unwrap_or(&self.data);
            // Almost all data is UTF-8; the lossy way alone takes ten times as long for that.
            let data = match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => {
                    self.bad_bytes += 1;
                    String::from_utf8_lossy(bytes)
                }
            };
            let name = std::str::from_utf8(&self.name).ok().filter(|name| !name.is_empty());
            sink(SseSignal::Event { name, data });
        }
        *single = None;
        self.has_data = false;
        self.data.clear();
        self.name.clear();
    }

    fn spill(&mut self, single: &mut Option<&[u8]>) {
        if let Some(bytes) = single.take() {
            self.data.extend_from_slice(bytes);
        }
    }

    fn check(&self, more: usize) -> Result<(), FrameTooLarge> {
        let size = self.line.len() + self.data.len() + self.name.len() + more;
        if size > self.limit { Err(FrameTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> Vec<String> {
        let mut decoder = SseDecoder::default();
        let mut seen = Vec::new();
        let mut sink = |signal: SseSignal<'_>| {
            seen.push(match signal {
                SseSignal::Event { name, data } => format!("{}={data}", name.unwrap_or_default()),
                SseSignal::Comment => "comment".to_owned(),
            });
        };
        for chunk in chunks {
            decoder.feed(chunk, &mut sink).unwrap();
        }
        decoder.finish(&mut sink).unwrap();
        seen
    }

    #[test]
    fn every_form_of_a_line_end_is_read() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["event: a", "data: 1", "", ": ping", "data: 2", "data: 3", "", "data:4"].join(end);
            assert_eq!(decode([text.as_bytes()]), ["a=1", "comment", "=2\n3", "=4"], "{end:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_and_unknown_fields_are_skipped_and_a_bad_byte_ends_nothing() {
        let text = b"\xEF\xBB\xBFid: 7\nretry: 10\ndata: a\xFFb\n\nevent: only a name\n\ndata: next\n\n";
        assert_eq!(decode([&text[..]]), ["=a\u{FFFD}b", "=next"]);
        assert_eq!(decode([&b"\xEF\xBBdata"[..]]), [] as [&str; 0], "half a mark is ordinary bytes");
    }

    #[test]
    fn a_frame_above_the_limit_is_an_error_in_every_form() {
        for text in ["data: 123456789", "data: 123456\ndata: 123456\n", "data: 123456789\n\n"] {
            for size in [1, 3, 100] {
                let mut decoder = SseDecoder::with_limit(8);
                let fed = text.as_bytes().chunks(size).try_for_each(|chunk| decoder.feed(chunk, &mut |_| {}));
                assert_eq!(fed, Err(FrameTooLarge { limit: 8 }), "{text:?} in pieces of {size}");
            }
        }
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec![
            "data: {\"a\":1}",
            "data:",
            "data",
            "data:  two",
            "event: x",
            "event:",
            ": c",
            ":",
            "",
            "",
            "id: 1",
            "other",
            "data: \u{e4}\u{1f600}",
            "\u{feff}",
        ]);
        let end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
        let bom = prop::sample::select(vec![&b""[..], &BOM[..], &BOM[..2]]);
        (bom, prop::collection::vec((line, end), 0..20), prop::collection::vec(any::<u8>(), 0..3)).prop_map(
            |(bom, lines, junk)| {
                let mut bytes = bom.to_vec();
                lines.iter().for_each(|(line, end)| {
                    bytes.extend_from_slice(line.as_bytes());
                    bytes.extend_from_slice(end.as_bytes());
                });
                bytes.extend(junk);
                bytes
            },
        )
    }

    proptest! {
        #[test]
        fn any_chunking_has_the_same_events(bytes in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(decode(chunks), decode([&bytes[..]]));
            prop_assert_eq!(decode(bytes.chunks(1)), decode([&bytes[..]]));
        }
    }
}
