//! Forks have the beginning of another session and a life of their own; a turn that is undone stays on record, as undone.

use talaria_core::event::Stage;
use talaria_core::ids::SessionId;

use super::audit::entry;
use super::scene;
use crate::{
    AuditOutcome, Batch, Change, NewEvent, NewForkRow, NewHistoryEntry, NewMessage, Store, StoreError,
    TurnPatch,
};

fn event(turn: i64, kind: &str) -> NewEvent {
    NewEvent { turn: Some(turn), kind: kind.to_owned(), json: format!("{{\"of\":{turn}}}") }
}

fn settled(ordinal: i64) -> Change {
    Change::Turn(TurnPatch { ordinal, stage: Some(Stage::Settled), ..TurnPatch::default() })
}

/// A turn with two events, a message and an entry of the history.
async fn talk(store: &Store, id: &SessionId, ordinal: i64, said: &str) {
    store.append(scene::change(id, ordinal, Change::NewTurn(scene::turn(ordinal)))).await.unwrap();
    let message = NewMessage { turn: Some(ordinal), ..scene::message(&format!("{ordinal}/said"), said) };
    let entry = NewHistoryEntry { seq: ordinal - 1, ordinal, prefix_epoch: 0, sealed: vec![7] };
    let changes = vec![settled(ordinal), Change::Message(message), Change::History(entry)];
    let events = vec![event(ordinal, "turn_started"), event(ordinal, "outcome")];
    store.append(Batch { events, changes, ..scene::batch(id, ordinal, &[]) }).await.unwrap();
}

async fn fork(store: &Store, of: &SessionId, name: &str, turn: i64) -> Result<SessionId, StoreError> {
    let (id, title) = (SessionId::new(name), Some("a fork".to_owned()));
    let (origin, basis) = (of.clone(), Some("{}".to_owned()));
    let audit = entry("fork", AuditOutcome::Done);
    let new = NewForkRow { id: id.clone(), origin, turn, title, basis, created_at: 50, audit };
    store.fork_session(new, scene::lease(&id, scene::EPOCH)).await.map(|()| id)
}

async fn ordinals(store: &Store, id: &SessionId) -> Vec<(i64, bool)> {
    let turns = store.last_turns(id, None, 100).await.unwrap();
    turns.iter().map(|turn| (turn.ordinal, turn.undone_at.is_some())).collect()
}

async fn numbers(store: &Store, id: &SessionId) -> Vec<i64> {
    store.events(id, 0, 100).await.unwrap().iter().map(|event| event.seq).collect()
}

fn is_conflict<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

/// What happened up to the turn is in the fork under the same numbers, and from there on the two have nothing in common.
pub async fn a_fork_has_the_beginning_of_its_original_and_goes_its_own_way(store: Store) {
    let id = scene::session(&store, "one").await;
    for (turn, said) in [(1, "heron"), (2, "stork"), (3, "crane")] {
        talk(&store, &id, turn, said).await;
    }
    let fork = fork(&store, &id, "two", 2).await.unwrap();
    let row = store.session(&fork).await.unwrap().unwrap();
    assert_eq!((row.forked_from, row.basis.as_deref()), (Some((id.clone(), 2)), Some("{}")));
    assert_eq!((row.cwd.as_str(), row.title.as_deref(), row.thread), ("/work", Some("a fork"), None));
    assert_eq!(ordinals(&store, &fork).await, [(1, false), (2, false)]);
    assert_eq!((numbers(&store, &fork).await, row.last_seq), (vec![1, 2, 3, 4], 4));
    let said: Vec<String> =
        store.messages(&fork, None, 9).await.unwrap().into_iter().map(|message| message.text).collect();
    assert_eq!(said, ["heron", "stork"]);
    assert_eq!(store.model_history_len(&fork).await.unwrap(), 2);
    talk(&store, &fork, 3, "egret").await;
    assert_eq!(numbers(&store, &fork).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(numbers(&store, &id).await.len(), 6, "the original has what it had");
    assert_eq!(store.search("egret", 9).await.unwrap().len(), 1);
    assert_eq!(store.search("crane", 9).await.unwrap()[0].session, id);
    assert_eq!(store.audit(None, 9).await.unwrap().len(), 1, "the fork is in the log");
}

/// A fork of a turn that is not finished, of none, or of one that was undone is refused and leaves nothing.
pub async fn only_a_finished_turn_is_forked(store: Store) {
    let id = scene::session(&store, "one").await;
    talk(&store, &id, 1, "heron").await;
    talk(&store, &id, 2, "stork").await;
    store.append(scene::change(&id, 9, Change::UndoTurn(2))).await.unwrap();
    store.append(scene::change(&id, 9, Change::NewTurn(scene::turn(3)))).await.unwrap();
    for turn in [0, 2, 3, 4] {
        assert!(is_conflict(&fork(&store, &id, "two", turn).await), "{turn}");
    }
    assert_eq!(store.counts().await.unwrap().sessions, 1);
    assert_eq!(store.lease(&SessionId::new("two")).await.unwrap(), None);
    fork(&store, &id, "two", 1).await.unwrap();
}

/// The last turn that counts is undone, once, while none runs. It stays on record and is not found by a search.
pub async fn an_undone_turn_stays_on_record_and_is_not_found(store: Store) {
    let id = scene::session(&store, "one").await;
    talk(&store, &id, 1, "heron").await;
    talk(&store, &id, 2, "stork").await;
    let undo = async |turn| store.append(scene::change(&id, 9, Change::UndoTurn(turn))).await;
    assert!(is_conflict(&undo(1).await), "it is not the last one");
    assert_eq!(store.search("stork", 9).await.unwrap().len(), 1);
    undo(2).await.unwrap();
    assert_eq!(ordinals(&store, &id).await, [(1, false), (2, true)]);
    assert_eq!(store.undone_turns(&id).await.unwrap(), [2]);
    assert_eq!(store.search("stork", 9).await.unwrap(), []);
    assert_eq!(store.messages(&id, None, 9).await.unwrap().len(), 2);
    assert!(is_conflict(&undo(2).await), "it was undone before");
    store.append(scene::change(&id, 9, Change::NewTurn(scene::turn(3)))).await.unwrap();
    assert!(is_conflict(&undo(1).await), "a turn runs");
    store.append(scene::change(&id, 9, settled(3))).await.unwrap();
    undo(3).await.unwrap();
    undo(1).await.unwrap();
    assert_eq!(store.undone_turns(&id).await.unwrap(), [1, 2, 3]);
}

/// A thread that is left leaves nothing of itself; what the next one begins with is kept until it is left in turn.
pub async fn a_thread_that_is_left_is_forgotten_with_its_host(store: Store) {
    let id = scene::session(&store, "one").await;
    let patch = crate::SessionPatch {
        thread: Some(talaria_core::ids::ThreadId::new("t")),
        host: Some("h".to_owned()),
        started: Some("{}".to_owned()),
        ..crate::SessionPatch::default()
    };
    store.append(scene::change(&id, 5, Change::Session(patch))).await.unwrap();
    store.append(scene::change(&id, 6, Change::Rebase("{\"a\":1}".to_owned()))).await.unwrap();
    let row = store.session(&id).await.unwrap().unwrap();
    assert_eq!((row.thread, row.host, row.started), (None, None, None));
    assert_eq!(row.basis.as_deref(), Some("{\"a\":1}"));
}
