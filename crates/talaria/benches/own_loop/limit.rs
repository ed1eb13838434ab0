//! The limit: a hyper client that reads an answer, finds its frames, reads type, text and step of each, and joins the text.
//! It stores nothing, redacts nothing and reports to no one. A process of its own, started by this bench.

use std::borrow::Cow;
use std::process::Command;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;

use crate::cpu;

/// The argument that makes this program the limit.
pub(crate) const NAME: &str = "limit";

/// Runs the limit as a process and returns the milliseconds it has run.
pub(crate) fn measure(address: &str) -> f64 {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own).args([NAME, address]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Is the limit: prints the milliseconds.
pub(crate) fn run(address: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = cpu::own();
    let text = runtime.block_on(read(address));
    let nanos = cpu::own() - before;
    assert!(text.starts_with(crate::provider::PIECE));
    println!("{}", nanos as f64 / 1e6);
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    item_id: Option<Cow<'a, str>>,
}

async fn read(address: &str) -> String {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let body = Full::new(Bytes::from_static(b"{}"));
    let request =
        Request::post("/responses").header("host", address).header("content-length", "2").body(body);
    let mut response = sender.send_request(request.unwrap()).await.unwrap();
    let (mut kept, mut text) = (Vec::new(), String::new());
    while let Some(frame) = response.body_mut().frame().await {
        let Ok(data) = frame.unwrap().into_data() else { continue };
        kept.extend_from_slice(&data);
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &kept[from..]) {
            if let Some(json) = kept[from..from + end].strip_prefix(b"data: ") {
                let envelope: Envelope<'_> = serde_json::from_slice(json).unwrap();
                if envelope.kind == "response.output_text.delta" {
                    std::hint::black_box(envelope.item_id);
                    text.push_str(&envelope.delta.unwrap());
                }
            }
            from += end + 1;
        }
        kept.drain(..from);
    }
    text
}
