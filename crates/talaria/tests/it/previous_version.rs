//! A home of an earlier version: its database is migrated, its content is shown unchanged, and the unfinished work of its
//! engine is settled.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::Scene;

const DATABASE: &str = include_str!("../../fixtures/schema-3/talaria.sql");
const KEY: &[u8] = include_bytes!("../../fixtures/schema-3/key");
/// The ends of ids in the fixture.
const TALKED: &str = "8a919cc9852c";
const TASK: &str = "codex-fb9cc48cbe0e";
const REQUEST: &str = "req-c76473177411";

/// Writes the home that the killed engine left.
async fn restore(scene: &Scene) {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    // A quarter of an hour ago at least, so that nothing is in the future and nothing is old enough to be forgotten.
    let text = DATABASE
        .replace("{root}", scene.codex_home.root().to_str().unwrap())
        .replace("{time}", &(now / 1_000_000 - 1).to_string());
    let file = scene.home().join("talaria.db");
    let mut conn =
        SqliteConnectOptions::new().filename(&file).create_if_missing(true).connect().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    for (path, bytes) in [(scene.home().join("key"), Some(KEY)), (file, None)] {
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_of_schema_3_is_migrated_and_loses_nothing() {
    let scene = Scene::real(&Codex::v0_166()).await;
    restore(&scene).await;
    let list = scene.run(&["sessions", "list"]).await.exits(0);
    list.prints(&["Look at the greeting", "Write a file"]);
    let page = scene.run(&["sessions", "show", TALKED]).await.exits(0);
    page.prints(&["Look at the greeting", "The greeting is friendly."]);
    scene.run(&["sessions", "search", "friendly"]).await.exits(0).prints(&["The greeting is"]);

    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    // Neither the turn nor its Codex is alive, and its thread is gone: its outcome cannot be known.
    let task = scene.run(&["task", "show", TASK, "--json"]).await.exits(0).json().remove(0);
    assert_eq!((&task["status"], &task["title"]), (&"lost".into(), &"Make a file".into()), "{task}");
    let open = scene.run(&["requests", "list", "--json"]).await.exits(0);
    assert!(!open.stdout.contains(REQUEST), "{}", open.stdout);

    // What its turns cost is counted; which model answered was not stored then.
    let spent = scene.run(&["usage", "--by", "model", "--json"]).await.exits(0).json();
    assert!(
        spent.iter().any(|row| row["key"].is_null() && row["usage"]["total"].as_u64() > Some(0)),
        "{spent:?}"
    );

    // The migrated home works.
    scene.model.push(Reply::say("Still here."));
    scene.run(&["exec", "Are you there?"]).await.exits(0).prints(&["Still here."]);
    scene.run(&["doctor"]).await.prints(&["store ", "sound"]);
    scene.close().await;
}
