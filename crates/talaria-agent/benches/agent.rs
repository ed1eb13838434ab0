//! `cargo bench -p talaria-agent`: what a piece of an answer and a request cost, beside the framing alone. Prints; fails
//! nothing. Ratios of one run count; absolute figures need an idle machine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use talaria_agent::attempt::{ModelAttempt, WireNews};
use talaria_agent::encode::{RequestHead, RequestOmissions, RequestRenderer};
use talaria_agent::fold::AnswerFold;
use talaria_agent::history::{CallDisposition, CallId, CallInput, LogEntry, LogItem, LogPart, ModelIssuer};
use talaria_agent::profile::{ProviderProfile, builtin_profile};
use talaria_agent::sse::SseDecoder;

const DELTAS: usize = 20_000;
/// What arrives at once from a socket.
const CHUNK: usize = 4_096;

/// Figures of others for one piece of text, from earlier measurements.
const OTHERS: [(&str, &str); 2] = [
    ("codex exec 0.166.0, socket to JSON line", "14 us"),
    ("Hermes 0.19.0, callback per piece", "139-217 us"),
];

fn main() {
    println!("{:<58} {:>12} {:>12}", "figure", "measured", "ratio");
    for provider in ["openai", "kimi", "anthropic"] {
        let profile = builtin_profile(provider).unwrap();
        let stream = stream(provider);
        let framing = per_delta(|| frame(&stream));
        let folding = per_delta(|| fold(&profile, &stream));
        let attempt = per_delta(|| attempt(&profile, &stream));
        let family = profile.family;
        row(&format!("{family}: framing of one piece of text"), &micros(framing), "1");
        row(&format!("{family}: framing and fold"), &micros(folding), &ratio(folding, framing));
        row(&format!("{family}: the whole attempt machine"), &micros(attempt), &ratio(attempt, framing));
    }
    for (name, figure) in OTHERS {
        row(name, figure, "-");
    }
    for provider in ["openai", "kimi", "anthropic"] {
        let profile = builtin_profile(provider).unwrap();
        let log = log(250, 4_000);
        let mut renderer = renderer(&profile);
        log.iter().for_each(|entry| renderer.push(entry));
        let size = renderer.render().body.len();
        let copy = time(|| drop(black_box(vec![1u8; size])));
        let rendering = time(|| drop(black_box(renderer.render())));
        let name =
            format!("{}: request of {:.1} MB from kept bytes (aim 2 ms)", profile.family, size as f64 / 1e6);
        row(&name, &millis(rendering), &ratio(rendering, copy));
        let many = log_of_entries(10_000);
        let projecting = time(|| {
            let mut renderer = self::renderer(&profile);
            many.iter().for_each(|entry| renderer.push(entry));
            drop(black_box(renderer.render()));
        });
        row(&format!("{}: projection of 10,000 entries", profile.family), &millis(projecting), "-");
    }
}

fn row(name: &str, figure: &str, ratio: &str) {
    println!("{name:<58} {figure:>12} {ratio:>12}");
}

fn stream(provider: &str) -> Vec<u8> {
    let words = "a few words of text ";
    let (head, delta) = match provider {
        "openai" => (
            String::new(),
            format!(
                "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"content_index\":0,\"delta\":\"{words}\",\
                 \"item_id\":\"msg_0a1b2c3d4e5f60718293a4b5c6d7e8f9\",\"logprobs\":[],\"obfuscation\":\"x8Yz12Ab\",\"output_index\":0,\"sequence_number\":17}}\n\n"
            ),
        ),
        "kimi" => (
            String::new(),
            format!(
                "data: {{\"id\":\"chatcmpl-0a1b2c3d4e5f\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"kimi-k2.6\",\
                 \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{words}\"}},\"finish_reason\":null}}],\"system_fingerprint\":\"fpv0_1\"}}\n\n"
            ),
        ),
        _ => (
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n".to_owned(),
            format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{words}\"}}}}\n\n"
            ),
        ),
    };
    (head + &delta.repeat(DELTAS)).into_bytes()
}

fn frame(stream: &[u8]) {
    let mut decoder = SseDecoder::default();
    for chunk in stream.chunks(CHUNK) {
        decoder.feed(chunk, &mut |signal| drop(black_box(signal))).unwrap();
    }
}

fn fold(profile: &ProviderProfile, stream: &[u8]) {
    let (mut decoder, mut fold) = (SseDecoder::default(), AnswerFold::new(profile));
    for chunk in stream.chunks(CHUNK) {
        decoder.feed(chunk, &mut |signal| fold.fold(&signal, &mut |step| drop(black_box(step)))).unwrap();
    }
}

fn attempt(profile: &ProviderProfile, stream: &[u8]) {
    let mut attempt = ModelAttempt::new(Duration::ZERO, profile.clone());
    let mut sink = |news: talaria_agent::attempt::AttemptNews<'_>| drop(black_box(news));
    attempt.handle(Duration::ZERO, &WireNews::Sent, &mut sink);
    attempt.handle(Duration::ZERO, &WireNews::Accepted { status: 200, headers: Vec::new() }, &mut sink);
    for chunk in stream.chunks(CHUNK) {
        attempt.handle(Duration::ZERO, &WireNews::Bytes(chunk.to_vec()), &mut sink);
    }
}

fn renderer(profile: &ProviderProfile) -> RequestRenderer {
    let issuer =
        ModelIssuer { provider: profile.name.clone(), base_url: profile.base_url.clone(), account: None };
    let head = RequestHead::new("m", vec!["Be brief.".to_owned()], Vec::new(), "c");
    RequestRenderer::new(profile, issuer, head, RequestOmissions::default())
}

/// Rounds of a user, a call and its long result.
fn log(rounds: u64, result: usize) -> Vec<LogEntry> {
    let text = "one line of output of a command\n".repeat(result / 32);
    let round = |at: u64| {
        let call = CallId::new(format!("call_{at}"));
        let asked = LogItem::Call {
            call: call.clone(),
            name: "run".to_owned(),
            input: CallInput::Json("{\"a\":1}".to_owned()),
        };
        let mut asked = LogEntry::own(at * 3 + 1, asked);
        asked.attempt = Some(at);
        let parts = vec![LogPart::text(text.clone())];
        [
            LogEntry::own(at * 3, LogItem::User { parts: vec![LogPart::text("continue")] }),
            asked,
            LogEntry::own(at * 3 + 2, LogItem::Result { call, disposition: CallDisposition::Done, parts }),
        ]
    };
    (0..rounds).flat_map(round).collect()
}

fn log_of_entries(count: u64) -> Vec<LogEntry> {
    let mut log = log(count.div_ceil(3), 200);
    log.truncate(usize::try_from(count).unwrap());
    log
}

/// The best of several runs: others work on this machine, too. What this thread has run counts, where the kernel says it.
fn time(mut work: impl FnMut()) -> Duration {
    let once = |work: &mut dyn FnMut()| {
        let (start, run) = (Instant::now(), thread_time());
        work();
        match (run, thread_time()) {
            (Some(before), Some(after)) => after - before,
            _ => start.elapsed(),
        }
    };
    (0..15).map(|_| once(&mut work)).min().unwrap()
}

/// How long this thread has run.
fn thread_time() -> Option<Duration> {
    // Reading this one makes the kernel bring the other one up to date, which otherwise lags by a tick.
    let _ = std::fs::read("/proc/self/stat");
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn per_delta(work: impl FnMut()) -> Duration {
    time(work) / u32::try_from(DELTAS).unwrap()
}

fn micros(duration: Duration) -> String {
    format!("{:.3} us", duration.as_secs_f64() * 1e6)
}

fn millis(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}

fn ratio(figure: Duration, limit: Duration) -> String {
    format!("{:.1}x", figure.as_secs_f64() / limit.as_secs_f64().max(1e-12))
}
