//! Conversations that come back on a new host: with their memory, with the powers that were asked for, or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use talaria_codex::host::HostSpec;
use talaria_codex::revival::{Revival, RevivalError, Revived, revive};
use talaria_codex::threads::{RawEvents, ThreadError};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_codex_proto::wire::notification::TurnStatus;
use talaria_core::event::Started;
use talaria_core::ids::ThreadId;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::{ModelRequest, Reply};
use talaria_testkit::app_server::directive::{on, reply, reply_error};
use talaria_testkit::app_server::{THREAD, write_program};
use talaria_testkit::{AppServer, Codex, Marker, build_dir};

use crate::stage::{Real, both_versions, real_spec, scripted_spec};
use crate::threads::{exchange, runs, say, turn_that_is};

both_versions!(
    a_conversation_whose_codex_was_killed_in_a_command_remembers_itself,
    what_was_asked_for_is_in_force_again,
    what_the_users_configuration_decided_is_in_force_again;
    newest:
    a_conversation_whose_file_is_gone_is_told_a_digest,
    a_conversation_that_never_began_starts_anew,
);

pub(crate) fn kill(real: &Real) {
    kill_process(Pid::from_raw(real.host.pid()).unwrap(), Signal::KILL).unwrap();
}

fn spec(codex: &Codex, real: &Real) -> HostSpec {
    real_spec(codex, &real.home, &real.marker)
}

/// The model's request in the next turn.
async fn next_request(real: &Real, revived: &Revived, text: &str) -> ModelRequest {
    real.model.push(Reply::say("and on"));
    exchange(&revived.host, &revived.thread.started.thread, text).await;
    real.model.requests().pop().unwrap()
}

async fn close(real: Real, revived: Revived) {
    assert_eq!(revived.host.unknown_messages().1, 0);
    revived.host.close().await;
    drop(revived);
    real.close().await;
}

async fn a_conversation_whose_codex_was_killed_in_a_command_remembers_itself(codex: Codex) {
    let real = Real::start(&codex).await;
    let asked = real.unconfined(ApprovalPolicy::Never);
    let opened = real.host.start_thread(&asked).await.unwrap();
    let thread = &opened.started.thread;
    real.model.push(Reply::say("The word is heron."));
    exchange(&real.host, thread, "tell me a word").await;
    real.model.push(Reply::new().command("sleep 9003"));
    let broken = say(&real.host, thread, "now sleep").await;
    runs(&real.marker, "sleep 9003", true).await;
    kill(&real);

    let revived = revive(&spec(&codex, &real), &asked, &opened.started, "a digest").await.unwrap();
    assert_eq!(revived.how, Revival::Resumed);
    assert_eq!(revived.how.to_string(), "Codex was restarted and resumed the conversation");
    assert_eq!(&revived.thread.started.thread, thread);
    assert_eq!(revived.thread.raw_events, RawEvents::NotTold, "neither version can be asked for them again");
    turn_that_is(&revived.host, thread, &broken, TurnStatus::Interrupted).await;
    let request = next_request(&real, &revived, "which word was it?").await;
    assert!(request.assistant_texts().contains(&"The word is heron."), "{:?}", request.assistant_texts());
    assert!(request.user_texts().contains(&"tell me a word") && request.user_texts().contains(&"now sleep"));
    assert_eq!(request.prompt(), "which word was it?");
    assert!(!request.body.to_string().contains("a digest"), "who remembers needs no digest");
    close(real, revived).await;
}

/// 0.130 forgets both; the requested options are sent again.
async fn what_was_asked_for_is_in_force_again(codex: Codex) {
    let real = Real::start(&codex).await;
    let policies = [ApprovalPolicy::Untrusted, ApprovalPolicy::OnRequest, ApprovalPolicy::Never];
    let mut threads = Vec::new();
    for (sandbox, policy) in Sandbox::ALL.into_iter().zip(policies) {
        let mut asked = ThreadStart { sandbox: Some(sandbox), ..real.unconfined(policy) };
        asked.set_effort("high");
        asked.config.insert("sandbox_workspace_write.network_access".to_owned(), json!(true));
        asked.config.insert("shell_environment_policy.set".to_owned(), json!({ "HERON": "grey" }));
        let opened = real.host.start_thread(&asked).await.unwrap();
        real.model.push(Reply::say("ok"));
        exchange(&real.host, &opened.started.thread, "go").await;
        threads.push((asked, opened));
    }
    kill(&real);
    for (asked, opened) in threads {
        let revived = revive(&spec(&codex, &real), &asked, &opened.started, "").await.unwrap();
        assert_eq!(revived.how, Revival::Resumed);
        let (before, after) = (&opened.standing, &revived.thread.standing);
        assert_eq!((&before.in_force, &after.differences), (&after.in_force, &Vec::new()));
        if asked.sandbox == Some(Sandbox::DangerFullAccess) {
            real.model.play([Reply::new().command("echo heron-is-$HERON"), Reply::say("ok")]);
            let thread = &revived.thread.started.thread;
            exchange(&revived.host, thread, "look").await;
            let told = real.model.requests().pop().unwrap().tool_outputs().concat();
            assert!(told.contains("heron-is-grey"), "the overrides are back as well: {told}");
        }
        revived.host.close().await;
    }
    real.close().await;
}

/// Nothing was asked, so the user's configuration decided; it may say something else by now, but a conversation must not
/// change its powers because a process died.
async fn what_the_users_configuration_decided_is_in_force_again(codex: Codex) {
    let real = Real::start(&codex).await;
    let asked = ThreadStart { cwd: real.home.work().to_str().unwrap().to_owned(), ..ThreadStart::default() };
    let opened = real.host.start_thread(&asked).await.unwrap();
    real.model.push(Reply::say("ok"));
    exchange(&real.host, &opened.started.thread, "go").await;
    kill(&real);
    let path = real.home.path().join("config.toml");
    let config = fs::read_to_string(&path).unwrap();
    let wider = format!("sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\n{config}");
    fs::write(&path, wider).unwrap();
    let revived = revive(&spec(&codex, &real), &asked, &opened.started, "").await.unwrap();
    assert_eq!((revived.how.clone(), &revived.thread.started), (Revival::Resumed, &opened.started));
    fs::write(&path, config).unwrap();
    close(real, revived).await;
}

/// Removes every file in which Codex keeps conversations.
pub(crate) fn remove_rollouts(folder: &Path) -> usize {
    let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut removed = 0;
    for entry in entries {
        if entry.is_dir() {
            removed += remove_rollouts(&entry);
        } else {
            fs::remove_file(entry).unwrap();
            removed += 1;
        }
    }
    removed
}

async fn a_conversation_whose_file_is_gone_is_told_a_digest(codex: Codex) {
    let real = Real::start(&codex).await;
    let asked = real.unconfined(ApprovalPolicy::Never);
    let opened = real.host.start_thread(&asked).await.unwrap();
    real.model.push(Reply::say("The word is heron."));
    exchange(&real.host, &opened.started.thread, "tell me a word").await;
    kill(&real);
    assert_eq!(remove_rollouts(&real.home.path().join("sessions")), 1);

    let digest = "user: tell me a word\nassistant: it is heron";
    let revived = revive(&spec(&codex, &real), &asked, &opened.started, digest).await.unwrap();
    let Revival::Seeded { why, bytes } = &revived.how else { panic!("{:?}", revived.how) };
    assert!(why.contains("no rollout found") && *bytes == digest.len(), "{why} {bytes}");
    assert!(
        revived.how.to_string().ends_with("a new one was started with a digest of it"),
        "{}",
        revived.how
    );
    assert_ne!(revived.thread.started.thread, opened.started.thread);
    assert_eq!(revived.thread.standing.in_force, opened.standing.in_force);
    let request = next_request(&real, &revived, "which word was it?").await;
    let texts = request.user_texts();
    assert!(
        texts.iter().any(|text| text.contains(digest) && text.contains("nothing in it is a new request")),
        "{texts:?}"
    );
    assert_eq!(request.prompt(), "which word was it?");
    close(real, revived).await;
}

/// Codex stores a conversation with its first turn; before that there is nothing to resume, and nothing to report.
async fn a_conversation_that_never_began_starts_anew(codex: Codex) {
    let real = Real::start(&codex).await;
    let asked = real.unconfined(ApprovalPolicy::Never);
    let opened = real.host.start_thread(&asked).await.unwrap();
    kill(&real);
    let revived = revive(&spec(&codex, &real), &asked, &opened.started, " \n").await.unwrap();
    assert!(matches!(revived.how, Revival::Seeded { bytes: 0, .. }), "{:?}", revived.how);
    assert!(revived.how.to_string().ends_with("a new one was started without its history"));
    let request = next_request(&real, &revived, "hello").await;
    assert!(!request.body.to_string().contains("earlier_conversation"));
    close(real, revived).await;
}

/// A folder for a scripted Codex, and what a thread on it was.
struct Place {
    folder: tempfile::TempDir,
    marker: Marker,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(build_dir::homes()).unwrap();
        Self { folder, marker: Marker::new() }
    }

    fn spec(&self, program: &Path) -> HostSpec {
        scripted_spec(program, "0.166.0", self.folder.path(), &self.marker)
    }

    fn nothing_is_left(&self) {
        assert_eq!(self.marker.survivors(), []);
        let hosts = self.folder.path().join("hosts");
        let left = fs::read_dir(hosts).map_or(0, Iterator::count);
        assert_eq!(left, 0, "and no directory of a host");
    }
}

fn asked() -> ThreadStart {
    ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() }
}

fn before(codex: &str) -> Started {
    Started {
        thread: ThreadId::new(THREAD),
        cwd: "/w".to_owned(),
        model: "gpt-5.5".to_owned(),
        provider: "mock".to_owned(),
        effort: None,
        sandbox: "read-only".to_owned(),
        approval: "untrusted".to_owned(),
        codex: codex.to_owned(),
        path: None,
        network: None,
        writable_roots: None,
    }
}

#[tokio::test]
async fn a_codex_that_is_not_there_any_more_is_an_error_with_a_next_step() {
    let place = Place::new();
    let spec = place.spec(&place.folder.path().join("nowhere"));
    let error = revive(&spec, &asked(), &before("0.166.0"), "").await.unwrap_err();
    assert!(matches!(error, RevivalError::Host(_)), "{error:?}");
    assert!(error.to_string().contains("cannot start Codex again") && error.to_string().contains("nowhere"));
    assert!(error.next_step().in_shell().contains("talaria setup"), "{}", error.next_step().in_shell());
    place.nothing_is_left();
}

/// A program that counts how often it is started, and fails the first times.
fn failing(place: &Place, times: u32, server: &AppServer) -> PathBuf {
    let good = server.install(&place.folder.path().join("good")).codex;
    let (program, count) = (place.folder.path().join("codex"), place.folder.path().join("count"));
    let script = format!(
        "#!/bin/sh\necho x >> '{count}'\n[ $(wc -l < '{count}') -gt {times} ] || exit 3\nexec '{good}' \"$@\"\n",
        count = count.display(),
        good = good.display()
    );
    write_program(&program, &script).unwrap();
    program
}

fn starts(place: &Place) -> usize {
    fs::read_to_string(place.folder.path().join("count")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_codex_that_fails_to_start_is_started_again_but_not_for_ever() {
    let place = Place::new();
    let program = failing(&place, 1, &AppServer::ready([]));
    let revived = revive(&place.spec(&program), &asked(), &before("0.166.0"), "").await.unwrap();
    assert_eq!((revived.how.clone(), starts(&place)), (Revival::Resumed, 2));
    revived.host.close().await;
    drop(revived);

    let place = Place::new();
    let program = failing(&place, 1000, &AppServer::ready([]));
    let error = revive(&place.spec(&program), &asked(), &before("0.166.0"), "").await.unwrap_err();
    assert!(
        matches!(error, RevivalError::Host(_)) && starts(&place) == 3,
        "{error} after {}",
        starts(&place)
    );
    assert!(error.next_step().in_shell().contains("talaria doctor"));
    place.nothing_is_left();
}

#[tokio::test]
async fn an_older_codex_is_not_even_started() {
    let place = Place::new();
    let program = failing(&place, 0, &AppServer::ready([]));
    let error = revive(&place.spec(&program), &asked(), &before("0.167.0"), "").await.unwrap_err();
    assert!(matches!(error, RevivalError::Older { .. }), "{error:?}");
    assert!(error.next_step().in_shell().contains("0.167.0"));
    assert_eq!(starts(&place), 0);
}

/// The program was replaced by an older one after it had been looked at.
#[tokio::test]
async fn a_codex_that_turns_out_to_be_older_gets_no_thread() {
    let place = Place::new();
    let server = AppServer::ready([]).version("0.130.0");
    let installed = server.install(&place.folder.path().join("old"));
    let error = revive(&place.spec(&installed.codex), &asked(), &before("0.166.0"), "").await.unwrap_err();
    assert!(matches!(error, RevivalError::Older { .. }), "{error:?}");
    assert!(!installed.received().iter().any(|message| message["method"] == "thread/resume"));
    place.nothing_is_left();
}

#[tokio::test]
async fn more_power_than_before_is_refused_and_no_other_thread_is_started_for_it() {
    let generous = json!({
        "thread": { "id": THREAD }, "cwd": "/w", "model": "m", "modelProvider": "p", "approvalPolicy": "never",
        "approvalsReviewer": "user", "sandbox": { "type": "dangerFullAccess" },
    });
    let place = Place::new();
    let server = AppServer::ready([on("thread/resume", [reply(generous)])]);
    let installed = server.install(&place.folder.path().join("bin"));
    let error = revive(&place.spec(&installed.codex), &asked(), &before("0.166.0"), "x").await.unwrap_err();
    assert!(matches!(error, RevivalError::Thread(ThreadError::Power(_))), "{error:?}");
    assert!(error.to_string().contains("asked for read-only, in force is danger-full-access"), "{error}");
    let methods: Vec<_> = installed.received().iter().map(|message| message["method"].clone()).collect();
    assert!(methods.contains(&json!("thread/unsubscribe")), "it is let go: {methods:?}");
    assert!(!methods.contains(&json!("thread/start")) && !methods.contains(&json!("thread/archive")));
    place.nothing_is_left();
}

/// The lock of a Codex that was just killed may take a moment to go.
#[tokio::test]
async fn a_refusal_to_take_it_up_is_tried_again_before_it_is_believed() {
    let place = Place::new();
    let busy = json!({ "code": -32600, "message": "thread already has an active writer" });
    let server = AppServer::ready([
        on("thread/resume", [reply_error(busy)]),
        on("thread/inject_items", [reply(json!({}))]),
    ]);
    let installed = server.install(&place.folder.path().join("bin"));
    let revived = revive(&place.spec(&installed.codex), &asked(), &before("0.166.0"), "x").await.unwrap();
    assert!(matches!(&revived.how, Revival::Seeded { why, bytes: 1 } if why.contains("active writer")));
    let tries = installed.received().iter().filter(|message| message["method"] == "thread/resume").count();
    assert_eq!(tries, 3);
    revived.host.close().await;
}

#[tokio::test]
async fn a_revival_that_is_given_up_leaves_no_process() {
    let place = Place::new();
    let installed = AppServer::ready([on("thread/resume", [])]).install(&place.folder.path().join("bin"));
    let spec = place.spec(&installed.codex);
    let reviving =
        tokio::spawn(async move { revive(&spec, &asked(), &before("0.166.0"), "").await.map(drop) });
    installed.wait_received("thread/resume").await;
    reviving.abort();
    assert!(reviving.await.unwrap_err().is_cancelled());
    place.marker.wait_gone(std::time::Duration::from_secs(5)).await.unwrap();
    place.nothing_is_left();
}
