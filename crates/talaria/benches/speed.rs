//! `cargo bench`: speed and memory as ratios against a limit, measured in one run. Prints; fails nothing.
//!
//! Every figure has a baseline, measured on the same machine in the same minute, because wall times alone depend more on
//! the machine than on the program. `cargo bench -p talaria --bench speed -- machine start` runs two parts.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use talaria_codex_proto::frame::{Decoded, Frame, decode_text};
use talaria_codex_proto::thread_bounds::ThreadBounds;
use talaria_codex_proto::thread_gate::ThreadGate;
use talaria_codex_proto::turn::{Choosing, Input, Order, Output, Turn};
use talaria_codex_proto::wire::notification::Notification;
use talaria_core::escrow::EscrowedAnswers;
use talaria_core::event::{Event, Usage};
use talaria_core::ids::{ThreadId, TicketId, TurnId};
use talaria_core::policy::Answers;
use talaria_core::transcript::{ProjectionLimits, Projector};
use talaria_guard::rules::Rules;
use talaria_testkit::wire::Direction;
use talaria_testkit::{Codex, wire};

const TALARIA: &str = env!("CARGO_BIN_EXE_talaria");

fn main() {
    println!("{:<58} {:>10} {:>12}", "figure", "measured", "aim");
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    let parts: [(&str, &dyn Fn()); 4] =
        [("decoding", &decoding), ("machine", &machine), ("approvals", &approvals), ("start", &cold_start)];
    parts.iter().filter(|(part, _)| is_wanted(part)).for_each(|(_, run)| run());
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<58} {measured:>10} {aim:>12}");
}

/// Takes the best of several runs: any disturbance makes a run slower. Compared runs alternate, so that a slow minute
/// of the machine affects all of them.
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

/// Processes all frames once, and returns the duration of the measured part.
type Pass<'a> = &'a dyn Fn(&[String]) -> Duration;

/// Returns the nanoseconds per frame of every pass, its best of many short rounds. The passes alternate, so that a
/// disturbance affects all; it makes a round slower, and a few milliseconds are short enough to be undisturbed now and
/// then on a busy machine.
fn rounds<const N: usize>(frames: &[String], passes: [Pass<'_>; N]) -> [f64; N] {
    let repeats = 4_000 / frames.len() + 1;
    let mut best = [f64::MAX; N];
    for _ in 0..400 {
        for (best, pass) in best.iter_mut().zip(passes) {
            let taken: Duration = (0..repeats).map(|_| pass(frames)).sum();
            *best = best.min(taken.as_secs_f64() * 1e9 / (frames.len() * repeats) as f64);
        }
    }
    best
}

fn on_each(frames: &[String], work: fn(&str)) -> Duration {
    time(|| frames.iter().for_each(|text| work(text)))
}

fn captured(keep: fn(&str) -> bool) -> Vec<String> {
    let frames = wire::frames().filter(|frame| frame.direction == Direction::FromCodex);
    frames.map(|frame| frame.text).filter(|text| keep(text)).collect()
}

fn decode(text: &str) {
    drop(std::hint::black_box(decode_text(text)));
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
    let [bare, ours] =
        rounds(frames, [&|frames| on_each(frames, parse_envelope), &|frames| on_each(frames, decode)]);
    row(&format!("{figure}: of bare envelopes"), &share(bare, ours), ">= 0.70");
    row("  a frame", &nanos(ours), "-");
}

/// Every captured frame but answers through decoding, turn machine and projector, against bare parsing of the same
/// bytes: strictly, and wholly. Answers do not reach the machine. Then machine and projector alone, on frames that were
/// decoded before.
fn machine() {
    let frames = captured(|text| text.contains("\"method\""));
    let order = order();
    let [envelopes, values, decoded, alone, ours] = rounds(
        &frames,
        [
            &|frames| on_each(frames, parse_envelope),
            &|frames| on_each(frames, parse_value),
            &|frames| on_each(frames, decode),
            &|frames| run_decoded(&order, frames),
            &|frames| time(|| run_machine(&order, frames)),
        ],
    );
    row("decoded, turn machine, projector: of bare envelopes", &share(envelopes, ours), ">= 0.50");
    row("  of bare parsing into values", &share(values, ours), ">= 0.50");
    row("  of decoding alone", &share(decoded, ours), "-");
    row("turn machine and projector alone: of bare envelopes", &share(envelopes, alone), ">= 0.50");
    row("  a frame: envelope", &nanos(envelopes), "-");
    row("  a frame: value", &nanos(values), "-");
    row("  a frame: decoded", &nanos(decoded), "-");
    row("  a frame: machine, projector", &nanos(alone), "-");
    row("  a frame: decoded, machine, projector", &nanos(ours), "-");
}

fn share(bare: f64, ours: f64) -> String {
    format!("{:.2}", bare / ours)
}

fn nanos(time: f64) -> String {
    format!("{time:.0} ns")
}

/// One machine after another: each turn that begins gets its own.
struct Machines<'a> {
    order: &'a Order,
    turn: Turn,
    projector: Projector,
}

impl<'a> Machines<'a> {
    fn new(order: &'a Order) -> Self {
        Self { order, turn: new_turn(order, "none"), projector: Projector::new(ProjectionLimits::default()) }
    }

    fn feed(&mut self, input: Input) {
        if let Input::Notification(Notification::TurnStarted(params)) = &input {
            self.turn = new_turn(self.order, params.thread_id.as_str());
            self.projector = Projector::new(ProjectionLimits::default());
        }
        self.turn.handle(Duration::ZERO, input);
        while let Some(output) = self.turn.poll() {
            match &output {
                Output::Emit(Event::ItemStarted { item }) => self.projector.begin(item),
                Output::Emit(Event::ItemCompleted { item }) | Output::Heard(item) => {
                    self.projector.complete(item);
                }
                Output::Emit(Event::Outcome(report)) => self.projector.finish(&report.outcome),
                _ => {}
            }
            std::hint::black_box(output);
        }
        while let Some(message) = self.projector.poll() {
            std::hint::black_box(message);
        }
    }
}

/// Input of the machine from a frame.
fn input((number, text): (usize, &String)) -> Option<Input> {
    Some(match decode_text(text) {
        Decoded::Known(Frame::Notification(notification)) => Input::Notification(notification.into_owned()),
        Decoded::Known(Frame::Request { id, request }) => {
            Input::Request { ticket: TicketId::new(format!("req-{number}")), id, request }
        }
        Decoded::Known(Frame::Response { .. }) | Decoded::Corrupt(_) => return None,
        Decoded::Unknown(unknown) => Input::Unknown(unknown),
    })
}

fn run_machine(order: &Order, frames: &[String]) {
    let mut machines = Machines::new(order);
    frames.iter().enumerate().filter_map(input).for_each(|input| machines.feed(input));
}

/// Measures only the work after decoding. A few frames at a time, so that they are cached as in reality.
fn run_decoded(order: &Order, frames: &[String]) -> Duration {
    let mut machines = Machines::new(order);
    let numbered: Vec<(usize, &String)> = frames.iter().enumerate().collect();
    let few = numbered.chunks(32).map(|frames| {
        let inputs: Vec<Input> = frames.iter().copied().filter_map(input).collect();
        time(|| inputs.into_iter().for_each(|input| machines.feed(input)))
    });
    few.sum()
}

/// State of a session before each of its turns.
fn order() -> Order {
    let bounds = ThreadBounds::new(
        &json!({ "type": "dangerFullAccess" }),
        &json!("untrusted"),
        "/w",
        "0.166.0".parse().unwrap(),
    );
    Order {
        deed: talaria_codex_proto::settle::Deed::Words,
        cwd: "/w".to_owned(),
        has_file: false,
        thread: ThreadId::new(""),
        client_id: None,
        after: None,
        baseline: Usage::default(),
        limit: None,
        quiet_after: Some(Duration::from_secs(60)),
        asks_hook: false,
        escrow: EscrowedAnswers::default(),
        choosing: Choosing::default(),
        gate: ThreadGate::new(bounds, Rules::default(), Answers::Everything, Some("/home/me".to_owned())),
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
    let home = tempfile::tempdir().unwrap();
    let servers = (0..50)
        .map(|n| format!("[mcp_servers.s{n}]\ncommand = \"server\" # {n}\nargs = [\"--port\", \"{n}\"]\n"));
    let config = format!("[codex]\nbin = \"/a\"\n{}", servers.collect::<String>());
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    let get = || {
        let mut command = Command::new(TALARIA);
        let command = command.args(["config", "get", "codex.bin"]).env("TALARIA_HOME", home.path());
        time(|| assert_eq!(command.output().unwrap().stdout, b"/a\n"))
    };
    let [got] = best(20, [&mut || get()]);
    row("talaria config get, 50 servers in the file", &millis(got), "< 10 ms");
}
