//! Many turns at once on one host: each gets its own frames, all of them, and a slow one delays no other.

use std::sync::{Arc, mpsc as blocking};
use std::{fs, iter};

use serde_json::{Value, json};
use talaria_codex::client::CallError;
use talaria_codex::conversation::Watcher;
use talaria_codex::host::Host;
use talaria_core::event::Event;
use talaria_core::input::InputPart;
use talaria_core::item::ItemBody;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_scripted::{Gate, ModelRequest, Reply};
use talaria_testkit::app_server::directive::{expect, expect_answer, on, send};
use talaria_testkit::{AppServer, Codex, eventually};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::stage::{Ended, PATIENCE, Real, Scripted, begin, both_versions};

both_versions!(
    newest:
    twenty_turns_at_once_get_their_own_text_and_all_of_it,
    twenty_turns_at_once_get_their_own_commands,
    a_watcher_that_blocks_holds_up_neither_the_others_nor_the_socket,
    a_thousand_requests_at_once_are_all_answered,
);

const TURNS: usize = 20;

/// The number that a prompt of ours ends with.
fn number(request: &ModelRequest) -> Option<usize> {
    let prompts = request.user_texts();
    prompts.iter().rev().find_map(|text| text.strip_prefix("turn number ")?.parse().ok())
}

fn chunks(number: usize) -> Vec<String> {
    (0..50).map(|piece| format!("<{number}:{piece}>")).collect()
}

async fn run_all(real: &Real, policy: ApprovalPolicy) -> Vec<Ended> {
    let mut turns = Vec::new();
    for n in 0..TURNS {
        let mut start = real.unconfined(policy);
        start.cwd = format!("{}/{n}", start.cwd);
        fs::create_dir(&start.cwd).unwrap();
        turns.push(begin(real.session_with(start).await, &format!("turn number {n}")));
    }
    let mut ended = Vec::new();
    for turn in turns {
        ended.push(turn.end().await);
    }
    ended
}

async fn twenty_turns_at_once_get_their_own_text_and_all_of_it(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    let held = gate.clone();
    real.model.route(move |request| {
        let chunks = chunks(number(request)?);
        Some(Reply::new().text("begin ").gate(&held).text_chunks(chunks))
    });
    let opener = async {
        // All twenty are in the middle of their answer at the same time.
        gate.reached_by(TURNS).await;
        gate.open();
    };
    let (ended, ()) = tokio::join!(run_all(&real, ApprovalPolicy::Never), opener);
    for (n, ended) in ended.iter().enumerate() {
        let expected = format!("begin {}", chunks(n).concat());
        assert_eq!((ended.text(), &ended.report.outcome), (expected.as_str(), &Outcome::Completed));
        assert_eq!(ended.streamed_text(), expected);
    }
    assert_eq!(real.host.unknown_messages().1, 0);
    real.close().await;
}

async fn twenty_turns_at_once_get_their_own_commands(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.route(|request| {
        let n = number(request)?;
        Some(match request.is_after_tool() {
            false => {
                Reply::new().command(format!("echo own-{n}-output | tee file")).call_id(format!("call_{n}"))
            }
            true => Reply::say(format!("done {n}")),
        })
    });
    let ended = run_all(&real, ApprovalPolicy::Never).await;
    for (n, ended) in ended.iter().enumerate() {
        assert_eq!((ended.text(), ended.report.exit_code()), (format!("done {n}").as_str(), 0));
        let ids: Vec<_> = ended.commands().iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, [format!("call_{n}")], "its own command and no other");
        let ItemBody::Command { command, .. } = &ended.commands()[0].body else { unreachable!() };
        assert!(command.contains(&format!("own-{n}-output")), "{command}");
        let written = fs::read_to_string(real.home.work().join(n.to_string()).join("file")).unwrap();
        assert_eq!(written, format!("own-{n}-output\n"));
    }
    let mut heard = 0;
    for request in real.model.requests().iter().filter(|request| request.is_after_tool()) {
        let own = format!("own-{}-output", number(request).unwrap());
        let outputs = request.tool_outputs();
        // On a busy machine Codex itself loses what a command printed that ended at once (0.166); never is it another's.
        let told: Vec<&str> = outputs[0].lines().filter(|line| line.starts_with("own-")).collect();
        assert!(told.iter().all(|line| *line == own), "{outputs:?}");
        heard += told.len();
    }
    assert!(heard > TURNS / 2, "{heard} of {TURNS}");
    real.close().await;
}

/// Blocks the task of its session at the first piece of text, until it is released.
struct Stubborn {
    blocked: mpsc::UnboundedSender<()>,
    release: blocking::Receiver<()>,
    text: String,
}

impl Watcher for Stubborn {
    fn event(&mut self, event: Event) {
        if let Event::TextDelta { delta, .. } = event {
            if self.text.is_empty() {
                self.blocked.send(()).unwrap();
                tokio::task::block_in_place(|| self.release.recv_timeout(PATIENCE)).unwrap();
            }
            self.text.push_str(&delta);
        }
    }
}

async fn a_watcher_that_blocks_holds_up_neither_the_others_nor_the_socket(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.route(|request| Some(Reply::new().text_chunks(chunks(number(request)?))));
    let (blocked, mut has_blocked) = mpsc::unbounded_channel();
    let (let_go, release) = blocking::channel();
    let mut session = real.session_with(real.unconfined(ApprovalPolicy::Never)).await;
    let slow = tokio::spawn(async move {
        let input = vec![InputPart::Text { text: "turn number 99".to_owned() }];
        let mut watcher = Stubborn { blocked, release, text: String::new() };
        let (_commands, mut none) = mpsc::unbounded_channel();
        let report = session.run_turn(input, None, &mut none, &mut watcher).await;
        (report, watcher.text)
    });
    has_blocked.recv().await.unwrap();
    for (n, ended) in run_all(&real, ApprovalPolicy::Never).await.iter().enumerate() {
        assert_eq!(ended.text(), chunks(n).concat());
    }
    real.host.account().await.unwrap();
    assert!(!slow.is_finished(), "it was blocked all the time");
    let_go.send(()).unwrap();
    let (report, text) = tokio::time::timeout(PATIENCE, slow).await.unwrap().unwrap();
    assert_eq!((report.outcome, text), (Outcome::Completed, chunks(99).concat()), "and it lost nothing");
    real.close().await;
}

async fn a_thousand_requests_at_once_are_all_answered(codex: Codex) {
    let real = Real::start(&codex).await;
    let host = &real.host;
    for call in (0..1000).map(|_| spawn_call(host)).collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    real.close().await;
}

fn spawn_call(host: &Arc<Host>) -> JoinHandle<Result<(), CallError>> {
    let host = Arc::clone(host);
    tokio::spawn(async move { host.account().await.map(|_| ()) })
}

/// Codex drops requests past about 128 in flight. What waits for its turn is not sent; an answer of ours passes it.
#[tokio::test]
async fn at_most_64_requests_are_in_flight() {
    let mut play = vec![on("account/read", [])];
    play.extend(iter::repeat_n(expect("account/read"), 64));
    play.extend([send(json!({ "id": "now", "method": "brand/new", "params": {} })), expect_answer("now")]);
    let scripted = Scripted::start(AppServer::ready(play), "0.166.0").await;
    let calls: Vec<_> = (0..200).map(|_| spawn_call(&scripted.host)).collect();
    let is_answer = |message: &Value| message["id"] == "now";
    let received = eventually("the answer", async || {
        Some(scripted.program.received()).filter(|received| received.iter().any(is_answer))
    })
    .await;
    let before = received.iter().take_while(|message| !is_answer(message));
    assert_eq!(before.filter(|message| message["method"] == "account/read").count(), 64);
    scripted.close().await;
    for call in calls {
        assert!(call.await.unwrap().is_err(), "and those that wait are told of the end");
    }
}
