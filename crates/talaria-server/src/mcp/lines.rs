//! One JSON-RPC message a line, within a limit. An invalid message is answered with an error, never with silence: a
//! client would wait for the answer indefinitely.
//!
//! A line is written as a whole or not at all, also when its sender is gone by then.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The longest line that is read: as much as the engine takes.
pub(super) const LINE_LIMIT: usize = 16 * 1024 * 1024;
/// A buffer that has grown larger than this is not kept.
const KEPT: usize = 256 * 1024;

/// The lines between a client and us.
pub(super) struct Lines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The rest of this line is skipped.
    is_too_long: bool,
    output: Arc<Mutex<W>>,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    /// `gone` is cancelled when the client closes its side.
    pub(super) fn new(input: R, output: W, gone: CancellationToken) -> Self {
        let output = Arc::new(Mutex::new(output));
        Self { input: BufReader::new(input), line: Vec::new(), is_too_long: false, output, gone }
    }

    /// Reads a line into `self.line`; `None` at the end. Nothing is lost when this is cancelled.
    async fn read_line(&mut self) -> Option<LineLength> {
        loop {
            let chunk = match self.input.fill_buf().await {
                Ok(chunk) if !chunk.is_empty() => chunk,
                // An unfinished line at the end is no message.
                _ => return None,
            };
            let end = memchr::memchr(b'\n', chunk);
            let taken = end.map_or(chunk.len(), |end| end + 1);
            if self.line.len() + taken > LINE_LIMIT {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(&chunk[..taken]);
            }
            self.input.consume(taken);
            if end.is_some() {
                let was_too_long = std::mem::take(&mut self.is_too_long);
                return Some(if was_too_long { LineLength::TooLong } else { LineLength::Whole });
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Complaint> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        let read = if text.is_empty() { Ok(None) } else { read(text).map(Some) };
        if line.capacity() <= KEPT {
            self.line = line;
            self.line.clear();
        }
        read
    }

    fn complain(&self, Complaint { error, id }: Complaint) {
        let reply: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::error(error, id);
        let output = Arc::clone(&self.output);
        // A separate task: reading may be cancelled at any time, and a line must be written whole. Whether it could be
        // written is reported by the next read.
        tokio::spawn(async move { drop(write(&output, &reply).await) });
    }
}

enum LineLength {
    Whole,
    TooLong,
}

/// The error about an invalid line.
struct Complaint {
    error: ErrorData,
    id: Option<RequestId>,
}

fn read(text: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Complaint> {
    serde_json::from_slice(text).map_err(|_| {
        let complaint =
            |code, words: &'static str, id| Complaint { error: ErrorData::new(code, words, None), id };
        match serde_json::from_slice::<Value>(text) {
            Ok(value) => {
                let id = value.get("id").cloned().and_then(|id| serde_json::from_value(id).ok());
                complaint(
                    ErrorCode::INVALID_REQUEST,
                    "this is not a message of the Model Context Protocol",
                    id,
                )
            }
            Err(_) => complaint(ErrorCode::PARSE_ERROR, "this line is not JSON", None),
        }
    })
}

async fn write<W: AsyncWrite + Unpin>(
    output: &Mutex<W>,
    message: &TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let written = tokio::spawn(async move { write(&output, &message).await }).await;
            written.map_err(io::Error::other)?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let read = match self.read_line().await {
                Some(LineLength::Whole) => self.take_message(),
                Some(LineLength::TooLong) => {
                    let words = format!("a message has at most {LINE_LIMIT} bytes");
                    let error = ErrorData::new(ErrorCode::INVALID_REQUEST, words, None);
                    Err(Complaint { error, id: None })
                }
                None => {
                    self.gone.cancel();
                    return None;
                }
            };
            match read {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(complaint) => self.complain(complaint),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        match self.output.try_lock() {
            Ok(mut output) => output.shutdown().await,
            // Someone still writes to a client that does not read: that is not waited for.
            Err(_) => Ok(()),
        }
    }
}
