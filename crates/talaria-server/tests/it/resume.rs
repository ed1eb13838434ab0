//! An event stream is resumed from any number, while events are being published and across restarts of the engine:
//! no gap, no repeat.

use proptest::prelude::*;
use talaria_core::event::Event;
use talaria_server::client::{Client, ClientError};
use talaria_testkit::eventually;

use crate::scene::{Scene, Talk, next, say, until};

/// Reads the events after `from` in pieces of these lengths, each on its own stream, up to `end`.
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
            let scene = Scene::talking(Talk { first: before.cast_unsigned(), more: during.cast_unsigned() }).await;
            let client = scene.client().await;
            let (started, begun) = scene.started(&client, "x").await;
            let id = started.id.as_str();
            // Further input is a separate event.
            let (from, end) = (from.index((begun + before) as usize + 1) as i64, begun + before + 1 + during);
            let more = say("go on");
            let (one, two, said) = tokio::join!(
                read_in_pieces(&client, id, from, end, &first),
                read_in_pieces(&client, id, from, end, &second),
                client.say(id, &more),
            );
            said.unwrap();
            let expected: Vec<i64> = (from + 1..=end).collect();
            assert_eq!(one, expected);
            assert_eq!(two, expected);
        });
    }
}

#[tokio::test]
async fn a_stream_goes_on_when_the_engine_was_restarted_meanwhile() {
    let mut scene = Scene::talking(Talk { first: 0, more: 1 }).await;
    let client = scene.client().await;
    let (started, begun) = scene.started(&client, "x").await;
    let id = started.id.as_str();
    let mut follow = client.follow(id, 0).await.unwrap();
    let mut last = 0;
    while last < begun {
        assert_eq!(next(&mut follow).await.0, last + 1);
        last += 1;
    }
    let is_told = |event: &Event| matches!(event, Event::Warning { .. });
    for _ in 0..3 {
        client.say(id, &say("not read before the restart")).await.unwrap();
        let mut other = client.follow(id, last).await.unwrap();
        until(&mut other, is_told).await;
        scene.stop().await;
        scene.start_again().await;
        // The turn continues: it was asked its state, and what was missed is reported.
        until(&mut other, |event| matches!(event, Event::Gap(_))).await;
        eventually("the turn runs", async || {
            let status = scene.client().await.status().await.unwrap();
            (!status.turns.is_empty()).then_some(())
        })
        .await;
        client.say(id, &say("after the restart")).await.unwrap();
        let end = until(&mut other, is_told).await;
        while last < end {
            assert_eq!(next(&mut follow).await.0, last + 1);
            last += 1;
        }
    }
    assert_eq!(scene.received("turn/start").len(), 1, "nothing was prompted twice");
}

#[tokio::test]
async fn a_stream_whose_engine_stays_away_ends_with_that() {
    let mut scene = Scene::start().await;
    let client = scene.client().await;
    let (started, begun) = scene.started(&client, "x").await;
    let mut follow = client.follow(started.id.as_str(), begun).await.unwrap();
    scene.stop().await;
    tokio::time::pause();
    assert!(matches!(follow.next().await, Some(Err(ClientError::NotRunning))));
    assert!(follow.next().await.is_none());
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    let scene = Scene::talking(Talk { first: 0, more: 1 }).await;
    let client = scene.client().await;
    let (started, begun) = scene.started(&client, "x").await;
    let id = started.id.as_str();
    let mut follow = client.follow(id, 0).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..100 {
        client.say(id, &say("y")).await.unwrap();
        for _ in 0..3 {
            tokio::select! {
                biased;
                event = next(&mut follow) => seen.push(event.0),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    // Each is stored, sent to the turn and answered.
    let end = begun + 300;
    while seen.last() != Some(&end) {
        seen.push(next(&mut follow).await.0);
    }
    assert_eq!(seen, (1..=end).collect::<Vec<i64>>());
}

#[tokio::test]
async fn what_was_received_last_goes_before_what_was_asked_for_first() {
    let mut scene = Scene::talking(Talk { first: 4, more: 0 }).await;
    let client = scene.client().await;
    let (started, begun) = scene.started(&client, "x").await;
    let (id, last) = (started.id.as_str(), begun + 4);
    let mut follow = client.follow(id, begun).await.unwrap();
    while next(&mut follow).await.0 < last {}
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
    let streams = [
        open(&format!("?after={}", last - 2), "").await,
        open("?after=0", &format!("last-event-id: {}\r\n", last - 1)).await,
    ];
    scene.stop().await;
    let mut numbers = Vec::new();
    for mut stream in streams {
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned);
        numbers.push(ids.collect::<Vec<_>>());
    }
    let (last, before) = (last.to_string(), (last - 1).to_string());
    assert_eq!(numbers, [vec![before, last.clone()], vec![last]]);
}
