//! Sessions are made once, changed field by field, listed and found.

use talaria_core::ids::{SessionId, ThreadId};

use super::scene::{self, EPOCH};
use crate::{
    Change, NewSessionRow, SessionFilter, SessionKind, SessionLookup, SessionPatch, SessionState, Store,
    StoreError,
};

async fn task(store: &Store, id: &str, alias: &str, at: i64) -> Result<(), StoreError> {
    let session = NewSessionRow { alias: Some(alias.to_owned()), ..scene::new_task(id, at) };
    let lease = scene::lease(&session.id, EPOCH);
    store.create_session(session, lease).await
}

/// Pages follow each other without a gap or a repeat, also among equal times.
pub async fn sessions_are_listed_newest_first_page_by_page(store: Store) {
    for n in 0..9 {
        scene::session_at(&store, &format!("chat-{n}"), 100 + n / 3).await;
    }
    task(&store, "task-0", "codex-000000000000", 50).await.unwrap();
    let running = SessionPatch { state: Some(SessionState::Running), ..SessionPatch::default() };
    let first = SessionId::new("chat-0");
    store.append(scene::change(&first, 500, Change::Session(running))).await.unwrap();

    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = store.sessions(&SessionFilter::default(), after.as_ref(), 4).await.unwrap();
        seen.extend(page.sessions.into_iter().map(|session| session.id.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let expected =
        ["chat-0", "chat-8", "chat-7", "chat-6", "chat-5", "chat-4", "chat-3", "chat-2", "chat-1", "task-0"];
    assert_eq!(seen, expected);

    let only = async |filter: SessionFilter| {
        let page = store.sessions(&filter, None, 100).await.unwrap();
        page.sessions.into_iter().map(|session| session.id.to_string()).collect::<Vec<_>>()
    };
    let tasks = SessionFilter { kind: Some(SessionKind::Task), ..SessionFilter::default() };
    assert_eq!(only(tasks).await, ["task-0"]);
    let running = SessionFilter { state: Some(SessionState::Running), ..SessionFilter::default() };
    assert_eq!(only(running).await, ["chat-0"]);
    let archived = SessionFilter { archived: Some(true), ..SessionFilter::default() };
    assert_eq!(only(archived).await, [] as [&str; 0]);
}

/// Unknown and ambiguous ids are distinguished, and typed text is never interpreted as a pattern.
pub async fn a_session_is_found_by_id_alias_and_beginning(store: Store) {
    scene::session(&store, "0199-aaaa").await;
    scene::session(&store, "0199-aabb").await;
    scene::session(&store, "0199").await;
    task(&store, "0200-cccc", "codex-00aabbccddee", 1).await.unwrap();
    let one = async |typed: &str| match store.find_session(typed).await.unwrap() {
        SessionLookup::One(session) => session.id.to_string(),
        other => panic!("{typed}: {other:?}"),
    };
    assert_eq!(one("0199-aaaa").await, "0199-aaaa");
    assert_eq!(one(" 0199-AAB ").await, "0199-aabb");
    assert_eq!(one("0199").await, "0199", "a whole id wins over longer ones");
    assert_eq!(one("codex-00aabbccddee").await, "0200-cccc");
    assert_eq!(one("codex-00").await, "0200-cccc");
    assert_eq!(one("aabb").await, "0199-aabb", "an end is enough");
    assert_eq!(one("bccddee").await, "0200-cccc", "also of an alias");
    match store.find_session("0199-a").await.unwrap() {
        SessionLookup::Ambiguous(ids) => assert_eq!(ids.len(), 2),
        other => panic!("{other:?}"),
    }
    task(&store, "0200-dddd", "codex-00ffffffffff", 2).await.unwrap();
    for (typed, expected) in [
        ("codex-", ["codex-00aabbccddee", "codex-00ffffffffff"]),
        ("0200", ["0200-cccc", "0200-dddd"]),
        ("0199-a", ["0199-aaaa", "0199-aabb"]),
    ] {
        let SessionLookup::Ambiguous(found) = store.find_session(typed).await.unwrap() else {
            panic!("{typed}")
        };
        let mut names: Vec<_> = found.into_iter().map(|candidate| candidate.name).collect();
        names.sort();
        assert_eq!(names, expected, "only names that match {typed}");
    }
    for typed in ["0300", "", " ", "%", "_199", "0199-aaaa-", "'; drop table session; --", "0199*", "é"] {
        assert_eq!(store.find_session(typed).await.unwrap(), SessionLookup::Unknown, "{typed:?}");
    }
}

/// Fields that a patch does not name are unchanged.
pub async fn a_patch_changes_only_what_it_names(store: Store) {
    let id = scene::session_at(&store, "one", 5).await;
    let before = store.session(&id).await.unwrap().unwrap();
    let patch = SessionPatch {
        thread: Some(ThreadId::new("thread")),
        host: Some("nonce".to_owned()),
        archived: Some(true),
        ..SessionPatch::default()
    };
    store.append(scene::change(&id, 9, Change::Session(patch))).await.unwrap();
    let expected = crate::SessionRow {
        thread: Some(ThreadId::new("thread")),
        host: Some("nonce".to_owned()),
        archived: true,
        updated_at: 9,
        ..before
    };
    assert_eq!(store.session(&id).await.unwrap(), Some(expected.clone()));
    store.append(scene::change(&id, 9, Change::Session(SessionPatch::default()))).await.unwrap();
    assert_eq!(store.session(&id).await.unwrap(), Some(expected));
}

/// A second session of the same name is a conflict and leaves nothing.
pub async fn an_id_or_alias_is_given_once(store: Store) {
    task(&store, "one", "codex-000000000000", 1).await.unwrap();
    for (id, alias) in [("one", "codex-111111111111"), ("two", "codex-000000000000")] {
        let refused = task(&store, id, alias, 2).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    assert_eq!(store.counts().await.unwrap().sessions, 1);
    assert_eq!(store.lease(&SessionId::new("two")).await.unwrap(), None);
}

/// A title is changed without being activity, and nothing else changes.
pub async fn a_session_is_renamed(store: Store) {
    task(&store, "one", "codex-000000000000", 5).await.unwrap();
    let id = SessionId::new("one");
    let before = store.session(&id).await.unwrap().unwrap();
    assert!(store.rename_session(&id, "the new title").await.unwrap());
    let expected = crate::SessionRow { title: Some("the new title".to_owned()), ..before };
    assert_eq!(store.session(&id).await.unwrap(), Some(expected));
    assert!(!store.rename_session(&SessionId::new("two"), "x").await.unwrap());
    assert_eq!(store.counts().await.unwrap().sessions, 1);
}

/// A thread leads to the session that has it, and to no other.
pub async fn a_session_is_found_by_its_thread(store: Store) {
    let (one, two) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    let bind = |thread: &str| SessionPatch { thread: Some(ThreadId::new(thread)), ..SessionPatch::default() };
    store.append(scene::change(&one, 5, Change::Session(bind("a")))).await.unwrap();
    store.append(scene::change(&two, 6, Change::Session(bind("b")))).await.unwrap();
    let found = async |thread: &str| {
        store.session_of_thread(&ThreadId::new(thread)).await.unwrap().map(|row| row.id.to_string())
    };
    assert_eq!((found("a").await.as_deref(), found("b").await.as_deref()), (Some("one"), Some("two")));
    assert_eq!(found("c").await, None);
    store.append(scene::change(&one, 7, Change::Session(bind("b")))).await.unwrap();
    assert_eq!(found("b").await.as_deref(), Some("one"), "it changed last");
}
