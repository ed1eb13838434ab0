//! Events and rows are written together, in order, wholly or not at all.

use talaria_core::ids::TicketId;

use super::scene::{self, EPOCH};
use crate::{
    Appended, Batch, Change, NewEvent, NewOutbox, SessionPatch, SessionState, Store, StoreError, TurnPatch,
};

/// Numbers are given by the store, per session, from 1.
pub async fn numbers_count_from_one_without_a_gap(store: Store) {
    let (one, two) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    let appended = store.append(scene::batch(&one, 10, &["a", "b"])).await.unwrap();
    assert_eq!(appended, Appended { first_seq: 1, last_seq: 2 });
    let appended = store.append(scene::batch(&two, 11, &["c"])).await.unwrap();
    assert_eq!(appended, Appended { first_seq: 1, last_seq: 1 });
    let appended = store.append(scene::batch(&one, 12, &["d"])).await.unwrap();
    assert_eq!(appended, Appended { first_seq: 3, last_seq: 3 });
    let appended = store.append(scene::batch(&one, 13, &[])).await.unwrap();
    assert_eq!(appended, Appended { first_seq: 4, last_seq: 3 }, "no events take no numbers");
    let session = store.session(&one).await.unwrap().unwrap();
    assert_eq!((session.first_seq, session.last_seq, session.updated_at), (1, 3, 13));
}

fn owed(id: &str) -> NewOutbox {
    let (id, kind, payload) = (id.to_owned(), "outcome".to_owned(), "{}".to_owned());
    NewOutbox { id, kind, payload, target: Some("local".to_owned()), due_at: 1 }
}

/// An outcome and its notifications are stored together.
pub async fn an_outcome_comes_with_what_is_owed_for_it(store: Store) {
    let id = scene::session(&store, "one").await;
    store.append(scene::change(&id, 1, Change::NewTurn(scene::turn(1)))).await.unwrap();
    let ended = TurnPatch { ordinal: 1, outcome: Some("{}".to_owned()), ..TurnPatch::default() };
    let changes = vec![Change::Turn(ended), Change::Outbox(owed("entry"))];
    store.append(Batch { changes: changes.clone(), ..scene::batch(&id, 2, &["end"]) }).await.unwrap();
    let again = store.append(Batch { changes, ..scene::batch(&id, 3, &["again"]) }).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "an entry is owed once: {again:?}");
    assert_eq!(store.outbox_of(&id).await.unwrap().len(), 1);
    assert_eq!(store.last_turns(&id, None, 1).await.unwrap()[0].outcome.as_deref(), Some("{}"));
    assert_eq!(store.session(&id).await.unwrap().unwrap().last_seq, 1);
}

/// A batch that fails in its last change leaves nothing.
pub async fn rows_change_with_their_events_or_not_at_all(store: Store) {
    let id = scene::session(&store, "one").await;
    let running = SessionPatch { state: Some(SessionState::Running), ..SessionPatch::default() };
    let good = vec![Change::NewTurn(scene::turn(1)), Change::Session(running)];
    store.append(Batch { changes: good, ..scene::batch(&id, 1, &["a"]) }).await.unwrap();
    let bad = vec![
        Change::Message(scene::message("k", "never kept")),
        Change::NewTurn(scene::turn(2)),
        Change::Turn(TurnPatch { ordinal: 1, outcome: Some("completed".to_owned()), ..TurnPatch::default() }),
        Change::Outbox(owed("never")),
        Change::NewRequest(scene::request("req-never", "b")),
        Change::Turn(TurnPatch { ordinal: 99, ..TurnPatch::default() }),
    ];
    let refused = store.append(Batch { changes: bad, ..scene::batch(&id, 2, &["b"]) }).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert_eq!(store.events(&id, 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.last_turns(&id, None, 10).await.unwrap().len(), 1);
    let turn = &store.last_turns(&id, None, 10).await.unwrap()[0];
    assert_eq!(turn.outcome, None, "no outcome without what is owed for it");
    assert_eq!(store.outbox_of(&id).await.unwrap(), []);
    assert_eq!(store.request(&TicketId::new("req-never")).await.unwrap(), None);
    assert_eq!(store.messages(&id, None, 10).await.unwrap(), []);
    let session = store.session(&id).await.unwrap().unwrap();
    assert_eq!((session.state, session.last_seq, session.updated_at), (SessionState::Running, 1, 1));
    let appended = store.append(scene::batch(&id, 3, &["c"])).await.unwrap();
    assert_eq!(appended.first_seq, 2, "the refused batch took no number");
}

/// Of many batches committed together, the wrong ones are refused and the others are stored.
pub async fn a_bad_batch_does_not_spoil_its_neighbours(store: Store) {
    let id = scene::session(&store, "one").await;
    let unknown = talaria_core::ids::SessionId::new("nobody");
    let batches = (0..30).map(|n| match n % 5 {
        0 => Batch { epoch: EPOCH - 1, ..scene::batch(&id, n, &["fenced"]) },
        1 => scene::batch(&unknown, n, &["unknown"]),
        2 => Batch {
            changes: vec![Change::Turn(TurnPatch { ordinal: 7, ..TurnPatch::default() })],
            ..scene::batch(&id, n, &["conflict"])
        },
        _ => scene::batch(&id, n, &["good", "good"]),
    });
    let all = batches.map(|batch| {
        tokio::spawn({
            let store = store.clone();
            async move { store.append(batch).await }
        })
    });
    for (n, result) in futures_util::future::join_all(all).await.into_iter().enumerate() {
        let result = result.unwrap();
        match n % 5 {
            0 => assert!(matches!(result, Err(StoreError::Fenced { .. })), "{result:?}"),
            1 => assert_eq!(result, Err(StoreError::UnknownSession(unknown.clone()))),
            2 => assert!(matches!(result, Err(StoreError::Conflict(_))), "{result:?}"),
            _ => assert!(result.is_ok(), "{result:?}"),
        }
    }
    let events = store.events(&id, 0, 1000).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=24).collect::<Vec<_>>());
    assert!(events.iter().all(|event| event.json.contains("good")));
}

/// Concurrent appends to one session never share a number or leave one out.
pub async fn many_callers_at_once_get_numbers_of_their_own(store: Store) {
    let id = scene::session(&store, "one").await;
    let all = (0..100).map(|n| {
        let (store, batch) = (store.clone(), scene::batch(&id, n, &["x", "y", "z"]));
        tokio::spawn(async move { store.append(batch).await.unwrap() })
    });
    let mut firsts: Vec<i64> = futures_util::future::join_all(all)
        .await
        .into_iter()
        .map(|result| result.unwrap().first_seq)
        .collect();
    firsts.sort_unstable();
    assert_eq!(firsts, (0..100).map(|n| n * 3 + 1).collect::<Vec<_>>());
    assert_eq!(store.events(&id, 0, 1000).await.unwrap().len(), 300);
}

/// The key is unique in a session and nowhere else.
pub async fn a_message_written_twice_is_one_message_with_the_newer_text(store: Store) {
    let (one, two) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    let mut first = scene::message("turn-1/item-1", "half");
    first.event = Some(0);
    let batch = Batch { changes: vec![Change::Message(first)], ..scene::batch(&one, 1, &["a", "b"]) };
    store.append(batch).await.unwrap();
    let whole = Change::Message(scene::message("turn-1/item-1", "whole"));
    store.append(Batch { changes: vec![whole.clone()], ..scene::batch(&one, 2, &["c"]) }).await.unwrap();
    store.append(scene::change(&two, 3, whole)).await.unwrap();
    let kept = store.messages(&one, None, 10).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].text.as_str(), kept[0].seq, kept[0].at), ("whole", 1, 2), "it keeps its place");
    let without_event: Vec<i64> =
        store.last_messages(&two, 10).await.unwrap().iter().map(|message| message.seq).collect();
    assert_eq!(without_event, [1], "it belongs to the event that comes next");
}

/// No limit of a statement shows.
pub async fn a_batch_larger_than_any_statement_is_kept_whole(store: Store) {
    let id = scene::session(&store, "one").await;
    for count in [1_usize, 4, 5, 32, 33, 255, 256, 257, 1000] {
        let before = store.session(&id).await.unwrap().unwrap().last_seq;
        let texts: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let message = |text: &&str| Change::Message(scene::message(&format!("{count}-{text}"), text));
        let changes = texts.iter().map(message).collect();
        store.append(Batch { changes, ..scene::batch(&id, 1, &texts) }).await.unwrap();
        let events = store.events(&id, before, 2000).await.unwrap();
        let kept: Vec<_> = events.iter().map(|event| event.json.clone()).collect();
        assert_eq!(kept, texts.iter().map(|text| format!(r#"{{"text":"{text}"}}"#)).collect::<Vec<_>>());
    }
    assert_eq!(store.messages(&id, None, 5000).await.unwrap().len(), 1843);
}

/// Reading after a number returns what follows, and nothing twice.
pub async fn events_are_paged_by_number(store: Store) {
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["a", "b", "c", "d", "e"])).await.unwrap();
    let numbers = async |after, limit| {
        let events = store.events(&id, after, limit).await.unwrap();
        events.into_iter().map(|event| event.seq).collect::<Vec<_>>()
    };
    assert_eq!(numbers(0, 2).await, [1, 2]);
    assert_eq!(numbers(2, 2).await, [3, 4]);
    assert_eq!(numbers(4, 2).await, [5]);
    assert_eq!(numbers(5, 2).await, [] as [i64; 0]);
}

/// The events of one turn and some kinds, and no others.
pub async fn the_steps_of_one_turn_are_found(store: Store) {
    let id = scene::session(&store, "one").await;
    for ordinal in [1, 2] {
        let event = |kind: &str| NewEvent {
            turn: Some(ordinal),
            kind: kind.to_owned(),
            json: serde_json::json!({ "turn": ordinal }).to_string(),
        };
        let events =
            vec![event("item_started"), event("item_completed"), event("item_completed"), event("note")];
        let changes = vec![Change::NewTurn(scene::turn(ordinal))];
        store.append(Batch { events, changes, ..scene::batch(&id, 1, &[]) }).await.unwrap();
    }
    let steps = store.events_of_turn(&id, 2, &["item_completed", "other"]).await.unwrap();
    assert_eq!(steps.iter().map(|event| event.seq).collect::<Vec<_>>(), [6, 7]);
}

/// What began a thread or shortened the conversation; other steps are not among them.
pub async fn threads_and_compactions_are_found(store: Store) {
    let id = scene::session(&store, "one").await;
    let event = |kind: &str, item: &str| NewEvent {
        turn: Some(1),
        kind: kind.to_owned(),
        json: serde_json::json!({ "type": kind, "item": { "kind": item } }).to_string(),
    };
    let events = vec![
        event("session_started", ""),
        event("item_completed", "command"),
        event("item_started", "compaction"),
        event("item_completed", "compaction"),
        event("compacted", ""),
        event("session_started", ""),
    ];
    let changes = vec![Change::NewTurn(scene::turn(1))];
    store.append(Batch { events, changes, ..scene::batch(&id, 1, &[]) }).await.unwrap();
    let found = async |after| {
        let events = store.landmarks(&id, after).await.unwrap();
        events.iter().map(|event| event.seq).collect::<Vec<_>>()
    };
    assert_eq!(found(0).await, [1, 4, 5, 6]);
    assert_eq!(found(4).await, [5, 6]);
    let last = async |kind| store.last_event_of(&id, kind).await.unwrap().map(|event| event.seq);
    assert_eq!((last("session_started").await, last("note").await), (Some(6), None));
    let other = scene::session(&store, "two").await;
    assert!(store.landmarks(&other, 0).await.unwrap().is_empty());
}

/// Dropping the future at any moment is harmless.
pub async fn a_caller_that_stops_waiting_leaves_no_half_of_a_batch(store: Store) {
    let id = scene::session(&store, "one").await;
    for n in 0..50 {
        let changes = vec![Change::Message(scene::message(&n.to_string(), "m"))];
        let append = store.append(Batch { changes, ..scene::batch(&id, n, &["a", "b"]) });
        tokio::select! {
            biased;
            result = append => { result.unwrap(); }
            () = async { for _ in 0..n { tokio::task::yield_now().await; } } => {}
        }
    }
    // The queue is in order: everything sent before this is done.
    let last = store.append(scene::batch(&id, 99, &["end"])).await.unwrap().last_seq;
    let events = store.events(&id, 0, 1000).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=last).collect::<Vec<_>>());
    let messages = store.messages(&id, None, 1000).await.unwrap();
    assert_eq!(i64::try_from(messages.len()).unwrap() * 2 + 1, last);
}
