//! An answer recorded while Codex was down is delivered, kept, or shown as not delivered.

use talaria_core::ids::{SessionId, TicketId};

use super::scene::{self, EPOCH};
use crate::{AnswerResult, Change, RequestPatch, RequestState, Store, UnusedAnswer};

async fn answered(store: &Store, session: &SessionId, ticket: &str, binding: &str) -> TicketId {
    let ticket = scene::asked(store, session, scene::request(ticket, binding)).await;
    assert_eq!(
        store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap(),
        AnswerResult::Won
    );
    ticket
}

/// Escrow serves one turn.
pub async fn the_rest_of_escrow_expires(store: Store) {
    let id = scene::session(&store, "one").await;
    let ticket = answered(&store, &id, "req-1", "ls").await;
    let kept =
        RequestPatch { expires_at: Some(100), ..RequestPatch::state(ticket.clone(), RequestState::Escrowed) };
    store.append(scene::change(&id, 10, Change::Request(kept))).await.unwrap();
    let kept = store.request(&ticket).await.unwrap().unwrap();
    assert_eq!((kept.answer_sealed.as_deref(), kept.expires_at), (Some(&b"sealed"[..]), Some(100)));
    let too_early = store.expire_escrow(&id, EPOCH, 1, 60).await.unwrap();
    assert_eq!(too_early, [], "it was asked in turn 1 and serves the next");
    let expired = store.expire_escrow(&id, EPOCH, 2, 60).await.unwrap();
    assert_eq!(expired, [UnusedAnswer { id: ticket.clone(), state: RequestState::Expired }]);
    let kept = store.request(&ticket).await.unwrap().unwrap();
    assert_eq!((kept.answer_sealed, kept.closed_at), (None, Some(60)));
    let late = store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    assert_eq!(late, AnswerResult::Closed { state: RequestState::Expired });
}

/// Closing a request without knowledge of its answer does not discard the answer.
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
}
