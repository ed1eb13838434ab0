//! The reference next to our figures: its documented numbers, with the source, and a replay of its writes. It is not
//! run. If it has no number, none is printed.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::arrivals::now;
use crate::row;
use crate::samples::Samples;
use crate::scene::Scene;

/// Figure, the reference's value, and the rows of its list of behaviours with that value.
const SAID: [(&str, &str, &str); 7] = [
    (
        "task start until turn/start",
        "no number",
        "BRC-01, BTK-07: a Codex process for each task is started first",
    ),
    ("an answer until it is at Codex", "no number", "BTK-19: sent, then stored"),
    ("list of tasks", "no number", "BST-12: no index for the order; default limit 10"),
    (
        "events a second",
        "no number",
        "BUG-72: two transactions on two new connections for each piece of text",
    ),
    ("tasks at once", "no limit", "BUG-76: one process each"),
    ("reading its configuration", "265 us, then 138 us", "PRF-01: a call, before and after its repair"),
    ("the same in its profile", "56 ms", "PRF-04: 21 calls, 17% of the loop, before the repair"),
];

/// How many pieces of text are replayed.
const DELTAS: usize = 200;
const TASKS: usize = 10_000;
const RUNS: usize = 21;

/// The journal mode.
#[derive(Clone, Copy)]
pub(crate) enum Log {
    /// A write-ahead log, as ours.
    Ahead,
    /// A rollback journal: the default of SQLite.
    Rollback,
}

/// Opens a database so that what was committed survives the loss of power.
pub(crate) async fn open(path: &Path, log: Log) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let options = options.busy_timeout(Duration::from_secs(30)).synchronous(SqliteSynchronous::Full);
    let options = match log {
        Log::Ahead => options.journal_mode(SqliteJournalMode::Wal),
        Log::Rollback => options.journal_mode(SqliteJournalMode::Delete),
    };
    options.connect().await.unwrap()
}

/// The reference's figures, and its list replayed.
pub(crate) async fn measure() {
    println!("\nthe reference, by the list of its behaviours (row ids behind)");
    for (figure, said, source) in SAID {
        println!("  {figure:<32} {said:<22} {source}");
    }
    list().await;
}

/// Writes pieces of text as BUG-72 says: each costs an event and an upsert of the task, each on a new connection.
pub(crate) async fn deltas(ours: f64) {
    let scene = Scene::new();
    let path = scene.file("codex_bridge.db");
    tables(&path).await;
    let payload = r#"{"delta":"a few words ","itemId":"msg_1","threadId":"t","turnId":"u"}"#;
    let begun = Instant::now();
    for _ in 0..DELTAS {
        let mut conn = open(&path, Log::Rollback).await;
        let insert = "insert into codex_bridge_events (hermes_task_id, source_event_type, payload_summary, payload_json,
                      created_at) values ('codex-000000000000', 'item/agentMessage/delta', $1, $1, 1.0)";
        sqlx::query(insert).bind(payload).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        let mut conn = open(&path, Log::Rollback).await;
        let upsert = "insert into codex_bridge_tasks (hermes_task_id, status, created_at, updated_at)
                      values ('codex-000000000000', 'working', 1.0, 1.0) on conflict (hermes_task_id)
                      do update set status = excluded.status, last_progress_summary = $1, updated_at = 2.0";
        sqlx::query(upsert).bind(payload).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }
    let theirs = DELTAS as f64 / begun.elapsed().as_secs_f64();
    let figure = "  the reference's write pattern replayed (BUG-72; not the reference itself)";
    row(figure, &format!("{theirs:.0} /s"), "-");
    row("  notifications a second, of that", &format!("{:.0} x", ours / theirs), "-");
    scene.close().await;
}

/// Lists as BST-12 says: a new connection, no index for the order, no status that is derived, no engine between.
async fn list() {
    let scene = Scene::new();
    let path = scene.file("codex_bridge.db");
    tables(&path).await;
    let mut conn = open(&path, Log::Rollback).await;
    sqlx::raw_sql(FILL).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let mut times = Samples::default();
    for _ in 0..RUNS {
        let begun = now();
        let mut conn = open(&path, Log::Rollback).await;
        let select =
            "select hermes_task_id, status, prompt_summary, codex_thread_id, codex_turn_id, cwd, updated_at
                      from codex_bridge_tasks order by updated_at desc limit 10000";
        assert_eq!(sqlx::query(select).fetch_all(&mut conn).await.unwrap().len(), TASKS);
        conn.close().await.unwrap();
        times.take(now() - begun);
    }
    times.tell("\nits query of 10,000 tasks replayed (BST-12), rows not turned into JSON", "-");
    scene.close().await;
}

async fn tables(path: &Path) {
    let mut conn = open(path, Log::Rollback).await;
    sqlx::raw_sql(TABLES).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

/// BST-03 and BST-04.
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
        created_at real not null);";

const FILL: &str = "
    with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999)
    insert into codex_bridge_tasks (hermes_task_id, status, prompt_summary, codex_thread_id, codex_turn_id, cwd, sandbox,
        approval_policy, last_progress_summary, final_summary, created_at, updated_at)
    select format('codex-%012x', i), 'completed', 'fix the flaky test number ' || i || ' and say what was wrong',
           format('0199a2b4-%04d-7000-8000-%012d', i, i), format('0199a2b4-%04d-7000-9000-%012d', i, i),
           '/home/me/projects/some-project', 'read-only', 'untrusted', hex(zeroblob(150)), hex(zeroblob(250)), i, i
    from n;";
