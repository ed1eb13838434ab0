//! The shape of the database and its history. Forward only: an older program refuses a newer file.
//!
//! To change the shape, add a file and a line here; never edit what was released.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use crate::error::StoreError;
use crate::sqlite::transaction;

/// All steps, the first makes an empty file into version 1.
pub(crate) const STEPS: &[&str] = &[
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
    include_str!("schema/0006.sql"),
    include_str!("schema/0007.sql"),
    include_str!("schema/0008.sql"),
    include_str!("schema/0009.sql"),
    include_str!("schema/0010.sql"),
    include_str!("schema/0011.sql"),
    include_str!("schema/0012.sql"),
    include_str!("schema/0013.sql"),
    include_str!("schema/0014.sql"),
    include_str!("schema/0015.sql"),
    include_str!("schema/0016.sql"),
    include_str!("schema/0017.sql"),
];

/// The version that a number of steps leads to.
pub(crate) fn version(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Schema version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It has no tables at all.
    Empty,
    /// It is ours, of this version.
    Version(i64),
    /// It belongs to another program.
    Foreign,
}

/// Reads the shape of a file.
pub(crate) async fn read(conn: &mut SqliteConnection) -> Result<Shape, StoreError> {
    let row = sqlx::query(
        "select count(*) as tables, count(case when name = 'meta' and sql like '%key%value%' then 1 end) as metas
         from sqlite_schema where type = 'table'",
    )
    .fetch_one(&mut *conn)
    .await?;
    match (row.try_get::<i64, _>("tables")?, row.try_get::<i64, _>("metas")?) {
        (0, _) => Ok(Shape::Empty),
        (_, 0) => Ok(Shape::Foreign),
        _ => {
            let found =
                sqlx::query("select cast(value as integer) as version from meta where key = 'schema'")
                    .fetch_optional(conn)
                    .await?;
            Ok(found.map_or(Ok(Shape::Foreign), |row| row.try_get("version").map(Shape::Version))?)
        }
    }
}

/// Takes the steps that are missing, each whole or not at all.
pub(crate) async fn migrate(
    conn: &mut SqliteConnection,
    from: i64,
    steps: &'static [&'static str],
) -> Result<(), StoreError> {
    for (step, number) in steps.iter().zip(1..).skip_while(|(_, number)| *number <= from) {
        transaction::run(conn, move |conn| {
            Box::pin(async move {
                sqlx::raw_sql(*step).execute(&mut *conn).await?;
                sqlx::query(
                    "insert into meta (key, value) values ('schema', $1)
                     on conflict (key) do update set value = excluded.value",
                )
                .bind(i64::to_string(&number))
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::expect;
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions as _, Connection as _};
    use talaria_core::ids::SessionId;

    use super::*;
    use crate::sqlite::SqliteStore;
    use crate::{
        OpenOptions, OutboxRow, RequestFilter, RequestRow, StoreOpenError, TaskFilter, TaskLineRow,
        ToolCallRow, TrimPolicy,
    };

    /// Rows as the first version wrote them.
    const OLD: &str = r#"
        insert into session (id, kind, alias, cwd, runtime, state, created_at, updated_at)
        values ('a', 'task', 'codex-aaaaaaaaaaaa', '/work', 'codex_app_server', 'idle', 1, 2),
               ('b', 'task', 'codex-bbbbbbbbbbbb', '/work', 'codex_app_server', 'idle', 1, 3),
               ('c', 'chat', null, '/work', 'codex_app_server', 'idle', 1, 4);
        insert into turn (session, ordinal, stage, client_id, input_text, ours, outcome, outcome_kind, first_seq,
                          created_at, settled_at)
        values ('a', 1, 'settled', 'c', 'do it', 0, '{"outcome":"completed","by":null}', 'completed', 1, 1, 2),
               ('b', 1, 'settled', 'c', 'do it', 0, '{"outcome":"interrupted","by":"deadline"}', 'interrupted', 1, 1, 3);
        insert into message (session, key, seq, role, text, json, at) values ('a', 'k', 1, 'user', 'kept words', '{}', 1);
        insert into outbox (id, session, kind, payload, due_at, done_at)
        values ('a/1', 'a', 'outcome', '{}', 5, null), ('a/2', 'a', 'outcome', '{}', 6, 9);
    "#;

    /// Requests as the fourth version wrote them: all columns say how Codex knows the question.
    const ASKED_BY_CODEX: &str = r#"
        insert into session (id, kind, alias, cwd, runtime, state, created_at, updated_at)
        values ('a', 'task', 'codex-aaaaaaaaaaaa', '/work', 'codex_app_server', 'running', 1, 2);
        insert into task (session, owner) values ('a', 'model:bridge');
        insert into host (nonce, socket, dir, state, ended_at, key, version, boot, created_at)
        values ('h1', '/s', '/d', 'ended', 5, '{}', '0.166.0', 'b', 1), ('h2', '/s', '/d', 'ended', 5, '{}', '0.166.0', 'b', 1);
        insert into request (id, session, turn, host, thread, rpc_id, method, item, kind, summary, place, ask, binding, state,
                             decision, answer_sealed, answered_by, answered_at, opened_at)
        values ('req-1', 'a', 1, 'h1', 't', '7', 'item/commandExecution/requestApproval', 'call', 'command', 'run ls',
                'inside', '{}', '{"method":"m"}', 'answered', 'accept', x'00ff', 'user', 4, 3),
               ('req-2', 'a', 1, '', '', '"seven"', 'item/tool/requestUserInput', null, 'input', 'words', null, '{}', null,
                'open', null, null, null, null, 3);
    "#;

    /// Calls as the thirteenth version wrote them.
    const CALLED_BY_CODEX: &str = r#"
        insert into session (id, kind, cwd, runtime, state, created_at, updated_at)
        values ('a', 'chat', '/work', 'codex_app_server', 'idle', 1, 2);
        insert into tool_call (thread, turn, call_id, session, ordinal, tool, contract, arguments, state, changes, epoch, runs,
                               result_sealed, offered_at, started_at, ended_at)
        values ('t', 'u', 'call-1', 'a', 1, 'talaria_recall', 1, 'digest', 'done', 0, 3, 1, x'00ff', 5, 6, 7),
               ('t', 'u', 'call-2', 'a', 1, 'talaria_memory', 1, 'digest', 'running', 1, 3, 1, null, 6, 7, null),
               ('t', 'u', 'call-3', 'a', 1, 'talaria_memory', 1, 'digest', 'offered', null, null, 0, null, 7, null, null);
    "#;

    const FIRST: &[&str] = &[STEPS[0]];
    const FOURTH: &[&str] = &[STEPS[0], STEPS[1], STEPS[2], STEPS[3]];
    const SECOND: &[&str] =
        &[STEPS[0], "create table added (x integer) strict; insert into added values (1)"];
    const THIRTEENTH: &[&str] = STEPS.split_at(13).0;
    const BROKEN: &[&str] =
        &[STEPS[0], "create table half (x integer) strict; insert into nowhere values (1)"];

    async fn open(path: &Path, steps: &'static [&'static str]) -> Result<(), StoreOpenError> {
        SqliteStore::open_with(path, 0, &OpenOptions::default(), steps).await?.close().await;
        Ok(())
    }

    #[tokio::test]
    async fn a_file_goes_forward_once_and_never_back() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("talaria.db");
        open(&path, FIRST).await.unwrap();
        open(&path, SECOND).await.unwrap();
        open(&path, SECOND).await.unwrap();
        let error = open(&path, FIRST).await.unwrap_err();
        assert!(matches!(error, StoreOpenError::Newer { found: 2, known: 1, .. }), "{error}");
    }

    #[tokio::test]
    async fn a_file_of_the_first_version_keeps_its_tasks_and_what_was_owed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("talaria.db");
        open(&path, FIRST).await.unwrap();
        let mut conn = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        sqlx::raw_sql(OLD).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();

        let store = SqliteStore::open(&path, 0, &OpenOptions::default()).await.unwrap();
        let tasks = store.tasks(&TaskFilter::default(), None, 10).await.unwrap().tasks;
        let line = |line: &TaskLineRow| {
            let turn = line.turn.as_ref().unwrap();
            format!("{} {} {:?} {:?}", line.id, line.owner, turn.outcome_kind, turn.interrupted_by)
        };
        let lines = tasks.iter().map(line).collect::<Vec<_>>().join("\n");
        expect![[r#"
            b person:unknown Some("interrupted") Some("deadline")
            a person:unknown Some("completed") None"#]]
        .assert_eq(&lines);
        assert_eq!(store.task(&SessionId::new("c")).await.unwrap(), None);
        let entries = store.outbox_of(&SessionId::new("a")).await.unwrap();
        let entry = |entry: &OutboxRow| format!("{} {:?} {:?}", entry.id, entry.state, entry.sent_at);
        expect![[r#"
            a/1 Pending None
            a/2 Sent Some(9)"#]]
        .assert_eq(&entries.iter().map(entry).collect::<Vec<_>>().join("\n"));
        assert_eq!(
            store.claim_outbox("x", 1000, 2000, 10).await.unwrap(),
            [],
            "old entries cause no notification"
        );
        let everywhere = crate::SearchFilter::default();
        assert_eq!(store.search_within("kept words", &everywhere, 10).await.unwrap().len(), 1);
        store.close().await;
    }

    #[tokio::test]
    async fn a_file_of_the_fourth_version_keeps_its_requests_and_who_asked() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("talaria.db");
        open(&path, FOURTH).await.unwrap();
        let mut conn = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        sqlx::raw_sql(ASKED_BY_CODEX).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();

        let store = SqliteStore::open(&path, 0, &OpenOptions::default()).await.unwrap();
        let requests = store.requests(&RequestFilter::default()).await.unwrap();
        let line = |request: &RequestRow| {
            format!(
                "{} {:?} {:?} {:?} {:?}\n  {}",
                request.id,
                request.state,
                request.origin.host,
                request.binding,
                request.answer_sealed,
                request.origin.json
            )
        };
        expect![[r#"
            req-1 Answered Some("h1") Some("{\"method\":\"m\"}") Some([0, 255])
              {"from":"codex","id":7,"method":"item/commandExecution/requestApproval","thread":"t","turn":null,"item":"call"}
            req-2 Open None None None
              {"from":"codex","id":"seven","method":"item/tool/requestUserInput","thread":null,"turn":null,"item":null}"#]].assert_eq(&requests.iter().map(line).collect::<Vec<_>>().join("\n"));
        let tasks = store.tasks(&TaskFilter::default(), None, 10).await.unwrap().tasks;
        assert_eq!(tasks.iter().map(|task| task.open_requests).collect::<Vec<_>>(), [1]);
        store.trim(TrimPolicy { older_than: Some(1000), keep: None }).await.unwrap();
        assert!(store.host("h1").await.unwrap().is_some(), "a request names it");
        assert_eq!(store.host("h2").await.unwrap(), None);
        store.close().await;
    }

    #[tokio::test]
    async fn a_file_of_the_thirteenth_version_keeps_its_calls_and_has_no_history_of_the_loop() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("talaria.db");
        open(&path, THIRTEENTH).await.unwrap();
        let mut conn = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        sqlx::raw_sql(CALLED_BY_CODEX).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();

        let store = SqliteStore::open(&path, 0, &OpenOptions::default()).await.unwrap();
        let session = SessionId::new("a");
        assert_eq!(store.unsettled_tool_calls(9).await.unwrap(), [], "a call of Codex has no record");
        assert_eq!(store.abandon_tool_calls(9, 50).await.unwrap(), 1);
        let line = |call: &ToolCallRow| {
            let ToolCallRow { key, state, runs, effect_record, result_sealed, .. } = call;
            format!("{} {state:?} {runs} {effect_record:?} {result_sealed:?}", key.call)
        };
        let calls = store.tool_calls(&session).await.unwrap();
        expect![[r#"
            call-1 Done 1 None Some([0, 255])
            call-2 Unknown 1 None None
            call-3 Offered 0 None None"#]]
        .assert_eq(&calls.iter().map(line).collect::<Vec<_>>().join("\n"));
        assert_eq!(store.model_attempts(&session, 1).await.unwrap(), []);
        assert_eq!(store.open_attempts(9).await.unwrap(), []);
        assert_eq!(store.model_history_len(&session).await.unwrap(), 0);
        store.close().await;
    }

    #[tokio::test]
    async fn a_step_that_fails_leaves_the_file_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("talaria.db");
        open(&path, FIRST).await.unwrap();
        assert!(open(&path, BROKEN).await.is_err());
        open(&path, FIRST).await.unwrap();
        open(&path, SECOND).await.unwrap();
    }
}
