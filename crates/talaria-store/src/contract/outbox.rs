//! What is owed is delivered by one at a time until it is done.

use super::scene;
use crate::{Change, NewOutbox, Store, StoreError};

fn entry_for(id: &str, target: Option<&str>, due_at: i64) -> NewOutbox {
    NewOutbox {
        id: id.to_owned(),
        kind: "outcome".to_owned(),
        payload: "{}".to_owned(),
        target: target.map(str::to_owned),
        due_at,
    }
}

/// Claims exclude each other, lapse, and end with the delivery.
pub async fn an_entry_is_claimed_by_one_at_a_time(store: Store) {
    let id = scene::session(&store, "one").await;
    for (entry, due_at) in [("b", 20), ("a", 10), ("later", 500)] {
        let new = entry_for(entry, Some("local"), due_at);
        store.append(scene::change(&id, 1, Change::Outbox(new))).await.unwrap();
    }
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
