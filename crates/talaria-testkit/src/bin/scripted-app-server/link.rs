//! The connection to the client: JSON lines on stdio, or websocket frames on a unix socket, one client at a time.
//!
//! A socket client that disconnects is replaced by the next one, and the play continues where it was, as the real
//! server outlives its clients. On stdio the end of the input is the end of the process.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter, Stdin, Stdout};
use tokio::net::{UnixListener, UnixStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// Transport of the script.
pub(crate) enum Link {
    Stdio { input: BufReader<Stdin>, output: BufWriter<Stdout> },
    Socket { listener: UnixListener, client: Option<Box<WebSocketStream<UnixStream>>> },
}

impl Link {
    pub(crate) fn stdio() -> Self {
        let output = BufWriter::with_capacity(256 * 1024, tokio::io::stdout());
        Self::Stdio { input: BufReader::new(tokio::io::stdin()), output }
    }

    pub(crate) fn listen(path: &str) -> Result<Self> {
        let listener = match UnixListener::bind(path) {
            Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => {
                // A socket left by a dead server is taken over, as the real one does.
                fs::remove_file(path).context("remove the stale socket")?;
                UnixListener::bind(path)
            }
            bound => bound,
        };
        let listener = listener.with_context(|| format!("listen on {path}"))?;
        fs::set_permissions(Path::new(path), Permissions::from_mode(0o600)).context("protect the socket")?;
        Ok(Self::Socket { listener, client: None })
    }

    /// Returns the next message, or nothing when the client of a stdio server has gone.
    pub(crate) async fn next(&mut self) -> Result<Option<String>> {
        loop {
            match self {
                Self::Stdio { input, .. } => {
                    let mut line = Vec::new();
                    let length = input.read_until(b'\n', &mut line).await.context("read stdin")?;
                    let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
                    return Ok((length > 0).then_some(text));
                }
                Self::Socket { listener, client } => match connect(listener, client).await?.next().await {
                    Some(Ok(Message::Text(text))) => return Ok(Some(text.as_str().to_owned())),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => *client = None,
                    Some(Ok(_)) => {}
                },
            }
        }
    }

    /// Queues a message; it leaves with the next flush or when the buffer is full.
    pub(crate) async fn feed(&mut self, text: String) -> Result<()> {
        match self {
            Self::Stdio { output, .. } => {
                output.write_all(text.as_bytes()).await?;
                output.write_all(b"\n").await?;
            }
            Self::Socket { listener, client } => {
                let connected = connect(listener, client).await?;
                if connected.feed(Message::text(text)).await.is_err() {
                    *client = None;
                }
            }
        }
        Ok(())
    }

    /// Sends any bytes as one line or one text frame, also those that are no text.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.flush().await?;
        match self {
            Self::Stdio { output, .. } => {
                output.write_all(bytes).await?;
                output.write_all(b"\n").await?;
                output.flush().await?;
            }
            Self::Socket { listener, client } => {
                // The library refuses to send such a frame, so it is written past it.
                let stream = connect(listener, client).await?.get_mut();
                stream.write_all(&frame_head(bytes.len())).await?;
                stream.write_all(bytes).await?;
            }
        }
        Ok(())
    }

    /// Sends what was queued.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        match self {
            Self::Stdio { output, .. } => output.flush().await?,
            Self::Socket { client, .. } => {
                if let Some(connected) = client
                    && connected.flush().await.is_err()
                {
                    *client = None;
                }
            }
        }
        Ok(())
    }

    /// Ends the connection; returns whether there can be another.
    pub(crate) async fn close(&mut self) -> Result<bool> {
        self.flush().await?;
        match self {
            Self::Stdio { .. } => Ok(false),
            Self::Socket { client, .. } => {
                *client = None;
                Ok(true)
            }
        }
    }
}

async fn connect<'a>(
    listener: &UnixListener,
    client: &'a mut Option<Box<WebSocketStream<UnixStream>>>,
) -> Result<&'a mut WebSocketStream<UnixStream>> {
    let connected = match client.take() {
        Some(connected) => connected,
        None => loop {
            let (stream, _) = listener.accept().await.context("accept a client")?;
            // A client that leaves during the handshake only probed the socket.
            if let Ok(connected) = tokio_tungstenite::accept_async(stream).await {
                break Box::new(connected);
            }
        },
    };
    Ok(client.insert(connected))
}

/// The head of a final, unmasked text frame.
fn frame_head(length: usize) -> Vec<u8> {
    let mut head = vec![0x81];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length @ ..=125), _) => head.push(length),
        (_, Ok(length)) => {
            head.push(126);
            head.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            head.push(127);
            head.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    head
}
