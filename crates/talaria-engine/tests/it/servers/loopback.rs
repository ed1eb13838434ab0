//! An MCP server on loopback that speaks streamable HTTP, or only the older SSE.
//!
//! It answers one request per connection and remembers what it was asked with which headers.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Its transport.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Streamable,
    Sse,
}

type Heard = Arc<Mutex<Vec<(String, Vec<(String, String)>)>>>;

pub(super) struct Server {
    pub(super) url: String,
    heard: Heard,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(super) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let path = if manner == Manner::Sse { "sse" } else { "mcp" };
        let url = format!("http://{}/{path}", listener.local_addr().unwrap());
        let heard = Heard::default();
        let remembered = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, manner, Arc::clone(&remembered)));
            }
        });
        Self { url, heard, task }
    }

    /// A header of the first request with this method.
    pub(super) fn header(&self, method: &str, name: &str) -> Option<String> {
        let heard = self.heard.lock().unwrap();
        let (_, headers) = heard.iter().find(|(asked, _)| asked == method)?;
        headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, manner: Manner, heard: Heard) {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    let _ = stream.read_line(&mut first).await;
    let mut headers = Vec::new();
    let mut line = String::new();
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
        if let Some((name, value)) = line.trim_end().split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        line.clear();
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let answer = match (manner, first.starts_with("POST"), message.get("id")) {
        (Manner::Streamable, true, Some(id)) => {
            let result = json!({ "jsonrpc": "2.0", "id": id, "result": result(&message) }).to_string();
            let length = result.len();
            format!("200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{result}")
        }
        (Manner::Streamable, true, None) => "202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        (Manner::Sse, false, _) if first.contains(" /sse ") => {
            let said = "event: endpoint\ndata: /messages?id=1\n\n";
            format!("200 OK\r\ncontent-type: text/event-stream\r\n\r\n{said}")
        }
        (Manner::Sse, true, _) => "405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
        _ => "404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
    };
    heard.lock().unwrap().push((method, headers));
    // The client may have disconnected.
    let _ = stream.get_mut().write_all(format!("HTTP/1.1 {}", close(&answer)).as_bytes()).await;
}

/// One request per connection.
fn close(answer: &str) -> String {
    answer.replacen("\r\n", "\r\nconnection: close\r\n", 1)
}

fn result(message: &Value) -> Value {
    match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "loopback", "version": "0.0.1" },
        }),
        Some("tools/list") => json!({ "tools": [{
            "name": "peek", "description": "Looks", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true },
        }] }),
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": "the address answers" }] }),
        _ => json!({}),
    }
}
