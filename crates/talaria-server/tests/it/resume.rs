//! An event stream is taken up from any number, while events are being published and across restarts of the engine:
//! no gap, no repeat.

use proptest::prelude::*;
use talaria_server::client::{Client, ClientError};

use crate::scene::{Scene, next, started};

/// Reads the events after `from` in pieces of these lengths, each on a stream of its own, up to `end`.
async fn read_in_pieces(client: &Client, id: &str, from: i64, end: i64, pieces: &[usize]) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut last = from;
    for length in pieces.iter().copied().chain([usize::MAX]) {
        let mut follow = client.follow(id, last).await.unwrap();
        for _ in 0..length {
            if last >= end {
                return seen;
            }
            last = next(&mut follow).await.0;
            seen.push(last);
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_stream_resumes_from_any_number_while_events_are_published(
        before in 0_i64..60,
        during in 1_i64..200,
        from in any::<prop::sample::Index>(),
        first in prop::collection::vec(0_usize..40, 0..6),
        second in prop::collection::vec(0_usize..40, 0..6),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let scene = Scene::start();
            let client = scene.client().await;
            let id = started(&client, "x").await.id;
            for _ in 0..before {
                scene.engine.publish(id.as_str(), "before");
            }
            let (from, end) = (from.index(before as usize + 2) as i64, 1 + before + during);
            let engine = scene.engine.clone();
            let session = id.clone();
            let publisher = tokio::spawn(async move {
                for _ in 0..during {
                    engine.publish(session.as_str(), "during");
                    tokio::task::yield_now().await;
                }
            });
            let (one, two) = tokio::join!(
                read_in_pieces(&client, id.as_str(), from, end, &first),
                read_in_pieces(&client, id.as_str(), from, end, &second),
            );
            publisher.await.unwrap();
            let expected: Vec<i64> = (from + 1..=end).collect();
            assert_eq!(one, expected);
            assert_eq!(two, expected);
        });
    }
}

#[tokio::test]
async fn a_stream_goes_on_when_the_engine_was_restarted_meanwhile() {
    let mut scene = Scene::start();
    let client = scene.client().await;
    let id = started(&client, "x").await.id;
    let mut follow = client.follow(id.as_str(), 0).await.unwrap();
    assert_eq!(next(&mut follow).await.0, 1);
    for round in 0..3 {
        scene.engine.publish(id.as_str(), "not read before the restart");
        scene.stop().await;
        scene.start_again();
        scene.engine.publish(id.as_str(), "after the restart");
        assert_eq!(next(&mut follow).await.0, 2 * round + 2);
        assert_eq!(next(&mut follow).await.0, 2 * round + 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_engine_stays_away_ends_with_that() {
    let mut scene = Scene::start();
    let client = scene.client().await;
    let id = started(&client, "x").await.id;
    let mut follow = client.follow(id.as_str(), 1).await.unwrap();
    scene.stop().await;
    assert!(matches!(follow.next().await, Some(Err(ClientError::NotRunning))));
    assert!(follow.next().await.is_none());
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    let scene = Scene::start();
    let client = scene.client().await;
    let id = started(&client, "x").await.id;
    let mut follow = client.follow(id.as_str(), 0).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..200 {
        scene.engine.publish(id.as_str(), "y");
        tokio::select! {
            biased;
            event = next(&mut follow) => seen.push(event.0),
            () = tokio::task::yield_now() => {}
        }
    }
    while seen.len() < 201 {
        seen.push(next(&mut follow).await.0);
    }
    assert_eq!(seen, (1..=201).collect::<Vec<i64>>());
}

#[tokio::test]
async fn what_was_received_last_goes_before_what_was_asked_for_first() {
    let mut scene = Scene::start();
    let client = scene.client().await;
    let id = started(&client, "x").await.id;
    for _ in 0..4 {
        scene.engine.publish(id.as_str(), "y");
    }
    let request = |query: &str, header: &str| {
        format!("GET /v1/sessions/{id}/stream{query} HTTP/1.1\r\nhost: x\r\n{header}\r\n")
    };
    for (query, header) in
        [("?after=x", ""), ("?after=-1", ""), ("", "last-event-id: x\r\n"), ("", "last-event-id: -2\r\n")]
    {
        let answer = scene.raw(request(query, header).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{query} {header} {answer}");
    }
    // A stream ends with the engine, so that all of it can be read.
    let open = |query: &str, header: &str| {
        let (socket, text) = (scene.socket.clone(), request(query, header));
        async move {
            let mut stream = tokio::net::UnixStream::connect(socket).await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut stream, text.as_bytes()).await.unwrap();
            let mut begin = [0; 15];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut begin).await.unwrap();
            stream
        }
    };
    let streams = [open("?after=3", "").await, open("?after=0", "last-event-id: 4\r\n").await];
    scene.stop().await;
    let mut numbers = Vec::new();
    for mut stream in streams {
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned);
        numbers.push(ids.collect::<Vec<_>>());
    }
    assert_eq!(numbers, [vec!["4", "5"], vec!["5"]]);
}
