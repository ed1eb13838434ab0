//! What goes wrong on the wire: refusals in the family's own shape, broken streams, bytes of any kind.

use std::time::Duration;

use super::{Answer, HttpBody, Reply, Step, StreamAnswer};
use crate::SseFraming;
use crate::step::StreamCut;

impl Reply {
    /// An HTTP error in the shape of the request's family, with a request id.
    pub fn refuse(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        let body = HttpBody::Error { code: code.into(), message: message.into() };
        Self(Answer::Http { status, headers: Vec::new(), body })
    }

    /// An HTTP answer that is a page, as a proxy sends it.
    pub fn html(status: u16, page: impl Into<String>) -> Self {
        let body = HttpBody::Text { content_type: "text/html; charset=utf-8".to_owned(), text: page.into() };
        Self(Answer::Http { status, headers: Vec::new(), body })
    }

    /// An answer without a head of its own: add every byte of it with [`Reply::bytes`].
    pub fn raw_http() -> Self {
        Self(Answer::Raw(Vec::new()))
    }

    /// Answers with one JSON body although a stream was asked for.
    pub fn as_json(mut self) -> Self {
        if let Answer::Stream(StreamAnswer { as_json, .. }) = &mut self.0 {
            *as_json = true;
        }
        self
    }

    /// Sets how the stream is written.
    pub fn framing(mut self, wanted: SseFraming) -> Self {
        if let Answer::Stream(StreamAnswer { framing, .. }) = &mut self.0 {
            *framing = wanted;
        }
        self
    }

    /// Ends the body after this many bytes, wherever that is.
    pub fn cut_after(mut self, bytes: usize, how: StreamCut) -> Self {
        if let Answer::Stream(StreamAnswer { cut, .. }) = &mut self.0 {
            *cut = Some((bytes, how));
        }
        self
    }

    /// Sends a comment, which is no event.
    pub fn comment(self, text: impl Into<String>) -> Self {
        self.step(Step::Comment(text.into()))
    }

    /// Sends what the family keeps a connection alive with.
    pub fn ping(self) -> Self {
        self.step(Step::Ping)
    }

    /// Sends these bytes as they are.
    pub fn bytes(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Bytes(bytes.as_ref().to_vec()))
    }

    /// Sends an error among the events, after the status 200, and ends the stream.
    pub fn error_frame(self, code: impl Into<String>, message: impl Into<String>) -> Self {
        self.step(Step::ErrorFrame { code: code.into(), message: message.into() })
    }

    /// Ends the body here as HTTP does, without an event that says so.
    pub fn end_stream(self) -> Self {
        self.step(Step::End)
    }

    /// Closes the connection here, in the middle of the stream.
    pub fn drop_stream(self) -> Self {
        self.step(Step::Drop)
    }

    /// Sends nothing more from here on, and waits until the client disconnects.
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Sends nothing more from here on but pings, one each `every`.
    pub fn stall_with_pings(self, every: Duration) -> Self {
        self.step(Step::StallWithPings(every))
    }
}
