//! A database stores which home it belongs to; a copy does not act on what the original continues.

use super::scene;
use crate::{Change, HostState, NewHost, NewOutbox, OutboxState, RequestPatch, RequestState, Store};

fn owed(id: &str, target: Option<&str>) -> Change {
    Change::Outbox(NewOutbox {
        id: id.to_owned(),
        kind: "outcome".to_owned(),
        payload: "{}".to_owned(),
        target: target.map(str::to_owned),
        due_at: 10,
    })
}

/// The record of the home is replaced, never doubled.
pub async fn the_home_of_a_database_is_recorded(store: Store) {
    assert_eq!(store.home_record().await.unwrap(), None);
    for record in ["{\"id\":\"a\"}", "{\"id\":\"b\"}"] {
        store.set_home_record(record).await.unwrap();
        assert_eq!(store.home_record().await.unwrap().as_deref(), Some(record));
    }
}

/// Hosts, notifications and kept answers of a copy belong to the original.
pub async fn what_is_left_to_the_original_is_not_acted_on(store: Store) {
    let id = scene::session(&store, "one").await;
    for change in [owed("open", Some("local")), owed("nobody", None), owed("sent", Some("local"))] {
        store.append(scene::change(&id, 1, change)).await.unwrap();
    }
    let claimed = store.claim_outbox("x", 20, 30, 10).await.unwrap();
    assert_eq!(claimed.len(), 2);
    store.finish_outbox("sent", "x", 25).await.unwrap();
    let ticket = scene::asked(&store, &id, scene::request("req-1", "ls")).await;
    store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    let kept =
        RequestPatch { expires_at: Some(100), ..RequestPatch::state(ticket.clone(), RequestState::Escrowed) };
    store.append(scene::change(&id, 10, Change::Request(kept))).await.unwrap();
    let host = NewHost {
        nonce: "n".to_owned(),
        socket: "/s".to_owned(),
        dir: "/d".to_owned(),
        version: "0.166.0".to_owned(),
        codex_home: None,
        key: "{}".to_owned(),
        created_at: 1,
    };
    store.intend_host(host).await.unwrap();

    store.leave_to_original("it is a copy", 50).await.unwrap();
    let state = async |entry: &str| store.outbox(entry).await.unwrap().unwrap().state;
    assert_eq!(state("open").await, OutboxState::Abandoned);
    assert_eq!((state("sent").await, state("nobody").await), (OutboxState::Sent, OutboxState::Pending));
    assert_eq!(store.claim_outbox("y", 1000, 2000, 10).await.unwrap(), []);
    let request = store.request(&ticket).await.unwrap().unwrap();
    assert_eq!((request.state, request.answer_sealed), (RequestState::Expired, None));
    let host = store.host("n").await.unwrap().unwrap();
    assert_eq!((host.state, host.why.as_deref()), (HostState::Ended, Some("it is a copy")));
}

/// What another home may have sent is sent as a possible repeat, and nothing else is.
pub async fn what_is_owed_by_two_homes_is_a_possible_repeat(store: Store) {
    let id = scene::session(&store, "one").await;
    for entry in ["sent", "open"] {
        store.append(scene::change(&id, 1, owed(entry, Some("local")))).await.unwrap();
    }
    store.claim_outbox("x", 20, 30, 1).await.unwrap();
    let [first] = &store.claim_outbox("y", 20, 30, 1).await.unwrap()[..] else { panic!("one is left") };
    let other = if first.id == "sent" { "open" } else { "sent" };
    store.finish_outbox(&first.id, "y", 25).await.unwrap();
    assert_eq!(store.mark_owed_as_repeats().await.unwrap(), 1);
    let repeat = async |entry: &str| store.outbox(entry).await.unwrap().unwrap().repeat;
    assert_eq!((repeat(&first.id).await, repeat(other).await), (false, true));
}
