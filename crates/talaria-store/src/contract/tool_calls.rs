//! A tool call begins once, and its result is stored until the runtime has it.

use talaria_core::ids::{ItemId, SessionId, ThreadId, TurnId};
use talaria_core::tool::ToolEffect;
use talaria_core::tool::ledger::ToolCallState;

use super::scene::{self, EPOCH};
use crate::{
    Batch, Change, NewToolCall, PrunePolicy, SessionPatch, Store, StoreError, Takeover, ToolCallKey,
    ToolCallRow, ToolCallStep, TrimPolicy,
};

fn key(call: &str) -> ToolCallKey {
    ToolCallKey { thread: ThreadId::new("thread"), turn: TurnId::new("turn"), call: ItemId::new(call) }
}

fn offer(call: &str) -> NewToolCall {
    NewToolCall {
        key: key(call),
        ordinal: 1,
        tool: "talaria_recall".to_owned(),
        contract: 1,
        arguments: "digest".to_owned(),
    }
}

async fn offered(store: &Store, session: &SessionId, call: &str) {
    store.append(scene::change(session, 5, Change::ToolOffered(offer(call)))).await.unwrap();
}

fn run(effect: ToolEffect) -> ToolCallStep {
    ToolCallStep::Run { effect, effect_record: None }
}

fn run_recorded(effect: ToolEffect) -> ToolCallStep {
    ToolCallStep::Run { effect, effect_record: Some(b"record".to_vec()) }
}

fn settle(state: ToolCallState) -> ToolCallStep {
    ToolCallStep::Settle { state, result_sealed: Some(b"settled".to_vec()) }
}

fn next_engine(session: &SessionId, at: i64, call: &str, step: ToolCallStep) -> Batch {
    Batch { epoch: EPOCH + 1, ..scene::change(session, at, Change::ToolCall(key(call), step)) }
}

fn names(calls: &[ToolCallRow]) -> Vec<&str> {
    calls.iter().map(|call| call.key.call.as_str()).collect()
}

fn end(state: ToolCallState) -> ToolCallStep {
    ToolCallStep::End { state, result_sealed: Some(b"sealed".to_vec()) }
}

async fn step(
    store: &Store,
    session: &SessionId,
    at: i64,
    call: &str,
    step: ToolCallStep,
) -> Result<(), StoreError> {
    store.append(scene::change(session, at, Change::ToolCall(key(call), step))).await.map(drop)
}

async fn row(store: &Store, call: &str) -> ToolCallRow {
    store.tool_call(&key(call)).await.unwrap().unwrap()
}

fn is_conflict<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

/// The first offer counts: a second one changes nothing, whatever it says and however far the call is.
pub async fn an_offer_is_kept_once(store: Store) {
    let id = scene::session(&store, "one").await;
    assert_eq!(store.tool_call(&key("a")).await.unwrap(), None);
    offered(&store, &id, "a").await;
    let first = row(&store, "a").await;
    let (state, runs) = (first.state, first.runs);
    assert_eq!((state, runs, first.offered_at, &first.session), (ToolCallState::Offered, 0, 5, &id));
    let other = NewToolCall { arguments: "other".to_owned(), ordinal: 2, ..offer("a") };
    store.append(scene::change(&id, 9, Change::ToolOffered(other))).await.unwrap();
    assert_eq!(row(&store, "a").await, first);
    step(&store, &id, 10, "a", run(ToolEffect::Changes)).await.unwrap();
    offered(&store, &id, "a").await;
    assert_eq!(row(&store, "a").await.state, ToolCallState::Running);
    offered(&store, &id, "b").await;
    let calls = store.tool_calls(&id).await.unwrap();
    assert_eq!(calls.iter().map(|call| call.key.call.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

/// Of many attempts to begin a call one succeeds, and none does later.
pub async fn a_call_begins_once(store: Store) {
    let id = scene::session(&store, "one").await;
    assert!(is_conflict(&step(&store, &id, 6, "a", run(ToolEffect::Changes)).await), "it was never offered");
    offered(&store, &id, "a").await;
    let attempts = (0..8).map(|n| step(&store, &id, 10 + n, "a", run(ToolEffect::Changes)));
    let results = futures_util::future::join_all(attempts).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    assert!(results.iter().filter(|result| result.is_err()).all(is_conflict));
    for state in [ToolCallState::Done, ToolCallState::Failed, ToolCallState::Unknown] {
        let call = state.as_str();
        offered(&store, &id, call).await;
        step(&store, &id, 20, call, run(ToolEffect::Changes)).await.unwrap();
        step(&store, &id, 21, call, end(state)).await.unwrap();
        for effect in [ToolEffect::Changes, ToolEffect::Reads] {
            assert!(is_conflict(&step(&store, &id, 22, call, run(effect)).await), "{call} {effect:?}");
        }
        assert_eq!(row(&store, call).await.runs, 1);
    }
}

/// A call is declined only where it could begin, and then it does not.
pub async fn a_call_that_is_declined_never_began(store: Store) {
    let id = scene::session(&store, "one").await;
    let decline = || ToolCallStep::Decline { result_sealed: Some(b"no".to_vec()) };
    offered(&store, &id, "a").await;
    step(&store, &id, 20, "a", decline()).await.unwrap();
    let declined = row(&store, "a").await;
    assert_eq!((declined.state, declined.runs, declined.effect), (ToolCallState::Failed, 0, None));
    assert_eq!(declined.result_sealed.as_deref(), Some(&b"no"[..]));
    for further in [run(ToolEffect::Changes), run(ToolEffect::Reads), end(ToolCallState::Done), decline()] {
        assert!(is_conflict(&step(&store, &id, 21, "a", further).await));
    }
    offered(&store, &id, "b").await;
    step(&store, &id, 20, "b", run(ToolEffect::Changes)).await.unwrap();
    assert!(is_conflict(&step(&store, &id, 21, "b", decline()).await), "it runs");
}

/// A call running when its engine ended has an unknown outcome, and only a call that reads may run again.
pub async fn what_a_former_engine_left_running_is_unknown(store: Store) {
    let id = scene::session(&store, "one").await;
    for (call, effect) in [("reads", ToolEffect::Reads), ("changes", ToolEffect::Changes)] {
        offered(&store, &id, call).await;
        step(&store, &id, 10, call, run(effect)).await.unwrap();
        assert!(is_conflict(&step(&store, &id, 11, call, run(effect)).await), "this engine runs it");
    }
    offered(&store, &id, "offered").await;
    assert_eq!(store.abandon_tool_calls(EPOCH, 20).await.unwrap(), 0, "its own calls run");
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    assert_eq!(store.abandon_tool_calls(EPOCH + 1, 20).await.unwrap(), 2);
    for call in ["reads", "changes"] {
        let row = row(&store, call).await;
        assert_eq!((row.state, row.ended_at), (ToolCallState::Unknown, Some(20)));
    }
    assert_eq!(row(&store, "offered").await.state, ToolCallState::Offered);
    let next = |change| Batch { epoch: EPOCH + 1, ..scene::change(&id, 30, change) };
    let late = next(Change::ToolCall(key("changes"), end(ToolCallState::Done)));
    assert!(is_conflict(&store.append(late).await), "what it is not running it cannot end");
    let again = |call, effect| next(Change::ToolCall(key(call), run(effect)));
    assert!(is_conflict(&store.append(again("changes", ToolEffect::Changes)).await));
    assert!(is_conflict(&store.append(again("changes", ToolEffect::Reads)).await), "the first word counts");
    store.append(again("reads", ToolEffect::Reads)).await.unwrap();
    let row = row(&store, "reads").await;
    assert_eq!((row.state, row.runs, row.epoch), (ToolCallState::Running, 2, Some(EPOCH + 1)));
}

/// The record is stored with the beginning of the run and is kept after its end.
pub async fn an_effect_record_is_kept_from_the_beginning_of_the_run(store: Store) {
    let id = scene::session(&store, "one").await;
    offered(&store, &id, "a").await;
    assert_eq!(row(&store, "a").await.effect_record, None);
    step(&store, &id, 10, "a", run_recorded(ToolEffect::Changes)).await.unwrap();
    let other = ToolCallStep::Run { effect: ToolEffect::Changes, effect_record: Some(b"other".to_vec()) };
    assert!(is_conflict(&step(&store, &id, 11, "a", other).await), "it runs");
    step(&store, &id, 12, "a", end(ToolCallState::Done)).await.unwrap();
    store.append(scene::change(&id, 13, Change::ToolDelivered(key("a")))).await.unwrap();
    store.append(scene::change(&id, 14, Change::ToolsClosed(1))).await.unwrap();
    let kept = row(&store, "a").await;
    assert_eq!((kept.effect_record.as_deref(), kept.result_sealed), (Some(&b"record"[..]), None));
    offered(&store, &id, "without").await;
    assert_eq!(store.effect_records().await.unwrap(), [(Some(14), b"record".to_vec())]);
}

/// A call with a record is left for settlement; one without becomes unknown.
pub async fn only_calls_with_a_record_are_left_for_settlement(store: Store) {
    let (id, other) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    for call in ["plain", "recorded", "reads", "ended"] {
        offered(&store, &id, call).await;
    }
    offered(&store, &other, "second").await;
    step(&store, &id, 10, "plain", run(ToolEffect::Changes)).await.unwrap();
    step(&store, &id, 11, "recorded", run_recorded(ToolEffect::Changes)).await.unwrap();
    step(&store, &id, 12, "reads", run_recorded(ToolEffect::Reads)).await.unwrap();
    step(&store, &id, 13, "ended", run_recorded(ToolEffect::Changes)).await.unwrap();
    step(&store, &id, 14, "ended", end(ToolCallState::Done)).await.unwrap();
    step(&store, &other, 15, "second", run_recorded(ToolEffect::Changes)).await.unwrap();
    assert_eq!(store.unsettled_tool_calls(EPOCH).await.unwrap(), [], "its own calls run");
    for session in [&id, &other] {
        store.take_lease(scene::lease(session, EPOCH + 1), Takeover::Older).await.unwrap();
    }
    assert_eq!(store.abandon_tool_calls(EPOCH + 1, 20).await.unwrap(), 1);
    assert_eq!(row(&store, "plain").await.state, ToolCallState::Unknown);
    let left = store.unsettled_tool_calls(EPOCH + 1).await.unwrap();
    assert_eq!(names(&left), ["recorded", "reads", "second"]);
    assert!(left.iter().all(|call| call.effect_record.as_deref() == Some(b"record")));
    assert!(left.iter().all(|call| call.state == ToolCallState::Running && call.epoch == Some(EPOCH)));
    let again = |call, effect| next_engine(&id, 30, call, run_recorded(effect));
    assert!(is_conflict(&store.append(again("recorded", ToolEffect::Changes)).await), "it ran before");
    store.append(again("reads", ToolEffect::Reads)).await.unwrap();
    // An engine that dies before it settled anything leaves the same calls to the next one.
    assert_eq!(names(&store.unsettled_tool_calls(EPOCH + 1).await.unwrap()), ["recorded", "second"]);
    assert_eq!(names(&store.unsettled_tool_calls(EPOCH + 2).await.unwrap()), ["recorded", "reads", "second"]);
}

/// The next engine settles a call once. The engine that runs it cannot, and neither can the former one.
pub async fn a_call_is_settled_once_by_a_later_engine(store: Store) {
    let id = scene::session(&store, "one").await;
    let states = [ToolCallState::Done, ToolCallState::Failed, ToolCallState::Unknown];
    for call in states.map(ToolCallState::as_str) {
        offered(&store, &id, call).await;
        step(&store, &id, 10, call, run_recorded(ToolEffect::Changes)).await.unwrap();
        assert!(
            is_conflict(&step(&store, &id, 11, call, settle(ToolCallState::Done)).await),
            "this engine runs it"
        );
    }
    for call in ["plain", "only offered"] {
        offered(&store, &id, call).await;
    }
    step(&store, &id, 10, "plain", run(ToolEffect::Changes)).await.unwrap();
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    let late = step(&store, &id, 12, "done", end(ToolCallState::Done)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    for call in ["plain", "only offered", "never offered"] {
        assert!(
            is_conflict(&store.append(next_engine(&id, 20, call, settle(ToolCallState::Done))).await),
            "{call}"
        );
    }
    for state in [ToolCallState::Offered, ToolCallState::Running] {
        assert!(is_conflict(&store.append(next_engine(&id, 20, "done", settle(state))).await), "{state:?}");
    }
    assert!(is_conflict(&store.append(next_engine(&id, 20, "done", end(ToolCallState::Done))).await));
    for state in states {
        let call = state.as_str();
        let settlers = (0..4).map(|n| store.append(next_engine(&id, 21 + n, call, settle(state))));
        let results = futures_util::future::join_all(settlers).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        let kept = row(&store, call).await;
        assert_eq!((kept.state, kept.runs, kept.epoch), (state, 1, Some(EPOCH)));
        assert_eq!(kept.result_sealed.as_deref(), Some(&b"settled"[..]));
        let delivered =
            Batch { epoch: EPOCH + 1, ..scene::change(&id, 40, Change::ToolDelivered(key(call))) };
        store.append(delivered).await.unwrap();
        assert_eq!(row(&store, call).await.result_sealed, None);
    }
    assert_eq!(store.unsettled_tool_calls(EPOCH + 2).await.unwrap(), []);
}

/// A call whose turn is over is settled without a result. Until then its row is not trimmed.
pub async fn a_call_of_a_finished_turn_can_still_be_settled(store: Store) {
    let id = scene::session(&store, "one").await;
    offered(&store, &id, "a").await;
    step(&store, &id, 10, "a", run_recorded(ToolEffect::Changes)).await.unwrap();
    store.append(scene::change(&id, 20, Change::ToolsClosed(1))).await.unwrap();
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    let trim = async || store.trim(TrimPolicy { older_than: Some(1000), keep: None }).await.unwrap();
    trim().await;
    assert_eq!(names(&store.unsettled_tool_calls(EPOCH + 1).await.unwrap()), ["a"]);
    store.append(next_engine(&id, 30, "a", settle(ToolCallState::Failed))).await.unwrap();
    let kept = row(&store, "a").await;
    assert_eq!((kept.state, kept.ended_at, kept.result_sealed), (ToolCallState::Failed, Some(30), None));
    trim().await;
    assert_eq!(store.tool_call(&key("a")).await.unwrap(), None);
}

/// The result is stored until the runtime has it.
pub async fn a_sealed_result_is_erased_when_it_is_delivered(store: Store) {
    let id = scene::session(&store, "one").await;
    for state in [ToolCallState::Done, ToolCallState::Failed] {
        let call = state.as_str();
        offered(&store, &id, call).await;
        let delivered = || scene::change(&id, 40, Change::ToolDelivered(key(call)));
        store.append(delivered()).await.unwrap();
        assert_eq!(row(&store, call).await.delivered_at, None, "there is no result yet");
        step(&store, &id, 10, call, run(ToolEffect::Changes)).await.unwrap();
        step(&store, &id, 11, call, end(state)).await.unwrap();
        let kept = row(&store, call).await;
        assert_eq!((kept.state, kept.result_sealed.as_deref()), (state, Some(&b"sealed"[..])));
        store.append(delivered()).await.unwrap();
        let kept = row(&store, call).await;
        assert_eq!((kept.state, kept.result_sealed, kept.delivered_at), (state, None, Some(40)));
    }
}

/// When a turn is over, only the outcomes of its calls are kept, also of one that ends later.
pub async fn the_end_of_a_turn_erases_the_results_of_its_calls(store: Store) {
    let id = scene::session(&store, "one").await;
    for call in ["ended", "late", "offered"] {
        offered(&store, &id, call).await;
    }
    let other = NewToolCall { ordinal: 2, ..offer("next turn") };
    store.append(scene::change(&id, 5, Change::ToolOffered(other))).await.unwrap();
    for call in ["ended", "late", "next turn"] {
        step(&store, &id, 10, call, run(ToolEffect::Changes)).await.unwrap();
    }
    for call in ["ended", "next turn"] {
        step(&store, &id, 11, call, end(ToolCallState::Done)).await.unwrap();
    }
    store.append(scene::change(&id, 50, Change::ToolsClosed(1))).await.unwrap();
    step(&store, &id, 60, "late", end(ToolCallState::Done)).await.unwrap();
    for call in ["ended", "late"] {
        let row = row(&store, call).await;
        assert_eq!((row.state, row.result_sealed, row.closed_at), (ToolCallState::Done, None, Some(50)));
    }
    assert!(row(&store, "next turn").await.result_sealed.is_some());
    store.trim(TrimPolicy { older_than: Some(50), keep: None }).await.unwrap();
    assert_eq!(store.tool_calls(&id).await.unwrap().len(), 4, "not old enough");
    store.trim(TrimPolicy { older_than: Some(51), keep: None }).await.unwrap();
    let left = store.tool_calls(&id).await.unwrap();
    assert_eq!(left.iter().map(|call| call.key.call.as_str()).collect::<Vec<_>>(), ["next turn"]);
}

/// A session that is forgotten leaves no call.
pub async fn the_calls_go_with_their_session(store: Store) {
    let id = scene::session(&store, "old").await;
    offered(&store, &id, "a").await;
    let policy = PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() };
    assert_eq!(store.prune(&policy, 2000).await.unwrap().sessions, 1);
    assert_eq!(store.tool_call(&key("a")).await.unwrap(), None);
}

/// A session has no contract until one is recorded, and keeps it.
pub async fn a_session_keeps_the_contract_of_its_thread(store: Store) {
    let id = scene::session(&store, "one").await;
    let kept = async || {
        let row = store.session(&id).await.unwrap().unwrap();
        (row.contract, row.contract_said)
    };
    assert_eq!(kept().await, (None, false));
    let said = SessionPatch { contract_said: Some(true), ..SessionPatch::default() };
    store.append(scene::change(&id, 5, Change::Session(said))).await.unwrap();
    assert_eq!(kept().await, (None, true));
    let tools = Some("[]".to_owned());
    let patch = SessionPatch { contract: Some(1), tools: tools.clone(), ..SessionPatch::default() };
    store.append(scene::change(&id, 6, Change::Session(patch))).await.unwrap();
    store.append(scene::change(&id, 7, Change::Session(SessionPatch::default()))).await.unwrap();
    assert_eq!(kept().await, (Some(1), true));
    assert_eq!(store.session(&id).await.unwrap().unwrap().tools, tools);
}
