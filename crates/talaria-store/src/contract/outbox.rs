//! An outbox entry is delivered by one claimer at a time until it is done, and its state can always be read.

use std::collections::BTreeMap;

use talaria_core::ids::SessionId;

use super::scene::{self, EPOCH};
use crate::{Change, NewOutbox, OutboxRow, OutboxState, Store, StoreError};

/// Keeps entries: their ids, their targets and when they are due.
async fn owe(store: &Store, session: &SessionId, entries: &[(&str, Option<&str>, i64)]) {
    for (id, target, due_at) in entries {
        let new = NewOutbox {
            id: (*id).to_owned(),
            kind: "outcome".to_owned(),
            payload: "{}".to_owned(),
            target: target.map(str::to_owned),
            due_at: *due_at,
        };
        store.append(scene::change(session, 1, Change::Outbox(new))).await.unwrap();
    }
}

async fn kept(store: &Store, id: &str) -> OutboxRow {
    store.outbox(id).await.unwrap().unwrap()
}

fn ids(entries: &[OutboxRow]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

/// Claims exclude each other, lapse, and end with the delivery.
pub async fn an_entry_is_claimed_by_one_at_a_time(store: Store) {
    let id = scene::session(&store, "one").await;
    let local = Some("local");
    owe(&store, &id, &[("b", local, 20), ("a", local, 10), ("later", local, 500)]).await;
    let claim = async |by: &str, at, until| {
        let claimed = store.claim_outbox(by, at, until, 10).await.unwrap();
        claimed.into_iter().map(|entry| (entry.id, entry.attempts)).collect::<Vec<_>>()
    };
    let is = |entry: &str, attempts| (entry.to_owned(), attempts);
    assert_eq!(claim("x", 100, 200).await, [is("a", 1), is("b", 1)]);
    assert_eq!(claim("y", 199, 300).await, []);
    store.finish_outbox("a", "x", 150).await.unwrap();
    assert_eq!(claim("y", 200, 300).await, [is("b", 2)], "a claim lapses, what is done stays done");
    let late = store.finish_outbox("b", "x", 210).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");
    store.retry_outbox("b", "y", 400, "nobody there").await.unwrap();
    assert_eq!(claim("z", 399, 450).await, []);
    assert_eq!(claim("z", 400, 450).await, [is("b", 3)]);
}

/// With concurrent claims each entry is claimed once.
pub async fn two_claimers_never_get_the_same_entry(store: Store) {
    let id = scene::session(&store, "one").await;
    let names: Vec<String> = (0..40).map(|n| format!("{n:02}")).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_str(), Some("local"), 10)).collect();
    owe(&store, &id, &entries).await;
    let claimers = (0..8).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut got = Vec::new();
            loop {
                let claimed = store.claim_outbox(&format!("engine-{n}"), 100, 200, 3).await.unwrap();
                if claimed.is_empty() {
                    return got;
                }
                got.extend(claimed.into_iter().map(|entry| entry.id));
            }
        })
    });
    let mut got: BTreeMap<String, usize> = BTreeMap::new();
    for claimed in futures_util::future::join_all(claimers).await {
        for id in claimed.unwrap() {
            *got.entry(id).or_default() += 1;
        }
    }
    assert_eq!(got, names.into_iter().map(|name| (name, 1)).collect());
}

/// Sent, failed and abandoned are stored with their times and reasons; a finished entry is never claimed again.
pub async fn every_entry_has_a_fate(store: Store) {
    let id = scene::session(&store, "one").await;
    let target = Some("webhook:https://example.org/");
    owe(&store, &id, &[("sent", target, 1), ("failed", target, 2), ("abandoned", target, 3)]).await;
    let before = kept(&store, "sent").await;
    assert_eq!((before.state, before.attempts, before.repeat), (OutboxState::Pending, 0, false));
    let claimed = store.claim_outbox("x", 10, 20, 10).await.unwrap();
    assert_eq!(ids(&claimed), ["sent", "failed", "abandoned"]);
    assert_eq!(claimed[0].target.as_deref(), target);
    assert!(claimed.iter().all(|entry| entry.state == OutboxState::Sending && !entry.repeat));

    store.finish_outbox("sent", "x", 11).await.unwrap();
    store.retry_outbox("failed", "x", 50, "refused").await.unwrap();
    store.abandon_outbox("abandoned", "x", 12, "gone").await.unwrap();
    let fate = |entry: &OutboxRow| (entry.state, entry.error.clone(), entry.sent_at, entry.done_at);
    assert_eq!(fate(&kept(&store, "sent").await), (OutboxState::Sent, None, Some(11), Some(11)));
    let failed = kept(&store, "failed").await;
    assert_eq!(fate(&failed), (OutboxState::Failed, Some("refused".to_owned()), None, None));
    assert_eq!(failed.due_at, 50);
    let abandoned = fate(&kept(&store, "abandoned").await);
    assert_eq!(abandoned, (OutboxState::Abandoned, Some("gone".to_owned()), None, Some(12)));

    let again = store.claim_outbox("y", 1000, 1010, 10).await.unwrap();
    assert_eq!(ids(&again), ["failed"]);
    assert_eq!((again[0].attempts, again[0].repeat), (2, false), "that it failed is known");
    store.finish_outbox("failed", "y", 1001).await.unwrap();
    assert_eq!(fate(&kept(&store, "failed").await), (OutboxState::Sent, None, Some(1001), Some(1001)));
    assert_eq!(ids(&store.outbox_of(&id).await.unwrap()), ["abandoned", "failed", "sent"]);
}

/// A claimer that disappeared may have delivered the entry: from then on it is a possible repeat.
pub async fn what_a_lost_deliverer_had_is_a_possible_repeat(store: Store) {
    let id = scene::session(&store, "one").await;
    owe(&store, &id, &[("a", Some("local"), 1)]).await;
    let repeat = async |by: &str, at: i64| {
        let claimed = store.claim_outbox(by, at, at + 10, 10).await.unwrap();
        claimed.first().map(|entry| entry.repeat)
    };
    assert_eq!(repeat("x", 10).await, Some(false));
    assert_eq!(repeat("y", 15).await, None);
    assert_eq!(repeat("y", 20).await, Some(true));
    store.retry_outbox("a", "y", 40, "refused").await.unwrap();
    assert_eq!(repeat("y", 40).await, Some(true), "the failure of the second says nothing of the first");
}

/// An engine that knows that the others are gone need not wait until their claims expire.
pub async fn the_claims_of_those_who_are_gone_can_be_ended(store: Store) {
    let id = scene::session(&store, "one").await;
    owe(&store, &id, &[("a", Some("local"), 1), ("b", Some("local"), 2), ("c", Some("local"), 3)]).await;
    assert_eq!(ids(&store.claim_outbox("x", 10, 1000, 2).await.unwrap()), ["a", "b"]);
    store.finish_outbox("a", "x", 11).await.unwrap();
    assert_eq!(store.end_claims_of_others("x", 20).await.unwrap(), 0, "its own stay");
    assert_eq!(ids(&store.claim_outbox("y", 20, 1000, 1).await.unwrap()), ["c"]);
    assert_eq!(store.end_claims_of_others("y", 30).await.unwrap(), 1);
    let again = store.claim_outbox("y", 30, 1000, 10).await.unwrap();
    assert_eq!((ids(&again), again[0].repeat), (vec!["b"], true));
    assert!(store.finish_outbox("b", "x", 31).await.is_err(), "whoever was taken for gone is told");
}

/// An entry without a target is never claimed; it is a candidate until it is marked.
pub async fn without_a_target_nothing_is_claimed(store: Store) {
    let id = scene::session(&store, "one").await;
    owe(&store, &id, &[("nobody", None, 1), ("somebody", Some("local"), 2), ("other", None, 3)]).await;
    assert_eq!(ids(&store.outbox_open(None, 10).await.unwrap()), ["nobody", "somebody", "other"]);
    assert_eq!(ids(&store.claim_outbox("x", 100, 200, 10).await.unwrap()), ["somebody"]);
    let all = ["nobody", "somebody", "unknown"].map(str::to_owned);
    assert_eq!(store.hurry_outbox(&all, 50).await.unwrap(), 0);
    assert_eq!(store.mark_no_target(&all, 60).await.unwrap(), 1);
    let marked = kept(&store, "nobody").await;
    assert_eq!((marked.state, marked.done_at, marked.sent_at), (OutboxState::NoTarget, Some(60), None));
    assert_eq!(kept(&store, "somebody").await.state, OutboxState::Sending);
    assert_eq!(ids(&store.outbox_open(None, 10).await.unwrap()), ["other"]);
}

/// A target that always fails does not prevent the delivery of newer entries, however many it has.
pub async fn a_failing_target_does_not_starve_newer_entries(store: Store) {
    let id = scene::session(&store, "one").await;
    let names: Vec<String> = (0..20).map(|n| format!("bad-{n:02}")).collect();
    let bad: Vec<_> = names.iter().map(|name| (name.as_str(), Some("webhook:bad"), 1)).collect();
    owe(&store, &id, &bad).await;
    owe(&store, &id, &[("good", Some("local"), 30)]).await;
    let mut delivered_in = None;
    for round in 0..4 {
        let at = 30 + round;
        for entry in store.claim_outbox("x", at, at + 10, 10).await.unwrap() {
            if entry.target.as_deref() == Some("local") {
                store.finish_outbox(&entry.id, "x", at).await.unwrap();
                delivered_in = Some(round);
            } else {
                store.retry_outbox(&entry.id, "x", at + 1, "refused").await.unwrap();
            }
        }
    }
    assert_eq!(
        delivered_in,
        Some(2),
        "twenty were due before it, ten at a time, and none of them comes twice"
    );
}

/// Waiting entries are made due; claimed or finished ones are unchanged.
pub async fn what_waits_can_be_hurried(store: Store) {
    let id = scene::session(&store, "one").await;
    let local = Some("local");
    owe(&store, &id, &[("a", local, 1), ("b", local, 2), ("c", local, 900), ("d", local, 3)]).await;
    assert_eq!(store.outbox_due_at().await.unwrap(), Some(1));
    assert_eq!(store.claim_outbox("x", 10, 500, 3).await.unwrap().len(), 3);
    assert_eq!(store.outbox_due_at().await.unwrap(), Some(500), "when the claims lapse");
    store.retry_outbox("a", "x", 800, "refused").await.unwrap();
    store.finish_outbox("b", "x", 11).await.unwrap();
    let all = ["a", "b", "c", "d"].map(str::to_owned);
    assert_eq!(store.hurry_outbox(&all, 20).await.unwrap(), 2);
    assert_eq!(store.outbox_due_at().await.unwrap(), Some(20));
    let claimed = store.claim_outbox("y", 20, 30, 10).await.unwrap();
    assert_eq!(ids(&claimed), ["a", "c"]);
}

/// Candidates are those of one owner where one is named, and no other's fill the list.
pub async fn candidates_are_listed_by_owner(store: Store) {
    for (id, owner) in [("one", "model:x"), ("two", "model:y"), ("three", "model:y")] {
        let mut new = scene::new_task(id, 1);
        if let Some(task) = &mut new.task {
            task.owner = owner.to_owned();
        }
        let session = new.id.clone();
        store.create_session(new, scene::lease(&session, EPOCH)).await.unwrap();
        owe(&store, &session, &[(id, Some("local"), 5)]).await;
    }
    assert_eq!(ids(&store.outbox_open(Some("model:y"), 10).await.unwrap()), ["three", "two"]);
    assert_eq!(ids(&store.outbox_open(Some("model:x"), 1).await.unwrap()), ["one"]);
    assert_eq!(store.outbox_open(None, 10).await.unwrap().len(), 3);
}

/// Changes of an entry never change the list of sessions.
pub async fn telling_does_not_change_the_session(store: Store) {
    let id = scene::session_at(&store, "one", 5).await;
    let local = Some("local");
    owe(&store, &id, &[("a", local, 1), ("b", local, 1), ("c", local, 1), ("d", None, 1)]).await;
    let before = store.session(&id).await.unwrap();
    store.claim_outbox("x", 100, 200, 10).await.unwrap();
    store.finish_outbox("a", "x", 110).await.unwrap();
    store.retry_outbox("b", "x", 300, "refused").await.unwrap();
    store.abandon_outbox("c", "x", 120, "refused").await.unwrap();
    store.mark_no_target(&["d".to_owned()], 130).await.unwrap();
    store.hurry_outbox(&["b".to_owned()], 140).await.unwrap();
    assert_eq!(store.session(&id).await.unwrap(), before);
}
