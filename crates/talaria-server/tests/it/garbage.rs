//! Whatever is written to the socket, the engine continues.

use proptest::prelude::*;
use talaria_core::api::ProblemCode;
use talaria_core::event::Event;
use talaria_core::transcript::Role;
use talaria_server::client::ClientError;

use crate::scene::{Scene, say, until};

fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// Invalid requests had no effect: this input is the first that Codex receives.
async fn nothing_was_said(scene: &Scene, id: &str) {
    let client = scene.client().await;
    let mut follow = client.follow(id, 0).await.unwrap();
    client.say(id, &say("the first")).await.unwrap();
    until(&mut follow, |event| matches!(event, Event::Steered { .. })).await;
    let heard = scene.received("turn/steer");
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["params"]["input"][0]["text"], "the first");
    let said = client.messages(id, 0, 10).await.unwrap();
    let by_person = said.iter().filter(|stored| stored.message.role == Role::User);
    let said: Vec<_> = by_person.filter_map(|stored| stored.message.content.as_deref()).collect();
    // This Codex took it and has not shown it, so it is no part of the conversation yet.
    assert_eq!(said, ["x"]);
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let scene = Scene::start().await;
    let huge_head = format!("GET /v1/info HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    let many_heads = format!("GET /v1/info HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(5000));
    let long_path = format!("GET /{} HTTP/1.1\r\n\r\n", "y".repeat(200_000));
    for (bytes, expected) in [
        (&b"\x00\xff\xfe\x01\x02\r\n\r\n"[..], "HTTP/1.1 400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "HTTP/1.1 400"),
        (b"hello", ""),
        (b"", ""),
        (b"GET /v1/info HTTP/9.9\r\n\r\n", "HTTP/1.1 400"),
        (b"GET /v1/sessions/%ff%fe HTTP/1.1\r\nhost: x\r\n\r\n", "HTTP/1.1 400"),
        (b"GET /v1/sessions?limit=many HTTP/1.1\r\nhost: x\r\n\r\n", "HTTP/1.1 400"),
        (b"GET /v1/search HTTP/1.1\r\nhost: x\r\n\r\n", "HTTP/1.1 400"),
        (huge_head.as_bytes(), "HTTP/1.1 431"),
        (many_heads.as_bytes(), "HTTP/1.1 431"),
        (long_path.as_bytes(), "HTTP/1.1 4"),
    ] {
        let answer = scene.raw(bytes).await;
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        assert!(answer.starts_with(expected), "{shown:?}: {answer}");
        assert!(!expected.is_empty() || answer.is_empty(), "{shown:?}: {answer}");
    }
    scene.client().await;
}

#[tokio::test]
async fn a_body_that_is_not_understood_is_refused_in_words() {
    let scene = Scene::start().await;
    for body in ["", "{", "null", "[]", "\u{0}", "{\"kind\":\"exec\"}", &"[".repeat(100_000)] {
        let answer = scene.raw_to_end(&post("/v1/sessions", body)).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(
            answer.contains(r#"{"code":"bad_request","message":"the message is not understood: "#),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_on_both_sides() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    let id = scene.started(&client, "x").await.0.id;
    let long = "y".repeat(17 * 1024 * 1024);
    match client.say(id.as_str(), &say(&long)).await {
        Err(ClientError::Problem(problem)) => assert_eq!(problem.code, ProblemCode::BadRequest),
        other => panic!("{other:?}"),
    }
    let body = format!(r#"{{"text":"{long}","when":"now"}}"#);
    let answer = scene.raw_to_end(&post(&format!("/v1/sessions/{id}/say"), &body)).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    nothing_was_said(&scene, id.as_str()).await;
}

#[tokio::test]
async fn a_body_that_is_broken_off_does_nothing() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    let id = scene.started(&client, "x").await.0.id;
    let whole = post(&format!("/v1/sessions/{id}/say"), r#"{"text":"y","when":"now"}"#);
    scene.raw(&whole[..whole.len() - 1]).await;
    nothing_was_said(&scene, id.as_str()).await;
}

#[tokio::test]
async fn requests_that_come_in_one_piece_are_answered_in_order() {
    let scene = Scene::start().await;
    let get = |path: &str, end: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n{end}\r\n");
    let all = [get("/v1/info", ""), get("/v1/tasks", ""), get("/v1/none", "connection: close\r\n")].concat();
    let answer = scene.raw_to_end(all.as_bytes()).await;
    let at = |text: &str| answer.find(text).unwrap_or_else(|| panic!("{text}: {answer}"));
    assert!(at("\"pid\"") < at("[]") && at("[]") < at("404"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn arbitrary_bytes_leave_the_engine_alone(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        head in prop::sample::select(vec!["", "GET ", "GET /v1/info HTTP/1.1\r\n", "POST /v1/sessions HTTP/1.1\r\ncontent-length: 600\r\n\r\n"]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let scene = Scene::start().await;
            scene.raw(&[head.as_bytes(), &bytes].concat()).await;
            assert!(scene.client().await.sessions(&Default::default()).await.unwrap().is_empty());
        });
    }
}
