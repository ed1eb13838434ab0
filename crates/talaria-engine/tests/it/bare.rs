//! A minimal client of a Codex on a unix socket, without the engine: shows what Codex itself sends to a further
//! connection.

use std::path::Path;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::stage::PATIENCE;

/// A connection, and everything received on it.
pub(crate) struct Bare {
    socket: WebSocketStream<UnixStream>,
    pub(crate) seen: Vec<Value>,
    last_id: u64,
}

impl Bare {
    pub(crate) async fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).await.unwrap();
        let (socket, _) = client_async("ws://localhost/", stream).await.unwrap();
        let mut bare = Self { socket, seen: Vec::new(), last_id: 0 };
        let client = json!({ "name": "bare", "title": "Bare", "version": "0.0.1" });
        let greeting = json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } });
        bare.call("initialize", greeting).await.unwrap();
        bare.send(&json!({ "method": "initialized" })).await;
        bare
    }

    /// Sends a request; returns its result, or the error.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "id": id, "method": method, "params": params })).await;
        let answer = self.until(|message| message["id"] == id && message.get("method").is_none()).await;
        answer.get("result").cloned().ok_or_else(|| answer["error"].clone())
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Waits for a message that arrives from now on.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = match tokio::time::timeout(PATIENCE, self.socket.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => serde_json::from_str::<Value>(&text).unwrap(),
                Ok(Some(Ok(_))) => continue,
                other => panic!("it did not come ({other:?}): {:#?}", self.seen),
            };
            self.seen.push(message.clone());
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Waits for a notification of this kind.
    pub(crate) async fn told(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method).await
    }

    /// Index of the first received message with this method.
    pub(crate) fn position(&self, method: &str) -> Option<usize> {
        self.seen.iter().position(|message| message["method"] == method)
    }
}
