//! Fixtures of the promises: sessions, batches and requests that differ only where it matters.

use talaria_core::ids::{SessionId, TicketId};

use crate::{
    Batch, Change, Lease, NewAnswer, NewEvent, NewMessage, NewRequest, NewSessionRow, NewTaskRow, NewTurnRow,
    RequestOrigin, SessionKind, Store,
};

/// The epoch of who owns the sessions of `session`.
pub const EPOCH: i64 = 1;

/// A session that is not stored yet.
pub fn new_session(id: &str, at: i64) -> NewSessionRow {
    NewSessionRow {
        id: SessionId::new(id),
        kind: SessionKind::Chat,
        alias: None,
        title: None,
        cwd: "/work".to_owned(),
        runtime: "codex_app_server".to_owned(),
        model: None,
        asked: None,
        settings: None,
        task: None,
        first_turn: None,
        created_at: at,
        audit: None,
    }
}

/// A task of `person:me` that is not stored yet.
pub fn new_task(id: &str, at: i64) -> NewSessionRow {
    let task = NewTaskRow { owner: "person:me".to_owned(), ..NewTaskRow::default() };
    NewSessionRow { kind: SessionKind::Task, task: Some(task), ..new_session(id, at) }
}

/// A lease that lasts.
pub fn lease(session: &SessionId, epoch: i64) -> Lease {
    Lease { session: session.clone(), epoch, owner: format!("engine-{epoch}"), expires_at: i64::MAX }
}

/// Keeps a session under `EPOCH`.
pub async fn session(store: &Store, id: &str) -> SessionId {
    session_at(store, id, 1).await
}

/// Keeps a session under `EPOCH`, made at a certain time.
pub async fn session_at(store: &Store, id: &str, at: i64) -> SessionId {
    let session = new_session(id, at);
    let id = session.id.clone();
    store.create_session(session, lease(&id, EPOCH)).await.unwrap();
    id
}

/// Events with these texts, and no changes.
pub fn batch(session: &SessionId, at: i64, texts: &[&str]) -> Batch {
    let event = |text: &&str| NewEvent {
        turn: Some(1),
        kind: "note".to_owned(),
        json: serde_json::json!({ "text": text }).to_string(),
    };
    Batch {
        session: session.clone(),
        epoch: EPOCH,
        at,
        events: texts.iter().map(event).collect(),
        changes: vec![],
    }
}

/// One change and no events.
pub fn change(session: &SessionId, at: i64, change: Change) -> Batch {
    Batch { changes: vec![change], ..batch(session, at, &[]) }
}

/// A turn that is not stored yet.
pub fn turn(ordinal: i64) -> NewTurnRow {
    NewTurnRow {
        ordinal,
        client_id: format!("client-{ordinal}"),
        input_sealed: Some(vec![0, 159, 146, 150]),
        input_text: "do it".to_owned(),
        ..NewTurnRow::default()
    }
}

/// A message that is not stored yet.
pub fn message(key: &str, text: &str) -> NewMessage {
    NewMessage {
        key: key.to_owned(),
        turn: Some(1),
        event: None,
        role: "assistant".to_owned(),
        text: text.to_owned(),
        json: serde_json::json!({ "content": text }).to_string(),
    }
}

/// A question that is not stored yet, bound to `binding`.
pub fn request(id: &str, binding: &str) -> NewRequest {
    NewRequest {
        id: TicketId::new(id),
        turn: Some(1),
        origin: RequestOrigin { host: Some("nonce".to_owned()), json: format!("{{\"item\":\"{id}\"}}") },
        kind: "command".to_owned(),
        summary: "run ls".to_owned(),
        place: Some("inside".to_owned()),
        ask: "{}".to_owned(),
        binding: Some(binding.to_owned()),
    }
}

/// Keeps an open question.
pub async fn asked(store: &Store, session: &SessionId, request: NewRequest) -> TicketId {
    let id = request.id.clone();
    store.append(change(session, 5, Change::NewRequest(request))).await.unwrap();
    id
}

/// An answer from this sender.
pub fn answer(decision: &str, by: &str) -> NewAnswer {
    NewAnswer {
        decision: decision.to_owned(),
        sealed: Some(b"sealed".to_vec()),
        by: by.to_owned(),
        at: 7,
        audit: None,
    }
}
