//! What opening does with files: made private, refused politely, never lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::Row as _;
use talaria_store::contract::scene;
use talaria_store::{Inspection, OpenOptions, Store, StoreOpenError};

use crate::{foreign, open};

/// Far longer than a look takes.
const LONG: Duration = Duration::from_secs(60);

async fn refused(path: &Path, now: i64) -> StoreOpenError {
    let error = Store::open(path, now, &OpenOptions::default()).await.unwrap_err();
    assert!(!error.next_step().in_shell().is_empty());
    error
}

/// A closed database with some content.
async fn filled(path: &Path) {
    let store = open(path).await;
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["x".repeat(900).as_str(); 500])).await.unwrap();
    store.close().await;
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_is_kept_is_there_after_reopening_and_nobody_else_can_read_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("home/deep/talaria.db");
    let store = open(&path).await;
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["a"])).await.unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = path.parent().unwrap();
    assert_eq!(mode(directory.to_owned()), 0o700);
    assert_eq!(names(directory), ["talaria.db", "talaria.db-shm", "talaria.db-wal"]);
    for name in names(directory) {
        assert_eq!(mode(directory.join(&name)), 0o600, "{name}");
    }
    store.close().await;
    assert_eq!(names(directory), ["talaria.db"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let store = open(&path).await;
    assert_eq!(mode(path.clone()), 0o600, "a file that others could read is taken back");
    assert_eq!(store.events(&id, 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.append(scene::batch(&id, 1, &["b"])).await.unwrap().first_seq, 2);
    store.close().await;
    let closed = store.append(scene::batch(&id, 1, &["c"])).await;
    assert_eq!(closed, Err(talaria_store::StoreError::Closed));
}

#[tokio::test]
async fn a_file_of_a_newer_talaria_is_refused_and_not_changed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    filled(&path).await;
    let mut conn = foreign(&path).await;
    sqlx::query("update meta set value = '99' where key = 'schema'").execute(&mut conn).await.unwrap();
    sqlx::Connection::close(conn).await.unwrap();
    let before = fs::read(&path).unwrap();
    let error = refused(&path, 0).await;
    assert!(matches!(error, StoreOpenError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("its version is 99, this program knows"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_store_that_was_closed_is_one_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    filled(&path).await;
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["talaria.db"], "whoever copies the file has everything");
}

#[tokio::test]
async fn a_damaged_file_is_copied_aside_and_never_made_anew() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    filled(&path).await;
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 20_000].fill(0x5a);
    fs::write(&path, &bytes).unwrap();
    let StoreOpenError::Damaged { copy, .. } = refused(&path, 1_794_800_571_123).await else {
        panic!("not seen")
    };
    assert_eq!(copy.file_name().unwrap(), "talaria.db.damaged-20261116T034251Z");
    assert!(fs::read(&copy).unwrap() == bytes && fs::read(&path).unwrap() == bytes);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let StoreOpenError::Damaged { copy: again, .. } = refused(&path, 1_800_000_000_000).await else {
        panic!()
    };
    assert_eq!(again, copy, "the same damage is copied once");
}

#[tokio::test]
async fn a_cut_off_file_is_damaged() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    filled(&path).await;
    let bytes = fs::read(&path).unwrap();
    for length in [4096 * 3, 5000, 700, 17] {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = refused(&path, length as i64 * 1000).await;
        assert!(matches!(error, StoreOpenError::Damaged { .. }), "{length}: {error}");
        assert_eq!(fs::read(&path).unwrap(), &bytes[..length]);
    }
}

#[tokio::test]
async fn a_large_file_is_looked_at_without_reading_it_all() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    let store = open(&path).await;
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["x".repeat(1 << 20).as_str(); 20])).await.unwrap();
    store.close().await;
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 20 << 20);
    open(&path).await.close().await;
    fs::write(&path, &bytes[..bytes.len() - 4096]).unwrap();
    let error = refused(&path, 0).await;
    assert!(matches!(error, StoreOpenError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let error = refused(place.path(), 0).await;
    assert!(matches!(error, StoreOpenError::NotAFile(_)), "{error}");

    let text = place.path().join("notes.txt");
    fs::write(&text, "not a database, but somebody's notes").unwrap();
    let error = refused(&text, 0).await;
    assert!(matches!(error, StoreOpenError::Foreign(_)), "{error}");
    assert_eq!(fs::read_to_string(&text).unwrap(), "not a database, but somebody's notes");

    let theirs = place.path().join("theirs.db");
    let mut conn = foreign(&theirs).await;
    sqlx::query("create table theirs (x)").execute(&mut conn).await.unwrap();
    sqlx::Connection::close(conn).await.unwrap();
    let before = fs::read(&theirs).unwrap();
    let error = refused(&theirs, 0).await;
    assert!(matches!(error, StoreOpenError::Foreign(_)), "{error}");
    assert_eq!(fs::read(&theirs).unwrap(), before);

    let below_a_file = text.join("talaria.db");
    let error = refused(&below_a_file, 0).await;
    assert!(matches!(error, StoreOpenError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    fs::write(&path, "").unwrap();
    let store = open(&path).await;
    assert_eq!(store.counts().await.unwrap().sessions, 0);
}

#[tokio::test]
async fn the_sqlite_that_is_built_in_is_new_enough() {
    let place = tempfile::tempdir().unwrap();
    let mut conn = foreign(&place.path().join("x.db")).await;
    let version: String = sqlx::query("select sqlite_version()").fetch_one(&mut conn).await.unwrap().get(0);
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(parts >= vec![3, 51, 3], "{version}: the reset of the log is mended in 3.51.3");
}

#[tokio::test]
async fn pruning_gives_the_room_back() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    let store = open(&path).await;
    for n in 0..20 {
        let id = scene::session_at(&store, &format!("s{n}"), n).await;
        let text = format!("{n} some words to be found {}", "and much more ".repeat(200));
        let changes = (0..5).map(|k| scene::message(&k.to_string(), &text));
        let changes = changes.map(talaria_store::Change::Message).collect();
        let batch = scene::batch(&id, n, &["x".repeat(2000).as_str(); 50]);
        store.append(talaria_store::Batch { changes, ..batch }).await.unwrap();
    }
    let before = store.size().await.unwrap();
    let policy = talaria_store::PrunePolicy { keep: Some(2), ..Default::default() };
    let pruned = store.prune(&policy, 100).await.unwrap();
    let after = store.size().await.unwrap();
    assert_eq!((pruned.sessions, pruned.events), (18, 900));
    assert!(pruned.freed_bytes > 1_500_000, "{pruned:?} {before:?} {after:?}");
    assert_eq!(after.log_bytes, 0, "the log is cut");
    assert!(after.used_bytes < before.used_bytes / 5, "{before:?} {after:?}");
    assert_eq!(store.search("found", 100).await.unwrap().len(), 10);
    let policy = talaria_store::PrunePolicy { max_bytes: Some(after.used_bytes - 1), ..Default::default() };
    assert_eq!(store.prune(&policy, 100).await.unwrap().sessions, 1, "no more than needed");
}

/// Copies a database and its journal in the middle of a transaction: the state that a killed writer leaves.
async fn killed_writer(place: &Path) -> PathBuf {
    let (living, left) = (place.join("living.db"), place.join("talaria.db"));
    fs::File::create(&living).unwrap();
    let mut conn = foreign(&living).await;
    let steps = ["pragma cache_size = 1", "begin", "create table meta (key text primary key, value text)"];
    for step in steps {
        sqlx::query(step).execute(&mut conn).await.unwrap();
    }
    // More than the cache holds: part of it is written into the file before the commit.
    sqlx::query("insert into meta values ('x', hex(randomblob(200000)))").execute(&mut conn).await.unwrap();
    fs::copy(&living, &left).unwrap();
    fs::copy(place.join("living.db-journal"), place.join("talaria.db-journal")).unwrap();
    drop(conn);
    left
}

#[tokio::test]
async fn a_transaction_whose_writer_was_killed_is_rolled_back_by_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let path = killed_writer(place.path()).await;
    assert!(fs::metadata(&path).unwrap().len() > 0, "the file has half a transaction");
    assert_eq!(Store::inspect(&path, LONG).await.unwrap(), Inspection::HotJournal);
    assert!(place.path().join("talaria.db-journal").exists(), "a look changes nothing");
    let store = open(&path).await;
    let id = scene::session(&store, "one").await;
    assert_eq!(store.append(scene::batch(&id, 1, &["a"])).await.unwrap().first_seq, 1);
    store.close().await;
    assert!(!place.path().join("talaria.db-journal").exists());
    assert_eq!(Store::inspect(&path, LONG).await.unwrap(), Inspection::Sound);
}

#[tokio::test]
async fn a_first_page_that_never_reached_the_disk_is_rolled_back_too() {
    let place = tempfile::tempdir().unwrap();
    let path = killed_writer(place.path()).await;
    let length = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
    fs::write(&path, vec![0; length]).unwrap();
    open(&path).await.close().await;
}

#[tokio::test]
async fn a_look_from_outside_finds_damage_and_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    assert_eq!(Store::inspect(&path, LONG).await.unwrap(), Inspection::Missing);
    filled(&path).await;
    let whole = fs::read(&path).unwrap();
    assert_eq!(Store::inspect(&path, LONG).await.unwrap(), Inspection::Sound);
    assert_eq!(Store::inspect(&path, Duration::ZERO).await.unwrap(), Inspection::SoundSoFar);
    let middle = whole.len() / 2;
    let mut pages = whole.clone();
    pages[middle..middle + 20_000].fill(0x5a);
    let mut header = whole.clone();
    header[100..2100].fill(0xff);
    for damaged in [&pages[..], &header, &whole[..middle]] {
        fs::write(&path, damaged).unwrap();
        let error = Store::inspect(&path, LONG).await.unwrap_err();
        assert!(matches!(error, StoreOpenError::FoundDamaged { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
    fs::write(&path, "<html>").unwrap();
    assert!(matches!(Store::inspect(&path, LONG).await.unwrap_err(), StoreOpenError::Foreign(_)));
    assert_eq!(names(place.path()), ["talaria.db"], "nothing is copied, and no log is made");
}

#[tokio::test]
async fn a_look_at_a_database_in_use_sees_what_is_in_its_log() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("talaria.db");
    let store = open(&path).await;
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["a"])).await.unwrap();
    assert_eq!(Store::inspect(&path, LONG).await.unwrap(), Inspection::Sound);
    assert_eq!(store.append(scene::batch(&id, 1, &["b"])).await.unwrap().first_seq, 2);
    store.close().await;
}
