//! What models cost is counted once, with what it was for, and is not forgotten with a session.

use talaria_core::api::UsageBy;
use talaria_core::event::Usage;
use talaria_core::ids::SessionId;

use super::model_attempts::{end, planned, reach};
use super::scene::{self, EPOCH};
use crate::{
    AttemptEnding, AttemptState, Batch, Change, ModelAttemptEnd, ModelAttemptFacts, NewModelUsage, Store,
    UsageFilter, UsagePurpose, UsageSource,
};

const DAY: i64 = 86_400_000;

fn spent(name: &str, model: Option<&str>, total: u64) -> NewModelUsage {
    let usage = Usage { input: total, cached: 1, output: 2, reasoning: 1, total, partial: false };
    NewModelUsage {
        name: name.to_owned(),
        purpose: UsagePurpose::Turn,
        model: model.map(str::to_owned),
        usage,
    }
}

async fn write(store: &Store, id: &SessionId, at: i64, new: NewModelUsage) {
    let batch = Batch { changes: vec![Change::ModelUsage(new)], ..scene::batch(id, at, &[]) };
    store.append(batch).await.unwrap();
}

async fn totals(store: &Store, by: UsageBy, since: i64) -> Vec<(Option<String>, i64, u64)> {
    let rows = store.usage(UsageFilter { by, since }).await.unwrap();
    rows.into_iter().map(|row| (row.key, row.requests, row.usage.total)).collect()
}

/// Costs are added up by day, model and session; what has no model is a sum of its own.
pub async fn costs_are_added_up_by_day_model_and_session(store: Store) {
    let (one, two) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    write(&store, &one, DAY, spent("turn/1", Some("a"), 10)).await;
    write(&store, &one, 2 * DAY, spent("turn/2", Some("b"), 20)).await;
    write(&store, &two, 2 * DAY + 1, spent("turn/1", Some("a"), 40)).await;
    write(&store, &two, 3 * DAY, spent("turn/2", None, 80)).await;
    let key = |key: &str| Some(key.to_owned());
    let days = [(key("3"), 1, 80), (key("2"), 2, 60), (key("1"), 1, 10)];
    assert_eq!(totals(&store, UsageBy::Day, 0).await, days);
    assert_eq!(totals(&store, UsageBy::Day, 2 * DAY).await, days[..2]);
    assert_eq!(
        totals(&store, UsageBy::Model, 0).await,
        [(None, 1, 80), (key("a"), 2, 50), (key("b"), 1, 20)]
    );
    let sessions = [(key(two.as_str()), 2, 120), (key(one.as_str()), 2, 30)];
    assert_eq!(totals(&store, UsageBy::Session, 0).await, sessions);
}

/// A name that was counted is not counted again.
pub async fn the_same_name_is_counted_once(store: Store) {
    let id = scene::session(&store, "one").await;
    write(&store, &id, DAY, spent("turn/1", Some("a"), 10)).await;
    write(&store, &id, DAY, spent("turn/1", Some("a"), 99)).await;
    assert_eq!(totals(&store, UsageBy::Model, 0).await, [(Some("a".to_owned()), 1, 10)]);
}

/// A request without reported tokens is counted as such, and one that is known in part stays marked.
pub async fn unreported_and_partial_costs_are_marked(store: Store) {
    let id = scene::session(&store, "one").await;
    let none = NewModelUsage { usage: Usage::default(), ..spent("turn/1", Some("a"), 0) };
    write(&store, &id, DAY, none).await;
    let known = store.usage(UsageFilter { by: UsageBy::Model, since: 0 }).await.unwrap().remove(0);
    assert_eq!((known.requests, known.unreported, known.usage.partial), (1, 1, false));
    let partial =
        NewModelUsage { usage: Usage { partial: true, ..Usage::default() }, ..spent("turn/2", Some("a"), 0) };
    write(&store, &id, DAY, partial).await;
    let known = store.usage(UsageFilter { by: UsageBy::Model, since: 0 }).await.unwrap().remove(0);
    assert_eq!((known.requests, known.unreported, known.usage.partial), (2, 1, true));
}

/// Each attempt of the loop is a request of its own: with the model that answered, its price if that is known, and, if an engine
/// abandoned it, without tokens.
pub async fn attempts_are_counted_with_their_source_and_price(store: Store) {
    let id = scene::session(&store, "one").await;
    let said = |model: &str| ModelAttemptFacts { said_model: Some(model.to_owned()), ..Default::default() };
    let usage = |total: u64, partial| {
        let usage = Usage { input: total, total, partial, ..Usage::default() };
        serde_json::to_string(&usage).ok()
    };
    for number in 1..=4 {
        planned(&store, &id, number).await;
    }
    // The fourth waits for its key and is never sent.
    reach(&store, &id, 3, AttemptState::Sent, ModelAttemptFacts::default()).await.unwrap();
    let cut = ModelAttemptEnd {
        usage: usage(7, true),
        usage_source: UsageSource::Estimated,
        ..ModelAttemptEnd::new(AttemptEnding::Cut)
    };
    end(&store, &id, DAY, 1, cut).await.unwrap();
    let answered = ModelAttemptEnd {
        usage: usage(10, false),
        usage_source: UsageSource::Provider,
        amount: Some(30),
        facts: said("claude-2026"),
        ..ModelAttemptEnd::new(AttemptEnding::Completed)
    };
    end(&store, &id, DAY + 1, 2, answered.clone()).await.unwrap();
    assert!(end(&store, &id, DAY + 2, 2, answered).await.is_err(), "it ends once");
    let rows = store.usage(UsageFilter { by: UsageBy::Model, since: 0 }).await.unwrap();
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            (row.key.as_deref(), row.requests, row.estimated, row.amount, row.unpriced, row.usage.total)
        })
        .collect();
    assert_eq!(seen, [(Some("claude-2026"), 1, 0, Some(30), 0, 10), (Some("claude"), 1, 1, None, 1, 7)]);
    assert_eq!((&rows[0].asked[..], &rows[1].asked[..]), (&["claude".to_owned()][..], &[][..]));
    assert!(rows[1].usage.partial && !rows[0].usage.partial);
    assert_eq!(store.abandon_attempts(EPOCH + 1, DAY * 2).await.unwrap(), 2);
    let day = store.usage(UsageFilter { by: UsageBy::Session, since: 0 }).await.unwrap().remove(0);
    assert_eq!((day.requests, day.unreported, day.estimated, day.unpriced), (3, 1, 1, 2));
    assert_eq!((day.amount, day.usage.total), (Some(30), 17));
}

/// Costs outlive the session that had them.
pub async fn costs_stay_when_their_session_is_removed(store: Store) {
    let id = scene::session(&store, "one").await;
    write(&store, &id, DAY, spent("turn/1", Some("a"), 10)).await;
    let policy = crate::PrunePolicy { older_than: Some(DAY * 50), ..crate::PrunePolicy::default() };
    assert_eq!(store.prune(&policy, DAY * 1000).await.unwrap().sessions, 1);
    assert_eq!(totals(&store, UsageBy::Session, 0).await, [(Some(id.to_string()), 1, 10)]);
}
