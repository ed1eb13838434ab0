//! A full disk, and other programs that use the same file.

use std::time::Duration;

use sqlx::Connection as _;
use talaria_store::contract::scene;
use talaria_store::{Batch, Change, OpenOptions, PrunePolicy, Store, StoreError, StoreOpenError};
use tempfile::TempDir;

use crate::foreign;

async fn with(options: OpenOptions) -> (Store, TempDir) {
    let place = tempfile::tempdir().unwrap();
    let store = Store::open(&place.path().join("talaria.db"), 0, &options).await.unwrap();
    (store, place)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_every_caller_is_told_and_later_writes_work() {
    let (store, _place) = with(OpenOptions { max_page_count: Some(200), ..OpenOptions::default() }).await;
    let id = scene::session(&store, "one").await;
    let text = "x".repeat(3000);
    let batch = || Batch {
        changes: vec![Change::Message(scene::message("key", "found"))],
        ..scene::batch(&id, 1, &[text.as_str(); 5])
    };
    let mut kept = 0;
    while let Ok(appended) = store.append(batch()).await {
        kept = appended.last_seq;
    }
    assert!(kept > 0);
    let all = (0..20).map(|_| {
        let (store, batch) = (store.clone(), batch());
        tokio::spawn(async move { store.append(batch).await })
    });
    for result in futures_util::future::join_all(all).await {
        assert_eq!(result.unwrap(), Err(StoreError::Full));
    }
    assert_eq!(store.session(&id).await.unwrap().unwrap().last_seq, kept, "reading works");
    assert_eq!(store.search("found", 10).await.unwrap().len(), 1);
    store.limit_pages(100_000).await.unwrap();
    assert_eq!(store.append(batch()).await.unwrap().first_seq, kept + 1, "nothing of the refused is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pruning_makes_room_on_a_full_disk() {
    let (store, _place) = with(OpenOptions { max_page_count: Some(300), ..OpenOptions::default() }).await;
    let old = scene::session_at(&store, "old", 1).await;
    let text = "x".repeat(3000);
    while store.append(scene::batch(&old, 1, &[text.as_str(); 5])).await.is_ok() {}
    let policy = PrunePolicy { older_than: Some(100), ..PrunePolicy::default() };
    assert_eq!(store.prune(&policy, 200).await.unwrap().sessions, 1);
    let new = scene::session_at(&store, "new", 200).await;
    store.append(scene::batch(&new, 200, &[text.as_str(); 5])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_writer_delays_and_then_is_told() {
    let options = OpenOptions { busy_timeout: Duration::from_millis(50), ..OpenOptions::default() };
    let (store, place) = with(options.clone()).await;
    let id = scene::session(&store, "one").await;
    let mut conn = foreign(store.path()).await;
    sqlx::query("begin immediate").execute(&mut conn).await.unwrap();
    let refused = store.append(scene::batch(&id, 1, &["a"])).await;
    assert_eq!(refused, Err(StoreError::Busy));
    assert_eq!(store.counts().await.unwrap().sessions, 1, "readers do not notice");
    let second = Store::open(&place.path().join("talaria.db"), 0, &options).await;
    if let Err(error) = second {
        assert!(matches!(error, StoreOpenError::Busy { .. }), "{error}");
    }
    sqlx::query("commit").execute(&mut conn).await.unwrap();
    store.append(scene::batch(&id, 1, &["a"])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_writer_that_ends_in_time_is_only_a_delay() {
    let (store, _place) = with(OpenOptions::default()).await;
    let id = scene::session(&store, "one").await;
    let mut conn = foreign(store.path()).await;
    sqlx::query("begin immediate").execute(&mut conn).await.unwrap();
    let waiting = tokio::spawn({
        let (store, batch) = (store.clone(), scene::batch(&id, 1, &["a"]));
        async move { store.append(batch).await }
    });
    // Reading continues while the writer waits.
    for _ in 0..20 {
        assert_eq!(store.session(&id).await.unwrap().unwrap().last_seq, 0);
    }
    sqlx::query("rollback").execute(&mut conn).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().last_seq, 1);
    conn.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_reader_holds_nobody_up() {
    let (store, _place) = with(OpenOptions::default()).await;
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["a"])).await.unwrap();
    let mut conn = foreign(store.path()).await;
    sqlx::query("begin; select * from event").fetch_all(&mut conn).await.unwrap();
    for at in 2..50 {
        store.append(scene::batch(&id, at, &["b"])).await.unwrap();
    }
    let policy = PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() };
    assert_eq!(store.prune(&policy, 2000).await.unwrap().sessions, 1, "also with a reader");
    let seen = sqlx::query("select * from event").fetch_all(&mut conn).await.unwrap();
    assert_eq!(seen.len(), 1, "the reader sees what it saw before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_program_wrote_meanwhile_is_seen() {
    let (store, _place) = with(OpenOptions::default()).await;
    let id = scene::session(&store, "one").await;
    for expected in 1..=3 {
        assert_eq!(store.append(scene::batch(&id, 1, &["a"])).await.unwrap().first_seq, expected);
    }
    let mut conn = foreign(store.path()).await;
    let theirs = "insert into event select session, 4, turn, at, kind, json from event where seq = 3;
                  update session set last_seq = 4";
    sqlx::query(theirs).execute(&mut conn).await.unwrap();
    assert_eq!(store.append(scene::batch(&id, 1, &["a"])).await.unwrap().first_seq, 5);
    sqlx::query("update lease set epoch = 9").execute(&mut conn).await.unwrap();
    let refused = store.append(scene::batch(&id, 1, &["a"])).await;
    assert!(matches!(&refused, Err(StoreError::Fenced { held: Some((9, _)), .. })), "{refused:?}");
    assert_eq!(store.events(&id, 0, 10).await.unwrap().len(), 5);
}
