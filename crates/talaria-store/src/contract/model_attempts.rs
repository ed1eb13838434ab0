//! A request of the model loop is recorded before it is sent, moves forward, and ends once.

use talaria_core::ids::SessionId;

use super::scene::{self, EPOCH};
use crate::{
    AttemptEnding, AttemptState, Batch, Change, ModelAttemptEnd, ModelAttemptFacts, ModelAttemptKey,
    ModelAttemptRow, NewModelAttempt, PrunePolicy, Store, StoreError, Takeover, UsagePurpose, UsageSource,
};

/// The attempt with this number of the first turn.
pub fn key(number: i64) -> ModelAttemptKey {
    ModelAttemptKey { ordinal: 1, number }
}

/// An attempt that is not stored yet.
pub fn plan(number: i64) -> NewModelAttempt {
    NewModelAttempt {
        key: key(number),
        purpose: UsagePurpose::Turn,
        provider: "anthropic".to_owned(),
        asked_model: "claude".to_owned(),
        request_digest: format!("request-{number}"),
        prefix_digest: "prefix".to_owned(),
    }
}

/// Stores a planned attempt.
pub async fn planned(store: &Store, session: &SessionId, number: i64) {
    store.append(scene::change(session, 5, Change::NewAttempt(plan(number)))).await.unwrap();
}

/// Ends an attempt at a certain time.
pub async fn end(
    store: &Store,
    session: &SessionId,
    at: i64,
    number: i64,
    end: ModelAttemptEnd,
) -> Result<(), StoreError> {
    let change = Change::AttemptEnd(key(number), Box::new(end));
    store.append(scene::change(session, at, change)).await.map(drop)
}

/// Moves an attempt forward.
pub async fn reach(
    store: &Store,
    session: &SessionId,
    number: i64,
    state: AttemptState,
    facts: ModelAttemptFacts,
) -> Result<(), StoreError> {
    let change = Change::AttemptStage(key(number), state, facts);
    store.append(scene::change(session, 10, change)).await.map(drop)
}

async fn row(store: &Store, session: &SessionId, number: i64) -> ModelAttemptRow {
    let rows = store.model_attempts(session, 1).await.unwrap();
    rows.into_iter().find(|row| row.key.number == number).unwrap()
}

fn is_conflict<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

const OPEN: [AttemptState; 4] =
    [AttemptState::Planned, AttemptState::Sent, AttemptState::Accepted, AttemptState::Speaking];

/// A number is used once in a turn, whatever its attempt is for; other turns and sessions have their own.
pub async fn an_attempt_is_planned_once(store: Store) {
    let (id, other) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    planned(&store, &id, 2).await;
    planned(&store, &id, 1).await;
    let first = row(&store, &id, 1).await;
    assert_eq!((first.state, first.ending, first.epoch), (AttemptState::Planned, None, EPOCH));
    assert_eq!((first.planned_at, first.ended_at, &first.session), (5, None, &id));
    assert_eq!((first.usage_source, first.amount), (UsageSource::Unknown, None));
    let again = NewModelAttempt { purpose: UsagePurpose::Title, ..plan(1) };
    let again = Batch { changes: vec![Change::NewAttempt(again)], ..scene::batch(&id, 9, &["lost"]) };
    assert!(is_conflict(&store.append(again).await));
    assert_eq!(row(&store, &id, 1).await, first);
    assert_eq!(store.events(&id, 0, 10).await.unwrap(), [], "the events of the batch are not stored either");
    let later = ModelAttemptKey { ordinal: 2, number: 1 };
    for purpose in [UsagePurpose::Review, UsagePurpose::Title, UsagePurpose::Compaction] {
        let key = ModelAttemptKey { number: later.number + purpose as i64, ..later };
        let new = NewModelAttempt { key, purpose, ..plan(1) };
        store.append(scene::change(&id, 6, Change::NewAttempt(new))).await.unwrap();
    }
    planned(&store, &other, 1).await;
    let numbers = async |id: &SessionId, ordinal| {
        let rows = store.model_attempts(id, ordinal).await.unwrap();
        rows.into_iter().map(|row| (row.key.number, row.purpose)).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&id, 1).await, [(1, UsagePurpose::Turn), (2, UsagePurpose::Turn)]);
    let purposes = [UsagePurpose::Review, UsagePurpose::Title, UsagePurpose::Compaction];
    assert_eq!(numbers(&id, 2).await, purposes.map(|purpose| (later.number + purpose as i64, purpose)));
    assert_eq!(numbers(&other, 1).await.len(), 1);
}

/// States may be skipped, never revisited; an attempt that ended does not move, and only an end ends it.
pub async fn an_attempt_moves_forward_and_never_back(store: Store) {
    let id = scene::session(&store, "one").await;
    assert!(is_conflict(&reach(&store, &id, 1, AttemptState::Sent, ModelAttemptFacts::default()).await));
    for (number, from) in (1..).zip(OPEN) {
        planned(&store, &id, number).await;
        reach(&store, &id, number, from, ModelAttemptFacts::default()).await.unwrap();
        let before = OPEN.into_iter().take_while(|state| *state != from);
        for state in before.chain([AttemptState::Ended]) {
            let moved = reach(&store, &id, number, state, ModelAttemptFacts::default()).await;
            assert!(is_conflict(&moved), "{from:?} to {state:?}");
            assert_eq!(row(&store, &id, number).await.state, from);
        }
        end(&store, &id, 20, number, ModelAttemptEnd::new(AttemptEnding::Cut)).await.unwrap();
        for state in OPEN {
            assert!(is_conflict(&reach(&store, &id, number, state, ModelAttemptFacts::default()).await));
        }
        assert_eq!(row(&store, &id, number).await.state, AttemptState::Ended);
    }
}

/// Facts that are known stay known; the first byte came once, and counters never fall.
pub async fn facts_of_an_attempt_accumulate(store: Store) {
    let id = scene::session(&store, "one").await;
    planned(&store, &id, 1).await;
    let accepted = ModelAttemptFacts {
        request_id: Some("req-1".to_owned()),
        first_byte_ms: Some(120),
        ..ModelAttemptFacts::default()
    };
    reach(&store, &id, 1, AttemptState::Accepted, accepted).await.unwrap();
    let speaking = ModelAttemptFacts {
        said_model: Some("claude-2".to_owned()),
        bytes: 900,
        events: 9,
        shown_chars: 40,
        ..ModelAttemptFacts::default()
    };
    reach(&store, &id, 1, AttemptState::Speaking, speaking.clone()).await.unwrap();
    let more = ModelAttemptFacts { bytes: 1000, shown_chars: 50, ..ModelAttemptFacts::default() };
    reach(&store, &id, 1, AttemptState::Speaking, more).await.unwrap();
    let last = ModelAttemptEnd {
        facts: ModelAttemptFacts { first_byte_ms: Some(999), events: 10, ..ModelAttemptFacts::default() },
        ..ModelAttemptEnd::new(AttemptEnding::Completed)
    };
    end(&store, &id, 20, 1, last).await.unwrap();
    let known = ModelAttemptFacts {
        request_id: Some("req-1".to_owned()),
        first_byte_ms: Some(120),
        bytes: 1000,
        events: 10,
        shown_chars: 50,
        ..speaking
    };
    assert_eq!(row(&store, &id, 1).await.facts, known);
}

/// The first end counts. A second one changes nothing, and its batch fails.
pub async fn an_attempt_ends_once_with_its_evidence(store: Store) {
    let id = scene::session(&store, "one").await;
    assert!(is_conflict(&end(&store, &id, 7, 1, ModelAttemptEnd::new(AttemptEnding::Failed)).await));
    planned(&store, &id, 1).await;
    let failed = ModelAttemptEnd {
        failure_class: Some("rate_limit".to_owned()),
        failure_text: Some("slow down".to_owned()),
        usage: Some(r#"{"input":10}"#.to_owned()),
        usage_source: UsageSource::Provider,
        amount: Some(2_500_000),
        price_as_of: Some("2026-11".to_owned()),
        ..ModelAttemptEnd::new(AttemptEnding::Failed)
    };
    end(&store, &id, 7, 1, failed).await.unwrap();
    let ended = row(&store, &id, 1).await;
    assert_eq!((ended.state, ended.ending), (AttemptState::Ended, Some(AttemptEnding::Failed)));
    assert_eq!((ended.ended_at, ended.amount), (Some(7), Some(2_500_000)));
    assert_eq!(
        (ended.failure_class.as_deref(), ended.failure_text.as_deref()),
        (Some("rate_limit"), Some("slow down"))
    );
    assert_eq!(
        (ended.usage.as_deref(), ended.usage_source),
        (Some(r#"{"input":10}"#), UsageSource::Provider)
    );
    assert_eq!(ended.price_as_of.as_deref(), Some("2026-11"));
    for ending in [AttemptEnding::Failed, AttemptEnding::Completed, AttemptEnding::Abandoned] {
        let change = Change::AttemptEnd(key(1), Box::new(ModelAttemptEnd::new(ending)));
        let again = Batch { changes: vec![change], ..scene::batch(&id, 8, &["lost"]) };
        let Err(StoreError::Conflict(why)) = store.append(again).await else { panic!("it ended before") };
        assert!(why.contains("it is failed"), "{why}");
    }
    assert_eq!(row(&store, &id, 1).await, ended);
    assert_eq!(store.events(&id, 0, 10).await.unwrap(), []);
    planned(&store, &id, 2).await;
    let cut = || ModelAttemptEnd::new(AttemptEnding::Cut);
    let ends = futures_util::future::join_all((0..8).map(|n| end(&store, &id, 10 + n, 2, cut()))).await;
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1, "{ends:?}");
}

/// Open attempts of engines before this one are found and abandoned; its own and those that ended are not.
pub async fn what_a_former_engine_left_open_is_abandoned(store: Store) {
    let (id, other) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    for (number, state) in (1..).zip(OPEN) {
        planned(&store, &id, number).await;
        reach(&store, &id, number, state, ModelAttemptFacts::default()).await.unwrap();
    }
    planned(&store, &id, 5).await;
    end(&store, &id, 6, 5, ModelAttemptEnd::new(AttemptEnding::Completed)).await.unwrap();
    store.take_lease(scene::lease(&other, EPOCH + 1), Takeover::Older).await.unwrap();
    let own = Batch { epoch: EPOCH + 1, ..scene::change(&other, 5, Change::NewAttempt(plan(1))) };
    store.append(own).await.unwrap();
    assert_eq!(store.open_attempts(EPOCH).await.unwrap(), [], "its own attempts are not left over");
    assert_eq!(store.abandon_attempts(EPOCH, 20).await.unwrap(), 0);
    let open = store.open_attempts(EPOCH + 1).await.unwrap();
    assert_eq!(open.iter().map(|row| row.state).collect::<Vec<_>>(), OPEN);
    assert_eq!(store.abandon_attempts(EPOCH + 1, 20).await.unwrap(), 4);
    assert_eq!(store.abandon_attempts(EPOCH + 1, 30).await.unwrap(), 0);
    assert_eq!(store.open_attempts(EPOCH + 1).await.unwrap(), []);
    for number in 1..=4 {
        let row = row(&store, &id, number).await;
        assert_eq!(
            (row.state, row.ending, row.ended_at),
            (AttemptState::Ended, Some(AttemptEnding::Abandoned), Some(20))
        );
        // The first was not sent: that it cost nothing is known.
        assert_eq!(row.usage.is_some(), number == 1);
        assert_eq!(row.usage_source, UsageSource::Unknown);
    }
    assert_eq!(row(&store, &id, 5).await.ending, Some(AttemptEnding::Completed));
    assert_eq!(row(&store, &other, 1).await.state, AttemptState::Planned);
    assert!(is_conflict(&end(&store, &id, 40, 1, ModelAttemptEnd::new(AttemptEnding::Completed)).await));
}

/// An engine that resumes a session can only abandon the attempts of an earlier one, with an estimate of what they cost.
pub async fn an_engine_cannot_say_how_the_attempt_of_another_ended(store: Store) {
    let id = scene::session(&store, "one").await;
    planned(&store, &id, 1).await;
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    let next = |change| Batch { epoch: EPOCH + 1, ..scene::change(&id, 30, change) };
    let stage = Change::AttemptStage(key(1), AttemptState::Sent, ModelAttemptFacts::default());
    assert!(is_conflict(&store.append(next(stage)).await));
    for ending in [AttemptEnding::Completed, AttemptEnding::Cut, AttemptEnding::Cancelled] {
        let change = Change::AttemptEnd(key(1), Box::new(ModelAttemptEnd::new(ending)));
        assert!(is_conflict(&store.append(next(change)).await), "{ending:?}");
    }
    let estimate = ModelAttemptEnd {
        usage: Some("{}".to_owned()),
        usage_source: UsageSource::Estimated,
        ..ModelAttemptEnd::new(AttemptEnding::Abandoned)
    };
    store.append(next(Change::AttemptEnd(key(1), Box::new(estimate)))).await.unwrap();
    let row = row(&store, &id, 1).await;
    assert_eq!((row.ending, row.usage_source), (Some(AttemptEnding::Abandoned), UsageSource::Estimated));
    assert_eq!(row.epoch, EPOCH, "the engine that sent it");
    let late = end(&store, &id, 40, 1, ModelAttemptEnd::new(AttemptEnding::Completed)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
}

/// A session that is forgotten leaves no attempt.
pub async fn attempts_are_removed_with_their_session(store: Store) {
    let id = scene::session(&store, "old").await;
    planned(&store, &id, 1).await;
    let policy = PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() };
    assert_eq!(store.prune(&policy, 2000).await.unwrap().sessions, 1);
    assert_eq!(store.model_attempts(&id, 1).await.unwrap(), []);
    assert_eq!(store.open_attempts(EPOCH + 1).await.unwrap(), []);
}
