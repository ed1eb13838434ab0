//! `cargo bench`: speed and memory as ratios against a limit, measured in one run. Prints; fails nothing.
//!
//! Every figure has its baseline beside it, taken on the same machine in the same minute, because wall times alone say
//! more about the machine than about the program. `cargo bench -p talaria --bench speed -- machine flood` runs two parts.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use talaria_core::escrow::Kept;
use talaria_core::event::{Event, Usage};
use talaria_core::frame::{Decoded, Frame, decode_text};
use talaria_core::gate::Gate;
use talaria_core::ids::{ThreadId, TicketId, TurnId};
use talaria_core::place::Bounds;
use talaria_core::policy::Answers;
use talaria_core::rules::Rules;
use talaria_core::transcript::{Limits, Projector};
use talaria_core::turn::{Input, Order, Output, Turn};
use talaria_core::wire::notification::Notification;
use talaria_testkit::app_server::directive::{hang, repeat};
use talaria_testkit::app_server::{THREAD, TURN, complete_turn, start_turn};
use talaria_testkit::wire::Direction;
use talaria_testkit::{AppServer, Codex, build_dir, wire};
use tokio::net::UnixStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

const NOTIFICATIONS: u64 = 100_000;
const TALARIA: &str = env!("CARGO_BIN_EXE_talaria");

fn main() {
    println!("{:<58} {:>10} {:>12}", "figure", "measured", "aim");
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    let place = tempfile::tempdir_in(build_dir::folder("bench")).unwrap();
    let parts: [(&str, &dyn Fn()); 6] = [
        ("decoding", &decoding),
        ("machine", &machine),
        ("approvals", &approvals),
        ("flood", &|| flood(place.path())),
        ("memory", &|| memory(place.path())),
        ("start", &cold_start),
    ];
    parts.iter().filter(|(part, _)| is_wanted(part)).for_each(|(_, run)| run());
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<58} {measured:>10} {aim:>12}");
}

/// Takes the best of several runs: everything that disturbs a run makes it slower. What is compared runs in turns, so
/// that a slow minute of the machine hits all of it.
fn best<const N: usize>(runs: usize, mut contestants: [&mut dyn FnMut() -> Duration; N]) -> [Duration; N] {
    let mut best = [Duration::MAX; N];
    for _ in 0..runs {
        for (best, run) in best.iter_mut().zip(contestants.iter_mut()) {
            *best = run().min(*best);
        }
    }
    best
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// Bare parsing, strictly: what any reader of JSON-RPC must do at least. One pass finds the envelope and proves that the
/// rest is JSON; the parts stay raw, no text is unescaped, no number is read, nothing is allocated.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

fn parse_envelope(text: &str) {
    let envelope: Envelope<'_> = serde_json::from_str(text).unwrap();
    std::hint::black_box((envelope.id, envelope.method, envelope.params, envelope.result, envelope.error));
}

/// Bare parsing, wholly: everything that the message says is read, into no types of ours.
fn parse_value(text: &str) {
    std::hint::black_box(serde_json::from_str::<Value>(text).unwrap());
}

/// What is done with all frames in one round.
type Pass<'a> = &'a dyn Fn(&[String]);

/// Gives the nanoseconds a frame of every pass, its best of many short rounds. The passes take turns, so that what
/// disturbs them hits all; everything that does makes a round slower, and a few milliseconds are short enough to be left
/// in peace now and then on a busy machine.
fn rounds<const N: usize>(frames: &[String], passes: [Pass<'_>; N]) -> [f64; N] {
    let repeats = 4_000 / frames.len() + 1;
    let mut best = [f64::MAX; N];
    for _ in 0..400 {
        for (best, pass) in best.iter_mut().zip(passes) {
            let taken = time(|| (0..repeats).for_each(|_| pass(frames)));
            *best = best.min(taken.as_secs_f64() * 1e9 / (frames.len() * repeats) as f64);
        }
    }
    best
}

fn captured(keep: fn(&str) -> bool) -> Vec<String> {
    let frames = wire::frames().filter(|frame| frame.direction == Direction::FromCodex);
    frames.map(|frame| frame.text).filter(|text| keep(text)).collect()
}

fn decode_all(frames: &[String]) {
    frames.iter().for_each(|text| drop(std::hint::black_box(decode_text(text))));
}

/// Every captured frame of both versions, decoded into types, against bare parsing of the same bytes.
fn decoding() {
    compare_decoding("decoding all captured frames", &captured(parses));
    compare_decoding(
        "decoding captured text deltas alone",
        &captured(|text| parses(text) && text.contains("item/agentMessage/delta")),
    );
}

fn parses(text: &str) -> bool {
    serde_json::from_str::<Envelope<'_>>(text).is_ok()
}

fn compare_decoding(figure: &str, frames: &[String]) {
    let bare = |frames: &[String]| frames.iter().for_each(|text| parse_envelope(text));
    let [bare, ours] = rounds(frames, [&bare, &decode_all]);
    row(&format!("{figure}: of bare envelopes"), &share(bare, ours), ">= 0.70");
    row("  a frame", &nanos(ours), "-");
}

/// Every captured frame but answers through decoding, turn machine and projector, against bare parsing of the same
/// bytes: strictly, and wholly. Answers do not reach the machine.
fn machine() {
    let frames = captured(|text| text.contains("\"method\""));
    let order = order();
    let envelopes = |frames: &[String]| frames.iter().for_each(|text| parse_envelope(text));
    let values = |frames: &[String]| frames.iter().for_each(|text| parse_value(text));
    let ours = |frames: &[String]| run_machine(&order, frames);
    let [envelopes, values, decoded, ours] = rounds(&frames, [&envelopes, &values, &decode_all, &ours]);
    row("decoded, turn machine, projector: of bare envelopes", &share(envelopes, ours), ">= 0.50");
    row("  of bare parsing into values", &share(values, ours), ">= 0.50");
    row("  of decoding alone", &share(decoded, ours), "-");
    row("  a frame: envelope", &nanos(envelopes), "-");
    row("  a frame: value", &nanos(values), "-");
    row("  a frame: decoded", &nanos(decoded), "-");
    row("  a frame: decoded, machine, projector", &nanos(ours), "-");
}

fn share(bare: f64, ours: f64) -> String {
    format!("{:.2}", bare / ours)
}

fn nanos(time: f64) -> String {
    format!("{time:.0} ns")
}

/// One machine after another: each turn that begins gets its own.
fn run_machine(order: &Order, frames: &[String]) {
    let mut turn = new_turn(order, "none");
    let mut projector = Projector::new(Limits::default());
    for (number, text) in frames.iter().enumerate() {
        let input = match decode_text(text) {
            Decoded::Known(Frame::Notification(notification)) => {
                if let Notification::TurnStarted(params) = &notification {
                    turn = new_turn(order, params.thread_id.as_str());
                    projector = Projector::new(Limits::default());
                }
                Input::Notification(notification.into_owned())
            }
            Decoded::Known(Frame::Request { id, request }) => {
                Input::Request { ticket: TicketId::new(format!("req-{number}")), id, request }
            }
            Decoded::Known(Frame::Response { .. }) | Decoded::Corrupt(_) => continue,
            Decoded::Unknown(unknown) => Input::Unknown(unknown),
        };
        turn.handle(Duration::ZERO, input);
        while let Some(output) = turn.poll() {
            match &output {
                Output::Emit(Event::ItemStarted { item }) => projector.begin(item),
                Output::Emit(Event::ItemCompleted { item }) | Output::Heard(item) => projector.complete(item),
                Output::Emit(Event::Outcome(report)) => projector.finish(&report.outcome),
                _ => {}
            }
            std::hint::black_box(output);
        }
        while let Some(message) = projector.poll() {
            std::hint::black_box(message);
        }
    }
}

/// What a session knows before each of its turns.
fn order() -> Order {
    let bounds = Bounds::new(
        &json!({ "type": "dangerFullAccess" }),
        &json!("untrusted"),
        "/w",
        "0.166.0".parse().unwrap(),
    );
    Order {
        thread: ThreadId::new(""),
        client_id: None,
        after: None,
        baseline: Usage::default(),
        limit: None,
        quiet_after: Some(Duration::from_secs(60)),
        escrow: Kept::default(),
        gate: Gate::new(bounds, Rules::default(), Answers::Everything, Some("/home/me".to_owned())),
    }
}

fn new_turn(order: &Order, thread: &str) -> Turn {
    let mut turn = Turn::new(Duration::ZERO, Order { thread: ThreadId::new(thread), ..order.clone() });
    turn.handle(Duration::ZERO, Input::Send);
    turn
}

/// A request frame in, its answer frame out, decided by the gate: the slowest of a hundred.
fn approvals() {
    const ROUNDS: usize = 20_000;
    let mut turn = new_turn(&order(), "t");
    turn.handle(Duration::ZERO, Input::Accepted(TurnId::new("u")));
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let command = format!("/bin/bash -lc 'cargo test -p crate-{round} && git status | head -n 5'");
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": format!("c{round}"), "command": command, "cwd": "/w" });
        let text =
            json!({ "method": "item/commandExecution/requestApproval", "id": round, "params": params })
                .to_string();
        let begun = Instant::now();
        let Decoded::Known(Frame::Request { id, request }) = decode_text(&text) else { panic!("{text}") };
        turn.handle(
            Duration::ZERO,
            Input::Request { ticket: TicketId::new(format!("req-{round}")), id, request },
        );
        let mut answer = None;
        while let Some(output) = turn.poll() {
            if let Output::Reply { id, result } = output {
                answer = Some(json!({ "id": id, "result": result }).to_string());
            }
        }
        times.push(begun.elapsed());
        assert!(answer.is_some_and(|answer| answer.contains("accept")));
        let resolved =
            json!({ "method": "serverRequest/resolved", "params": { "threadId": "t", "requestId": round } });
        if let Decoded::Known(Frame::Notification(note)) = decode_text(&resolved.to_string()) {
            turn.handle(Duration::ZERO, Input::Notification(note.into_owned()));
        }
    }
    times.sort_unstable();
    let micros = |at: usize| format!("{:.1} µs", times[at].as_secs_f64() * 1e6);
    row("approval round trip, decided by the gate: 99 of 100 within", &micros(ROUNDS * 99 / 100), "< 200 µs");
    row("  half of them within", &micros(ROUNDS / 2), "-");
}

fn ratio(numerator: Duration, denominator: Duration) -> String {
    format!("{:.2}", numerator.as_secs_f64() / denominator.as_secs_f64())
}

fn delta() -> Value {
    let params =
        json!({ "threadId": THREAD, "turnId": TURN, "itemId": "msg_1_1", "delta": "a few words $n " });
    json!({ "method": "item/agentMessage/delta", "params": params })
}

/// A Codex that sends `notifications` in one turn.
fn codex(place: &Path, name: &str, notifications: u64, ends: bool) -> PathBuf {
    let mut script = start_turn();
    if notifications > 0 {
        script.push(repeat(notifications, delta()));
    }
    script.extend(if ends { complete_turn("done") } else { vec![hang()] });
    let folder = place.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    AppServer::ready(script).version("0.166.0").install(&folder).codex
}

fn exec(place: &Path, codex: &Path) -> Command {
    let home = place.join("home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.toml"), format!("[codex]\nbin = {:?}\n", codex.display().to_string()))
        .unwrap();
    let mut command = Command::new(TALARIA);
    command.args(["exec", "--json", "go"]).env("TALARIA_HOME", home).stderr(Stdio::null());
    command
}

/// A turn of 100,000 notifications through host, router, turn machine and renderer, against reading and parsing alone.
/// Both sides start a process and greet it; that part is measured with an empty turn and taken off.
fn flood(place: &Path) {
    let (full, empty) = (codex(place, "full", NOTIFICATIONS, true), codex(place, "empty", 0, true));
    let output = exec(place, &full).output().unwrap();
    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
    let whole = delta_bytes(&output.stdout);
    let talaria =
        |codex: &Path| time(|| assert!(exec(place, codex).stdout(Stdio::null()).status().unwrap().success()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let bare = |codex: &Path| time(|| runtime.block_on(read_and_parse(codex, place)));
    let [ours, ours_empty, base, base_empty] =
        best(9, [&mut || talaria(&full), &mut || talaria(&empty), &mut || bare(&full), &mut || bare(&empty)]);
    let (ours, base) = (ours.saturating_sub(ours_empty), base.saturating_sub(base_empty));
    let rate = NOTIFICATIONS as f64 / ours.as_secs_f64() / 1e3;
    let figure = format!("{NOTIFICATIONS} notifications to --json: of bare reading ({rate:.0} k/s)");
    row(&figure, &ratio(ours, base), "<= 2.00");
    row("  events printed, text kept whole", &format!("{lines} {whole}"), "all text");
}

/// Checks that no piece of text was lost, whatever was joined on the way.
fn delta_bytes(output: &[u8]) -> &'static str {
    let mut text = String::new();
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let event: Value = serde_json::from_slice(line).unwrap();
        if event["type"] == "text_delta" {
            text += event["delta"].as_str().unwrap();
        }
    }
    let whole: String = (0..NOTIFICATIONS).map(|n| format!("a few words {n} ")).collect();
    if text == whole { "whole" } else { "NOT WHOLE" }
}

/// The least that any client does: start Codex, greet it, run the turn, parse the envelope of each message.
async fn read_and_parse(codex: &Path, place: &Path) {
    let socket = place.join("s");
    let _ = std::fs::remove_file(&socket);
    let listen = format!("unix://{}", socket.display());
    let mut child = tokio::process::Command::new(codex)
        .args(["app-server", "--listen", &listen])
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stream = loop {
        match UnixStream::connect(&socket).await {
            Ok(stream) => break stream,
            Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    };
    let (mut socket, _) = client_async("ws://localhost/", stream).await.unwrap();
    let requests = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "b", "title": "b", "version": "0"}}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "thread/start", "params": {"cwd": "/"}}),
        json!({"id": 3, "method": "turn/start", "params": {"threadId": "t", "input": []}}),
    ];
    for request in requests {
        socket.send(Message::text(request.to_string())).await.unwrap();
    }
    while let Some(Ok(Message::Text(text))) = socket.next().await {
        parse_envelope(&text);
        if text.contains("\"turn/completed\"") {
            break;
        }
    }
    child.kill().await.unwrap();
}

/// Memory of Talaria when it has shown 100,000 notifications and the turn still runs.
fn memory(place: &Path) {
    let codex = codex(place, "endless", NOTIFICATIONS, false);
    let mut talaria = exec(place, &codex).stdout(Stdio::piped()).spawn().unwrap();
    let last = format!("a few words {} ", NOTIFICATIONS - 1);
    let mut lines = BufReader::new(talaria.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains(&last)).unwrap().unwrap();
    for (figure, key) in [("resident memory after that turn", "VmRSS:"), ("  at its highest", "VmHWM:")] {
        match status_kib(&talaria, key) {
            Some(kib) => row(figure, &format!("{:.1} MB", kib as f64 * 1024.0 / 1e6), "< 40 MB"),
            None => row(figure, "-", "only on Linux"),
        }
    }
    interrupt(&talaria);
    talaria.wait().unwrap();
}

fn status_kib(child: &Child, key: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Twice: the scripted Codex does not end its turn.
fn interrupt(child: &Child) {
    for _ in 0..2 {
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// `--version` of both programs, from the page cache.
fn cold_start() {
    let version = |program: &Path| {
        time(|| assert!(Command::new(program).arg("--version").output().unwrap().status.success()))
    };
    let codex = Codex::v0_166().native;
    let [ours, theirs] = best(20, [&mut || version(Path::new(TALARIA)), &mut || version(&codex)]);
    let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    row("talaria --version", &millis(ours), "< 10 ms");
    row("  codex --version, native program", &millis(theirs), "-");
}
