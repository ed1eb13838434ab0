//! The list of 10,000 tasks, with rows as large as they are after a day of work.

use std::process::Stdio;

use sqlx::Connection as _;
use talaria_core::api::TaskQuery;

use crate::arrivals::now;
use crate::reference::{self, Log};
use crate::samples::Samples;
use crate::scene::Scene;

const TASKS: usize = 10_000;
const RUNS: usize = 21;

pub(crate) async fn measure() {
    let mut scene = Scene::new();
    // The engine makes the database.
    scene.start().await;
    scene.stop().await;
    let mut conn = reference::open(&scene.home().join("talaria.db"), Log::Ahead).await;
    sqlx::raw_sql(FILL).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let client = scene.start().await;
    for limit in [50, TASKS] {
        let query = TaskQuery { limit, ..TaskQuery::default() };
        let mut times = Samples::default();
        for _ in 0..RUNS {
            let begun = now();
            assert_eq!(client.tasks(&query).await.unwrap().len(), limit);
            times.take(now() - begun);
        }
        times.tell(&format!("10,000 tasks: the newest {limit}, asked of the engine"), "< 20 ms");
    }
    for limit in ["50", "10000"] {
        let mut times = Samples::default();
        for _ in 0..RUNS {
            let mut command = scene.command(&["task", "list", "--limit", limit, "--json"]);
            let begun = now();
            let output = command.stdout(Stdio::piped()).output().unwrap();
            times.take(now() - begun);
            assert!(output.status.success() && output.stdout.len() > 50 * 100);
        }
        let aim = if limit == "50" { "-" } else { "< 20 ms" };
        times.tell(&format!("  `talaria task list --limit {limit} --json`, the whole command"), aim);
    }
    scene.close().await;
}

const FILL: &str = r#"
    begin immediate;
    with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999)
    insert into session (id, kind, alias, title, cwd, runtime, asked, started, settings, state, created_at, updated_at)
    select format('0199a2b4-%04d-7000-8000-%012d', i, i), 'task', format('codex-%012x', i),
           'fix the flaky test number ' || i || ' and say what was wrong', '/home/me/projects/some-project',
           'codex_app_server', '{"x":"' || hex(zeroblob(200)) || '"}', '{"x":"' || hex(zeroblob(700)) || '"}',
           '{"x":"' || hex(zeroblob(100)) || '"}', 'idle', 1794800000000 + i, 1794800000000 + i * 1000 from n;
    insert into task (session, owner, notify) select id, 'person:ada', '["local"]' from session;
    insert into turn (session, ordinal, stage, client_id, input_text, ours, outcome, outcome_kind, first_seq,
                      created_at, settled_at)
    select id, 1, 'settled', 'c', hex(zeroblob(400)), 0,
           '{"outcome":"completed","text":"' || hex(zeroblob(2000)) || '"}', 'completed', 1, created_at, updated_at
    from session;
    commit;
    pragma wal_checkpoint(truncate);
"#;
