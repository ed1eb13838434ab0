//! A task is a session with an owner; the list shows how far each one is.

use talaria_core::event::Stage;
use talaria_core::ids::SessionId;

use super::scene::{self, EPOCH};
use crate::{
    Batch, Change, LastTurn, NewRequest, NewSessionRow, NewTaskRow, RequestPatch, RequestState, SessionKind,
    Store, StoreError, TaskFilter, TaskLineRow, TaskRow, TurnPatch,
};

/// Stores a task with this owner.
async fn task(store: &Store, id: &str, owner: &str, at: i64) -> SessionId {
    let task = NewTaskRow { owner: owner.to_owned(), ..NewTaskRow::default() };
    let session = NewSessionRow {
        alias: Some(format!("codex-{id}")),
        task: Some(task),
        title: Some(format!("title of {id}")),
        ..scene::new_task(id, at)
    };
    let id = session.id.clone();
    store.create_session(session, scene::lease(&id, EPOCH)).await.unwrap();
    id
}

fn settled(ordinal: i64, kind: &str, outcome: &str) -> Change {
    Change::Turn(TurnPatch {
        ordinal,
        stage: Some(Stage::Settled),
        outcome: Some(outcome.to_owned()),
        outcome_kind: Some(kind.to_owned()),
        ..TurnPatch::default()
    })
}

async fn listed(store: &Store, filter: &TaskFilter) -> Vec<String> {
    let page = store.tasks(filter, None, 100).await.unwrap();
    page.tasks.into_iter().map(|task| task.id.to_string()).collect()
}

/// The row of a task is written with its session or not at all, and only a task has one.
pub async fn a_task_is_made_with_its_session_or_not_at_all(store: Store) {
    let new = NewTaskRow {
        owner: "model:claude-code".to_owned(),
        worktree: Some(r#"{"branch":"talaria/one"}"#.to_owned()),
        notify: vec!["local".to_owned(), "command:say \"it\"".to_owned()],
        origin: None,
        delegation: None,
    };
    let session = NewSessionRow { task: Some(new.clone()), ..scene::new_task("one", 5) };
    let id = session.id.clone();
    store.create_session(session, scene::lease(&id, EPOCH)).await.unwrap();
    let expected = TaskRow {
        session: id.clone(),
        owner: new.owner.clone(),
        worktree: new.worktree.clone(),
        notify: new.notify.clone(),
        origin: None,
    };
    assert_eq!(store.task(&id).await.unwrap(), Some(expected));

    let chat = scene::session(&store, "chat").await;
    assert_eq!(store.task(&chat).await.unwrap(), None);
    let ownerless = NewSessionRow { task: None, ..scene::new_task("two", 5) };
    let owned_chat = NewSessionRow { task: Some(new), ..scene::new_session("three", 5) };
    let taken = NewSessionRow { id: chat.clone(), ..scene::new_task("four", 5) };
    for session in [ownerless, owned_chat, taken] {
        let lease = scene::lease(&session.id, EPOCH);
        let refused = store.create_session(session, lease).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    assert_eq!(store.counts().await.unwrap().sessions, 2);
    assert_eq!(store.task(&chat).await.unwrap(), None);
}

/// Worktree and targets change under the lease, independently; a session that is not a task has none.
pub async fn a_task_changes_only_under_its_lease(store: Store) {
    let id = task(&store, "one", "person:me", 5).await;
    let worktree = || Change::TaskWorktree(Some("{}".to_owned()));
    store.append(scene::change(&id, 6, worktree())).await.unwrap();
    store.append(scene::change(&id, 7, Change::TaskNotify(vec!["local".to_owned()]))).await.unwrap();
    let kept = store.task(&id).await.unwrap().unwrap();
    assert_eq!(
        (kept.owner.as_str(), kept.worktree.as_deref(), kept.notify),
        ("person:me", Some("{}"), vec!["local".to_owned()])
    );
    let fenced = Batch { epoch: EPOCH + 1, ..scene::change(&id, 8, Change::TaskWorktree(None)) };
    assert!(matches!(store.append(fenced).await, Err(StoreError::Fenced { .. })));
    store.append(scene::change(&id, 9, Change::TaskWorktree(None))).await.unwrap();
    assert_eq!(store.task(&id).await.unwrap().unwrap().worktree, None);

    let chat = scene::session(&store, "chat").await;
    for change in [worktree(), Change::TaskNotify(vec![])] {
        let refused = store.append(scene::change(&chat, 9, change)).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
}

/// Pages follow each other without a gap or a repeat, also among equal times; sessions of other kinds are not in them.
pub async fn tasks_are_listed_by_their_last_change_page_by_page(store: Store) {
    for n in 0..9 {
        task(&store, &format!("task-{n}"), "person:me", 100 + n / 3).await;
        scene::session_at(&store, &format!("chat-{n}"), 100 + n / 3).await;
    }
    store.append(scene::batch(&SessionId::new("task-0"), 500, &["news"])).await.unwrap();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = store.tasks(&TaskFilter::default(), after.as_ref(), 4).await.unwrap();
        seen.extend(page.tasks.into_iter().map(|task| task.id.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let expected = ["task-0", "task-8", "task-7", "task-6", "task-5", "task-4", "task-3", "task-2", "task-1"];
    assert_eq!(seen, expected);
}

/// A line has what the status of a task is derived from: its last turn and its open requests.
pub async fn a_line_shows_the_last_turn_and_what_waits(store: Store) {
    let id = task(&store, "one", "person:me", 5).await;
    let line = async || store.tasks(&TaskFilter::default(), None, 10).await.unwrap().tasks.remove(0);
    let fresh = TaskLineRow {
        id: id.clone(),
        alias: Some("codex-one".to_owned()),
        title: Some("title of one".to_owned()),
        cwd: "/work".to_owned(),
        created_at: 5,
        updated_at: 5,
        owner: "person:me".to_owned(),
        worktree: None,
        turn: None,
        open_requests: 0,
        wants_input: false,
    };
    assert_eq!(line().await, fresh);

    store.append(scene::change(&id, 6, Change::NewTurn(scene::turn(1)))).await.unwrap();
    let outcome = r#"{"outcome":"interrupted","by":"person"}"#;
    store.append(scene::change(&id, 7, settled(1, "interrupted", outcome))).await.unwrap();
    let first = LastTurn {
        ordinal: 1,
        stage: Stage::Settled,
        outcome_kind: Some("interrupted".to_owned()),
        code: None,
        interrupted_by: Some("person".to_owned()),
        created_at: 6,
        settled_at: Some(7),
    };
    assert_eq!(line().await.turn, Some(first));

    store.append(scene::change(&id, 8, Change::NewTurn(scene::turn(2)))).await.unwrap();
    for (request, kind, expected) in
        [("req-1", "command", (1, false)), ("req-2", "input", (2, true)), ("req-3", "patch", (3, true))]
    {
        let request = NewRequest { kind: kind.to_owned(), ..scene::request(request, "ls") };
        scene::asked(&store, &id, request).await;
        let line = line().await;
        assert_eq!((line.open_requests, line.wants_input), expected);
        assert_eq!(line.turn.map(|turn| (turn.ordinal, turn.stage)), Some((2, Stage::Prepared)));
    }
    let void = RequestPatch::state(talaria_core::ids::TicketId::new("req-2"), RequestState::Void);
    store.append(scene::change(&id, 9, Change::Request(void))).await.unwrap();
    let ticket = talaria_core::ids::TicketId::new("req-1");
    store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    let answered = line().await;
    assert_eq!((answered.open_requests, answered.wants_input), (1, false));

    // An unreadable outcome is shown as far as possible.
    store.append(scene::change(&id, 10, settled(2, "interrupted", "not json"))).await.unwrap();
    let last = line().await.turn.unwrap();
    assert_eq!((last.outcome_kind.as_deref(), last.interrupted_by), (Some("interrupted"), None));
}

/// The filter selects by owner, by whether the task is active, and by both.
pub async fn tasks_are_listed_by_owner_and_whether_they_go_on(store: Store) {
    for (id, owner, is_active) in [
        ("a", "model:x", true),
        ("b", "model:x", false),
        ("c", "model:xy", true),
        ("d", "person:me", false),
        ("e", "model:x", true),
    ] {
        let at = i64::from(id.as_bytes()[0]);
        let id = task(&store, id, owner, at).await;
        store.append(scene::change(&id, at, Change::NewTurn(scene::turn(1)))).await.unwrap();
        if !is_active {
            store.append(scene::change(&id, at, settled(1, "completed", "{}"))).await.unwrap();
        }
    }
    let filter = |owner: Option<&str>, active| TaskFilter { owner: owner.map(str::to_owned), active };
    assert_eq!(listed(&store, &filter(None, None)).await, ["e", "d", "c", "b", "a"]);
    assert_eq!(listed(&store, &filter(Some("model:x"), None)).await, ["e", "b", "a"]);
    assert_eq!(listed(&store, &filter(None, Some(true))).await, ["e", "c", "a"]);
    assert_eq!(listed(&store, &filter(None, Some(false))).await, ["d", "b"]);
    assert_eq!(listed(&store, &filter(Some("model:x"), Some(false))).await, ["b"]);
    assert_eq!(listed(&store, &filter(Some("' or 1 --"), None)).await, [] as [&str; 0]);
    // A follow-up makes it active again.
    let again = SessionId::new("b");
    store.append(scene::change(&again, 98, Change::NewTurn(scene::turn(2)))).await.unwrap();
    assert_eq!(listed(&store, &filter(None, Some(false))).await, ["d"]);
    assert_eq!(store.session(&again).await.unwrap().unwrap().kind, SessionKind::Task);
}
