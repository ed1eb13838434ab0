//! Reads an event stream (`text/event-stream`): bytes in, messages out, however the bytes are cut.
//!
//! Sans-io. Lines end with LF, CR or CRLF; a message ends with an empty line; what is not ended when the stream is, is
//! dropped, because it comes again when the stream is resumed.

use std::collections::VecDeque;

/// One message of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
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
    /// How many bytes the message under way has.
    size: usize,
    limit: usize,
    ready: VecDeque<Message>,
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
        if self.after_cr && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
        }
        self.after_cr &= bytes.is_empty();
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.take(&bytes[..end])?;
            self.end_line();
            let crlf = bytes[end..].starts_with(b"\r\n");
            self.after_cr = bytes[end..] == *b"\r";
            bytes = &bytes[end + 1 + usize::from(crlf)..];
        }
        self.take(bytes)
    }

    /// Gives the next whole message.
    pub fn next_message(&mut self) -> Option<Message> {
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
                    self.ready.push_back(Message { id, data });
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
