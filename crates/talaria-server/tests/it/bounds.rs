//! No behaviour of one peer blocks the engine or another peer.

use talaria_core::api::ProblemCode;
use talaria_server::client::ClientError;
use talaria_server::sse::Decoder;
use talaria_testkit::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::scene::{Scene, Talk, next, say};

#[tokio::test]
async fn a_reader_that_sleeps_holds_up_nobody_and_misses_nothing() {
    const EVENTS: i64 = 20_000;
    let scene = Scene::talking(Talk { more: EVENTS.cast_unsigned(), first: 0 }).await;
    let client = scene.client().await;
    let id = scene.started(&client, "x").await.0.id;
    let mut sleeper = UnixStream::connect(&scene.socket).await.unwrap();
    let request = format!("GET /v1/sessions/{id}/stream HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    sleeper.write_all(request.as_bytes()).await.unwrap();
    let mut awake = client.follow(id.as_str(), 0).await.unwrap();
    client.say(id.as_str(), &say("go on")).await.unwrap();
    for seq in 1..=EVENTS {
        assert_eq!(next(&mut awake).await.0, seq);
    }
    // The frame of chunks around the events has no line that a decoder would take for a field.
    let mut decoder = Decoder::new(1024 * 1024);
    let mut bytes = vec![0; 64 * 1024];
    let mut expected = 1;
    while expected <= EVENTS {
        let length = sleeper.read(&mut bytes).await.unwrap();
        assert_ne!(length, 0, "ended before event {expected}");
        decoder.feed(&bytes[..length]).unwrap();
        while let Some(message) = decoder.next_message() {
            assert_eq!(message.id, Some(expected.to_string()));
            expected += 1;
        }
    }
}

#[tokio::test]
async fn a_sleeping_reader_does_not_keep_the_engine_from_ending() {
    const EVENTS: i64 = 20_000;
    let mut scene = Scene::talking(Talk { more: EVENTS.cast_unsigned(), first: 0 }).await;
    let client = scene.client().await;
    let id = scene.started(&client, "x").await.0.id;
    let mut awake = client.follow(id.as_str(), 0).await.unwrap();
    let mut sleeper = UnixStream::connect(&scene.socket).await.unwrap();
    let request = format!("GET /v1/sessions/{id}/stream HTTP/1.1\r\nhost: x\r\n\r\n");
    sleeper.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 15];
    sleeper.read_exact(&mut begin).await.unwrap();
    client.say(id.as_str(), &say("go on")).await.unwrap();
    while next(&mut awake).await.0 < EVENTS {}
    scene.stop().await;
}

#[tokio::test]
async fn a_flood_of_connections_is_told_that_there_is_no_room_until_there_is() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    let mut flood = Vec::new();
    for _ in 0..600 {
        flood.push(UnixStream::connect(&scene.socket).await.unwrap());
    }
    // All waiting connections are silent; they are closed after a moment.
    let told = loop {
        match client.status().await {
            Err(ClientError::Problem(problem)) => break problem,
            Err(ClientError::Broken(why)) => {
                assert!(why.contains("reached its connection limit"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(told.code, ProblemCode::Overloaded);
    assert!(scene.notices.lock().unwrap().iter().any(|notice| notice.contains("there are 256 already")));
    drop(flood);
    eventually("there is room again", async || client.status().await.ok()).await;
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let scene = Scene::start().await;
    tokio::time::pause();
    for beginning in ["", "GET /v1/in", "POST /v1/stop HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n{"] {
        let mut silent = UnixStream::connect(&scene.socket).await.unwrap();
        silent.write_all(beginning.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        silent.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    scene.client().await;
}
