//! Counters fall only together with a job, a stretch of work is reviewed once, and a review ends once.

use talaria_core::ids::SessionId;
use talaria_core::learning::progress::{DueReview, ReviewCount, ReviewSubjects};
use talaria_core::memory::{MemoryChange, MemoryScope};
use talaria_core::review::ReviewState;

use super::scene::{self, EPOCH};
use crate::{
    Batch, Change, MemoryAuthor, MemoryOrigin, MemoryProposalRow, MemoryProposalState, MemoryRevisionFilter,
    MemoryWrite, PrunePolicy, ReviewRow, ReviewStep, Store, StoreError, Takeover,
};

async fn change(store: &Store, session: &SessionId, change: Change) -> Result<(), StoreError> {
    store.append(scene::change(session, 5, change)).await.map(drop)
}

const BOTH: DueReview = DueReview { asks: ReviewSubjects { memory: true, skills: true }, keeps_calls: false };
const MEMORY: DueReview =
    DueReview { asks: ReviewSubjects { memory: true, skills: false }, keeps_calls: true };

async fn due(store: &Store, session: &SessionId, last_turn: i64) {
    change(store, session, Change::ReviewDue { last_turn, due: BOTH }).await.unwrap();
}

async fn step(store: &Store, session: &SessionId, id: i64, step: ReviewStep) -> Result<(), StoreError> {
    change(store, session, Change::Review(id, step)).await
}

fn answered() -> ReviewStep {
    ReviewStep::Answered { answer: "{}".to_owned(), usage: "1".to_owned() }
}

fn end(state: ReviewState) -> ReviewStep {
    ReviewStep::End { state, report: "report".to_owned(), usage: None }
}

async fn counted(store: &Store, session: &SessionId) -> ReviewCount {
    store.session(session).await.unwrap().unwrap().review
}

async fn only(store: &Store, session: &SessionId) -> ReviewRow {
    let reviews = store.reviews(session).await.unwrap();
    let [review] = &reviews[..] else { panic!("{reviews:?}") };
    review.clone()
}

fn is_conflict<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

/// Counters add up, survive everything else, and fall in the batch that records a job. Foreign text is never forgotten.
pub async fn counters_fall_only_with_a_job(store: Store) {
    let id = scene::session(&store, "one").await;
    assert_eq!(counted(&store, &id).await, ReviewCount::default());
    for count in [
        ReviewCount { turns: 1, calls: 0, is_foreign: true },
        ReviewCount { turns: 0, calls: 3, is_foreign: false },
    ] {
        change(&store, &id, Change::ReviewCount(count)).await.unwrap();
    }
    let all = ReviewCount { turns: 1, calls: 3, is_foreign: true };
    assert_eq!(counted(&store, &id).await, all);
    let refused = scene::change(&id, 5, Change::Review(77, ReviewStep::Run));
    let refused = Batch {
        changes: [vec![Change::ReviewDue { last_turn: 1, due: BOTH }], refused.changes].concat(),
        ..refused
    };
    assert!(is_conflict(&store.append(refused).await));
    assert_eq!(counted(&store, &id).await, all, "no job, no reset");
    due(&store, &id, 1).await;
    assert_eq!(counted(&store, &id).await, ReviewCount { turns: 0, calls: 0, is_foreign: true });
    assert_eq!(only(&store, &id).await.state, ReviewState::Due);
}

/// A counter stays until its own question is asked, and an open review asks what any of its stretches needs.
pub async fn a_counter_falls_with_its_own_question(store: Store) {
    let id = scene::session(&store, "one").await;
    let count = ReviewCount { turns: 3, calls: 2, is_foreign: false };
    change(&store, &id, Change::ReviewCount(count)).await.unwrap();
    change(&store, &id, Change::ReviewDue { last_turn: 3, due: MEMORY }).await.unwrap();
    assert_eq!(counted(&store, &id).await, ReviewCount { turns: 0, calls: 2, is_foreign: false });
    assert_eq!(only(&store, &id).await.asks, MEMORY.asks);
    let skills = DueReview { asks: ReviewSubjects { memory: false, skills: true }, keeps_calls: false };
    change(&store, &id, Change::ReviewCount(count)).await.unwrap();
    change(&store, &id, Change::ReviewDue { last_turn: 4, due: skills }).await.unwrap();
    assert_eq!(counted(&store, &id).await, ReviewCount { turns: 3, calls: 0, is_foreign: false });
    assert_eq!(only(&store, &id).await.asks, BOTH.asks);
}

/// Turns that are on record for a review get no second one; further turns extend a review that is open.
pub async fn a_stretch_is_reviewed_once(store: Store) {
    let id = scene::session(&store, "one").await;
    due(&store, &id, 2).await;
    due(&store, &id, 2).await;
    due(&store, &id, 5).await;
    let first = only(&store, &id).await;
    assert_eq!((first.first_turn, first.last_turn), (1, 5));
    step(&store, &id, first.id, ReviewStep::Run).await.unwrap();
    step(&store, &id, first.id, end(ReviewState::Done)).await.unwrap();
    assert_eq!(store.open_review(&id).await.unwrap(), None);
    due(&store, &id, 5).await;
    assert_eq!(store.open_review(&id).await.unwrap(), None, "it was reviewed");
    due(&store, &id, 6).await;
    let next = store.open_review(&id).await.unwrap().unwrap();
    assert_eq!((next.first_turn, next.last_turn), (6, 6));
    assert_eq!(store.open_reviews().await.unwrap(), [next]);
}

/// A review runs, has an answer and ends, in this order; nothing moves one that has ended.
pub async fn a_review_moves_in_its_order_and_ends_once(store: Store) {
    let id = scene::session(&store, "one").await;
    due(&store, &id, 1).await;
    let review = only(&store, &id).await.id;
    assert!(is_conflict(&step(&store, &id, review, answered()).await), "it has not begun");
    assert!(is_conflict(&step(&store, &id, review, ReviewStep::Defer).await));
    let attempts = (0..6).map(|_| step(&store, &id, review, ReviewStep::Run));
    let begun = futures_util::future::join_all(attempts).await;
    assert_eq!(begun.iter().filter(|result| result.is_ok()).count(), 1, "{begun:?}");
    step(&store, &id, review, ReviewStep::Defer).await.unwrap();
    let deferred = only(&store, &id).await;
    assert_eq!((deferred.state, deferred.attempts), (ReviewState::Due, 0), "a turn goes first");
    step(&store, &id, review, ReviewStep::Run).await.unwrap();
    step(&store, &id, review, answered()).await.unwrap();
    let kept = only(&store, &id).await;
    assert_eq!((kept.answer.as_deref(), kept.usage.as_deref(), kept.attempts), (Some("{}"), Some("1"), 1));
    step(&store, &id, review, end(ReviewState::Done)).await.unwrap();
    let ended = only(&store, &id).await;
    assert_eq!(
        (ended.state, ended.answer, ended.report.as_deref()),
        (ReviewState::Done, None, Some("report"))
    );
    assert_eq!(ended.usage.as_deref(), Some("1"), "what it cost stays");
    for again in [ReviewStep::Run, answered(), ReviewStep::Defer, end(ReviewState::NotDone)] {
        assert!(is_conflict(&step(&store, &id, review, again.clone()).await), "{again:?}");
    }
    let other = scene::session(&store, "two").await;
    due(&store, &id, 2).await;
    let open = store.open_review(&id).await.unwrap().unwrap().id;
    assert!(is_conflict(&step(&store, &other, open, ReviewStep::Run).await), "it belongs to another session");
}

/// A review that ran when its engine died is due again, with its attempts and its answer.
pub async fn what_a_former_engine_left_running_is_due_again(store: Store) {
    let id = scene::session(&store, "one").await;
    due(&store, &id, 1).await;
    let review = only(&store, &id).await.id;
    step(&store, &id, review, ReviewStep::Run).await.unwrap();
    step(&store, &id, review, answered()).await.unwrap();
    assert_eq!(store.requeue_reviews(EPOCH).await.unwrap(), 0, "its own review runs");
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    assert_eq!(store.requeue_reviews(EPOCH + 1).await.unwrap(), 1);
    let left = only(&store, &id).await;
    assert_eq!((left.state, left.attempts, left.answer.as_deref()), (ReviewState::Due, 1, Some("{}")));
    let next = |step| Batch { epoch: EPOCH + 1, ..scene::change(&id, 30, Change::Review(review, step)) };
    store.append(next(ReviewStep::Run)).await.unwrap();
    assert_eq!(only(&store, &id).await.attempts, 2);
}

/// The memory changes of a review are found by its name, so they are not repeated.
pub async fn what_a_review_changed_is_found_by_its_name(store: Store) {
    let origin =
        |call: &str| MemoryOrigin { call: Some(call.to_owned()), ..MemoryOrigin::of(MemoryAuthor::Review) };
    let change = |entry: &str| MemoryChange {
        entry: entry.to_owned(),
        scope: MemoryScope::Notes,
        expects: None,
        before: None,
        after: Some("text".to_owned()),
    };
    for (entry, call) in [("a", "review-1"), ("b", "review-2")] {
        store.write_memory(MemoryWrite::new(vec![change(entry)], origin(call), 5)).await.unwrap();
    }
    let filter =
        MemoryRevisionFilter { call: Some("review-1".to_owned()), ..MemoryRevisionFilter::default() };
    let found = store.memory_revisions(&filter, 10).await.unwrap();
    assert_eq!(found.iter().map(|row| row.change.entry.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(store.memory_proposal_of("review-3").await.unwrap(), None);
    let proposal = MemoryProposalRow {
        id: "prop-1".to_owned(),
        state: MemoryProposalState::Pending,
        reason: "why".to_owned(),
        changes: "[]".to_owned(),
        origin: origin("review-3"),
        at: 5,
        decided_at: None,
    };
    store.propose_memory(proposal.clone()).await.unwrap();
    assert_eq!(store.memory_proposal_of("review-3").await.unwrap(), Some(proposal));
}

/// A session that is forgotten leaves no review.
pub async fn reviews_go_with_their_session(store: Store) {
    let id = scene::session(&store, "old").await;
    due(&store, &id, 1).await;
    let review = only(&store, &id).await.id;
    step(&store, &id, review, end(ReviewState::NotDone)).await.unwrap();
    let policy = PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() };
    assert_eq!(store.prune(&policy, 2000).await.unwrap().sessions, 1);
    assert_eq!(store.reviews(&id).await.unwrap(), []);
}
