//! An engine of another version, as far as commands look at it: something on the socket that says who it is.

use std::path::PathBuf;

use talaria_core::api::EngineInfo;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

/// Says to everybody who it is, and does nothing else.
pub(crate) struct Foreign {
    pub(crate) home: TempDir,
    pub(crate) socket: PathBuf,
    _task: JoinHandle<()>,
}

impl Foreign {
    pub(crate) fn start(version: &str, api: u32) -> Self {
        let home = tempfile::tempdir().unwrap();
        let info = EngineInfo {
            pid: std::process::id(),
            version: version.to_owned(),
            build: 1,
            api,
            home: home.path().to_str().unwrap().to_owned(),
            since: "2026-01-01T00:00:00Z".parse().unwrap(),
        };
        let body = serde_json::to_string(&info).unwrap();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let socket = talaria_server::socket_path(home.path());
        let listener = talaria_server::bind(&socket).unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tell(stream, &answer).await;
            }
        });
        Self { home, socket, _task: task }
    }
}

async fn tell(mut stream: UnixStream, answer: &str) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            // It only looked whether somebody is there.
            Err(_) => return,
        }
    }
    let _ = stream.write_all(answer.as_bytes()).await;
}
