//! A request reserves what it can cost before it is sent, and what it did cost is counted once, in the transaction of its end.

use talaria_core::budget::{
    BudgetAmount, BudgetCharge, BudgetScope, BudgetShortfall, BudgetState, ScopedLimit,
};
use talaria_core::event::Usage;
use talaria_core::ids::{SessionId, TicketId};

use super::model_attempts::{end, key, planned, reach};
use super::scene::{self, EPOCH};
use crate::{
    AttemptEnding, AttemptState, Change, ModelAttemptEnd, ModelAttemptFacts, NewAllowance, NewDelegation,
    NewReservation, NewSessionRow, NewTaskRow, PrunePolicy, Store, StoreError, Takeover, ToolCallKey,
    UsageSource,
};

const DAY: i64 = 86_400_000;

/// A limit of tokens for a conversation.
pub fn tokens_of(session: &SessionId, limit: u64) -> ScopedLimit {
    ScopedLimit { scope: BudgetScope::Conversation(session.clone()), limit: BudgetAmount::Tokens(limit) }
}

/// A reservation for an attempt of the first turn, at this provider price for each token: 10.
pub fn reservation(session: &SessionId, number: i64, tokens: u64, limits: &[ScopedLimit]) -> NewReservation {
    NewReservation {
        session: session.clone(),
        key: key(number),
        epoch: EPOCH,
        at: DAY,
        provider: "anthropic".to_owned(),
        charge: BudgetCharge { tokens, amount: Some(tokens * 10) },
        limits: limits.to_vec(),
        uncounted: Vec::new(),
    }
}

/// An end with this usage.
pub fn spent(ending: AttemptEnding, tokens: u64) -> ModelAttemptEnd {
    let usage = Usage { input: tokens, total: tokens, ..Usage::default() };
    ModelAttemptEnd {
        usage: serde_json::to_string(&usage).ok(),
        usage_source: UsageSource::Provider,
        amount: Some(tokens * 10),
        ..ModelAttemptEnd::new(ending)
    }
}

/// Reserves, plans and sends an attempt.
pub async fn sent(
    store: &Store,
    session: &SessionId,
    number: i64,
    tokens: u64,
    limits: &[ScopedLimit],
) -> Option<BudgetShortfall> {
    let shortfall = store.reserve_budget(reservation(session, number, tokens, limits)).await.unwrap();
    if shortfall.is_none() {
        planned(store, session, number).await;
        reach(store, session, number, AttemptState::Sent, ModelAttemptFacts::default()).await.unwrap();
    }
    shortfall
}

async fn state(store: &Store, limit: &ScopedLimit) -> BudgetState {
    store.budget_states(std::slice::from_ref(limit), &[]).await.unwrap().remove(0)
}

async fn figures(store: &Store, limit: &ScopedLimit) -> (u64, u64, u64) {
    let state = state(store, limit).await;
    (state.spent, state.uncertain, state.reserved)
}

/// Reservations and costs count together, and the end of an attempt replaces its reservation.
pub async fn a_reservation_is_replaced_by_what_was_spent(store: Store) {
    let id = scene::session(&store, "one").await;
    let limit = tokens_of(&id, 100);
    assert_eq!(sent(&store, &id, 1, 60, std::slice::from_ref(&limit)).await, None);
    assert_eq!(figures(&store, &limit).await, (0, 0, 60));
    let over = sent(&store, &id, 2, 41, std::slice::from_ref(&limit)).await.unwrap();
    assert_eq!((over.wanted, over.state.room()), (Some(41), 40));
    let again = store.reserve_budget(reservation(&id, 1, 1, &[])).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "an attempt that was sent has one reservation");
    end(&store, &id, DAY, 1, spent(AttemptEnding::Completed, 30)).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (30, 0, 0));
    assert_eq!(sent(&store, &id, 2, 70, std::slice::from_ref(&limit)).await, None, "exactly up to the limit");
    end(&store, &id, DAY, 2, spent(AttemptEnding::Failed, 0)).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (30, 0, 0));
    let unsent = reservation(&id, 3, 70, std::slice::from_ref(&limit));
    assert_eq!(store.reserve_budget(unsent.clone()).await.unwrap(), None);
    assert_eq!(
        store.reserve_budget(unsent).await.unwrap(),
        None,
        "its request was not sent: it is made again"
    );
    assert_eq!(figures(&store, &limit).await, (30, 0, 70));
}

/// An engine that lost the session reserves nothing.
pub async fn an_engine_that_lost_the_session_reserves_nothing(store: Store) {
    let id = scene::session(&store, "one").await;
    sent(&store, &id, 1, 5, &[]).await;
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    let late = store.reserve_budget(reservation(&id, 2, 1, &[])).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(figures(&store, &tokens_of(&id, 9)).await, (0, 0, 5));
}

/// What an engine that died had sent counts with its whole reservation, marked as not known; what it had not sent costs nothing.
pub async fn what_a_former_engine_sent_counts_as_all_that_it_reserved(store: Store) {
    let id = scene::session(&store, "one").await;
    let limit = tokens_of(&id, 100);
    sent(&store, &id, 1, 20, &[]).await;
    store.reserve_budget(reservation(&id, 2, 30, &[])).await.unwrap();
    planned(&store, &id, 2).await;
    // Its row was never written.
    store.reserve_budget(reservation(&id, 3, 40, &[])).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (0, 0, 90));
    store.abandon_attempts(EPOCH, DAY).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (0, 0, 90), "its own are not left over");
    store.abandon_attempts(EPOCH + 1, DAY).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (20, 20, 0));
    store.abandon_attempts(EPOCH + 1, DAY).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (20, 20, 0), "nothing is counted twice");
    let money = ScopedLimit { limit: BudgetAmount::Money(1_000), ..limit };
    assert_eq!(figures(&store, &money).await, (200, 200, 0));
}

/// An end without the provider's last word counts with its bound, and one whose price is not known with what was reserved for it.
pub async fn what_is_not_known_of_a_cost_counts_as_its_bound(store: Store) {
    let id = scene::session(&store, "one").await;
    let limit = tokens_of(&id, 100);
    sent(&store, &id, 1, 50, &[]).await;
    let bound = Some(BudgetCharge { tokens: 12, amount: Some(120) });
    end(&store, &id, DAY, 1, ModelAttemptEnd { bound, ..spent(AttemptEnding::Cut, 5) }).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (12, 7, 0));
    sent(&store, &id, 2, 10, &[]).await;
    let unpriced = ModelAttemptEnd { amount: None, ..spent(AttemptEnding::Completed, 4) };
    end(&store, &id, DAY, 2, unpriced).await.unwrap();
    assert_eq!(figures(&store, &limit).await, (16, 7, 0));
    let money = ScopedLimit { limit: BudgetAmount::Money(1_000), ..limit };
    assert_eq!(figures(&store, &money).await, (220, 170, 0));
}

/// A delegated task counts for itself and for everyone above it, also after it was removed.
pub async fn a_delegated_task_counts_for_its_parents(store: Store) {
    let parent = scene::session(&store, "parent").await;
    let child = delegate(&store, "child", &parent).await;
    let grandchild = delegate(&store, "grandchild", &child).await;
    assert_eq!(store.budget_owners(&grandchild).await.unwrap(), [child.clone(), parent.clone()]);
    assert_eq!(store.budget_owners(&parent).await.unwrap(), []);
    sent(&store, &child, 1, 8, &[]).await;
    sent(&store, &grandchild, 1, 4, &[]).await;
    assert_eq!(figures(&store, &tokens_of(&parent, 99)).await, (0, 0, 12));
    assert_eq!(figures(&store, &tokens_of(&child, 99)).await, (0, 0, 12));
    assert_eq!(figures(&store, &tokens_of(&grandchild, 99)).await, (0, 0, 4));
    end(&store, &child, 5, 1, spent(AttemptEnding::Completed, 3)).await.unwrap();
    end(&store, &grandchild, 5, 1, spent(AttemptEnding::Completed, 2)).await.unwrap();
    assert_eq!(figures(&store, &tokens_of(&parent, 99)).await, (5, 0, 0));
    let policy = PrunePolicy { older_than: Some(DAY), ..PrunePolicy::default() };
    store.prune(&policy, DAY * 1000).await.unwrap();
    assert_eq!(figures(&store, &tokens_of(&parent, 99)).await, (5, 0, 0), "removed, and not forgotten");
}

async fn delegate(store: &Store, id: &str, parent: &SessionId) -> SessionId {
    let call = ToolCallKey {
        thread: talaria_core::ids::ThreadId::new("thread"),
        turn: talaria_core::ids::TurnId::new("turn"),
        call: talaria_core::ids::ItemId::new(id),
    };
    let delegation = NewDelegation { parent: parent.clone(), call, goal: 0, depth: 1 };
    let task =
        NewTaskRow { owner: "model:x".to_owned(), delegation: Some(delegation), ..NewTaskRow::default() };
    let session = NewSessionRow { task: Some(task), ..scene::new_task(id, 5) };
    let id = session.id.clone();
    store.create_session(session, scene::lease(&id, EPOCH)).await.unwrap();
    id
}

/// Days and providers have their own sums, and a provider that no limit counts is in none.
pub async fn days_and_providers_are_counted_apart(store: Store) {
    let id = scene::session(&store, "one").await;
    for (number, at, tokens) in [(1, DAY, 1), (2, 2 * DAY - 1, 2), (3, 2 * DAY, 4)] {
        sent(&store, &id, number, 9, &[]).await;
        end(&store, &id, at, number, spent(AttemptEnding::Completed, tokens)).await.unwrap();
    }
    let limit = |scope| ScopedLimit { scope, limit: BudgetAmount::Tokens(9) };
    let provider = |name: &str| limit(BudgetScope::Provider { name: name.to_owned(), day: 1 });
    assert_eq!(figures(&store, &limit(BudgetScope::Day(1))).await, (3, 0, 0));
    assert_eq!(figures(&store, &limit(BudgetScope::Day(2))).await, (4, 0, 0));
    assert_eq!(figures(&store, &provider("anthropic")).await, (3, 0, 0));
    assert_eq!(figures(&store, &provider("groq")).await, (0, 0, 0));
    let uncounted = ["anthropic".to_owned()];
    let states = store.budget_states(&[limit(BudgetScope::Day(1))], &uncounted).await.unwrap();
    assert_eq!(states[0].spent, 0);
}

/// What a person allows raises the limit of one scope, in one unit, once.
pub async fn an_answer_allows_more_once(store: Store) {
    let id = scene::session(&store, "one").await;
    let scope = BudgetScope::Conversation(id.clone());
    let allow = async |ticket: &str, amount| {
        let new = NewAllowance { ticket: TicketId::new(ticket), scope: scope.clone(), amount };
        store.append(scene::change(&id, 5, Change::BudgetAllowance(new))).await.unwrap();
    };
    allow("req-1", BudgetAmount::Tokens(7)).await;
    allow("req-1", BudgetAmount::Tokens(7)).await;
    allow("req-2", BudgetAmount::Money(900)).await;
    assert_eq!(state(&store, &tokens_of(&id, 10)).await.limit, BudgetAmount::Tokens(17));
    let money = ScopedLimit { scope: scope.clone(), limit: BudgetAmount::Money(100) };
    assert_eq!(state(&store, &money).await.limit, BudgetAmount::Money(1_000));
    let other = ScopedLimit { scope: BudgetScope::Day(1), limit: BudgetAmount::Tokens(10) };
    assert_eq!(state(&store, &other).await.limit, BudgetAmount::Tokens(10));
}
