//! The list of tasks, where rows are as large as they get: long answers, worktrees, requests that are over.

use std::path::{Path, PathBuf};

use sqlx::ConnectOptions as _;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnectOptions;
use talaria_store::{OpenOptions, Store, TaskFilter};

use crate::reading::time;

pub(crate) async fn measure(place: &Path) {
    let path = filled(place).await;
    let store = Store::open(&path, 0, &OpenOptions::default()).await.unwrap();
    let of = |owner: Option<&str>, active| TaskFilter { owner: owner.map(str::to_owned), active };
    let pages = [
        ("tasks: the newest 50", "< 1 ms", of(None, None), 50, 50),
        ("tasks: all 10,000", "< 15 ms", of(None, None), 10_000, 10_000),
        ("tasks: 50 of an owner who has every other", "< 1 ms", of(Some("person:ada"), None), 50, 50),
        ("tasks: 50 of an owner who has ten", "< 5 ms", of(Some("model:rare"), None), 50, 10),
        ("tasks: the 100 that go on", "< 5 ms", of(None, Some(true)), 1000, 100),
        ("tasks: 50 that are over", "< 1 ms", of(None, Some(false)), 50, 50),
    ];
    for (figure, aim, filter, limit, expected) in pages {
        time(figure, aim, async || {
            assert_eq!(store.tasks(&filter, None, limit).await.unwrap().tasks.len(), expected);
        })
        .await;
    }
    time("outbox: claim where 10,000 entries have no target", "-", async || {
        assert_eq!(store.claim_outbox("bench", 1, 2, 10).await.unwrap().len(), 0);
    })
    .await;
    store.close().await;
}

async fn filled(place: &Path) -> PathBuf {
    let path = crate::fresh(place, "tasks").join("talaria.db");
    Store::open(&path, 0, &OpenOptions::default()).await.unwrap().close().await;
    let options = SqliteConnectOptions::new().filename(&path).pragma("synchronous", "off");
    let mut conn = options.connect().await.unwrap();
    sqlx::raw_sql(FILL).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    path
}

const FILL: &str = r#"
    begin immediate;
    with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999)
    insert into session (id, kind, alias, title, cwd, runtime, asked, started, settings, state, created_at, updated_at,
                         last_seq, bytes)
    select format('0199a2b4-%04d-7000-8000-%012d', i, i), 'task', format('codex-%012d', i),
           'fix the flaky test number ' || i || ' and say what was wrong', '/home/me/projects/some-project',
           'codex_app_server', '{"x":"' || hex(zeroblob(200)) || '"}', '{"x":"' || hex(zeroblob(700)) || '"}',
           '{"x":"' || hex(zeroblob(100)) || '"}', 'idle', 1794800000000 + i, 1794800000000 + i * 1000, 0, 0 from n;
    insert into session (id, kind, cwd, runtime, state, created_at, updated_at)
    select 'chat-' || id, 'chat', cwd, runtime, 'idle', created_at, updated_at from session;
    insert into task (session, owner, worktree, notify)
    select id, case when created_at % 1000 = 7 then 'model:rare' when created_at % 2 = 0 then 'person:ada'
                    else 'model:claude-code' end,
           case when created_at % 4 = 0 then '{"x":"' || hex(zeroblob(120)) || '"}' end, '["local"]'
    from session where kind = 'task';
    insert into turn (session, ordinal, stage, client_id, input_text, ours, outcome, outcome_kind, first_seq,
                      created_at, settled_at)
    select id, 1, 'settled', 'c', hex(zeroblob(400)), 0,
           '{"outcome":"interrupted","by":"person","text":"' || hex(zeroblob(2000)) || '"}',
           case when created_at % 10 = 0 then 'interrupted' else 'completed' end, 1, created_at, updated_at
    from session where kind = 'task';
    insert into turn (session, ordinal, stage, client_id, input_text, ours, first_seq, created_at)
    select id, 2, 'accepted', 'c', 'go on', 0, 1, created_at from session where kind = 'task' and created_at % 100 = 0;
    with recursive n (i) as (select 0 union all select i + 1 from n where i < 2)
    insert into request (id, session, turn, host, thread, rpc_id, method, kind, summary, ask, state, opened_at)
    select id || i, id, 1, 'nonce', 'thread', '0', 'm', 'command', 'run ls', '{"x":"' || hex(zeroblob(200)) || '"}',
           case when created_at % 200 = 0 then 'open' else 'delivered' end, created_at
    from session, n where kind = 'task';
    insert into outbox (id, session, kind, payload, due_at) select id, id, 'outcome', '{}', 0 from session
    where kind = 'task';
    commit;
    pragma wal_checkpoint(truncate);
"#;
