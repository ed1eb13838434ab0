//! List, show and search in a large database, which is made once with bulk SQL and kept below the build directory.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use talaria_core::ids::SessionId;
use talaria_store::{OpenOptions, SearchFilter, SearchedKind, SessionFilter, SessionLookup, Store};

use crate::row;

const RUNS: usize = 21;
/// Runs of which the slowest one in a hundred is shown.
const MANY_RUNS: usize = 200;
/// How long a recall may take, in milliseconds.
const RECALL_LIMIT: f64 = 20.0;
/// As many passages as `talaria_recall` looks for, counts in outputs, and shows.
const PASSAGES: u32 = 200;
const COUNTED: u32 = 50;
const SHOWN: usize = 10;

pub(crate) async fn measure(place: &Path) {
    let path = large(place).await;
    let store = Store::open(&path, 0, &OpenOptions::default()).await.unwrap();
    let size = store.size().await.unwrap();
    row("the file", &format!("{} MB", size.file_bytes / 1_000_000), "-");
    time("open and close", "-", async || {
        Store::open(&path, 0, &OpenOptions::default()).await.unwrap().close().await;
    })
    .await;
    time("list: the newest 50 sessions", "< 20 ms", async || {
        let page = store.sessions(&SessionFilter::default(), None, 50).await.unwrap();
        assert_eq!(page.sessions.len(), 50);
    })
    .await;
    time("show: by a prefix of its id, 20 turns, 50 messages", "< 20 ms", async || {
        let SessionLookup::One(session) = store.find_session("s-005000").await.unwrap() else {
            panic!("not found")
        };
        store.last_turns(&session.id, None, 20).await.unwrap();
        assert_eq!(store.last_messages(&session.id, 50).await.unwrap().len(), 10);
    })
    .await;
    time("  its last 100 events", "< 20 ms", async || {
        assert_eq!(store.events(&SessionId::new("s-005000"), 0, 100).await.unwrap().len(), 100);
    })
    .await;
    let searches = [
        ("a word of every sixth message", "workspace"),
        ("a word of one message", "needle77777"),
        ("two words", "\"cargo\" failed"),
        ("two Chinese characters", "测试"),
        ("one Chinese character", "数"),
        ("two Latin letters", "wo"),
        ("two letters that are nowhere", "qz"),
        ("a word that is nowhere", "nowhere"),
    ];
    for (figure, typed) in searches {
        time(&format!("search: {figure}"), "< 20 ms", async || {
            store.search(typed, 20).await.unwrap();
        })
        .await;
    }
    for (figure, typed) in searches {
        recall(&store, figure, typed).await;
    }
    time("preview of a prune by age and size", "-", async || {
        let policy = talaria_store::PrunePolicy {
            older_than: Some(5000),
            max_bytes: Some(1 << 20),
            ..Default::default()
        };
        store.preview_prune(&policy, 0).await.unwrap();
    })
    .await;
    store.close().await;
}

/// Searches as `talaria_recall` does: messages and commands, then how many tool outputs there are. Prints the ratio of the
/// 99th percentile to the limit, and the median.
async fn recall(store: &Store, figure: &str, typed: &str) {
    let mut times = Vec::new();
    let run = cpu();
    for _ in 0..MANY_RUNS {
        let begun = Instant::now();
        let of_kind = |kind| SearchFilter { kind: Some(kind), ..SearchFilter::default() };
        let said = of_kind(SearchedKind::SaidAndDone);
        let places = store.search_places(typed, &said, PASSAGES).await.unwrap();
        store.search_places(typed, &of_kind(SearchedKind::Outputs), COUNTED).await.unwrap();
        store.matches_at(typed, &places[..places.len().min(SHOWN)]).await.unwrap();
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    let (median, p99) = (times[MANY_RUNS / 2], times[MANY_RUNS * 99 / 100]);
    let cpu = (cpu() - run) / MANY_RUNS as f64;
    row(
        &format!("recall: {figure}, CPU {cpu:.2}, median {median:.2}, p99 {p99:.2} ms"),
        &format!("{:.2} of limit", p99 / RECALL_LIMIT),
        "< 1",
    );
}

/// Milliseconds that the threads of this process have run. Other programs do not change that.
fn cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok());
    stats.filter_map(|stat| stat.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e6
}

/// Prints the median of some runs, and what they cost the processor.
pub(crate) async fn time(figure: &str, aim: &str, work: impl AsyncFn()) {
    let mut times = Vec::new();
    let run = cpu();
    for _ in 0..RUNS {
        let begun = Instant::now();
        work().await;
        times.push(begun.elapsed());
    }
    let cpu = (cpu() - run) / RUNS as f64;
    times.sort();
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    row(&format!("{figure} (CPU {cpu:.2})"), &format!("{:.2} ms", millis(times[RUNS / 2])), aim);
}

/// 10,000 sessions with 100 events, 10 messages and a turn each.
async fn large(place: &Path) -> PathBuf {
    let path = place.join("large-2/talaria.db");
    if path.exists() {
        let found = Store::open(&path, 0, &OpenOptions::default()).await;
        if let Ok(store) = found {
            let is_whole = store.search("needle77777", 10).await.is_ok_and(|hits| hits.len() == 1);
            store.close().await;
            if is_whole {
                return path;
            }
        }
    }
    crate::fresh(place, "large-2");
    Store::open(&path, 0, &OpenOptions::default()).await.unwrap().close().await;
    let options = SqliteConnectOptions::new().filename(&path).pragma("synchronous", "off");
    let mut conn = options.connect().await.unwrap();
    fill(&mut conn).await;
    conn.close().await.unwrap();
    path
}

async fn fill(conn: &mut SqliteConnection) {
    let trigger: String = sqlx::query("select sql from sqlite_schema where name = 'message_added'")
        .fetch_one(&mut *conn)
        .await
        .unwrap()
        .get(0);
    sqlx::raw_sql(FILL).execute(&mut *conn).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&mut *conn).await.unwrap();
    sqlx::raw_sql("commit; analyze; pragma wal_checkpoint(truncate)").execute(conn).await.unwrap();
}

const FILL: &str = r#"
    begin immediate;
    drop trigger message_added;
    create temp table word (id integer primary key, text text);
    insert into word (id, text) select key, value from json_each('["cargo", "failed", "workspace", "the compiler says",
        "serde_json::Value", "src/main.rs:42", "thread", "approval", "/home/me/project", "apply the patch", "error[E0382]",
        "测试通过了", "数据库很大", "テストが失敗", "안녕하세요", "fn main() {", "borrowed value", "git status", "done",
        "warning: unused variable", "let me look", "npm run build", "127.0.0.1:8080", "because it was moved"]');
    with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999)
    insert into session (id, kind, title, cwd, runtime, state, created_at, updated_at, last_seq, first_at, bytes)
    select format('s-%06d', i), 'chat', 'session ' || i, '/home/me/project', 'codex_app_server', 'idle', i, i + 100, 100,
           i, 25000 from n;
    insert into turn (session, ordinal, stage, client_id, input_text, ours, first_seq, created_at)
    select id, 1, 'settled', 'c', 'do it', 0, 1, created_at from session;
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 100)
    insert into event (session, seq, turn, at, kind, json)
    select id, i, 1, created_at + i, 'item_completed', '{"type":"item_completed","text":"' || hex(zeroblob(100)) || '"}'
    from session, n;
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 10)
    insert into message (session, key, turn, seq, role, text, json, at)
    select id, i, 1, i * 10, case i % 5 when 0 then 'tool' when 1 then 'user' else 'assistant' end,
           (select group_concat(text, ' ') from word
            where word.id in ((created_at * 7 + i) % 24, (created_at * 5 + i * 3) % 24, (created_at + i * 11) % 24,
                              (created_at * 3 + i * 5 + 7) % 24, (created_at / 10 + i) % 24))
           || case when created_at = 7777 and i = 7 then ' needle77777' else ' ' || created_at end,
           case i % 5 when 4 then '{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"exec_command"}}]}'
                else '{"role":"user","content":"said"}' end,
           created_at + i
    from session, n;
    insert into message_index (message_index) values ('rebuild');
"#;
