//! The life of a host: how it starts, how it fails to, how it ends, and that no process remains.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex::conversation::{CodexConversation, Options};
use talaria_codex::host::{Host, HostError};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::{exit, expect, hang, ignore_signals, spawn, stderr};
use talaria_testkit::app_server::{AppServer, complete_turn, start_turn};
use talaria_testkit::{Codex, CodexHome, Marker, build_dir, until};

use crate::stage::{Real, Scripted, begin, both_transports, both_versions, real_spec, scripted_spec};

both_versions!(
    a_configuration_of_codex_that_does_not_parse_is_an_error_with_its_place;
    newest:
    a_real_host_that_is_dropped_leaves_nothing_behind,
    a_host_has_a_private_directory_that_goes_with_it,
);

both_transports!(
    a_codex_that_ends_at_once_is_an_error_with_its_last_words,
    a_codex_that_ends_during_the_greeting_is_an_error_with_its_last_words,
    a_missing_or_broken_program_is_a_clear_error,
    closing_reaps_what_codex_started,
    closing_kills_what_does_not_listen,
    dropping_a_host_leaves_nothing_behind,
    a_host_that_panics_away_leaves_nothing_behind,
);

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(build_dir::homes()).unwrap()
}

/// Waits until at least this many processes carry the mark.
async fn grown_to(marker: &Marker, count: usize) {
    until(&format!("{count} processes"), || marker.survivors().len() >= count).await;
}

async fn gone(marker: &Marker) {
    if let Err(survivors) = marker.wait_gone(Duration::from_secs(5)).await {
        panic!("processes are left: {survivors:?}");
    }
}

async fn a_real_host_that_is_dropped_leaves_nothing_behind(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    real.model.push(Reply::new().text("half").gate(&gate));
    let turn = begin(real.session().await, "talk");
    gate.reached().await;
    let Real { model: _model, home: _home, host, marker, .. } = real;
    // The turn holds the host as well, and ends like that of an interrupted program.
    drop((host, turn.abort().await));
    gone(&marker).await;
}

async fn a_host_has_a_private_directory_that_goes_with_it(codex: Codex) {
    let real = Real::start(&codex).await;
    let hosts = real.home.root().join("hosts");
    let entries: Vec<_> = fs::read_dir(&hosts).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [directory] = &entries[..] else { panic!("{entries:?}") };
    let root = directory.canonicalize().unwrap();
    assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
    let empty = fs::read_link(format!("/proc/{}/cwd", real.host.pid()));
    if let Ok(cwd) = empty {
        assert_eq!(cwd, root.join("empty"), "Codex itself works in an empty directory");
    }
    real.model.push(Reply::say("ok"));
    let ended = begin(real.session().await, "go").end().await;
    assert_eq!(fs::read_dir(root.join("empty")).unwrap().count(), 0);
    assert_eq!(real.host.codex_home(), real.home.path().to_str());
    real.host.close().await;
    drop((ended, real.host));
    assert_eq!(fs::read_dir(&hosts).unwrap().count(), 0, "nothing is left of it");
    assert!(!root.exists());
}

async fn a_configuration_of_codex_that_does_not_parse_is_an_error_with_its_place(codex: Codex) {
    // Codex itself starts, with its defaults; a conversation is refused.
    let (home, marker) = (CodexHome::with_config("model = \"gpt-5.5\"\nmodel_provider = \n"), Marker::new());
    let host = Arc::new(Host::start(real_spec(&codex, &home, &marker)).await.unwrap());
    let start = ThreadStart { cwd: home.work().to_str().unwrap().to_owned(), ..ThreadStart::default() };
    let error =
        CodexConversation::start(host.clone(), start, Options::default()).await.unwrap_err().to_string();
    assert!(error.contains("config.toml:2:18"), "{error}");
    host.close().await;
    gone(&marker).await;
}

async fn a_codex_that_ends_at_once_is_an_error_with_its_last_words(version: &str) {
    let (folder, marker) = (folder(), Marker::new());
    let program =
        write_program(folder.path(), "#!/bin/sh\necho 'Error loading config.toml: line 3' >&2\nexit 3\n");
    let error = Host::start(scripted_spec(&program, version, folder.path(), &marker)).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Error loading config.toml: line 3"), "{text}");
    assert!(text.contains("exit status: 3"), "{text}");
    gone(&marker).await;
    assert_eq!(fs::read_dir(folder.path().join("hosts")).unwrap().count(), 0);
}

async fn a_codex_that_ends_during_the_greeting_is_an_error_with_its_last_words(version: &str) {
    let server = AppServer::script([expect("initialize"), stderr("state database is locked"), exit(1)]);
    let Err(error) = Scripted::try_start(server, version).await else { panic!("it started") };
    let text = error.to_string();
    assert!(text.contains("state database is locked") && text.contains("exit status: 1"), "{text}");
}

async fn a_missing_or_broken_program_is_a_clear_error(version: &str) {
    let (folder, marker) = (folder(), Marker::new());
    let missing = folder.path().join("codex");
    let start = |program: &Path| Host::start(scripted_spec(program, version, folder.path(), &marker));
    let error = start(&missing).await.unwrap_err();
    assert!(matches!(&error, HostError::Spawn { path, .. } if *path == missing), "{error:?}");
    assert!(error.to_string().contains("No such file"), "{error}");
    fs::write(&missing, "not a program").unwrap();
    let error = start(&missing).await.unwrap_err();
    assert!(error.to_string().contains("ermission denied"), "{error}");
}

/// A process that sleeps, in its own session where the system has a command for that; macOS has none.
const SLEEPER: &str = if cfg!(target_os = "linux") { "setsid sleep 600" } else { "sleep 600" };

async fn closing_reaps_what_codex_started(version: &str) {
    let children = spawn(&format!("{SLEEPER} & sleep 600 & wait"));
    let scripted = Scripted::start(AppServer::ready([children]), version).await;
    // The server, the shell, and two sleepers, one of them in its own session if possible.
    grown_to(&scripted.marker, 4).await;
    scripted.close().await;
}

/// A daemon: its parent ended, and it leads its own session. Only on Linux can it be distinguished from other processes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn closing_reaps_what_detached_itself_from_codex() {
    let scripted = Scripted::start(AppServer::ready([spawn(&format!("{SLEEPER} &"))]), "0.166.0").await;
    let is_detached = || {
        let all = scripted.marker.survivors();
        all.len() == 2 && all.iter().any(|process| process.command.starts_with("sleep 600"))
    };
    until("the sleeper detached itself", is_detached).await;
    scripted.close().await;
}

/// Codex died by itself: its children have another parent by then.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn closing_reaps_what_a_dead_codex_left() {
    let play = [vec![spawn(&format!("{SLEEPER} & wait"))], start_turn(), vec![exit(1)]].concat();
    let scripted = Scripted::start(AppServer::ready(play), "0.166.0").await;
    grown_to(&scripted.marker, 3).await;
    let ended = begin(scripted.session().await, "go").end().await;
    assert_eq!(ended.report.outcome.word(), "lost");
    assert!(!scripted.marker.survivors().is_empty(), "the sleeper outlived its Codex");
    ended.leave().await;
    scripted.close().await;
}

async fn closing_kills_what_does_not_listen(version: &str) {
    let stubborn = [ignore_signals(), spawn("trap '' TERM HUP INT; sleep 600 & wait; wait")];
    let scripted = Scripted::start(AppServer::ready(stubborn), version).await;
    grown_to(&scripted.marker, 3).await;
    scripted.close().await;
}

async fn dropping_a_host_leaves_nothing_behind(version: &str) {
    let play = [vec![spawn(&format!("{SLEEPER} & wait"))], start_turn(), vec![hang()]].concat();
    let scripted = Scripted::start(AppServer::ready(play), version).await;
    grown_to(&scripted.marker, 3).await;
    let mut turn = begin(scripted.session().await, "go");
    turn.until(|_| Some(())).await;
    let Scripted { host, marker, program: _program, folder: _folder } = scripted;
    drop((host, turn.abort().await));
    gone(&marker).await;
}

async fn a_host_that_panics_away_leaves_nothing_behind(version: &str) {
    let scripted = Scripted::start(AppServer::ready([]), version).await;
    let Scripted { host, marker, program: _program, folder: _folder } = scripted;
    let broken = tokio::spawn(async move {
        host.account().await.unwrap();
        assert!(host.end_reason().is_some(), "this one is meant to fail");
    });
    assert!(broken.await.unwrap_err().is_panic());
    gone(&marker).await;
}

fn write_program(folder: &Path, text: &str) -> std::path::PathBuf {
    let program = folder.join("codex");
    talaria_testkit::app_server::write_program(&program, text).unwrap();
    program
}

/// The clock is paused once the greeting was sent: the test does not wait for the limit.
#[tokio::test]
async fn a_codex_that_never_greets_back_is_given_up_and_ended() {
    let (folder, marker) = (folder(), Marker::new());
    let program = AppServer::script([hang()]).install(&folder.path().join("bin"));
    let spec = scripted_spec(&program.codex, "0.166.0", folder.path(), &marker);
    let starting = tokio::spawn(Host::start(spec));
    until("Codex is greeted", || !program.received().is_empty()).await;
    tokio::time::pause();
    let error = starting.await.unwrap().unwrap_err();
    tokio::time::resume();
    assert!(error.to_string().contains("did not answer initialize within 30 s"), "{error}");
    gone(&marker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_given_up_leaves_nothing_behind() {
    for version in ["0.166.0", "0.126.0"] {
        let (folder, marker) = (folder(), Marker::new());
        let program = AppServer::script([hang()]).install(&folder.path().join("bin"));
        let spec = scripted_spec(&program.codex, version, folder.path(), &marker);
        let starting = tokio::spawn(Host::start(spec));
        until("Codex is greeted", || !program.received().is_empty()).await;
        starting.abort();
        assert!(starting.await.unwrap_err().is_cancelled());
        gone(&marker).await;
        assert_eq!(fs::read_dir(folder.path().join("hosts")).unwrap().count(), 0);
    }
}

/// Names of the variables between the test below and the process that it starts and kills.
const OWNER: &str = "IT_OWNER_FOLDER";

/// Not a promise: the process that the test below kills. Ends at once when it is run by itself.
#[tokio::test]
async fn owner_that_another_test_kills() {
    let Some(folder) = std::env::var_os(OWNER) else { return };
    let folder = Path::new(&folder);
    let mark = (std::env::var_os("IT_OWNER_VARIABLE").unwrap(), std::env::var_os("IT_OWNER_MARK").unwrap());
    let program = AppServer::ready([spawn(&format!("{SLEEPER} & wait"))]).install(&folder.join("bin"));
    let mut spec = scripted_spec(&program.codex, "0.166.0", folder, &Marker::new());
    spec.environment.push(mark);
    let host = Host::start(spec).await.unwrap();
    println!("\nup {}", host.pid());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn the_host_of_an_owner_that_was_killed_is_ended_by_the_next_start_and_a_living_one_is_not() {
    let (folder, marker) = (folder(), Marker::new());
    let (variable, mark) = marker.environment();
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hosts::owner_that_another_test_kills", "--nocapture"])
        .envs([("IT_OWNER_VARIABLE", variable), ("IT_OWNER_MARK", mark)])
        .env(OWNER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("up ")), "the owner started its host");
    // The test's own mark is on the host and below it; the owner carries it under another name.
    grown_to(&marker, 4).await;

    let other = Marker::new();
    let program = AppServer::ready([]).install(&folder.path().join("other"));
    let spec = || scripted_spec(&program.codex, "0.166.0", folder.path(), &other);
    let beside = Host::start(spec()).await.unwrap();
    assert!(marker.survivors().len() >= 4, "a host whose owner lives is left alone");
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(marker.survivors().len() >= 3, "the host outlived its owner");

    let after = Host::start(spec()).await.unwrap();
    gone(&marker).await;
    beside.account().await.unwrap();
    beside.close().await;
    after.close().await;
    gone(&other).await;
}

/// The end of a turn does not end the host, nor does the end of a session.
#[tokio::test]
async fn a_host_outlives_its_sessions() {
    let play = [start_turn(), complete_turn("one")].concat();
    let scripted = Scripted::start(AppServer::ready(play), "0.166.0").await;
    drop(begin(scripted.session().await, "go").end().await);
    scripted.host.account().await.unwrap();
    let host = Arc::clone(&scripted.host);
    scripted.close().await;
    assert!(host.account().await.is_err(), "and a closed one says that it is closed");
}
