//! The database as another process sees it: read for the audit, and kept locked.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};

/// A stored turn.
#[derive(Clone, Debug, Default)]
#[expect(dead_code, reason = "what nobody asks for is shown when something is wrong")]
pub(crate) struct TurnRow {
    pub(crate) session: String,
    pub(crate) ordinal: i64,
    pub(crate) stage: String,
    pub(crate) outcome: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) report: Option<String>,
}

/// A stored request.
#[derive(Clone, Debug)]
pub(crate) struct RequestRow {
    pub(crate) id: String,
    pub(crate) state: String,
}

/// A stored tool call.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "what nobody asks for is shown when something is wrong")]
pub(crate) struct CallRow {
    pub(crate) call: String,
    pub(crate) state: String,
    pub(crate) runs: i64,
    pub(crate) is_result_kept: bool,
}

async fn open(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

async fn rows(path: &Path, sql: &'static str, value: &str) -> Vec<SqliteRow> {
    let mut conn = SqliteConnectOptions::new().filename(path).read_only(true).connect().await.unwrap();
    let rows = sqlx::query(sql).bind(value.to_owned()).fetch_all(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    rows
}

/// The turns with this prompt.
pub(crate) async fn turns(path: &Path, prompt: &str) -> Vec<TurnRow> {
    let sql = "select * from turn where input_text = $1";
    let turn = |row: &SqliteRow| TurnRow {
        session: row.get("session"),
        ordinal: row.get("ordinal"),
        stage: row.get("stage"),
        outcome: row.get("outcome_kind"),
        code: row.get("code"),
        report: row.get("outcome"),
    };
    rows(path, sql, prompt).await.iter().map(turn).collect()
}

/// The requests of turns with this prompt, oldest first.
pub(crate) async fn requests(path: &Path, prompt: &str) -> Vec<RequestRow> {
    let sql = "select request.id, request.state from request
               left join turn on turn.session = request.session and turn.ordinal = request.turn
               where turn.input_text = $1 order by request.opened_at, request.id";
    let request = |row: &SqliteRow| RequestRow { id: row.get("id"), state: row.get("state") };
    rows(path, sql, prompt).await.iter().map(request).collect()
}

/// The calls of tools of a session.
pub(crate) async fn calls(path: &Path, session: &str) -> Vec<CallRow> {
    let sql =
        "select call_id, state, runs, result_sealed is not null as is_kept from tool_call where session = $1";
    let call = |row: &SqliteRow| CallRow {
        call: row.get("call_id"),
        state: row.get("state"),
        runs: row.get("runs"),
        is_result_kept: row.get("is_kept"),
    };
    rows(path, sql, session).await.iter().map(call).collect()
}

/// The model requests of a session that have no end.
pub(crate) async fn open_attempts(path: &Path, session: &str) -> usize {
    rows(path, "select number from model_attempt where session = $1 and state <> 'ended'", session)
        .await
        .len()
}

/// How many model requests of a session have a reservation.
pub(crate) async fn reservations(path: &Path, session: &str) -> usize {
    rows(path, "select number from budget_reservation where session = $1", session).await.len()
}

/// How many model requests of a session were sent, and how many have a row of what they cost. One without a row was never sent.
pub(crate) async fn sent_and_counted(path: &Path, session: &str) -> (usize, usize) {
    let sent = "select number from model_attempt where session = $1 and (usage is null or json_extract(usage, '$.total') > 0)";
    let counted = "select id from model_usage where session = $1 and (is_unreported or total > 0)";
    (rows(path, sent, session).await.len(), rows(path, counted, session).await.len())
}

/// How many times this text was saved in the memory.
pub(crate) async fn memories(path: &Path, text: &str) -> usize {
    rows(path, "select id from memory_revision where after = $1", text).await.len()
}

/// The reviews of a session: state, and how often each was begun.
pub(crate) async fn reviews(path: &Path, session: &str) -> Vec<(String, i64)> {
    let found =
        rows(path, "select state, attempts from review where session = $1 order by id", session).await;
    found.iter().map(|row| (row.get("state"), row.get("attempts"))).collect()
}

/// The warnings in a session, as people read them.
pub(crate) async fn warnings(path: &Path, session: &str) -> Vec<String> {
    let found = rows(path, "select json from event where session = $1 order by seq", session).await;
    let events = found.iter().filter_map(|row| serde_json::from_str(&row.get::<String, _>("json")).ok());
    let warnings = events.filter(|event: &serde_json::Value| event["type"] == "warning");
    warnings.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// How many proposals there are about the skill with this name.
pub(crate) async fn skill_proposals(path: &Path, name: &str) -> usize {
    rows(path, "select id from skill_proposal where name = $1", name).await.len()
}

/// How many tasks a conversation delegated.
pub(crate) async fn delegated(path: &Path, session: &str) -> usize {
    let sql = "select child from delegation join session on session.id = child where parent = $1";
    rows(path, sql, session).await.len()
}

/// Takes the right to write, and keeps it.
pub(crate) async fn lock(path: &Path) -> SqliteConnection {
    begin(path, "begin immediate").await
}

/// Begins to read, and continues.
pub(crate) async fn read_on(path: &Path) -> SqliteConnection {
    begin(path, "begin; select count(*) from event").await
}

async fn begin(path: &Path, sql: &str) -> SqliteConnection {
    let mut conn = open(path).await;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut conn).await.unwrap();
    conn
}

/// Releases the lock.
pub(crate) async fn unlock(mut conn: SqliteConnection) {
    sqlx::raw_sql("rollback").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}
