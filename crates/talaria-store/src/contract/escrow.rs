//! An answer that was given while Codex was gone is delivered, kept, or shown as not delivered.

use talaria_core::ids::{SessionId, TicketId};

use super::scene::{self, EPOCH};
use crate::{AnswerResult, Change, LostRequest, RequestPatch, RequestState, Store};

/// Codex dies at 10; what was answered is kept until 100.
async fn lost(store: &Store, session: &SessionId) -> Vec<LostRequest> {
    let mut lost = store.lose_requests(session, EPOCH, 10, 100).await.unwrap();
    lost.sort_by(|a, b| a.id.cmp(&b.id));
    lost
}

async fn answered(store: &Store, session: &SessionId, ticket: &str, binding: &str) -> TicketId {
    let ticket = scene::asked(store, session, scene::request(ticket, binding)).await;
    assert_eq!(
        store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap(),
        AnswerResult::Won
    );
    ticket
}

/// Each state goes where it belongs.
pub async fn an_answer_outlives_its_codex(store: Store) {
    let id = scene::session(&store, "one").await;
    let kept = answered(&store, &id, "req-1", "ls").await;
    let written = answered(&store, &id, "req-2", "rm").await;
    let delivering = RequestPatch::state(written.clone(), RequestState::Delivering);
    store.append(scene::change(&id, 8, Change::Request(delivering))).await.unwrap();
    let open = scene::asked(&store, &id, scene::request("req-3", "cat")).await;
    let secret = scene::asked(&store, &id, scene::request("req-4", "input")).await;
    let unstored = crate::Answer { sealed: None, ..scene::answer("answered", "me") };
    store.answer_request(&secret, unstored).await.unwrap();
    let state = |id: &TicketId, state| LostRequest { id: id.clone(), state };
    let expected = [
        state(&kept, RequestState::Escrowed),
        state(&written, RequestState::Undelivered),
        state(&open, RequestState::Void),
        state(&secret, RequestState::Void),
    ];
    assert_eq!(lost(&store, &id).await, expected);
    assert_eq!(lost(&store, &id).await, [], "losing it twice changes nothing");
}

/// Escrow serves one turn.
pub async fn the_rest_of_escrow_expires(store: Store) {
    let id = scene::session(&store, "one").await;
    let ticket = answered(&store, &id, "req-1", "ls").await;
    lost(&store, &id).await;
    let too_early = store.expire_escrow(&id, EPOCH, 1, 60).await.unwrap();
    assert_eq!(too_early, [], "it was asked in turn 1 and serves the next");
    let expired = store.expire_escrow(&id, EPOCH, 2, 60).await.unwrap();
    assert_eq!(expired, [LostRequest { id: ticket.clone(), state: RequestState::Expired }]);
    let kept = store.request(&ticket).await.unwrap().unwrap();
    assert_eq!((kept.answer_sealed, kept.closed_at), (None, Some(60)));
    let late = store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    assert_eq!(late, AnswerResult::Closed { state: RequestState::Expired });
}

/// Whoever closes a request without having heard of the answer does not throw it away.
pub async fn an_answer_given_at_the_last_moment_is_not_voided(store: Store) {
    let id = scene::session(&store, "one").await;
    let void = |ticket: &TicketId, expires_at| {
        let patch = RequestPatch { expires_at, ..RequestPatch::state(ticket.clone(), RequestState::Void) };
        scene::change(&id, 9, Change::Request(patch))
    };
    let kept = answered(&store, &id, "req-1", "ls").await;
    let unkept = answered(&store, &id, "req-2", "rm").await;
    let open = scene::asked(&store, &id, scene::request("req-3", "cat")).await;
    for (ticket, expires_at, state) in [
        (kept, Some(100), RequestState::Escrowed),
        (unkept, None, RequestState::Undelivered),
        (open, Some(100), RequestState::Void),
    ] {
        store.append(void(&ticket, expires_at)).await.unwrap();
        assert_eq!(store.request(&ticket).await.unwrap().unwrap().state, state);
    }
    let again = scene::asked(&store, &id, scene::request("req-4", "ls")).await;
    assert!(store.answer_from_escrow(&id, EPOCH, &again, 50).await.unwrap().is_some());
}
