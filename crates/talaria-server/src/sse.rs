//! Reads an event stream (`text/event-stream`): bytes in, messages out, however the bytes are cut.
//!
//! Sans-io. Lines end with LF, CR or CRLF; a message ends with an empty line; an incomplete message at the end of the
//! stream is dropped, because it is sent again when the stream is resumed.

use std::collections::VecDeque;

/// One message of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseMessage {
    /// Its `id`, if it has one.
    pub id: Option<String>,
    /// Its `data`; several lines of it are joined with a newline.
    pub data: String,
}

/// Turns bytes into messages.
#[derive(Debug)]
pub struct Decoder {
    line: Vec<u8>,
    /// The last byte ended a line as CR: a LF that follows belongs to it.
    after_cr: bool,
    id: Option<String>,
    data: Option<String>,
    /// The bytes of the message that is being read.
    size: usize,
    limit: usize,
    ready: VecDeque<SseMessage>,
}

/// A message is longer than agreed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of the event stream is longer than {0} bytes")]
pub struct TooLong(pub usize);

impl Decoder {
    /// Makes a decoder for messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        let ready = VecDeque::new();
        Self { line: Vec::new(), after_cr: false, id: None, data: None, size: 0, limit, ready }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        if !bytes.is_empty() && std::mem::take(&mut self.after_cr) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.take(&bytes[..end])?;
            self.end_line();
            let crlf = bytes[end..].starts_with(b"\r\n");
            self.after_cr = bytes[end..] == *b"\r";
            bytes = &bytes[end + 1 + usize::from(crlf)..];
        }
        self.take(bytes)
    }

    /// Returns the next whole message.
    pub fn next_message(&mut self) -> Option<SseMessage> {
        self.ready.pop_front()
    }

    fn take(&mut self, part: &[u8]) -> Result<(), TooLong> {
        self.size += part.len();
        if self.size > self.limit {
            return Err(TooLong(self.limit));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let id = self.id.take();
                if let Some(data) = self.data.take() {
                    self.ready.push_back(SseMessage { id, data });
                }
                self.size = 0;
            }
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" => self.id = Some(value.to_owned()),
            // A comment keeps the connection alive; `event` and `retry` are not used here.
            _ => {}
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut decoder = Decoder::new(10_000);
        for chunk in chunks {
            decoder.feed(chunk).unwrap();
        }
        std::iter::from_fn(|| decoder.next_message()).map(|message| (message.id, message.data)).collect()
    }

    fn message(id: &str, data: &str) -> (Option<String>, String) {
        (Some(id.to_owned()), data.to_owned())
    }

    #[test]
    fn every_kind_of_line_ending_ends_a_line() {
        for end in ["\n", "\r", "\r\n"] {
            let text =
                ["id: 1", "data: a", "data:b", ": alive", "", "", ": alive", "", "id:2", "data", "", ""];
            let text = text.join(end);
            assert_eq!(read(&[text.as_bytes()]), [message("1", "a\nb"), message("2", "")], "{end:?}");
        }
    }

    #[test]
    fn a_message_that_is_not_ended_is_not_given_out() {
        assert_eq!(read(&[b"id: 1\ndata: whole\n\nid: 2\ndata: half\n"]), [message("1", "whole")]);
    }

    #[test]
    fn a_message_without_an_end_in_sight_is_refused() {
        let mut decoder = Decoder::new(100);
        for _ in 0..20 {
            decoder.feed(b"data: 89\n\n").unwrap();
        }
        decoder.feed(&[b'x'; 100]).unwrap();
        assert_eq!(decoder.feed(b"x"), Err(TooLong(100)));
    }

    proptest! {
        #[test]
        fn any_chunking_of_the_same_bytes_gives_the_same_messages(
            lines in prop::collection::vec(("(id: [0-9]|data: ?[a-zé: ]{0,5}|:x|event: y||)", "\n|\r|\r\n"), 0..30),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end.as_str()]).collect();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[bytes]));
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(read(&single), read(&[bytes]));
        }
    }
}
