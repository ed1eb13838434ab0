//! A writer that is killed at any moment leaves whole batches, and every acknowledged one.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use talaria_core::event::Stage;
use talaria_core::ids::SessionId;
use talaria_store::contract::scene;
use talaria_store::{Batch, Change, NewEvent, Store, TurnPatch};

const FILE: &str = "TALARIA_STORE_TEST_FILE";
const SESSION: &str = "one";

/// The content of the child's batch with this number: two to six events, a message and a turn.
fn batch(number: i64) -> Batch {
    let id = SessionId::new(SESSION);
    let size = 2 + number % 5;
    let event = |place: i64| NewEvent {
        turn: Some(number),
        kind: "note".to_owned(),
        json: serde_json::json!({ "batch": number, "place": place, "size": size }).to_string(),
    };
    let settled = TurnPatch { ordinal: number, stage: Some(Stage::Settled), ..TurnPatch::default() };
    Batch {
        events: (0..size).map(event).collect(),
        changes: vec![
            Change::NewTurn(scene::turn(number)),
            Change::Message(scene::message(&number.to_string(), &format!("message {number}"))),
            Change::Turn(settled),
        ],
        ..scene::batch(&id, number, &[])
    }
}

async fn turns(store: &Store) -> i64 {
    store.last_turns(&SessionId::new(SESSION), None, 1).await.unwrap().last().map_or(0, |turn| turn.ordinal)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it is the child that the other test kills"]
async fn child() {
    let Ok(file) = std::env::var(FILE) else { return };
    let store = crate::open(Path::new(&file)).await;
    let first = turns(&store).await + 1;
    for number in first.. {
        let appended = store.append(batch(number)).await.unwrap();
        println!("kept {number} {}", appended.last_seq);
    }
}

/// Starts a child, waits until it has stored this many batches, kills it. Returns the last acknowledged one.
fn kill_after(file: &Path, batches: usize) -> (i64, i64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["killed::child", "--exact", "--ignored", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = (0, 0);
    let mut seen = 0;
    for line in lines {
        let line = line.unwrap();
        let Some((_, numbers)) = line.split_once("kept ") else { continue };
        let (number, seq) = numbers.split_once(' ').unwrap();
        last = (number.parse().unwrap(), seq.parse().unwrap());
        seen += 1;
        if seen == batches {
            // Its output until its death is read as well.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(seen >= batches, "the child ended by itself");
    last
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_writer_leaves_whole_batches() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    let store = crate::open(&path).await;
    let id = scene::session(&store, SESSION).await;
    store.close().await;
    for round in 0..10_usize {
        let (told, told_seq) = kill_after(&path, 1 + round * 7 % 23);
        let store = crate::open(&path).await;
        let last = turns(&store).await;
        assert!(last >= told, "round {round}: batch {told} was said to be kept, {last} is the last");
        let session = store.session(&id).await.unwrap().unwrap();
        assert!(session.last_seq >= told_seq);
        let expected: Vec<Value> = (1..=last)
            .flat_map(|number| batch(number).events)
            .map(|event| serde_json::from_str(&event.json).unwrap())
            .collect();
        let events = store.events(&id, 0, 1_000_000).await.unwrap();
        let kept: Vec<Value> =
            events.iter().map(|event| serde_json::from_str(&event.json).unwrap()).collect();
        assert_eq!(kept, expected, "round {round}");
        let numbers = events.iter().map(|event| event.seq);
        assert!(numbers.eq(1..=session.last_seq));
        let messages = store.messages(&id, None, 1_000_000).await.unwrap();
        assert_eq!(messages.len() as i64, last);
        assert_eq!(store.search(&format!("\"message {last}\""), 10).await.unwrap().len(), 1);
        assert_eq!(store.unsettled().await.unwrap(), [], "no turn without its end");
        store.close().await;
    }
}
