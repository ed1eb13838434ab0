//! Databases of the old bridge, as its Python wrote them, and everything else that may lie in their place.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::ids::SessionId;
use talaria_import::DatabaseError;
use talaria_import::codex_bridge::{self, ImportedTasks};
use talaria_store::contract::scene::{self, EPOCH};
use talaria_store::{NewSessionRow, PrunePolicy, SessionLookup, Store, TaskFilter};

use crate::{foreign, open};

const NOW: i64 = 1_794_800_000_000;

const TABLES: &str = "
    CREATE TABLE codex_bridge_tasks (
        hermes_task_id TEXT PRIMARY KEY, status TEXT NOT NULL, prompt_summary TEXT, codex_thread_id TEXT,
        codex_turn_id TEXT, cwd TEXT, model TEXT, sandbox TEXT, approval_policy TEXT, degraded_mode TEXT,
        last_progress_summary TEXT, final_summary TEXT, error_summary TEXT, notify_target TEXT,
        notification_status TEXT, notified_at REAL, notification_error TEXT, created_at REAL NOT NULL,
        updated_at REAL NOT NULL, completed_at REAL);
    CREATE TABLE codex_bridge_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, hermes_task_id TEXT NOT NULL, codex_thread_id TEXT, codex_turn_id TEXT,
        source_event_type TEXT NOT NULL, normalized_status TEXT, payload_summary TEXT, payload_json TEXT,
        created_at REAL NOT NULL);
    CREATE TABLE codex_bridge_pending_requests (
        request_id TEXT, hermes_task_id TEXT, method TEXT, payload_json TEXT, status TEXT, created_at REAL,
        resolved_at REAL, response_json TEXT, PRIMARY KEY (request_id, hermes_task_id));";

const ROWS: &str = r#"
    INSERT INTO codex_bridge_tasks (hermes_task_id, status, prompt_summary, codex_thread_id, cwd, model, final_summary,
                                    error_summary, notify_target, created_at, updated_at, completed_at)
    VALUES ('codex-0000000000aa', 'completed', 'say the password hunter2', 'th', '/srv/a', 'gpt-5',
            '{"threadId":"th","turn":{"id":"tu","items":[],"status":"completed"}}', NULL, 'local',
            1760000000.125, 1760000010.5, 1760000009.25),
           ('codex-0000000000bb', 'failed', 'fail', NULL, '/srv/b', NULL, NULL, 'usage limit hunter2', NULL,
            1760000001.0, 1760000002.0, 1760000002.0),
           ('codex-0000000000cc', 'cancelled', 'stop', NULL, '/srv/c', NULL, NULL, NULL, NULL,
            1760000003.0, 1760000004.0, 1760000004.0),
           ('codex-0000000000dd', 'waiting_for_approval', 'wait', NULL, '/srv/d', NULL, NULL, NULL, NULL,
            1760000005.0, 1760000006.0, NULL),
           ('codex-0000000000ee', 'starting', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1760000007.0, 9e18, NULL),
           ('../evil', 'completed', 'x', NULL, NULL, NULL, NULL, NULL, NULL, 1.0, 1.0, NULL);
    INSERT INTO codex_bridge_events (hermes_task_id, source_event_type, payload_json, created_at)
    VALUES ('codex-0000000000aa', 'item/agentMessage/delta', '{"delta":"agentMessage"}', 1760000001.0),
           ('codex-0000000000aa', 'item/completed',
            '{"item":{"id":"m1","text":"I look.","type":"agentMessage"},"threadId":"th"}', 1760000002.0),
           ('codex-0000000000aa', 'item/completed', '{"item":{"command":"agentMessage","type":"commandExecution"}}', 2.0),
           ('codex-0000000000aa', 'item/completed', '{"agentMessage": broken', 2.0),
           ('codex-0000000000aa', 'item/completed',
            '{"method":"item/completed","params":{"item":{"id":"m2","text":"It is hunter2 — größer.","type":"agentMessage"}}}',
            1760000003.0);
    INSERT INTO codex_bridge_pending_requests (request_id, hermes_task_id, method, payload_json, status, created_at)
    VALUES ('0', 'codex-0000000000dd', 'item/commandExecution/requestApproval', '{}', 'pending', 1760000005.5),
           ('1', 'codex-0000000000dd', 'item/commandExecution/requestApproval', '{}', 'resolved', 1760000005.5);
"#;

async fn filled(place: &Path, statements: &[&'static str]) -> PathBuf {
    let path = place.join("codex_bridge.db");
    let mut conn = foreign(&path).await;
    for statement in statements {
        sqlx::raw_sql(*statement).execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();
    path
}

/// Imports a file the way the engine does.
async fn import(store: &Store, path: &Path) -> ImportedTasks {
    let before = fs::read(path).unwrap();
    let tasks = codex_bridge::read(path).await.unwrap();
    assert!(before == fs::read(path).unwrap(), "the file is not changed");
    let mut number = store.counts().await.unwrap().sessions;
    let id = || {
        number += 1;
        SessionId::new(format!("0199-{number}"))
    };
    let redact = |text: &str| text.replace("hunter2", "[redacted]");
    codex_bridge::import(store, tasks, "person:ada", NOW, id, redact).await.unwrap()
}

#[tokio::test]
async fn old_tasks_are_shown_as_they_ended_or_as_lost() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), &[TABLES, ROWS]).await;
    let store = open(&place.path().join("home/talaria.db")).await;
    let imported = import(&store, &path).await;
    assert_eq!((imported.new, imported.known, imported.refused), (5, 0, vec!["../evil".to_owned()]));

    let mut shown = String::new();
    for line in store.tasks(&TaskFilter::default(), None, 10).await.unwrap().tasks {
        let task = store.task(&line.id).await.unwrap().unwrap();
        let turn = store.turn(&line.id, 1).await.unwrap().unwrap();
        let report: talaria_core::outcome::Report = serde_json::from_str(&turn.outcome.unwrap()).unwrap();
        let alias = line.alias.unwrap();
        writeln!(shown, "{alias} {:?} in {} {:?}", line.title, line.cwd, task.notify).unwrap();
        writeln!(shown, "  {}..{} {:?}", line.created_at, line.updated_at, turn.settled_at).unwrap();
        writeln!(shown, "  {:?} {:?}", report.outcome, report.text).unwrap();
        for message in store.messages(&line.id, None, 10).await.unwrap() {
            writeln!(shown, "  {}: {}", message.role, message.text).unwrap();
        }
        assert_eq!((task.owner.as_str(), task.origin.as_deref()), ("person:ada", Some("codex-bridge")));
        assert_eq!(line.turn.unwrap().outcome_kind.as_deref(), Some(report.outcome.word()));
        let events = store.events(&line.id, 0, 10).await.unwrap();
        assert_eq!(events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["outcome"]);
        assert!(serde_json::from_str::<talaria_core::event::Event>(&events[0].json).is_ok());
        let found = store.find_session(&alias).await.unwrap();
        assert!(
            matches!(found, SessionLookup::One(session) if session.id == line.id && session.thread.is_none())
        );
    }
    expect![[r#"
        codex-0000000000ee None in / []
          1760000007000..1794800000000 Some(1794800000000)
          Lost { why: "the old bridge left it starting" } None
        codex-0000000000aa Some("say the password [redacted]") in /srv/a ["local"]
          1760000000125..1760000010500 Some(1760000009250)
          Completed Some("It is [redacted] — größer.")
          user: say the password [redacted]
          assistant: I look.
          assistant: It is [redacted] — größer.
        codex-0000000000dd Some("wait") in /srv/d []
          1760000005000..1760000006000 Some(1760000006000)
          Lost { why: "the old bridge left it waiting_for_approval (1 without an answer)" } None
          user: wait
        codex-0000000000cc Some("stop") in /srv/c []
          1760000003000..1760000004000 Some(1760000004000)
          Interrupted { by: User } None
          user: stop
        codex-0000000000bb Some("fail") in /srv/b []
          1760000001000..1760000002000 Some(1760000002000)
          Failed { code: Other, message: "usage limit [redacted]" } None
          user: fail
    "#]]
    .assert_eq(&shown);
    assert_eq!(store.search("größer", 10).await.unwrap().len(), 1);
    store.close().await;
    for file in fs::read_dir(place.path().join("home")).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "a secret is kept");
    }
}

#[tokio::test]
async fn a_second_import_brings_only_what_is_new() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), &[TABLES, ROWS]).await;
    let store = open(&place.path().join("talaria.db")).await;
    assert_eq!(import(&store, &path).await.new, 5);
    let again = import(&store, &path).await;
    assert_eq!((again.new, again.known), (0, 5));
    let more = "INSERT INTO codex_bridge_tasks (hermes_task_id, status, created_at, updated_at)
                VALUES ('codex-0000000000ff', 'completed', 1, 2), ('codex-mine', 'completed', 1, 2)";
    filled(place.path(), &[more]).await;
    let mine = NewSessionRow { alias: Some("codex-mine".to_owned()), ..scene::new_task("mine", 5) };
    store.create_session(mine, scene::lease(&SessionId::new("mine"), EPOCH)).await.unwrap();
    let third = import(&store, &path).await;
    assert_eq!(
        (third.new, third.known, third.refused),
        (1, 5, vec!["../evil".to_owned(), "codex-mine".to_owned()])
    );
    assert_eq!(store.tasks(&TaskFilter::default(), None, 100).await.unwrap().tasks.len(), 7);
    assert_eq!(store.unsettled().await.unwrap(), [], "nothing that an engine would take up");
    let pruned = store.prune(&PrunePolicy { older_than: Some(NOW), ..PrunePolicy::default() }, NOW).await;
    assert_eq!(pruned.unwrap().sessions, 6, "they are forgotten as any other; one was last changed now");
    store.close().await;
}

#[tokio::test]
async fn an_older_file_without_the_later_columns_and_tables_is_read() {
    let place = tempfile::tempdir().unwrap();
    let old = "CREATE TABLE codex_bridge_tasks (hermes_task_id TEXT PRIMARY KEY, status TEXT NOT NULL,
                   prompt_summary TEXT, created_at REAL NOT NULL, updated_at REAL NOT NULL);
               INSERT INTO codex_bridge_tasks VALUES ('codex-1', 'working', x'66ff6f', 'soon', 5),
                   (NULL, 'working', 'x', 1, 1)";
    let path = filled(place.path(), &[old]).await;
    let tasks = codex_bridge::read(&path).await.unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].prompt.as_deref(), Some("f\u{fffd}o"));
    assert_eq!(
        (tasks[0].created_at, tasks[0].updated_at, tasks[0].completed_at),
        (Some(0), Some(5000), None)
    );
}

#[tokio::test]
async fn a_file_with_a_log_is_read_with_what_is_in_the_log() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), &["PRAGMA journal_mode = wal", TABLES]).await;
    assert_eq!(codex_bridge::read(&path).await.unwrap(), []);
    let names = fs::read_dir(place.path()).unwrap().count();
    assert_eq!(names, 1, "a file at rest is read without leaving anything beside it");
    let mut writer: SqliteConnection = foreign(&path).await;
    sqlx::raw_sql(ROWS).execute(&mut writer).await.unwrap();
    assert_eq!(codex_bridge::read(&path).await.unwrap().len(), 6);
    writer.close().await.unwrap();
}

#[tokio::test]
async fn what_is_no_database_of_the_bridge_is_refused_in_words() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("empty"), "").unwrap();
    fs::write(at("garbage"), "SQLite format 2 or so").unwrap();
    fs::create_dir(at("directory")).unwrap();
    let path = filled(place.path(), &[TABLES, ROWS]).await;
    let mut whole = fs::read(&path).unwrap();
    whole[8192..].fill(0xa5);
    fs::write(at("damaged"), &whole).unwrap();
    let mut other = foreign(&at("other")).await;
    sqlx::raw_sql("CREATE TABLE codex_bridge_tasks (x)").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    let mut told = String::new();
    for name in ["missing", "empty", "garbage", "directory", "other", "damaged"] {
        let error = codex_bridge::read(&at(name)).await.unwrap_err();
        let kind = match error {
            DatabaseError::NotThere { .. } => "not there",
            DatabaseError::Unreadable { .. } => "unreadable",
            DatabaseError::Foreign { .. } => "foreign",
            DatabaseError::Damaged { .. } => "damaged",
        };
        assert!(!error.next_step().in_shell().is_empty());
        let text = error.to_string().replace(place.path().to_str().unwrap(), "");
        writeln!(told, "{kind}: {text}").unwrap();
    }
    expect![[r#"
        not there: there is no file /missing
        foreign: /empty is no database of the codex bridge: it is empty
        foreign: /garbage is no database of the codex bridge: it is no SQLite file
        unreadable: cannot read /directory: it is no file
        foreign: /other is no database of the codex bridge: it has no table of tasks
        damaged: /damaged is damaged: database disk image is malformed
    "#]]
    .assert_eq(&told);
    assert_eq!(fs::read(at("damaged")).unwrap(), whole);
}
