//! The least that any client of Codex does, to compare with.

use std::path::Path;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::scene::Scene;

/// The least that any client does.
pub(crate) struct Bare {
    socket: WebSocketStream<UnixStream>,
    _codex: tokio::process::Child,
}

impl Bare {
    pub(crate) async fn start(scene: &Scene, path: &Path) -> Self {
        let codex = scene.codex(path).spawn().unwrap();
        let stream = loop {
            match UnixStream::connect(path).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        };
        let (socket, _) = client_async("ws://localhost/", stream).await.unwrap();
        let mut bare = Self { socket, _codex: codex };
        let info = json!({ "name": "bench", "title": "bench", "version": "0" });
        bare.call("initialize", json!({ "clientInfo": info })).await;
        bare.socket.send(Message::text(json!({ "method": "initialized" }).to_string())).await.unwrap();
        bare
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let call = json!({ "id": 1, "method": method, "params": params });
        self.socket.send(Message::text(call.to_string())).await.unwrap();
        loop {
            let Message::Text(text) = self.socket.next().await.unwrap().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            if message.get("id").is_some() {
                return message["result"].clone();
            }
        }
    }

    /// Answers this many calls of tools as soon as they arrive.
    pub(crate) async fn answer(&mut self, calls: usize) {
        let result = json!({ "contentItems": [{ "type": "inputText", "text": "nothing" }], "success": true });
        let mut left = calls;
        while left > 0 {
            let Message::Text(text) = self.socket.next().await.unwrap().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["method"] == "item/tool/call" {
                let answer = json!({ "id": message["id"], "result": result });
                self.socket.send(Message::text(answer.to_string())).await.unwrap();
                left -= 1;
            }
        }
    }
}
