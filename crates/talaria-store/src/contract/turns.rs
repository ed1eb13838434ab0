//! The ledger of turns.

use talaria_core::event::Stage;
use talaria_core::ids::TurnId;

use super::scene;
use crate::{Batch, Change, Store, StoreError, TurnPatch};

fn stage(ordinal: i64, stage: Stage) -> Change {
    Change::Turn(TurnPatch { ordinal, stage: Some(stage), ..TurnPatch::default() })
}

/// Each stage is stored with the time of its batch.
pub async fn the_ledger_keeps_every_stage_and_its_time(store: Store) {
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["a", "b"])).await.unwrap();
    let new = Change::NewTurn(scene::turn(1));
    store.append(Batch { changes: vec![new], ..scene::batch(&id, 2, &["c"]) }).await.unwrap();
    let turn = async || store.turn(&id, 1).await.unwrap().unwrap();
    let prepared = turn().await;
    assert_eq!((prepared.stage, prepared.first_seq, prepared.created_at), (Stage::Prepared, 3, 2));
    store.append(scene::change(&id, 3, stage(1, Stage::Sent))).await.unwrap();
    store.append(scene::change(&id, 4, stage(1, Stage::Unknown))).await.unwrap();
    assert_eq!(turn().await.stage, Stage::Unknown);
    let accepted = TurnPatch {
        ordinal: 1,
        stage: Some(Stage::Accepted),
        codex_turn: Some(TurnId::new("codex-turn")),
        ..TurnPatch::default()
    };
    store.append(scene::change(&id, 5, Change::Turn(accepted))).await.unwrap();
    let settled = TurnPatch {
        ordinal: 1,
        stage: Some(Stage::Settled),
        outcome: Some(r#"{"outcome":"failed"}"#.to_owned()),
        outcome_kind: Some("failed".to_owned()),
        code: Some("rate_limit".to_owned()),
        usage: Some("{}".to_owned()),
        ..TurnPatch::default()
    };
    store.append(scene::change(&id, 6, Change::Turn(settled))).await.unwrap();
    let turn = turn().await;
    assert_eq!((turn.sent_at, turn.accepted_at, turn.settled_at), (Some(3), Some(5), Some(6)));
    assert_eq!((turn.stage, turn.codex_turn), (Stage::Settled, Some(TurnId::new("codex-turn"))));
    assert_eq!((turn.outcome_kind.as_deref(), turn.code.as_deref()), (Some("failed"), Some("rate_limit")));
}

/// Input lies in the store only as long as it may have to be sent.
pub async fn sealed_input_is_erased_when_codex_has_it(store: Store) {
    let id = scene::session(&store, "one").await;
    for (ordinal, last) in [(1, Stage::Accepted), (2, Stage::Settled)] {
        store.append(scene::change(&id, 1, Change::NewTurn(scene::turn(ordinal)))).await.unwrap();
        for stage_before in [Stage::Sent, Stage::Unknown] {
            store.append(scene::change(&id, 2, stage(ordinal, stage_before))).await.unwrap();
            let kept = store.turn(&id, ordinal).await.unwrap().unwrap();
            assert_eq!(kept.input_sealed, scene::turn(ordinal).input_sealed);
        }
        store.append(scene::change(&id, 3, stage(ordinal, last))).await.unwrap();
        let kept = store.turn(&id, ordinal).await.unwrap().unwrap();
        assert_eq!((kept.input_sealed, kept.input_text.as_str()), (None, "do it"));
    }
}

/// An addition to the input replaces the sealed input, until Codex has it; then nothing is sealed again.
pub async fn sealed_input_is_replaced_only_before_codex_has_it(store: Store) {
    let id = scene::session(&store, "one").await;
    store.append(scene::change(&id, 1, Change::NewTurn(scene::turn(1)))).await.unwrap();
    let sealed = async || store.turn(&id, 1).await.unwrap().unwrap().input_sealed;
    let replaced = |byte| {
        let input_sealed = Some(vec![byte]);
        scene::change(&id, 2, Change::Turn(TurnPatch { ordinal: 1, input_sealed, ..TurnPatch::default() }))
    };
    store.append(replaced(7)).await.unwrap();
    assert_eq!(sealed().await, Some(vec![7]));
    store.append(scene::change(&id, 3, stage(1, Stage::Sent))).await.unwrap();
    assert_eq!(sealed().await, Some(vec![7]));
    store.append(scene::change(&id, 4, stage(1, Stage::Accepted))).await.unwrap();
    store.append(replaced(8)).await.unwrap();
    assert_eq!(sealed().await, None);
}

/// An engine that starts finds every turn that needs it, with its session.
pub async fn what_is_not_settled_is_found(store: Store) {
    let (one, two) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    for (session, ordinal, at) in [(&one, 1, 1), (&one, 2, 3), (&two, 1, 2)] {
        store.append(scene::change(session, at, Change::NewTurn(scene::turn(ordinal)))).await.unwrap();
    }
    store.append(scene::change(&one, 4, stage(1, Stage::Settled))).await.unwrap();
    store.append(scene::change(&two, 4, stage(1, Stage::Unknown))).await.unwrap();
    let found = store.unsettled().await.unwrap();
    let found: Vec<_> =
        found.iter().map(|(session, turn)| (session.id.as_str(), turn.ordinal, turn.stage)).collect();
    assert_eq!(found, [("two", 1, Stage::Unknown), ("one", 2, Stage::Prepared)]);
    assert_eq!(store.counts().await.unwrap().unsettled_turns, 2);
    let turns = store.last_turns(&one, None, 1).await.unwrap();
    assert_eq!(turns.iter().map(|turn| turn.ordinal).collect::<Vec<_>>(), [2]);
    let turns = store.last_turns(&one, Some(2), 10).await.unwrap();
    assert_eq!(turns.iter().map(|turn| turn.ordinal).collect::<Vec<_>>(), [1]);
}

/// An ordinal is given once.
pub async fn a_turn_is_written_down_once(store: Store) {
    let id = scene::session(&store, "one").await;
    let turn = Change::NewTurn(scene::turn(1));
    store.append(scene::change(&id, 1, turn.clone())).await.unwrap();
    let again = store.append(scene::change(&id, 2, turn)).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
}

/// Turns that wait after a turn can be withdrawn; sent and earlier ones stay.
pub async fn only_what_waits_behind_a_turn_is_taken_back(store: Store) {
    let (id, other) = (scene::session(&store, "one").await, scene::session(&store, "other").await);
    for ordinal in 1..=4 {
        store.append(scene::change(&id, 1, Change::NewTurn(scene::turn(ordinal)))).await.unwrap();
        store.append(scene::change(&other, 1, Change::NewTurn(scene::turn(ordinal)))).await.unwrap();
    }
    store.append(scene::change(&id, 2, stage(3, Stage::Sent))).await.unwrap();
    let changes = vec![Change::TakeBack { after: 1 }, stage(1, Stage::Settled)];
    store.append(Batch { changes, ..scene::batch(&id, 3, &["outcome"]) }).await.unwrap();
    let left = async |session| {
        let turns = store.last_turns(session, None, 9).await.unwrap();
        turns.into_iter().map(|turn| turn.ordinal).collect::<Vec<_>>()
    };
    assert_eq!(left(&id).await, [1, 3]);
    assert_eq!(left(&other).await, [1, 2, 3, 4]);
    store.append(scene::change(&id, 4, Change::NewTurn(scene::turn(2)))).await.unwrap();
    assert_eq!(left(&id).await, [1, 2, 3], "its number is free again");
}
