//! Databases of Hermes, as its own code filled them, and everything else that may lie in their place.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use sqlx::Connection as _;
use sqlx::{AssertSqlSafe, Row as _};
use talaria_core::api::ImportedSessions;
use talaria_core::ids::SessionId;
use talaria_core::outcome::Report;
use talaria_import::ImportError;
use talaria_import::hermes::conversations::{ImportRun, import_page, preview_page};
use talaria_store::{NewTurnRow, PrunePolicy, SessionFilter, SessionLookup, Store};

use crate::{foreign, open};

const STATE: &str = include_str!("../../../talaria-testkit/fixtures/hermes/state.sql");
const NOW: i64 = 1_794_800_000_000;

async fn filled(place: &Path, statements: &str) -> PathBuf {
    let path = place.join("state.db");
    change(&path, statements).await;
    path
}

async fn change(path: &Path, statements: &str) {
    let mut conn = foreign(path).await;
    sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

fn run(name: &str) -> ImportRun {
    ImportRun { name: name.to_owned(), now: NOW }
}

/// Takes all pages over; the pages are added up.
async fn import(store: &Store, path: &Path, name: &str) -> ImportedSessions {
    let before = fs::read(path).unwrap();
    let mut all = ImportedSessions::default();
    let mut number = store.counts().await.unwrap().sessions;
    let mut after = None;
    loop {
        let id = || {
            number += 1;
            SessionId::new(format!("0199-{number:06}"))
        };
        let page = import_page(store, path, after.as_deref(), &run(name), id).await.unwrap();
        all.total = page.total;
        all.seen += page.seen;
        all.new += page.new;
        all.grown += page.grown;
        all.known += page.known;
        all.empty += page.empty;
        all.messages += page.messages;
        all.left_out += page.left_out;
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert!(before == fs::read(path).unwrap(), "the file is not changed");
    all
}

async fn shown(store: &Store) -> String {
    let mut out = String::new();
    let mut sessions = store.sessions(&SessionFilter::default(), None, 100).await.unwrap().sessions;
    sessions.sort_by_key(|session| session.created_at);
    for session in sessions {
        let origin = store.origin(&session.id).await.unwrap().unwrap();
        let parent = origin.parent_session.map(|id| format!(" from {id}")).unwrap_or_default();
        writeln!(
            out,
            "{} {} {:?} in {} {} {:?}{parent}",
            session.id, origin.name, session.title, session.cwd, session.runtime, session.model
        )
        .unwrap();
        writeln!(out, "  {}..{} seq {}", session.created_at, session.updated_at, session.last_seq).unwrap();
        for turn in store.last_turns(&session.id, None, 100).await.unwrap() {
            let report: Report = serde_json::from_str(&turn.outcome.unwrap()).unwrap();
            let usage = report.usage.total;
            writeln!(out, "  turn {} {} {usage}", turn.ordinal, report.outcome.word()).unwrap();
        }
        for message in store.messages(&session.id, None, 100).await.unwrap() {
            writeln!(out, "  {} {} {}: {:?}", message.turn.unwrap(), message.seq, message.role, message.text)
                .unwrap();
        }
        let events = store.events(&session.id, 0, 100).await.unwrap();
        let numbers: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=session.last_seq).collect::<Vec<_>>(), "events have no gap");
    }
    out
}

/// Size of a session, as used for pruning the largest.
async fn bytes_of(database: &Path, session: &str) -> i64 {
    let mut conn = foreign(database).await;
    let row = sqlx::query("select bytes from session where id = $1")
        .bind(session)
        .fetch_one(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
    row.try_get(0).unwrap()
}

#[tokio::test]
async fn conversations_become_finished_sessions_without_their_secrets() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), STATE).await;
    let store = open(&place.path().join("home/talaria.db")).await;
    let preview = preview_page(Some(&store), &path, None).await.unwrap();
    assert_eq!(store.counts().await.unwrap().sessions, 0, "looking keeps nothing");
    let page = import(&store, &path, "run-1").await;
    assert_eq!(page, preview);
    assert_eq!((page.total, page.new, page.empty, page.messages, page.left_out), (5, 4, 1, 16, 0));
    expect![[r#"
        0199-000001 20251009_085320_a1b2c3 Some("Files of the site") in /srv/site hermes Some("gpt-5.2")
          1760000000500..1760000020250 seq 2
          turn 1 completed 0
          turn 2 completed 1580
          1 1 user: "Which files are in the repository? My token is [redacted:github-token:40]"
          1 1 assistant: "terminal {\"command\": \"ls -la\"}"
          1 1 tool: "README.md\nsrc\n"
          1 1 assistant: "Two: README.md and src."
          2 2 user: "Danke, größer geht es nicht?"
          2 2 assistant: "Doch."
        0199-000002 20251009_090000_d4e5f6 Some("[summary] the site has two files; go on") in / hermes Some("gpt-5.2") from 0199-000001
          1760000009500..1760000012000 seq 1
          turn 1 completed 0
          1 1 user: "[summary] the site has two files; go on"
          1 1 assistant: "I go on."
        0199-000003 20251010_100000_0a0b0c Some("what is on this picture?") in / hermes Some("gpt-5.2-mini")
          1760000012500..1760000015000 seq 1
          turn 1 completed 0
          1 1 user: "what is on this picture?\n[image_url]"
          1 1 assistant: "A cat."
        0199-000004 20251012_120000_ffffff Some("first question") in / hermes Some("gpt-5.2")
          1760000015500..1760000030000 seq 3
          turn 1 completed 0
          turn 2 completed 0
          turn 3 lost 0
          1 1 user: "first question"
          1 1 assistant: "first answer"
          2 2 user: "second question"
          2 2 assistant: "second answer"
          3 3 user: "[summary] one question was answered"
          3 3 user: "third question"
    "#]].assert_eq(&shown(&store).await);
    assert_eq!(store.search("größer", 10).await.unwrap().len(), 1);
    assert_eq!(store.search("ls -la", 10).await.unwrap().len(), 1, "calls are found");
    store.close().await;
    for file in fs::read_dir(place.path().join("home")).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(10).any(|window| window == b"a1B2c3D4e5"), "a secret is kept");
    }
}

#[tokio::test]
async fn a_second_import_brings_only_what_is_new_and_each_is_taken_back_by_itself() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), STATE).await;
    let store = open(&place.path().join("talaria.db")).await;
    import(&store, &path, "run-1").await;
    let first = shown(&store).await;
    let database = place.path().join("talaria.db");
    let size = bytes_of(&database, "0199-000002").await;
    let again = import(&store, &path, "run-2").await;
    assert_eq!((again.new, again.grown, again.known, again.empty), (0, 0, 4, 1));
    assert_eq!(shown(&store).await, first);

    change(
        &path,
        "insert into sessions (id, source, started_at) values ('20251101_000000_new', 'cli', 1762000000.0);
         insert into messages (session_id, role, content, timestamp) values
         ('20251101_000000_new', 'user', 'a new one', 1762000001.0),
         ('20251009_090000_d4e5f6', 'user', 'and further', 1762000002.0),
         ('20251009_090000_d4e5f6', 'assistant', 'further it is', 1762000003.0);",
    )
    .await;
    let grown = import(&store, &path, "run-3").await;
    assert_eq!((grown.new, grown.grown, grown.known, grown.messages), (1, 1, 3, 3));
    assert!(bytes_of(&database, "0199-000002").await > size);
    let third = shown(&store).await;
    assert!(third.contains("turn 2 completed"), "{third}");
    assert_eq!(store.search("further it is", 10).await.unwrap().len(), 1);

    // The first one cannot be removed while a later one builds on it.
    let undone = store.undo_import("run-1", None, NOW).await.unwrap();
    assert_eq!((undone.removed, undone.shortened, undone.left.len()), (3, 0, 1));
    import(&store, &path, "run-1").await;
    let preview = store.preview_undo("run-3", None).await.unwrap();
    let undone = store.undo_import("run-3", None, NOW).await.unwrap();
    assert_eq!(preview, undone);
    assert_eq!((undone.removed, undone.shortened, undone.left.len()), (1, 1, 0));
    assert_eq!(bytes_of(&database, "0199-000002").await, size, "it takes what it took before");
    assert_eq!(store.search("further it is", 10).await.unwrap().len(), 0);
    let undone = store.undo_import("run-1", None, NOW).await.unwrap();
    assert_eq!((undone.removed, undone.left.len()), (4, 0));
    assert_eq!(store.counts().await.unwrap().sessions, 0);
    let page = import(&store, &path, "run-4").await;
    assert_eq!((page.new, page.known), (5, 0), "what was taken back can come again");
    store.close().await;
}

#[tokio::test]
async fn a_session_that_was_used_since_stays() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), STATE).await;
    let store = open(&place.path().join("talaria.db")).await;
    import(&store, &path, "run-1").await;
    let SessionLookup::One(session) = store.find_session("0199-000001").await.unwrap() else {
        panic!("not found")
    };
    let lease = talaria_store::Lease {
        session: session.id.clone(),
        epoch: 1,
        owner: "test".to_owned(),
        expires_at: NOW + 1000,
    };
    store.take_lease(lease, talaria_store::Takeover::Older).await.unwrap();
    let turn = NewTurnRow { ordinal: 3, client_id: "mine".to_owned(), ..NewTurnRow::default() };
    let batch = talaria_store::Batch {
        session: session.id.clone(),
        epoch: 1,
        at: NOW,
        events: Vec::new(),
        changes: vec![talaria_store::Change::NewTurn(turn)],
    };
    store.append(batch).await.unwrap();
    let undone = store.undo_import("run-1", None, NOW).await.unwrap();
    assert_eq!((undone.removed, undone.left), (3, vec![session.id]));
    store.close().await;
}

#[tokio::test]
async fn a_forgotten_session_leaves_nothing_of_its_origin() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), STATE).await;
    let store = open(&place.path().join("talaria.db")).await;
    import(&store, &path, "run-1").await;
    let policy = PrunePolicy { keep: Some(0), ..PrunePolicy::default() };
    assert_eq!(store.prune(&policy, NOW).await.unwrap().sessions, 4);
    let mut conn = foreign(&place.path().join("talaria.db")).await;
    let row = sqlx::query("select (select count(*) from origin) + (select count(*) from origin_part)")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert_eq!(row.try_get::<i64, _>(0).unwrap(), 0);
    conn.close().await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn many_conversations_and_long_ones_come_in_pages() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), STATE).await;
    change(
        &path,
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < 350)
         insert into sessions (id, source, started_at) select printf('x%05d', i), 'cli', 1760000000.0 + i from n;
         insert into messages (session_id, role, content, timestamp)
         select id, role, role || ' of ' || id, started_at from sessions, (select 'user' as role union all select 'assistant')
         where id like 'x%';
         insert into sessions (id, source, started_at) values ('long', 'cli', 1.0);
         with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
         insert into messages (session_id, role, content, timestamp)
         select 'long', case i % 50 when 1 then 'user' else 'tool' end, 'step ' || i, 1760000000.0 + i from n;
         insert into messages (session_id, role, content, timestamp) values
             ('long', 'tool', cast(zeroblob(17000000) as text), 1760009000.0),
             ('long', 'assistant', replace(hex(zeroblob(1500000)), '00', 'word '), 1760009001.0);",
    )
    .await;
    let store = open(&place.path().join("talaria.db")).await;
    let page = import(&store, &path, "run-1").await;
    assert_eq!((page.total, page.seen, page.new), (356, 356, 355));
    assert_eq!(page.messages, 16 + 700 + 5002);
    assert_eq!(page.left_out, 1, "what is too long to be redacted is left out");
    let again = import(&store, &path, "run-2").await;
    assert_eq!((again.known, again.new, again.grown, again.messages), (355, 0, 0, 0));
    let long = store.search("step 5000", 10).await.unwrap();
    let long = &long.first().unwrap().session;
    assert_eq!(store.count_messages(long).await.unwrap(), 5002);
    let last = store.last_messages(long, 1).await.unwrap().remove(0);
    assert!(last.text.len() < 1_100_000 && last.text.contains("bytes left out"), "{}", last.text.len());
    store.close().await;
}

#[tokio::test]
async fn what_is_no_such_database_is_told_in_words_and_nothing_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let store = open(&place.path().join("talaria.db")).await;
    let mut told = String::new();
    let mut tell = async |name: &str, path: &Path| {
        let error = import_page(&store, path, None, &run("run"), || SessionId::new("x")).await;
        let words = match error {
            Ok(page) => format!("{} new, newer {:?}", page.new, page.newer),
            Err(ImportError::Database(error)) => format!("{error} ({})", error.next_step().in_shell()),
            Err(error) => panic!("{error}"),
        };
        writeln!(told, "{name}: {}", words.replace(place.path().to_str().unwrap(), "…")).unwrap();
    };
    let at = |name: &str| place.path().join(name);
    tell("nothing", &at("nothing.db")).await;
    tell("directory", place.path()).await;
    fs::write(at("empty.db"), "").unwrap();
    tell("empty", &at("empty.db")).await;
    fs::write(at("text.db"), "this is no database at all").unwrap();
    tell("text", &at("text.db")).await;
    for (name, statements) in [
        ("other", "create table notes (x)"),
        ("half", "create table sessions (id text primary key, source text)"),
        ("odd", "create table sessions (id text); create table messages (id integer primary key, session_id text)"),
        (
            "old",
            "create table sessions (id text primary key); insert into sessions values ('a'), (x'ff'), (7);
             create table messages (id integer primary key, session_id text, role text, content text);
             insert into messages values (1, 'a', 'user', 'hello'), (2, 'a', x'ff', 7), (3, 'a', 'assistant', x'fffe')",
        ),
        (
            "newer",
            "create table sessions (id text primary key, surprise any); create table schema_version (version integer);
             insert into schema_version values (99);
             create table messages (id integer primary key, session_id text, role text, content text, more blob)",
        ),
    ] {
        let path = at(&format!("{name}.db"));
        change(&path, statements).await;
        tell(name, &path).await;
    }
    let whole = filled(place.path(), STATE).await;
    let mut bytes = fs::read(&whole).unwrap();
    for byte in &mut bytes[4096..] {
        *byte = 0xa5;
    }
    fs::write(at("broken.db"), bytes).unwrap();
    tell("broken", &at("broken.db")).await;
    expect![[r#"
        nothing: there is no file …/nothing.db (name the home of Hermes with --home; its conversations are in state.db there)
        directory: cannot read …: it is no file (end the program that has the file open, and see that you may read it)
        empty: …/empty.db is no database of Hermes: it is empty (name the home of Hermes with --home; its conversations are in state.db there)
        text: …/text.db is no database of Hermes: it is no SQLite file (name the home of Hermes with --home; its conversations are in state.db there)
        other: …/other.db is no database of Hermes: it has no table sessions (name the home of Hermes with --home; its conversations are in state.db there)
        half: …/half.db is no database of Hermes: it has no table messages (name the home of Hermes with --home; its conversations are in state.db there)
        odd: …/odd.db is no database of Hermes: its table messages has no column role (name the home of Hermes with --home; its conversations are in state.db there)
        old: 1 new, newer None
        newer: 0 new, newer Some(99)
        broken: …/broken.db is damaged: database disk image is malformed (restore the file from a backup, or mend it with `sqlite3 FILE .recover`)
    "#]].assert_eq(&told);
    store.close().await;
}

#[tokio::test]
async fn a_database_in_use_is_read_as_its_owner_sees_it_and_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = filled(place.path(), "pragma journal_mode = wal").await;
    let mut owner = foreign(&path).await;
    sqlx::raw_sql(AssertSqlSafe(STATE.to_owned())).execute(&mut owner).await.unwrap();
    let log = place.path().join("state.db-wal");
    let before = fs::read(&log).unwrap();
    assert!(!before.is_empty(), "what was written is only in the log");
    let store = open(&place.path().join("home/talaria.db")).await;
    assert_eq!(import(&store, &path, "run-1").await.new, 4);
    assert!(before == fs::read(&log).unwrap(), "the log is not changed");
    sqlx::raw_sql("insert into sessions (id, source, started_at) values ('z', 'cli', 1.0)")
        .execute(&mut owner)
        .await
        .unwrap();
    owner.close().await.unwrap();
    // No other file remains next to it.
    import(&store, &path, "run-2").await;
    let mut names: Vec<_> =
        fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["home", "state.db"]);
    store.close().await;
}
