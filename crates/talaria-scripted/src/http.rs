//! Just enough HTTP/1.1 for one client on loopback: a head, a body of known length, a plain or chunked answer.
//!
//! Every answer closes its connection: no keep-alive, no pipelining, nothing to get wrong.

use std::io::{Error, ErrorKind, Result};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

const MAX_HEAD: u64 = 64 * 1024;
const MAX_BODY: usize = 64 * 1024 * 1024;

/// A request that was read whole.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Reads one request; a peer that sends something else, or too much, is an error.
    pub(crate) async fn read<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> Result<Self> {
        let mut head = reader.take(MAX_HEAD);
        let start = read_line(&mut head).await?;
        let mut words = start.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(invalid("not an HTTP request"));
        };
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        loop {
            let line = read_line(&mut head).await?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header without a colon"))?;
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method: method.to_owned(), path, headers, body: Vec::new() };
        let length = match request.header("content-length") {
            Some(length) => length.parse().map_err(|_| invalid("a bad content-length"))?,
            None => 0,
        };
        if length > MAX_BODY {
            return Err(invalid("a body over the limit"));
        }
        request.body = vec![0; length];
        reader.read_exact(&mut request.body).await?;
        Ok(request)
    }

    /// Returns a header by its lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

async fn read_line<R: AsyncBufReadExt + Unpin>(reader: &mut R) -> Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line).await?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.trim_end_matches('\r').to_owned()),
        // The peer has closed the connection, or the head is over its limit.
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

/// Answers with a body of known length.
pub(crate) async fn respond<W: AsyncWrite + Unpin>(
    writer: &mut W,
    status: u16,
    headers: &[(String, String)],
    content_type: &str,
    body: &str,
) -> Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\nconnection: close\r\n", reason(status));
    head.push_str(&format!("content-type: {content_type}\r\ncontent-length: {}\r\n", body.len()));
    head.push_str(&lines(headers));
    head.push_str("\r\n");
    head.push_str(body);
    writer.write_all(head.as_bytes()).await?;
    writer.shutdown().await
}

/// Answers with a JSON body.
pub(crate) async fn respond_json<W: AsyncWrite + Unpin>(
    writer: &mut W,
    status: u16,
    headers: &[(String, String)],
    body: &Value,
) -> Result<()> {
    respond(writer, status, headers, "application/json", &body.to_string()).await
}

/// Starts a stream of server-sent events.
pub(crate) async fn start_stream<W: AsyncWrite + Unpin>(
    writer: &mut W,
    headers: &[(String, String)],
) -> Result<()> {
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
                cache-control: no-cache\r\ntransfer-encoding: chunked\r\n";
    writer.write_all(format!("{head}{}\r\n", lines(headers)).as_bytes()).await
}

fn lines(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// Sends one chunk of a stream.
pub(crate) async fn send_chunk<W: AsyncWrite + Unpin>(writer: &mut W, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        // An empty chunk would end the stream.
        return Ok(());
    }
    let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    writer.write_all(&chunk).await?;
    writer.flush().await
}

/// Ends the stream properly.
pub(crate) async fn end_stream<W: AsyncWrite + Unpin>(writer: &mut W) -> Result<()> {
    writer.write_all(b"0\r\n\r\n").await?;
    writer.shutdown().await
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Scripted",
    }
}
