//! The scripted model, spoken to over a bare socket.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod families;
mod sdks;

use serde_json::{Value, json};
use talaria_scripted::{Gate, ModelUsage, Reply, ScriptedModel};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

async fn send(model: &ScriptedModel, prompt: &str) -> BufReader<TcpStream> {
    let body =
        json!({ "input": [{ "role": "user", "content": [{ "type": "input_text", "text": prompt }] }] });
    request(model, "POST /v1/responses", &body.to_string()).await
}

async fn request(model: &ScriptedModel, target: &str, body: &str) -> BufReader<TcpStream> {
    let address = model.base_url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{target} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    BufReader::new(stream)
}

async fn rest(mut stream: BufReader<TcpStream>) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

async fn next_event(stream: &mut BufReader<TcpStream>) -> Value {
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[tokio::test]
async fn replies_come_in_the_order_they_were_queued() {
    let model = ScriptedModel::start().await.unwrap();
    let usage = ModelUsage { input: 7, cached: 3, output: 2, reasoning: 1 };
    model.play([Reply::say("first").usage(usage), Reply::say("second")]);
    let first = rest(send(&model, "a").await).await;
    assert!(first.contains("first") && first.contains("\"total_tokens\":9"), "{first}");
    assert!(first.ends_with("0\r\n\r\n"), "{first}");
    assert!(rest(send(&model, "b").await).await.contains("second"));
    let prompts: Vec<_> = model.requests().iter().map(|request| request.prompt().to_owned()).collect();
    assert_eq!(prompts, ["a", "b"]);
}

#[tokio::test]
async fn a_route_is_asked_before_the_queue() {
    let model = ScriptedModel::start().await.unwrap();
    model.push(Reply::say("queued"));
    model.route(|request| request.prompt().strip_prefix("echo ").map(Reply::say));
    assert!(rest(send(&model, "echo hello").await).await.contains("hello"));
    assert!(rest(send(&model, "other").await).await.contains("queued"));
}

#[tokio::test]
async fn nothing_passes_a_closed_gate() {
    let model = ScriptedModel::start().await.unwrap();
    let gate = Gate::new();
    model.push(Reply::new().text("before").gate(&gate).text("after"));
    let mut stream = send(&model, "go").await;
    gate.reached().await;
    for kind in ["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"] {
        assert_eq!(next_event(&mut stream).await["type"], format!("response.{kind}"));
    }
    assert!(stream.buffer().iter().all(u8::is_ascii_whitespace), "something passed the gate");
    gate.open();
    assert_eq!(next_event(&mut stream).await["delta"], "after");
    assert_eq!(next_event(&mut stream).await["text"], "beforeafter");
    assert_eq!(next_event(&mut stream).await["part"]["text"], "beforeafter");
    assert_eq!(next_event(&mut stream).await["item"]["content"][0]["text"], "beforeafter");
}

#[tokio::test]
async fn a_script_that_is_too_short_is_a_visible_error() {
    let model = ScriptedModel::start().await.unwrap();
    let answer = rest(send(&model, "more?").await).await;
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(answer.contains("the script has no reply for request 1"), "{answer}");
    assert_eq!(model.unscripted()[0].prompt(), "more?");
}

#[tokio::test]
async fn faults_break_the_stream_in_their_own_way() {
    let model = ScriptedModel::start().await.unwrap();
    model.play([
        Reply::status(429).header("retry-after", "7").body(json!({ "error": { "message": "slow down" } })),
        Reply::new().text("half").drop_stream(),
        Reply::failed("rate_limit_exceeded", "too fast"),
    ]);
    let limited = rest(send(&model, "1").await).await;
    assert!(limited.starts_with("HTTP/1.1 429 ") && limited.contains("retry-after: 7\r\n"), "{limited}");
    let dropped = rest(send(&model, "2").await).await;
    assert!(dropped.contains("half") && !dropped.ends_with("0\r\n\r\n"), "{dropped}");
    let failed = rest(send(&model, "3").await).await;
    assert!(failed.contains("response.failed") && !failed.contains("response.completed"), "{failed}");
}

#[tokio::test]
async fn a_stalled_stream_ends_with_its_server() {
    let model = ScriptedModel::start().await.unwrap();
    model.push(Reply::new().text("half").stall());
    let mut stream = send(&model, "wait").await;
    assert_eq!(next_event(&mut stream).await["type"], "response.created");
    model.wait_for_requests(1).await;
    drop(model);
    assert!(!rest(stream).await.contains("response.completed"));
}

#[tokio::test]
async fn what_is_not_understood_gets_an_answer() {
    let model = ScriptedModel::start().await.unwrap();
    assert!(rest(request(&model, "GET /v1/models", "").await).await.contains("gpt-5.5"));
    assert!(rest(request(&model, "GET /v2/else", "").await).await.starts_with("HTTP/1.1 404 "));
    assert!(rest(request(&model, "POST /v1/responses", "{").await).await.starts_with("HTTP/1.1 400 "));
    assert!(model.requests().is_empty());
    assert_eq!(model.strays(), ["GET /v1/models", "GET /v2/else"]);
}
