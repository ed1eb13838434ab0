//! The history of the model loop only grows, without a gap, and what a model made comes with the end of its attempt.

use talaria_core::ids::SessionId;

use super::model_attempts::{end, key, planned};
use super::scene::{self, EPOCH};
use crate::{
    AttemptEnding, AttemptState, Batch, Change, HistoryEntryRow, ModelAttemptEnd, NewHistoryEntry,
    PrunePolicy, Store, StoreError, Takeover,
};

fn entry(seq: i64) -> NewHistoryEntry {
    NewHistoryEntry { seq, ordinal: 1, prefix_epoch: 0, sealed: vec![0, 159, 146, 150] }
}

fn answer(items: &[i64]) -> ModelAttemptEnd {
    let items = items.iter().map(|seq| entry(*seq)).collect();
    ModelAttemptEnd { items, ..ModelAttemptEnd::new(AttemptEnding::Completed) }
}

async fn append(
    store: &Store,
    session: &SessionId,
    at: i64,
    entry: NewHistoryEntry,
) -> Result<(), StoreError> {
    store.append(scene::change(session, at, Change::History(entry))).await.map(drop)
}

async fn numbers(store: &Store, session: &SessionId) -> Vec<(i64, Option<i64>)> {
    let entries = store.model_history(session, 0, 100).await.unwrap();
    assert_eq!(store.model_history_len(session).await.unwrap(), i64::try_from(entries.len()).unwrap());
    entries.into_iter().map(|entry| (entry.seq, entry.attempt)).collect()
}

fn is_conflict<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

/// Numbers count from 0 in each session. A gap or a number that exists is refused, with its whole batch.
pub async fn entries_are_numbered_without_a_gap_and_never_changed(store: Store) {
    let (id, other) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    assert_eq!(store.model_history_len(&id).await.unwrap(), 0);
    for seq in [1, -1] {
        assert!(is_conflict(&append(&store, &id, 5, entry(seq)).await), "{seq} is not the first");
    }
    append(&store, &id, 5, entry(0)).await.unwrap();
    let changes =
        [1, 2].map(|seq| Change::History(NewHistoryEntry { ordinal: 2, prefix_epoch: 1, ..entry(seq) }));
    store.append(Batch { changes: changes.to_vec(), ..scene::batch(&id, 6, &["with"]) }).await.unwrap();
    let stored = store.model_history(&id, 0, 100).await.unwrap();
    let first = HistoryEntryRow {
        seq: 0,
        ordinal: 1,
        attempt: None,
        prefix_epoch: 0,
        sealed: vec![0, 159, 146, 150],
        at: 5,
    };
    assert_eq!(stored.first(), Some(&first));
    assert_eq!(stored.last(), Some(&HistoryEntryRow { seq: 2, ordinal: 2, prefix_epoch: 1, at: 6, ..first }));
    for seq in [0, 2, 4] {
        let other = NewHistoryEntry { sealed: b"other".to_vec(), ..entry(seq) };
        let batch = Batch { changes: vec![Change::History(other)], ..scene::batch(&id, 7, &["lost"]) };
        assert!(is_conflict(&store.append(batch).await), "{seq}");
    }
    let half = vec![Change::History(entry(3)), Change::History(entry(5))];
    assert!(is_conflict(&store.append(Batch { changes: half, ..scene::batch(&id, 7, &[]) }).await));
    assert_eq!(store.model_history(&id, 0, 100).await.unwrap(), stored);
    assert_eq!(store.events(&id, 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.model_history(&id, 1, 100).await.unwrap(), stored[1..]);
    assert_eq!(store.model_history(&id, 1, 1).await.unwrap(), stored[1..2]);
    append(&store, &other, 8, entry(0)).await.unwrap();
    assert_eq!((numbers(&store, &id).await.len(), numbers(&store, &other).await.len()), (3, 1));
    let writers = futures_util::future::join_all((0..8).map(|n| append(&store, &id, 10 + n, entry(3)))).await;
    assert_eq!(writers.iter().filter(|result| result.is_ok()).count(), 1, "{writers:?}");
}

/// If the items cannot be appended, the attempt has not ended; if it cannot end, nothing is appended.
pub async fn an_attempt_ends_with_its_items_or_not_at_all(store: Store) {
    let id = scene::session(&store, "one").await;
    append(&store, &id, 5, entry(0)).await.unwrap();
    planned(&store, &id, 1).await;
    for items in [&[0][..], &[2], &[1, 3]] {
        assert!(is_conflict(&end(&store, &id, 6, 1, answer(items)).await), "{items:?}");
    }
    let mut foreign = answer(&[1]);
    foreign.items[0].ordinal = 2;
    assert!(is_conflict(&end(&store, &id, 6, 1, foreign).await), "an item of another turn");
    assert_eq!(store.model_attempts(&id, 1).await.unwrap()[0].state, AttemptState::Planned);
    assert_eq!(numbers(&store, &id).await, [(0, None)]);
    end(&store, &id, 7, 1, answer(&[1, 2])).await.unwrap();
    append(&store, &id, 8, entry(3)).await.unwrap();
    let kept = [(0, None), (1, Some(1)), (2, Some(1)), (3, None)];
    assert_eq!(numbers(&store, &id).await, kept);
    assert!(is_conflict(&end(&store, &id, 9, 1, answer(&[4])).await), "it ended before");
    assert!(is_conflict(&end(&store, &id, 9, 2, answer(&[4])).await), "it was never planned");
    assert_eq!(numbers(&store, &id).await, kept);
}

/// Only a complete, an incomplete and a refused answer become history.
pub async fn an_attempt_without_an_answer_adds_no_items(store: Store) {
    let id = scene::session(&store, "one").await;
    planned(&store, &id, 1).await;
    for ending in
        [AttemptEnding::Failed, AttemptEnding::Cut, AttemptEnding::Cancelled, AttemptEnding::Abandoned]
    {
        let half = ModelAttemptEnd { ending, ..answer(&[0]) };
        assert!(is_conflict(&end(&store, &id, 6, 1, half).await), "{ending:?}");
    }
    assert_eq!(store.model_attempts(&id, 1).await.unwrap()[0].state, AttemptState::Planned);
    for (number, ending) in
        (1..).zip([AttemptEnding::Completed, AttemptEnding::Incomplete, AttemptEnding::Refused])
    {
        if number > 1 {
            planned(&store, &id, number).await;
        }
        let whole = ModelAttemptEnd { ending, ..answer(&[number - 1]) };
        end(&store, &id, 7, number, whole).await.unwrap();
    }
    assert_eq!(numbers(&store, &id).await, [(0, Some(1)), (1, Some(2)), (2, Some(3))]);
}

/// The answer that a former engine received late is not history.
pub async fn an_engine_that_lost_the_session_adds_nothing(store: Store) {
    let id = scene::session(&store, "one").await;
    planned(&store, &id, 1).await;
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    let late = end(&store, &id, 6, 1, answer(&[0])).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    let own = append(&store, &id, 6, entry(0)).await;
    assert!(matches!(own, Err(StoreError::Fenced { .. })), "{own:?}");
    let adopted = Change::AttemptEnd(key(1), Box::new(answer(&[0])));
    let next = Batch { epoch: EPOCH + 1, ..scene::change(&id, 7, adopted) };
    assert!(is_conflict(&store.append(next).await), "the next engine did not see the answer");
    assert_eq!(numbers(&store, &id).await, []);
}

/// A session that is forgotten leaves no entry, however many there are; until then they count for its size.
pub async fn history_is_removed_with_its_session_and_counts_for_its_size(store: Store) {
    let (old, young) = (scene::session(&store, "old").await, scene::session_at(&store, "young", 5000).await);
    let policy = PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() };
    let size = async || store.preview_prune(&policy, 6000).await.unwrap().bytes;
    assert_eq!(size().await, 0);
    let changes = (0..250).map(|seq| Change::History(entry(seq))).collect();
    store.append(Batch { changes, ..scene::batch(&old, 5, &[]) }).await.unwrap();
    append(&store, &young, 5000, entry(0)).await.unwrap();
    assert!(size().await > 0);
    assert_eq!(store.prune(&policy, 6000).await.unwrap().sessions, 1);
    assert_eq!((numbers(&store, &old).await, numbers(&store, &young).await), (vec![], vec![(0, None)]));
}
