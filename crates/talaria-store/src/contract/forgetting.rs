//! Old sessions are removed on request; running and waiting ones are not.

use talaria_core::event::Stage;
use talaria_core::ids::SessionId;

use super::scene;
use crate::{
    Batch, Change, NewOutbox, PrunePolicy, PruneResult, RequestPatch, RequestState, SessionFilter, Store,
    TrimPolicy, TrimResult, TurnPatch,
};

async fn listed(store: &Store) -> Vec<String> {
    let page = store.sessions(&SessionFilter::default(), None, 1000).await.unwrap();
    page.sessions.into_iter().map(|session| session.id.to_string()).collect()
}

async fn spoken(store: &Store, id: &str, at: i64) -> SessionId {
    let session = scene::session_at(store, id, at).await;
    let text = format!("words of {id}");
    let changes = vec![Change::Message(scene::message("a", &text))];
    store.append(Batch { changes, ..scene::batch(&session, at, &["one", "two"]) }).await.unwrap();
    session
}

/// The preview lists exactly the sessions that are removed, with everything that belonged to them.
pub async fn pruning_does_what_the_preview_said(store: Store) {
    for n in 0..6 {
        spoken(&store, &format!("s{n}"), 100 * n).await;
    }
    let policy = PrunePolicy { older_than: Some(200), keep: Some(3), max_bytes: None };
    let preview = store.preview_prune(&policy, 1000).await.unwrap();
    let ids: Vec<_> = preview.sessions.iter().map(|doomed| doomed.id.as_str()).collect();
    assert_eq!((ids, preview.events), (vec!["s0", "s1", "s2"], 6));
    assert!(preview.bytes > 0);
    assert_eq!(listed(&store).await.len(), 6, "a preview changes nothing");
    let pruned = store.prune(&policy, 1000).await.unwrap();
    assert_eq!(pruned, PruneResult { sessions: 3, events: 6, ..pruned });
    assert_eq!(listed(&store).await, ["s5", "s4", "s3"]);
    let gone = SessionId::new("s0");
    assert_eq!(store.events(&gone, 0, 10).await.unwrap(), []);
    assert_eq!(store.messages(&gone, None, 10).await.unwrap(), []);
    assert_eq!(store.lease(&gone).await.unwrap(), None);
    assert_eq!(store.search("words", 10).await.unwrap().len(), 3);
    assert_eq!(store.prune(&policy, 1000).await.unwrap().sessions, 0);
}

/// An unsettled turn, a pending request, an answer in escrow: the session stays until they are over.
pub async fn what_runs_or_waits_is_not_pruned(store: Store) {
    let turning = spoken(&store, "turning", 1).await;
    store.append(scene::change(&turning, 1, Change::NewTurn(scene::turn(1)))).await.unwrap();
    let asking = spoken(&store, "asking", 1).await;
    let ticket = scene::asked(&store, &asking, scene::request("req-1", "ls")).await;
    let kept = spoken(&store, "kept", 1).await;
    let answered = scene::asked(&store, &kept, scene::request("req-2", "ls")).await;
    store.answer_request(&answered, scene::answer("accept", "me")).await.unwrap();
    let escrowed =
        RequestPatch { expires_at: Some(5000), ..RequestPatch::state(answered, RequestState::Escrowed) };
    store.append(scene::change(&kept, 10, Change::Request(escrowed))).await.unwrap();
    spoken(&store, "old", 1).await;

    let policy = PrunePolicy { older_than: Some(1000), keep: Some(0), max_bytes: Some(0) };
    assert_eq!(store.prune(&policy, 2000).await.unwrap().sessions, 1);
    let mut left = listed(&store).await;
    left.sort();
    assert_eq!(left, ["asking", "kept", "turning"]);
    assert_eq!(store.events(&turning, 0, 10).await.unwrap().len(), 2);

    let settled = TurnPatch { ordinal: 1, stage: Some(Stage::Settled), ..TurnPatch::default() };
    store.append(scene::change(&turning, 1, Change::Turn(settled))).await.unwrap();
    let void = RequestPatch::state(ticket, RequestState::Void);
    store.append(scene::change(&asking, 1, Change::Request(void))).await.unwrap();
    assert_eq!(store.prune(&policy, 5000).await.unwrap().sessions, 3, "and then they go");
}

/// An undelivered entry keeps its session; an entry that was sent, abandoned or has no target does not. The task and
/// its outbox entries are removed with the session.
pub async fn a_session_stays_until_everybody_was_told(store: Store) {
    for id in ["sent", "failed", "abandoned", "nobody"] {
        let new = scene::new_task(id, 1);
        let session = new.id.clone();
        store.create_session(new, scene::lease(&session, scene::EPOCH)).await.unwrap();
        let entry = NewOutbox {
            id: id.to_owned(),
            kind: "outcome".to_owned(),
            payload: "{}".to_owned(),
            target: Some("local".to_owned()).filter(|_| id != "nobody"),
            due_at: 1,
        };
        store.append(scene::change(&session, 1, Change::Outbox(entry))).await.unwrap();
    }
    let policy = PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() };
    let preview = store.preview_prune(&policy, 2000).await.unwrap();
    assert_eq!(preview.sessions.iter().map(|doomed| doomed.id.as_str()).collect::<Vec<_>>(), ["nobody"]);
    assert_eq!(store.claim_outbox("x", 10, 20, 10).await.unwrap().len(), 3);
    store.finish_outbox("sent", "x", 11).await.unwrap();
    store.retry_outbox("failed", "x", 3000, "refused").await.unwrap();
    store.abandon_outbox("abandoned", "x", 11, "refused").await.unwrap();
    assert_eq!(store.prune(&policy, 2000).await.unwrap().sessions, 3);
    assert_eq!(listed(&store).await, ["failed"]);
    for id in ["sent", "abandoned", "nobody"] {
        let gone = SessionId::new(id);
        assert_eq!(store.task(&gone).await.unwrap(), None);
        assert_eq!(store.outbox_of(&gone).await.unwrap(), []);
    }
    assert!(store.task(&SessionId::new("failed")).await.unwrap().is_some());
}

/// Old events go, by age and by number; numbers continue, messages stay, and the gap can be seen.
pub async fn old_events_are_trimmed_from_the_front(store: Store) {
    let id = spoken(&store, "one", 10).await;
    for at in 20..30 {
        store.append(scene::batch(&id, at, &["more"])).await.unwrap();
    }
    let numbers = async || {
        let events = store.events(&id, 0, 100).await.unwrap();
        let session = store.session(&id).await.unwrap().unwrap();
        assert_eq!(events.first().map(|event| event.seq), Some(session.first_seq));
        (session.first_seq, session.last_seq)
    };
    let trim = async |older_than, keep| store.trim(TrimPolicy { older_than, keep }).await.unwrap().events;
    assert_eq!(trim(None, None).await, 0);
    assert_eq!(trim(Some(22), None).await, 4);
    assert_eq!(numbers().await, (5, 12));
    assert_eq!(trim(Some(22), Some(3)).await, 5);
    assert_eq!(numbers().await, (10, 12));
    assert_eq!(trim(Some(22), Some(3)).await, 0);
    assert_eq!(store.messages(&id, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.append(scene::batch(&id, 30, &["next"])).await.unwrap().first_seq, 13);
    assert_eq!(trim(Some(1000), None).await, 4);
    assert_eq!(store.append(scene::batch(&id, 40, &["next"])).await.unwrap().first_seq, 14);
    assert_eq!(numbers().await, (14, 14));
}

/// The events of a turn that is not settled stay.
pub async fn events_of_an_unsettled_turn_are_not_trimmed(store: Store) {
    let id = spoken(&store, "one", 10).await;
    let new = vec![Change::NewTurn(scene::turn(1))];
    store.append(Batch { changes: new, ..scene::batch(&id, 11, &["c", "d"]) }).await.unwrap();
    let policy = TrimPolicy { older_than: Some(1000), keep: Some(0) };
    assert_eq!(store.trim(policy).await.unwrap(), TrimResult { events: 2 });
    let left = store.events(&id, 0, 10).await.unwrap();
    assert_eq!(left.iter().map(|event| event.seq).collect::<Vec<_>>(), [3, 4]);
}

/// One call removes more than one step's worth.
pub async fn many_events_are_trimmed_in_steps(store: Store) {
    let id = scene::session(&store, "one").await;
    let texts = vec!["x"; 5000];
    store.append(scene::batch(&id, 5, &texts)).await.unwrap();
    let policy = TrimPolicy { older_than: Some(6), keep: None };
    assert_eq!(store.trim(policy).await.unwrap(), TrimResult { events: 5000 });
    assert_eq!(store.events(&id, 0, 10).await.unwrap(), []);
}
