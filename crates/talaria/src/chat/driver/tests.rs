//! Wishes and results in the driver, with an engine that answers once and ends.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use talaria_core::api::{self, EngineInfo, Problem, ProblemCode, When};
use talaria_core::config::Config;
use talaria_core::ids::TicketId;
use talaria_core::preferences::Preferences;
use talaria_home::home::TalariaHome;
use talaria_server::client::launch::LaunchError;
use talaria_server::client::{Client, ClientError};
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::PromptDraft;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use super::command::seen;
use super::*;
use crate::chat::chat_context::Replies;
use crate::chat::errand::Seen;
use crate::settings::Settings;

mod choosing;
mod refused;

async fn client(directory: &Path) -> Client {
    let socket = directory.join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let info: EngineInfo = serde_json::from_value(json!({ "pid": 1, "version": "0", "build": 0,
        "api": api::VERSION, "home": "/", "since": "2026-01-01T00:00:00Z" }))
    .unwrap();
    let body = serde_json::to_string(&info).unwrap();
    let greet = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = [0; 4096];
        assert!(stream.read(&mut asked).await.unwrap() > 0);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    };
    let (client, ()) = tokio::join!(Client::connect(&socket), greet);
    client.unwrap()
}

/// A driver with a configured model, an effort that was typed, and a conversation if that is wanted.
pub(in crate::chat) async fn driver(opened: Option<SessionInfo>) -> (Driver, tempfile::TempDir) {
    driver_with(opened, Path::new("/nowhere/codex"), tempfile::tempdir().unwrap()).await
}

async fn driver_with(
    opened: Option<SessionInfo>,
    codex: &Path,
    directory: tempfile::TempDir,
) -> (Driver, tempfile::TempDir) {
    let client = client(directory.path()).await;
    let home = TalariaHome::resolve(Some(directory.path().into()), None).unwrap();
    let mut config = Config::default();
    config.model.default = Some("configured".to_owned());
    config.codex.bin = codex.to_str().map(str::to_owned);
    let settings = Settings { home, config, problems: Vec::new() };
    let wanted = Preferences { effort: Some("low".to_owned()), ..Preferences::default() };
    let context = ChatContext::new(client, settings, wanted, "/".to_owned(), Replies::Written);
    (Driver::new(context, History::in_home(directory.path()), opened), directory)
}

fn conversation() -> SessionInfo {
    let at = "2026-01-01T00:00:00Z";
    serde_json::from_value(json!({ "id": "s-1", "title": "x", "runtime": "codex", "updated_at": at,
        "running": true, "kind": "chat", "task": null, "cwd": "/", "model": null, "created_at": at, "last_seq": 9 }))
    .unwrap()
}

fn prompt(text: &str) -> PromptDraft {
    PromptDraft { text: text.to_owned(), images: Vec::new() }
}

fn told(driver: &mut Driver) -> Vec<News> {
    driver.ready.drain(..).collect()
}

#[tokio::test]
async fn what_is_told_as_chosen_is_what_will_be_sent() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    let news = told(&mut driver);
    assert!(
        matches!(&news[..], [News::Opened(Some(_)), News::Chosen { model: None, effort, .. }] if effort.as_deref() == Some("low")),
        "a conversation keeps its model: {news:?}"
    );
    driver.done(Done::Open(Box::new(conversation())));
    let news = told(&mut driver);
    assert!(
        news.iter().any(|news| matches!(news, News::Chosen { model: None, effort: None, .. })),
        "{news:?}"
    );
    driver.wish(ChatEffect::Run(SlashCommand::New));
    let news = told(&mut driver);
    let is_told = |news: &News| {
        matches!(news, News::Chosen { model: Some(model), effort: Some(effort), .. }
            if model == "configured" && effort == "low")
    };
    assert!(news.iter().any(is_told), "{news:?}");
}

#[tokio::test]
async fn what_was_chosen_holds_for_the_next_new_conversation_and_is_not_dropped_silently() {
    let (mut driver, _home) = driver(None).await;
    let chosen = Chosen { model: Some("m".to_owned()), ..Chosen::default() };
    driver.done(Done::Chosen(chosen.clone(), String::new()));
    told(&mut driver);
    driver.done(Done::Open(Box::new(conversation())));
    let news = told(&mut driver);
    assert!(
        matches!(news.last(), Some(News::Reply(text)) if text.text().starts_with("m was chosen before")),
        "{news:?}"
    );
    assert_eq!(driver.chosen, Chosen::default(), "a conversation has its own settings");
    driver.done(Done::Open(Box::new(conversation())));
    assert!(!told(&mut driver).iter().any(|news| matches!(news, News::Reply(_))), "nothing more was dropped");
    driver.wish(ChatEffect::Run(SlashCommand::New));
    assert_eq!(driver.chosen, Chosen { effort: Some("low".to_owned()), ..chosen });
}

#[tokio::test]
async fn what_was_asked_in_a_conversation_that_was_left_is_told_as_such() {
    for is_left in [false, true] {
        let (mut driver, _home) = driver(Some(conversation())).await;
        driver.wish(ChatEffect::Run(SlashCommand::Usage));
        if is_left {
            driver.wish(ChatEffect::Run(SlashCommand::New));
        }
        told(&mut driver);
        while !driver.pending_wishes.is_empty() {
            let done = driver.results.recv().await.unwrap();
            driver.done(done);
        }
        let news = told(&mut driver);
        let told = |news: &News| {
            matches!(news, News::Refused { what, .. } if what.contains("cannot read the usage")
            && what.contains("in the conversation s-1, which you left") == is_left)
        };
        assert!(news.iter().any(told), "{news:?}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_gone_is_given_up_once() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    told(&mut driver);
    let (waiting, is_running) = (driver.errands.len(), driver.is_running());
    let gone = ClientError::Problem(Problem::new(ProblemCode::Unknown, "no such conversation"));
    driver.take_arrival(Arrived::Over(Some(gone)));
    let news = told(&mut driver);
    assert!(
        matches!(&news[..], [News::CaughtUp, News::Lost(what)] if what.contains("its turn may still be running")),
        "{news:?}"
    );
    assert!(is_running && !driver.is_running() && driver.stream.is_none());
    assert_eq!(driver.errands.len(), waiting, "it is not tried again");
    driver.take_arrival(Arrived::Over(Some(ClientError::NotRunning)));
    assert!(matches!(&told(&mut driver)[..], [News::Away]), "an engine may come back");
    assert_eq!(driver.errands.len(), waiting + 1);
    driver.follow_again(driver.epoch);
    assert!(told(&mut driver).is_empty(), "nobody has seen the engine yet");
    driver.engine_seen(Seen::There);
    assert!(matches!(&told(&mut driver)[..], [News::Back]));
}

#[tokio::test]
async fn an_engine_that_was_stopped_is_missed_once_and_followed_again_when_it_is_seen() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    told(&mut driver);
    let waiting = driver.errands.len();
    driver.take_arrival(Arrived::Away);
    driver.take_arrival(Arrived::Over(Some(ClientError::Stopped)));
    assert!(matches!(&told(&mut driver)[..], [News::Away, News::Stopped]));
    assert!(driver.stream.is_none() && driver.is_engine_stopped());
    assert_eq!(driver.errands.len(), waiting, "nobody calls it");
    driver.engine_seen(Seen::Stopped);
    driver.engine_seen(Seen::Away);
    assert!(told(&mut driver).is_empty() && driver.is_engine_stopped(), "it is known why it is not there");
    driver.engine_seen(Seen::There);
    assert!(matches!(&told(&mut driver)[..], [News::Back]));
    assert!(driver.stream.is_some() && !driver.is_engine_stopped());
}

#[tokio::test]
async fn messages_behind_one_that_was_not_sent_go_back_and_are_not_sent() {
    for is_left in [true, false] {
        let (mut driver, _home) = driver(None).await;
        driver.is_beginning = true;
        driver.wish(ChatEffect::Send(prompt("second")));
        if is_left {
            driver.wish(ChatEffect::Run(SlashCommand::New));
        } else {
            let news = News::Reply("refused".into());
            driver.done(Done::NotStarted { news, exit: 1, epoch: driver.epoch });
        }
        let news = told(&mut driver);
        let is_back = |news: &News| matches!(news, News::Refused { prompt: Some(back), .. } if *back == prompt("second"));
        assert!(news.iter().any(is_back), "{news:?}");
        assert!(driver.held.is_empty() && !driver.is_busy());
    }
}

#[tokio::test]
async fn one_shell_command_runs_at_a_time_and_a_stopped_one_says_nothing_more() {
    let (mut driver, _home) = driver(None).await;
    told(&mut driver);
    driver.wish(ChatEffect::Shell("sleep 9".to_owned()));
    let first = driver.shell.as_ref().unwrap().number;
    driver.wish(ChatEffect::Shell("second".to_owned()));
    assert!(matches!(&told(&mut driver)[..], [News::Refused { .. }]));
    driver.wish(ChatEffect::StopShell);
    assert!(
        matches!(&told(&mut driver)[..], [News::ShellEnded { note: Some(note), .. }] if note == "asked to stop")
    );
    driver.wish(ChatEffect::Shell("third".to_owned()));
    let late = News::ShellEnded { exit: Some(0), took_ms: Some(1), note: None };
    driver.done(Done::Shell { number: first, news: late });
    driver.done(Done::Over(first));
    assert!(told(&mut driver).is_empty() && driver.is_shell_running() && driver.is_busy());
}

#[tokio::test]
async fn leaving_reports_the_fate_of_the_last_input() {
    let (mut driver, _home) = driver(None).await;
    told(&mut driver);
    let (settled, _open) = (
        driver.pending_wishes.begin(Some("a".to_owned())),
        driver.pending_wishes.begin(Some("your message".to_owned())),
    );
    let started = SessionStarted { id: SessionId::new("s-7"), task: None, turn: 1, after: 0, codex: None };
    let (teller, epoch) = (driver.teller.clone(), driver.epoch);
    teller.send(Done::Started { started, epoch }).await.unwrap();
    teller.send(Done::Over(settled)).await.unwrap();
    let left = driver.leave_within(Duration::from_millis(50)).await;
    assert_eq!(left.session, Some(SessionId::new("s-7")));
    assert_eq!(left.turn, Turn::GoesOn);
    assert_eq!(left.unconfirmed, ["your message"]);
}

fn running(turn: i64) -> Done {
    Done::Started {
        started: SessionStarted { id: SessionId::new("s-7"), task: None, turn, after: 0, codex: None },
        epoch: 0,
    }
}

#[tokio::test]
async fn leaving_a_turn_that_was_asked_to_stop_does_not_say_that_it_continues() {
    let left = |done: Vec<Done>| async {
        let (mut driver, _home) = driver(None).await;
        done.into_iter().for_each(|done| driver.done(done));
        driver.leave_within(Duration::ZERO).await.turn
    };
    let stopping = |epoch| Done::Stopping { turn: 1, epoch };
    assert_eq!(left(vec![running(1)]).await, Turn::GoesOn);
    assert_eq!(left(vec![running(1), stopping(0)]).await, Turn::Stopping);
    assert_eq!(left(vec![running(1), stopping(7)]).await, Turn::GoesOn, "that was said elsewhere");
    assert_eq!(
        left(vec![running(1), stopping(0), running(2)]).await,
        Turn::GoesOn,
        "nobody asked the next one"
    );
    let away = Done::EngineSeen(Seen::Away);
    assert_eq!(left(vec![running(1), away]).await, Turn::Unheard, "the engine does not say so");
    let (mut driver, _home) = driver(None).await;
    driver.done(running(1));
    driver.wish(ChatEffect::Interrupt);
    let left = driver.leave_within(Duration::ZERO).await;
    assert_eq!(
        (left.turn, &left.unconfirmed[..]),
        (Turn::Unknown, &["the request to stop the turn".to_owned()][..]),
        "what was not confirmed is not said to have been asked for"
    );
}

#[tokio::test]
async fn leaving_an_open_question_says_that_the_turn_waits() {
    let answered = || Done::News(News::Answered { ticket: TicketId::new("req-1") });
    let cases = [
        (None, None, Turn::Waits),
        (Some(answered()), None, Turn::GoesOn),
        (None, Some("your answer to req-1"), Turn::GoesOn),
        (None, Some("your answer to req-2"), Turn::Waits),
    ];
    let away = (Some(Done::EngineSeen(Seen::Away)), None, Turn::Unheard);
    for (done, pending_wishes, turn) in cases.into_iter().chain([away]) {
        let (mut driver, _home) = driver(None).await;
        driver.done(running(1));
        let opened = json!({ "session": "s-7", "seq": 1, "at": "2026-01-01T00:00:00Z", "turn_number": 1,
            "type": "request_opened", "id": "req-1", "kind": "permissions", "thread": "t", "item": "i",
            "cwd": null, "reason": null, "permissions": { "network": true, "files": [] } });
        driver.take_arrival(Arrived::Event(serde_json::from_value(opened).unwrap()));
        done.into_iter().for_each(|done| driver.done(done));
        driver.pending_wishes.begin(pending_wishes.map(str::to_owned));
        assert_eq!(driver.leave_within(Duration::ZERO).await.turn, turn, "{pending_wishes:?}");
    }
}

#[test]
fn only_what_was_shown_is_found_as_shown() {
    let request = |id: &str| -> RequestInfo {
        serde_json::from_value(
            json!({ "id": id, "session": "s", "task": null, "kind": "command", "summary": "",
            "since": "2026-01-01T00:00:00Z", "state": "open" }),
        )
        .unwrap()
    };
    let shown = VecDeque::from([request("req-1"), request("req-12"), request("req-30")]);
    let found = |id: &str| seen(&shown, id).map(|request| request.id.to_string());
    assert_eq!(found("req-1").as_deref(), Some("req-1"));
    assert_eq!(found("req-3").as_deref(), Some("req-30"));
    assert_eq!(found("req"), None, "it could be any of them");
    assert_eq!(found("req-4"), None);
}

#[tokio::test]
async fn what_is_meant_for_a_turn_is_refused_where_none_runs() {
    let (mut driver, _home) = driver(None).await;
    told(&mut driver);
    driver.wish(ChatEffect::Run(SlashCommand::Steer("faster".to_owned())));
    driver.wish(ChatEffect::Run(SlashCommand::Stop));
    let news = told(&mut driver);
    assert!(
        matches!(&news[..], [News::Refused { prompt: Some(back), .. }, News::Refused { prompt: None, .. }]
            if back.text == "faster"),
        "{news:?}"
    );
    assert!(!driver.is_busy(), "nothing was begun");
    driver.wish(ChatEffect::Send(prompt("go")));
    driver.wish(ChatEffect::Run(SlashCommand::Steer("faster".to_owned())));
    assert!(told(&mut driver).is_empty(), "a turn is coming");
}

#[tokio::test]
async fn of_a_conversation_that_was_given_up_no_turn_is_said_to_be_over() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    let gone = || ClientError::Problem(Problem::new(ProblemCode::Internal, "no"));
    driver.take_arrival(Arrived::Over(Some(gone())));
    told(&mut driver);
    driver.wish(ChatEffect::Run(SlashCommand::Steer("faster".to_owned())));
    driver.wish(ChatEffect::Run(SlashCommand::Stop));
    let news = told(&mut driver);
    assert!(
        matches!(&news[..], [News::Refused { what, prompt: Some(back), .. }, News::Reply(asking)]
            if back.text == "faster" && what.starts_with("it is not known") && asking.text().starts_with("it is not known")),
        "{news:?}"
    );
    assert_eq!(driver.pending_wishes.names(), ["the request to stop the turn"], "the engine is asked");
    assert!(driver.stream.is_some(), "what comes of it is heard");
    driver.take_arrival(Arrived::Over(Some(gone())));
    driver.done(Done::NotStarted { news: News::Reply("busy".into()), exit: 1, epoch: driver.epoch });
    assert!(driver.stream.is_some(), "the turn that is in the way is looked for");
    driver.take_arrival(Arrived::Over(Some(gone())));
    assert_eq!(driver.leave_within(Duration::ZERO).await.turn, Turn::Unknown);
}

#[tokio::test]
async fn leaving_a_queued_task_says_that_it_is_queued() {
    let queued = SessionInfo { queued: true, last_seq: 0, ..conversation() };
    let (driver, _home) = driver(Some(queued)).await;
    assert_eq!(driver.leave_within(Duration::ZERO).await.turn, Turn::Queued);
}

#[tokio::test]
async fn the_conversation_that_was_opened_is_the_last_one() {
    let (driver, home) = driver(Some(conversation())).await;
    let kept = || std::fs::read_to_string(home.path().join("last_open.jsonl")).unwrap();
    driver.note_open().unwrap().await.unwrap();
    assert!(kept().contains("\"s-1\""), "{}", kept());
    let here = std::env::current_dir().unwrap();
    let other = json!({ "at": here, "session": "s-2" });
    std::fs::write(home.path().join("last_open.jsonl"), other.to_string()).unwrap();
    driver.leave_within(Duration::ZERO).await;
    assert!(kept().contains("\"s-1\"") && !kept().contains("s-2"), "who leaves comes back: {}", kept());
}

#[tokio::test]
async fn an_engine_that_failed_to_start_once_does_not_end_following() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    told(&mut driver);
    let waiting = driver.errands.len();
    let failed = || {
        let (log, end) = ("/l".into(), String::new());
        ClientError::Launch(Box::new(LaunchError::Silent { seconds: 15, log, end }))
    };
    driver.take_arrival(Arrived::Over(Some(failed())));
    let news = told(&mut driver);
    assert!(matches!(&news[..], [News::Away, News::Refused { what, .. }] if what.contains("retrying")));
    assert!(driver.is_running(), "nobody has seen it end");
    assert_eq!(driver.errands.len(), waiting + 1, "it is tried again");
    driver.follow_again(driver.epoch);
    driver.take_arrival(Arrived::Over(Some(failed())));
    assert!(told(&mut driver).is_empty(), "why is told once");
    let other = LaunchError::OtherApi { version: "9".to_owned(), pid: 1, api: 9, own: 1 };
    driver.take_arrival(Arrived::Over(Some(ClientError::Launch(Box::new(other)))));
    assert!(!driver.is_running(), "that does not pass");
}

#[tokio::test]
async fn a_turn_that_began_is_followed_though_following_was_given_up() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    let refused = ClientError::Problem(Problem::new(ProblemCode::Internal, "no"));
    driver.take_arrival(Arrived::Over(Some(refused)));
    assert!(driver.stream.is_none());
    let started = SessionStarted { id: SessionId::new("s-1"), task: None, turn: 2, after: 0, codex: None };
    driver.done(Done::Started { started, epoch: driver.epoch });
    assert!(driver.stream.is_some() && driver.is_running());
}

/// An engine in the place of the one that is gone. It reads the first request for this path, and is gone before it answers.
fn break_at(directory: &Path, path: &'static str) -> tokio::task::JoinHandle<()> {
    let socket = directory.join("s");
    std::fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"}") && stream.read_buf(&mut asked).await.is_ok_and(|read| read > 0) {
                if asked.starts_with(b"GET ") {
                    break;
                }
            }
            if String::from_utf8_lossy(&asked).lines().next().is_some_and(|line| line.contains(path)) {
                std::fs::remove_file(&socket).unwrap();
                return;
            }
        }
    })
}

/// All results of the running errands.
async fn settled(driver: &mut Driver) -> Vec<News> {
    while !driver.pending_wishes.is_empty() {
        let done = driver.results.recv().await.unwrap();
        driver.done(done);
    }
    told(driver)
}

#[tokio::test]
async fn a_wish_to_stop_that_may_have_been_heard_is_not_called_refused() {
    let (mut driver, home) = driver(Some(conversation())).await;
    told(&mut driver);
    let engine = break_at(home.path(), "/interrupt");
    driver.wish(ChatEffect::Interrupt);
    let news = settled(&mut driver).await;
    engine.await.unwrap();
    let is_told = |news: &News| {
        matches!(news, News::Refused { what, .. }
            if what.contains("the connection dropped; the request may or may not have been applied") && what.contains("talaria status"))
    };
    assert!(news.iter().any(is_told), "{news:?}");
}

#[tokio::test]
async fn a_shell_command_whose_connection_breaks_may_have_run() {
    let home = tempfile::tempdir().unwrap();
    let codex = home.path().join("codex");
    // Written by another process: a program that this one has open for writing cannot be run.
    let script = r#"printf '#!/bin/sh\necho codex-cli 0.166.0\n' > "$0" && chmod 755 "$0""#;
    let written = std::process::Command::new("sh").args(["-c", script]).arg(&codex).status();
    assert!(written.unwrap().success());
    let (mut driver, home) = driver_with(None, &codex, home).await;
    told(&mut driver);
    let engine = break_at(home.path(), "/shell");
    driver.wish(ChatEffect::Shell("touch made".to_owned()));
    let news = settled(&mut driver).await;
    engine.await.unwrap();
    let is_told = |news: &News| {
        matches!(news, News::ShellEnded { exit: None, took_ms: Some(_), note: Some(note) }
            if note.contains("it is not known whether the command ran"))
    };
    assert!(news.iter().any(is_told), "{news:?}");
}
