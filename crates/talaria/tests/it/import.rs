//! Tasks of another program are imported: listed, shown, and never shown as running.

use std::path::Path;

use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::scene::Scene;

/// The tables as the other program makes them.
const TABLES: &str = "
    create table codex_bridge_tasks (
        hermes_task_id text primary key, status text not null, prompt_summary text, codex_thread_id text,
        codex_turn_id text, cwd text, model text, sandbox text, approval_policy text, degraded_mode text,
        last_progress_summary text, final_summary text, error_summary text, notify_target text,
        notification_status text, notified_at real, notification_error text, created_at real not null,
        updated_at real not null, completed_at real);
    create table codex_bridge_events (
        id integer primary key autoincrement, hermes_task_id text not null, codex_thread_id text, codex_turn_id text,
        source_event_type text not null, normalized_status text, payload_summary text, payload_json text,
        created_at real not null);
    create table codex_bridge_pending_requests (
        request_id text, hermes_task_id text, method text, payload_json text, status text, created_at real,
        resolved_at real, response_json text, primary key (request_id, hermes_task_id));";

/// Writes a database with this many tasks, the states in turn.
async fn write(path: &Path, tasks: usize) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut conn = options.connect().await.unwrap();
    let states = ["completed", "failed", "cancelled", "working"];
    let rows: Vec<String> = (0..tasks)
        .map(|n| {
            let state = states[n % states.len()];
            let completed = if state == "working" { "null".to_owned() } else { format!("{}.5", 1000 + n) };
            format!(
                "('codex-{n:012x}', '{state}', 'task number {n} \u{1b}[2J', '/work', 'the answer {n}', \
                  {n}.25, {n}.75, {completed})"
            )
        })
        .collect();
    let insert = "insert into codex_bridge_tasks \
        (hermes_task_id, status, prompt_summary, cwd, final_summary, created_at, updated_at, completed_at) values";
    sqlx::raw_sql(AssertSqlSafe(format!("{TABLES} {insert} {}", rows.join(","))))
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn old_tasks_are_taken_over_once_and_none_of_them_runs() {
    let scene = Scene::empty().await;
    let file = scene.work().join("codex_bridge.db");
    write(&file, 300).await;
    let imported = scene.run(&["import", "codex-bridge", "codex_bridge.db"]).await.exits(0);
    imported.prints(&["300 tasks imported", "75 of them had not ended", "talaria task list"]);
    let again = scene.run(&["import", "codex-bridge", file.to_str().unwrap(), "--json"]).await.exits(0);
    assert_eq!(again.json()[0]["tasks"], 0);
    assert_eq!(again.json()[0]["known"], 300);

    let listed = scene.run(&["task", "list", "--limit", "1000", "--json"]).await.exits(0).json();
    assert_eq!(listed.len(), 300);
    let of = |status: &str| listed.iter().filter(|task| task["status"] == status).count();
    assert_eq!((of("completed"), of("failed"), of("cancelled"), of("lost")), (75, 75, 75, 75));
    assert_eq!(scene.run(&["task", "list", "--active", "--json"]).await.exits(0).json().len(), 0);
    let page = scene.run(&["task", "list"]).await.exits(0).prints(&["codex-00000000012b", "--limit 100"]);
    assert!(!page.stdout.contains('\u{1b}'), "{page}");

    let shown = scene.run(&["task", "show", "codex-000000000008"]).await.exits(0);
    let shown = shown.prints(&["completed", "the answer 8", "codex-bridge"]);
    assert!(!shown.stdout.contains('\u{1b}'), "{shown}");
    let lost = scene.run(&["task", "watch", "codex-000000000003"]).await.exits(7);
    lost.complains(&["has ended"]);
    scene
        .run(&["task", "steer", "codex-000000000003", "go on"])
        .await
        .exits(1)
        .complains(&["it has ended: lost"]);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_has_seen_enough_of_a_list_is_no_error() {
    let scene = Scene::empty().await;
    write(&scene.work().join("codex_bridge.db"), 300).await;
    scene.run(&["import", "codex-bridge", "codex_bridge.db"]).await.exits(0);
    for arguments in [&["task", "list", "--limit", "300"][..], &["task", "list", "--limit", "300", "--json"]]
    {
        let mut listing = scene.start(arguments);
        listing.wait_for("codex-").await;
        let ended = listing.hang_up().await.exits(0);
        assert_eq!(ended.stderr, "", "{ended}");
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_such_database_is_refused() {
    let scene = Scene::empty().await;
    std::fs::write(scene.work().join("text"), "no database").unwrap();
    for (path, words) in [
        ("nowhere.db", "error: cannot read nowhere.db"),
        (".", "cause: it is not a file"),
        ("text", "error: cannot import these tasks"),
    ] {
        let ended = scene.run(&["import", "codex-bridge", path]).await;
        assert_ne!(ended.code, Some(0), "{path}: {ended}");
        ended.complains(&[words]);
    }
    assert_eq!(scene.run(&["task", "list", "--json"]).await.exits(0).json(), [json!(null); 0]);
    scene.close().await;
}
