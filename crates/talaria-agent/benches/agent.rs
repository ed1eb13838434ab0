//! `cargo bench -p talaria-agent`: what a piece of an answer and a request cost, beside the framing alone. Prints; fails
//! nothing. Ratios of one run count; absolute figures need an idle machine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use talaria_agent::attempt::{AttemptStage, ModelAttempt, WireNews};
use talaria_agent::compaction::{CompactionSettings, CompactionSetup};
use talaria_agent::encode::{RequestHead, RequestOmissions, RequestRenderer};
use talaria_agent::failure::{FailureClass, ModelFailure};
use talaria_agent::family::ModelFamily;
use talaria_agent::fold::AnswerFold;
use talaria_agent::history::{CallDisposition, CallId, CallInput, LogEntry, LogItem, LogPart, ModelIssuer};
use talaria_agent::loop_turn::{LeftTurn, LoopInput, LoopMoment, LoopOutput, LoopSetup, LoopTurn};
use talaria_agent::profile::{ModelFacts, ProviderProfile, builtin_profile};
use talaria_agent::retry::{AttemptSituation, AttemptTrouble, RetryBudget};
use talaria_agent::sse::SseDecoder;
use talaria_core::ids::TurnId;

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
        row(
            &format!("{}: projection of 10,000 entries (aim 20 ms)", profile.family),
            &millis(projecting),
            &ratio(projecting, Duration::from_millis(20)),
        );
        let mut kept = self::renderer(&profile);
        many.iter().for_each(|entry| kept.push(entry));
        let turn = next_turn(&many);
        let appending = time_after(
            || kept.clone(),
            |mut renderer| {
                turn.iter().for_each(|entry| renderer.push(entry));
                drop(black_box(renderer.render()));
            },
        );
        row(
            &format!("{}: one turn more, appended and rendered (aim 1 ms)", profile.family),
            &millis(appending),
            &ratio(appending, Duration::from_millis(1)),
        );
        compactions(&profile);
        prefixes(&profile);
    }
    decisions();
}

/// A history of a million tokens that is due: from the begin of the turn to the request for the summary, and from the summary to
/// the request for the answer. The model's own time is not in it.
fn compactions(profile: &ProviderProfile) {
    let mut profile = profile.clone();
    let facts = ModelFacts { window: Some(1_000_000), ..ModelFacts::default() };
    profile.models.push(("m".to_owned(), facts));
    let mut history = log(1_000, 4_000);
    let request = 3_000;
    let parts = vec![LogPart::text("And now?")];
    history.push(LogEntry::own(request, LogItem::User { parts }));
    let size: usize = history.iter().map(|entry| format!("{:?}", entry.item).len()).sum();
    let moment = LoopMoment { now: Duration::ZERO, unix: 1_000, chance: 0.5 };
    let setup = || LoopSetup {
        turn: TurnId::new("t"),
        profile: profile.clone(),
        issuer: issuer(&profile),
        head: RequestHead::new("m", vec!["Be brief.".to_owned()], Vec::new(), "c"),
        omissions: RequestOmissions::default(),
        rounds: 50,
        rests_until: None,
        fallbacks: Vec::new(),
        asks_on_refusal: false,
        compaction: Some(CompactionSetup {
            settings: CompactionSettings { threshold: Some(90), ..CompactionSettings::default() },
            summarisers: Vec::new(),
            request: Some(request),
            measured: None,
        }),
        bounds_output: false,
    };
    let stream = summary_stream(&profile);
    let work = |(setup, history): (LoopSetup, Vec<LogEntry>)| {
        let mut machine = LoopTurn::new(setup, history, LeftTurn::default());
        machine.begin(moment);
        let (mut sent, mut compacted) = (Vec::new(), 0);
        while let Some(output) = machine.poll() {
            match output {
                LoopOutput::Send(request) => sent.push(request.body.len()),
                LoopOutput::End(ended) => compacted += ended.entries.len(),
                _ => {}
            }
            if let (1, 0, Some(attempt)) = (sent.len(), compacted, machine.attempt()) {
                for news in [
                    WireNews::Connecting,
                    WireNews::Sent,
                    WireNews::Accepted { status: 200, headers: Vec::new() },
                    WireNews::Bytes(stream.clone()),
                    WireNews::Eof,
                ] {
                    machine.handle(moment, LoopInput::Wire { attempt, news: &news });
                }
            }
        }
        (sent, compacted)
    };
    let (sent, compacted) = work((setup(), history.clone()));
    assert!(
        sent.len() == 2 && compacted == 1 && sent[1] < sent[0],
        "the bench compacts: {sent:?}, {compacted}"
    );
    let took = time_after(|| (setup(), history.clone()), |start| drop(black_box(work(start))));
    let name = format!("{}: compaction of {:.1} M tokens (aim 200 ms)", profile.family, size as f64 / 4e6);
    row(&name, &millis(took), &ratio(took, Duration::from_millis(200)));
}

/// A whole answer of the family that is a summary.
fn summary_stream(profile: &ProviderProfile) -> Vec<u8> {
    let text = format!("<summary>## Goal\\n{}</summary>", "Keep every fact. ".repeat(200));
    let frames: Vec<String> = match profile.family {
        ModelFamily::Responses => {
            let item = format!(
                "{{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{{\"type\":\"output_text\",\"text\":\"{text}\"}}]}}"
            );
            vec![
                "{\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}".to_owned(),
                format!("{{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{item}}}"),
                "{\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":900000,\"output_tokens\":900,\"total_tokens\":900900}}}".to_owned(),
            ]
        }
        ModelFamily::Chat => vec![
            format!("{{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":900000,\"completion_tokens\":900}}}}"),
            "[DONE]".to_owned(),
        ],
        ModelFamily::Messages => vec![
            "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\",\"usage\":{\"input_tokens\":900000,\"output_tokens\":1}}}".to_owned(),
            "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}".to_owned(),
            format!("{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}"),
            "{\"type\":\"content_block_stop\",\"index\":0}".to_owned(),
            "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":900}}".to_owned(),
            "{\"type\":\"message_stop\"}".to_owned(),
        ],
    };
    frames.into_iter().map(|frame| format!("data: {frame}\n\n")).collect::<String>().into_bytes()
}

/// The input tokens of 100 turns: with a beginning that stays, a cache reads what was there before; with a clock in the head it
/// reads nothing. Four bytes are a token, and a cached one costs a tenth.
fn prefixes(profile: &ProviderProfile) {
    let (mut renderer, mut earlier) = (renderer(profile), Vec::new());
    let (mut all, mut cached) = (0_usize, 0_usize);
    for (at, entry) in log(100, 2_000).iter().enumerate() {
        renderer.push(entry);
        // A request at the user's words, and one at the result of the call.
        if at % 3 == 1 {
            continue;
        }
        let body = renderer.clone().render().body;
        let same = body.iter().zip(&earlier).take_while(|(a, b)| a == b).count();
        all += body.len() / 4;
        cached += same / 4;
        earlier = body;
    }
    let paid = all - cached + cached / 10;
    row(
        &format!("{}: 100 turns, input tokens of a stable prefix", profile.family),
        &thousands(paid),
        &ratio_of(paid, all),
    );
    row(&format!("{}: the same with a clock in the head", profile.family), &thousands(all), "1");
}

/// What follows a failure, for every class.
fn decisions() {
    let failures: Vec<ModelFailure> =
        FailureClass::ALL.into_iter().map(|class| ModelFailure::transport(class, "x")).collect();
    let situation = AttemptSituation {
        stage: AttemptStage::Speaking,
        has_shown: true,
        has_spare_key: true,
        has_fallback: true,
        asks_on_refusal: false,
        now: 1_000,
        chance: 0.5,
    };
    const TIMES: u32 = 10_000;
    let took = time(|| {
        for _ in 0..TIMES {
            for failure in &failures {
                let mut budget = RetryBudget::default();
                black_box(budget.decide(AttemptTrouble::Failed(failure), situation));
            }
        }
    });
    let each = took / (TIMES * u32::try_from(failures.len()).unwrap());
    row("decision after a failure (aim 5 us)", &micros(each), &ratio(each, Duration::from_micros(5)));
}

/// The entries of a further turn.
fn next_turn(log: &[LogEntry]) -> Vec<LogEntry> {
    let last = log.last().unwrap().seq;
    let mut turn = self::log(1, 2_000);
    turn.iter_mut().for_each(|entry| entry.seq += last + 1);
    turn
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
    let issuer = issuer(profile);
    let head = RequestHead::new("m", vec!["Be brief.".to_owned()], Vec::new(), "c");
    RequestRenderer::new(profile, issuer, head, RequestOmissions::default())
}

fn issuer(profile: &ProviderProfile) -> ModelIssuer {
    ModelIssuer { provider: profile.name.clone(), base_url: profile.base_url.clone(), account: None }
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

/// As `time`, with something made again for each run that does not count.
fn time_after<T>(mut prepare: impl FnMut() -> T, mut work: impl FnMut(T)) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..9 {
        let mut prepared = Some(prepare());
        best = best.min(once(&mut || work(prepared.take().unwrap())));
    }
    best
}

/// The best of several runs: others work on this machine, too. What this thread has run counts, where the kernel says it.
fn time(mut work: impl FnMut()) -> Duration {
    (0..15).map(|_| once(&mut work)).min().unwrap()
}

fn once(work: &mut dyn FnMut()) -> Duration {
    let (start, run) = (Instant::now(), thread_time());
    work();
    match (run, thread_time()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed(),
    }
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

fn ratio_of(part: usize, whole: usize) -> String {
    format!("{:.2}x", part as f64 / whole as f64)
}

fn thousands(tokens: usize) -> String {
    format!("{} k", tokens / 1_000)
}
