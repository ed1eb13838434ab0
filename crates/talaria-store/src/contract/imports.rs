//! Sessions of other programs are imported once, grow, and can be removed by undoing their import.

use talaria_core::ids::SessionId;

use super::scene;
use crate::{
    ConversationPart, ImportResult, ImportedFrom, ImportedMessage, ImportedSession, ImportedTurn, NewTaskRow,
    OriginRow, Store,
};

fn turn(run: &str, text: &str, at: i64) -> ImportedTurn {
    let message = ImportedMessage {
        key: "there/1".to_owned(),
        role: "user".to_owned(),
        text: text.to_owned(),
        json: "{}".to_owned(),
        at,
    };
    ImportedTurn {
        client_id: run.to_owned(),
        input_text: text.to_owned(),
        outcome: "{}".to_owned(),
        outcome_kind: "completed".to_owned(),
        code: None,
        usage: "{}".to_owned(),
        event: "{}".to_owned(),
        created_at: at,
        settled_at: at,
        messages: vec![message],
    }
}

fn part(id: &str, name: &str, parent: Option<&str>, run: &str, last: i64) -> ImportedSession {
    let from = ImportedFrom::Conversation(ConversationPart {
        program: "other".to_owned(),
        name: name.to_owned(),
        parent: parent.map(str::to_owned),
        run: run.to_owned(),
        last,
    });
    let turns = vec![turn(run, &format!("words of {name} {last}"), last)];
    ImportedSession { session: scene::new_session(id, 1), from, turns, updated_at: last }
}

fn task(id: &str, alias: &str, origin: &str) -> ImportedSession {
    let mut session = scene::new_task(id, 1);
    session.alias = Some(alias.to_owned());
    session.task = Some(NewTaskRow { origin: Some(origin.to_owned()), ..session.task.unwrap_or_default() });
    ImportedSession { session, from: ImportedFrom::Task, turns: vec![turn(id, "do it", 5)], updated_at: 6 }
}

/// A task is imported once. A name that another session has is refused, and does not spoil its neighbours.
pub async fn a_task_comes_once_and_never_under_a_name_that_is_taken(store: Store) {
    let results = store.import_sessions(vec![task("a", "codex-1", "x"), task("b", "codex-2", "x")]).await;
    let new = |id: &str| ImportResult::New(SessionId::new(id));
    assert_eq!(results.unwrap(), [new("a"), new("b")]);
    let again = vec![task("c", "codex-1", "x"), task("d", "codex-2", "y"), task("e", "codex-3", "x")];
    let results = store.import_sessions(again).await.unwrap();
    assert_eq!(results, [ImportResult::Known, ImportResult::NameTaken("codex-2".to_owned()), new("e")]);
    let kept = store.session(&SessionId::new("a")).await.unwrap().unwrap();
    assert_eq!((kept.first_seq, kept.last_seq, kept.updated_at), (1, 1, 6));
    let events = store.events(&kept.id, 0, 10).await.unwrap();
    assert_eq!(
        events.iter().map(|event| (event.seq, event.kind.as_str())).collect::<Vec<_>>(),
        [(1, "outcome")]
    );
    assert_eq!(store.unsettled().await.unwrap(), []);
}

/// A conversation that grew there grows here, under the session that it has.
pub async fn a_conversation_grows_and_knows_where_it_came_from(store: Store) {
    store.import_sessions(vec![part("a", "one", None, "run-1", 10)]).await.unwrap();
    let results = vec![part("x", "one", None, "run-2", 20), part("b", "two", Some("one"), "run-2", 30)];
    let results = store.import_sessions(results).await.unwrap();
    let (a, b) = (SessionId::new("a"), SessionId::new("b"));
    assert_eq!(results, [ImportResult::Grown(a.clone()), ImportResult::New(b.clone())]);
    let turns = store.last_turns(&a, None, 10).await.unwrap();
    assert_eq!(turns.iter().map(|turn| (turn.ordinal, turn.first_seq)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
    assert_eq!(store.imported_up_to("other", "one").await.unwrap(), Some(20));
    assert_eq!(store.imported_up_to("other", "three").await.unwrap(), None);
    let origin = OriginRow {
        program: "other".to_owned(),
        name: "two".to_owned(),
        parent: Some("one".to_owned()),
        parent_session: Some(a),
    };
    assert_eq!(store.origin(&b).await.unwrap(), Some(origin));
    assert_eq!(store.search("words", 10).await.unwrap().len(), 3);
}

/// Undoing an import removes what it added and nothing else; a part that a later import builds on is kept.
pub async fn an_import_is_undone_unless_its_sessions_were_used_since(store: Store) {
    let first = vec![part("a", "one", None, "run-1", 10), part("b", "two", None, "run-1", 10)];
    store.import_sessions(first).await.unwrap();
    store.import_sessions(vec![part("x", "one", None, "run-2", 20)]).await.unwrap();
    let preview = store.preview_undo("run-1", None).await.unwrap();
    let undone = store.undo_import("run-1", None, 100).await.unwrap();
    assert_eq!(
        (undone.removed, undone.shortened, undone.left.as_slice()),
        (1, 0, &[SessionId::new("a")][..])
    );
    assert_eq!(preview, undone);
    let undone = store.undo_import("run-2", None, 100).await.unwrap();
    assert_eq!((undone.removed, undone.shortened, undone.left.len()), (0, 1, 0));
    assert_eq!(store.imported_up_to("other", "one").await.unwrap(), Some(10));
    assert_eq!(store.imported_up_to("other", "two").await.unwrap(), None);
    let undone = store.undo_import("run-1", None, 100).await.unwrap();
    assert_eq!((undone.removed, undone.left.len()), (1, 0));
    assert_eq!(store.counts().await.unwrap().sessions, 0);
}
