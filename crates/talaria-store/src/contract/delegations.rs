//! The result of a delegated task is owed to its parent from its end on, and is delivered once.

use talaria_core::event::Stage;
use talaria_core::ids::{ItemId, SessionId, ThreadId, TurnId};

use super::scene::{self, EPOCH};
use crate::{
    Change, DelegationRow, NewDelegation, NewSessionRow, NewTaskRow, PrunePolicy, ResultCarrier, Store,
    StoreError, ToolCallKey, TurnPatch,
};

fn new(parent: &SessionId, call: &str, goal: i64) -> NewDelegation {
    let call =
        ToolCallKey { thread: ThreadId::new("thread"), turn: TurnId::new("turn"), call: ItemId::new(call) };
    NewDelegation { parent: parent.clone(), call, goal, depth: 1 }
}

async fn delegate(store: &Store, id: &str, new: NewDelegation) -> Result<SessionId, StoreError> {
    let task = NewTaskRow { owner: "model:x".to_owned(), delegation: Some(new), ..NewTaskRow::default() };
    let first_turn = Some(scene::turn(1));
    let session = NewSessionRow { task: Some(task), first_turn, ..scene::new_task(id, 5) };
    let id = session.id.clone();
    store.create_session(session, scene::lease(&id, EPOCH)).await?;
    Ok(id)
}

async fn end(store: &Store, child: &SessionId, at: i64) {
    let patch = TurnPatch { ordinal: 1, stage: Some(Stage::Settled), ..TurnPatch::default() };
    store.append(scene::change(child, at, Change::Turn(patch))).await.unwrap();
    let idle = crate::SessionPatch { state: Some(crate::SessionState::Idle), ..Default::default() };
    store.append(scene::change(child, at, Change::Session(idle))).await.unwrap();
}

async fn row(store: &Store, child: &SessionId) -> DelegationRow {
    store.delegation(child).await.unwrap().unwrap()
}

/// A conversation with turns that run.
async fn parent(store: &Store, turns: i64) -> SessionId {
    let parent = scene::session(store, "parent").await;
    for ordinal in 1..=turns {
        store.append(scene::change(&parent, 2, Change::NewTurn(scene::turn(ordinal)))).await.unwrap();
    }
    parent
}

fn carried(child: &SessionId, turn: i64, carrier: ResultCarrier) -> Change {
    Change::ResultCarried { child: child.clone(), turn, carrier }
}

/// A goal of a call becomes one task, made as a whole or not at all; another parent sees nothing of it.
pub async fn a_call_delegates_each_goal_once(store: Store) {
    let parent = scene::session(&store, "parent").await;
    assert!(!store.has_delegations().await.unwrap());
    let first = delegate(&store, "first", new(&parent, "a", 0)).await.unwrap();
    let again = delegate(&store, "again", new(&parent, "a", 0)).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    assert_eq!(store.session(&SessionId::new("again")).await.unwrap(), None, "nothing of it is left");
    let second = delegate(&store, "second", new(&parent, "a", 1)).await.unwrap();
    assert!(store.has_delegations().await.unwrap());
    let rows = store.delegations(&parent).await.unwrap();
    assert_eq!(rows.iter().map(|row| &row.child).collect::<Vec<_>>(), [&first, &second]);
    assert_eq!((rows[0].parent.clone(), rows[0].depth, rows[0].ended_at), (parent, 1, None));
    assert_eq!(store.delegations(&first).await.unwrap(), []);
    assert_eq!(store.delegation(&rows[0].parent).await.unwrap(), None);
}

/// A result is owed once the first turn of the task is settled, and no longer once it is delivered.
pub async fn a_result_is_owed_from_the_end_until_it_is_delivered(store: Store) {
    let parent = parent(&store, 4).await;
    let child = delegate(&store, "child", new(&parent, "a", 0)).await.unwrap();
    assert!(!row(&store, &child).await.is_owed(), "it works");
    end(&store, &child, 10).await;
    assert!(row(&store, &child).await.is_owed());
    assert_eq!(row(&store, &child).await.ended_at, Some(10));
    store.append(scene::change(&parent, 11, carried(&child, 3, ResultCarrier::Input))).await.unwrap();
    let on_its_way = row(&store, &child).await;
    assert_eq!((on_its_way.carried.clone(), on_its_way.is_owed()), (Some((3, ResultCarrier::Input)), true));
    let delivered = Change::ResultsDelivered { turn: 3, carrier: Some(ResultCarrier::Input) };
    store.append(scene::change(&parent, 12, delivered)).await.unwrap();
    let call = ResultCarrier::Call(ItemId::new("late"));
    store.append(scene::change(&parent, 13, carried(&child, 4, call))).await.unwrap();
    let row = row(&store, &child).await;
    assert_eq!(
        (row.delivered_at, row.carried),
        (Some(12), Some((3, ResultCarrier::Input))),
        "it stays as it was"
    );
}

/// The end of a call delivers what that call carried; the end of a turn everything that the turn carried.
pub async fn only_what_was_carried_there_is_delivered(store: Store) {
    let parent = parent(&store, 3).await;
    let other = scene::session(&store, "other").await;
    let mut children = Vec::new();
    for (n, name) in (0..4).zip(["one", "two", "three", "four"]) {
        children.push(delegate(&store, name, new(&parent, "a", n)).await.unwrap());
    }
    let call = |name: &str| ResultCarrier::Call(ItemId::new(name));
    let changes = vec![
        carried(&children[0], 2, call("w1")),
        carried(&children[1], 2, call("w2")),
        carried(&children[2], 2, ResultCarrier::Input),
        carried(&children[3], 3, call("w1")),
    ];
    let batch = scene::change(&parent, 5, changes[0].clone());
    store.append(crate::Batch { changes, ..batch }).await.unwrap();
    let delivered = |turn, carrier| Change::ResultsDelivered { turn, carrier };
    let left = async || {
        let rows = store.delegations(&parent).await.unwrap();
        let open = rows.iter().filter(|row| row.delivered_at.is_none());
        open.map(|row| row.child.to_string()).collect::<Vec<_>>()
    };
    store.append(scene::change(&other, 6, delivered(2, None))).await.unwrap();
    store.append(scene::change(&parent, 6, delivered(2, Some(call("w1"))))).await.unwrap();
    assert_eq!(left().await, ["two", "three", "four"]);
    store.append(scene::change(&parent, 7, delivered(2, Some(ResultCarrier::Input)))).await.unwrap();
    assert_eq!(left().await, ["two", "four"]);
    store.append(scene::change(&parent, 8, delivered(2, None))).await.unwrap();
    assert_eq!(left().await, ["four"]);
    let settled = TurnPatch { ordinal: 2, stage: Some(Stage::Settled), ..TurnPatch::default() };
    store.append(scene::change(&parent, 9, Change::Turn(settled))).await.unwrap();
    store.append(scene::change(&parent, 9, carried(&children[3], 2, call("late")))).await.unwrap();
    assert_eq!(
        row(&store, &children[3]).await.carried,
        Some((3, call("w1"))),
        "a turn that is over carries nothing"
    );
}

/// Of many reports of an end one is written.
pub async fn an_end_is_reported_once(store: Store) {
    let parent = scene::session(&store, "parent").await;
    let child = delegate(&store, "child", new(&parent, "a", 0)).await.unwrap();
    assert_eq!(store.unannounced_delegations().await.unwrap(), [], "it works");
    end(&store, &child, 10).await;
    assert_eq!(store.unannounced_delegations().await.unwrap().len(), 1);
    let announced = || scene::change(&parent, 11, Change::DelegationAnnounced(child.clone()));
    store.append(announced()).await.unwrap();
    assert!(matches!(store.append(announced()).await, Err(StoreError::Conflict(_))));
    assert_eq!(store.unannounced_delegations().await.unwrap(), []);
    assert!(row(&store, &child).await.is_owed(), "the model does not have it yet");
}

/// A task whose result is owed is not forgotten before its parent.
pub async fn an_owed_result_keeps_its_task(store: Store) {
    let parent = scene::session_at(&store, "parent", 900).await;
    let child = delegate(&store, "child", new(&parent, "a", 0)).await.unwrap();
    end(&store, &child, 10).await;
    let policy = |before| PrunePolicy { older_than: Some(before), ..PrunePolicy::default() };
    assert_eq!(store.prune(&policy(500), 2000).await.unwrap().sessions, 0);
    assert_eq!(store.prune(&policy(1000), 2000).await.unwrap().sessions, 1);
    assert_eq!(store.session(&parent).await.unwrap(), None);
    assert_eq!(store.delegation(&child).await.unwrap(), None);
    assert_eq!(store.prune(&policy(1000), 2000).await.unwrap().sessions, 1, "now it may go");
}
