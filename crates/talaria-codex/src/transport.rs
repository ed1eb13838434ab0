//! The bytes between us and one Codex: websocket messages on a unix socket, or lines on stdio for versions before
//! 0.130.
//!
//! Both have the same interface: `Incoming::next` returns one message at a time, `Outgoing::send` takes one. A message
//! over `MAX_MESSAGE` is refused: on stdio it is skipped and reported; a websocket cannot be read past it, so it is the
//! end.

use std::io;
use std::path::Path;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use rustix::process::geteuid;
use talaria_codex_proto::frame::{Corrupt, Decoded, decode, decode_text};
use talaria_codex_proto::line::{Line, LineDecoder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{ChildStdin, ChildStdout};
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// Maximum length of a message. A long resumed conversation is one message.
pub(crate) const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// How to reach a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTransport {
    /// Websocket on a unix socket: turns survive the connection.
    UnixSocket,
    /// Lines on standard input and output: turns end with the connection.
    Stdio,
}

/// A message, or the reason for the end of the stream.
pub(crate) type Arrival = Result<Raw, String>;

/// A received message.
#[derive(Debug)]
pub(crate) enum Raw {
    Text(Utf8Bytes),
    Bytes(Vec<u8>),
    TooLong { bytes: usize },
}

impl Raw {
    /// Decodes it. The result borrows its text.
    pub(crate) fn decode(&self) -> Decoded<'_> {
        match self {
            Self::Text(text) => decode_text(text),
            Self::Bytes(bytes) => decode(bytes),
            Self::TooLong { bytes } => {
                let reason = format!("a line of {bytes} bytes; at most {MAX_MESSAGE} bytes are read");
                Decoded::Corrupt(Corrupt { reason, bytes: *bytes })
            }
        }
    }
}

/// The reading half.
#[derive(Debug)]
pub(crate) enum Incoming {
    Socket(SplitStream<WebSocketStream<UnixStream>>),
    Stdio { stdout: ChildStdout, lines: LineDecoder, chunk: Vec<u8> },
}

/// The writing half.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Socket(SplitSink<WebSocketStream<UnixStream>, Message>),
    Stdio(ChildStdin),
}

/// Connects to a listening Codex.
pub(crate) async fn connect(socket: &Path) -> io::Result<(Incoming, Outgoing)> {
    upgrade(UnixStream::connect(socket).await?).await
}

/// Connects to a socket on which a process of ours should listen. Returns the pid of the listener where the system
/// reports it.
pub(crate) async fn connect_to_peer(socket: &Path) -> io::Result<(UnixStream, Option<i32>)> {
    let stream = UnixStream::connect(socket).await?;
    let peer = stream.peer_cred()?;
    if peer.uid() != geteuid().as_raw() {
        return Err(io::Error::other("another user's process listens on its socket"));
    }
    Ok((stream, peer.pid()))
}

/// Begins to talk on a connection.
pub(crate) async fn upgrade(stream: UnixStream) -> io::Result<(Incoming, Outgoing)> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        // Written at once: requests are few and a caller waits for each.
        .write_buffer_size(0);
    let (websocket, _) =
        client_async_with_config("ws://localhost/", stream, Some(config)).await.map_err(io::Error::other)?;
    let (sink, stream) = websocket.split();
    Ok((Incoming::Socket(stream), Outgoing::Socket(sink)))
}

/// Takes over the pipes of a Codex on stdio.
pub(crate) fn stdio(stdin: ChildStdin, stdout: ChildStdout) -> (Incoming, Outgoing) {
    let incoming =
        Incoming::Stdio { stdout, lines: LineDecoder::new(MAX_MESSAGE), chunk: vec![0; 64 * 1024] };
    (incoming, Outgoing::Stdio(stdin))
}

impl Incoming {
    /// Returns the next message. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Arrival {
        match self {
            Self::Socket(stream) => next_websocket(stream).await,
            Self::Stdio { stdout, lines, chunk } => next_line(stdout, lines, chunk).await,
        }
    }
}

async fn next_websocket(stream: &mut SplitStream<WebSocketStream<UnixStream>>) -> Arrival {
    loop {
        return match stream.next().await {
            Some(Ok(Message::Text(text))) => Ok(Raw::Text(text)),
            Some(Ok(Message::Binary(bytes))) => Ok(Raw::Bytes(bytes.into())),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Close(_))) | None => Err("Codex closed the connection".to_owned()),
            Some(Err(WsError::Capacity(CapacityError::MessageTooLong { size, max_size }))) => {
                Err(format!("Codex sent a message of {size} bytes; at most {max_size} bytes are read"))
            }
            Some(Err(WsError::Utf8(_))) => Err("Codex sent text that is not valid UTF-8".to_owned()),
            Some(Err(error)) => Err(format!("the connection to Codex broke: {error}")),
        };
    }
}

async fn next_line(stdout: &mut ChildStdout, lines: &mut LineDecoder, chunk: &mut [u8]) -> Arrival {
    loop {
        if let Some(line) = lines.next_line() {
            return Ok(Raw::from(line));
        }
        match stdout.read(chunk).await {
            Ok(0) => {
                return match lines.finish() {
                    Some(line) => Ok(Raw::from(line)),
                    None => Err("Codex closed its output".to_owned()),
                };
            }
            Ok(read) => lines.push(&chunk[..read]),
            Err(error) => return Err(format!("cannot read from Codex: {error}")),
        }
    }
}

impl From<Line> for Raw {
    fn from(line: Line) -> Self {
        match line {
            Line::Whole(bytes) => Self::Bytes(bytes),
            Line::TooLong { bytes } => Self::TooLong { bytes },
        }
    }
}

impl Outgoing {
    /// Sends one message.
    pub(crate) async fn send(&mut self, text: String) -> io::Result<()> {
        match self {
            Self::Socket(sink) => sink.send(Message::text(text)).await.map_err(io::Error::other),
            Self::Stdio(stdin) => {
                let mut line = text.into_bytes();
                line.push(b'\n');
                stdin.write_all(&line).await?;
                stdin.flush().await
            }
        }
    }
}
