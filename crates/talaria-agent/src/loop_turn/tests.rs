//! Turns as scripts: bytes of a provider and results of tools in, outputs out, one line each.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use serde_json::{Value, json};
use talaria_core::tool::ToolEffect;

use super::*;
use crate::encode::{LoopToolSpec, RequestHead, RequestOmissions};
use crate::history::{CallId, ModelIssuer, plain_text};
use crate::profile::{ModelFacts, builtin_profile};
use crate::spending::TokenCount;

mod budgeting;
mod compacting;
mod fallback;

const CALLS: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude\",\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Looking.\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"read\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"path\\\": \\\"a\\\"}\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"run\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\": \\\"ls\\\"}\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":20}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

const ANSWER: &str = concat!(
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude\",\"usage\":{\"input_tokens\":40,\"output_tokens\":1}}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Two files.\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

/// The first half of an answer whose text people see.
fn half() -> &'static str {
    &ANSWER[..ANSWER.find("Two files.").unwrap() + "Two files.\"}}\n\n".len()]
}

fn cut_call() -> String {
    CALLS
        .replace("{\\\"command\\\": \\\"ls\\\"}", "{\\\"command\\\": \\\"l")
        .replace("\"tool_use\"},", "\"max_tokens\"},")
}

struct Stage {
    turn: LoopTurn,
    now: Duration,
    unix: i64,
    lines: Vec<String>,
    bodies: Vec<String>,
    /// The history as the shell would have stored it.
    stored: Vec<LogEntry>,
    reports: Vec<Report>,
    events: Vec<Event>,
    /// What each attempt cost.
    tokens: Vec<TokenCount>,
    /// What each can have cost at most.
    bounds: Vec<Option<TokenCount>>,
    /// How many words of the person were returned.
    unread: usize,
}

fn setup() -> LoopSetup {
    let tool = |name: &str| LoopToolSpec {
        name: name.to_owned(),
        description: "a tool".to_owned(),
        schema: serde_json::json!({"type": "object"}),
        effect: ToolEffect::Reads,
    };
    let head = RequestHead::new(
        "claude-opus-4-8",
        vec!["Be brief.".to_owned()],
        vec![tool("run"), tool("read")],
        "s",
    );
    LoopSetup {
        turn: TurnId::new("t"),
        profile: builtin_profile("anthropic").unwrap(),
        issuer: ModelIssuer {
            provider: "anthropic".to_owned(),
            base_url: "http://x".to_owned(),
            account: None,
        },
        head,
        omissions: RequestOmissions::default(),
        rounds: 50,
        rests_until: None,
        fallbacks: Vec::new(),
        asks_on_refusal: false,
        bounds_output: false,
        compaction: None,
    }
}

fn question() -> Vec<LogEntry> {
    vec![LogEntry::own(0, LogItem::User { parts: vec![LogPart::text("What is here?")] })]
}

impl Stage {
    fn new() -> Self {
        Self::with(setup(), question())
    }

    fn with(setup: LoopSetup, log: Vec<LogEntry>) -> Self {
        Self::left(setup, log, LeftTurn::default())
    }

    fn left(setup: LoopSetup, log: Vec<LogEntry>, left: LeftTurn) -> Self {
        let mut stage = Self::idle(setup, log, left);
        stage.turn.begin(stage.moment());
        stage.drain();
        stage
    }

    /// A turn that has not begun.
    fn idle(setup: LoopSetup, log: Vec<LogEntry>, left: LeftTurn) -> Self {
        let turn = LoopTurn::new(setup, log.clone(), left);
        Self {
            turn,
            now: Duration::ZERO,
            unix: 1_000,
            lines: Vec::new(),
            bodies: Vec::new(),
            stored: log,
            reports: Vec::new(),
            events: Vec::new(),
            tokens: Vec::new(),
            bounds: Vec::new(),
            unread: 0,
        }
    }

    fn moment(&self) -> LoopMoment {
        LoopMoment { now: self.now, unix: self.unix, chance: 0.5 }
    }

    fn feed(&mut self, input: LoopInput<'_>) {
        self.turn.handle(self.moment(), input);
        self.drain();
    }

    fn wire(&mut self, news: WireNews) {
        let attempt = self.turn.attempt().unwrap_or(99);
        self.feed(LoopInput::Wire { attempt, news: &news });
    }

    fn accept(&mut self, status: u16) {
        self.wire(WireNews::Connecting);
        self.wire(WireNews::Sent);
        self.wire(WireNews::Accepted { status, headers: Vec::new() });
    }

    /// Plays one answer from connection to end.
    fn answer(&mut self, body: &str) {
        self.accept(200);
        self.wire(WireNews::Bytes(body.as_bytes().to_vec()));
        self.wire(WireNews::Eof);
    }

    fn refuse(&mut self, status: u16, body: &str) {
        self.accept(status);
        self.wire(WireNews::Bytes(body.as_bytes().to_vec()));
        self.wire(WireNews::Eof);
    }

    fn ended(&mut self, call: &str, text: &str) {
        let parts = vec![LogPart::text(text)];
        let seq = self.seq(call);
        self.feed(LoopInput::CallEnded { seq, disposition: CallDisposition::Done, parts });
    }

    /// The entry of a call.
    fn seq(&self, call: &str) -> u64 {
        let is_it =
            |entry: &&LogEntry| matches!(&entry.item, LogItem::Call { call: id, .. } if id.as_str() == call);
        self.stored.iter().rfind(is_it).map_or(u64::MAX, |entry| entry.seq)
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.feed(LoopInput::Tick);
    }

    fn drain(&mut self) {
        while let Some(output) = self.turn.poll() {
            self.lines.push(line(&output));
            match output {
                LoopOutput::Send(request) => self.bodies.push(String::from_utf8(request.body).unwrap()),
                LoopOutput::Emit(event) => self.events.push(event),
                LoopOutput::End(ended) => {
                    self.tokens.push(ended.tokens);
                    self.bounds.push(ended.bound.map(|(tokens, _)| tokens));
                    self.stored.extend(ended.entries);
                }
                LoopOutput::Append(entries) => self.stored.extend(entries),
                LoopOutput::Unread(count) => self.unread += count,
                LoopOutput::Finish(report) => self.reports.push(*report),
                _ => {}
            }
        }
    }

    fn report(&self) -> &Report {
        assert_eq!(self.reports.len(), 1, "{:#?}", self.lines);
        &self.reports[0]
    }

    fn count(&self, word: &str) -> usize {
        self.lines.iter().filter(|line| line.starts_with(word)).count()
    }
}

fn line(output: &LoopOutput) -> String {
    match output {
        LoopOutput::Emit(event) => {
            let json = serde_json::to_value(event).unwrap();
            format!("emit {}", json["type"].as_str().unwrap())
        }
        LoopOutput::Change(change) => format!("change {} -> {}: {}", change.from, change.to, change.why),
        LoopOutput::Learn(name) => format!("learn {name}"),
        LoopOutput::Plan(planned) => format!("plan {}", planned.number),
        LoopOutput::Send(_) => "send".to_owned(),
        LoopOutput::Close(attempt) => format!("close {attempt}"),
        LoopOutput::End(ended) => {
            format!("end {} {} +{}", ended.number, ended.end.word(), ended.entries.len())
        }
        LoopOutput::Void { attempt, shown_chars, items, .. } => {
            format!("void {attempt} {shown_chars} {}", items.len())
        }
        LoopOutput::Append(entries) => format!("append {}", entries.len()),
        LoopOutput::Start(calls) => format!("start {}", names(calls)),
        LoopOutput::Settle(calls) => format!("settle {}", names(calls)),
        LoopOutput::Unread(count) => format!("unread {count}"),
        LoopOutput::Doubt { after, .. } => format!("doubt {after}"),
        LoopOutput::StopCalls => "stop calls".to_owned(),
        LoopOutput::Finish(report) => format!("finish {}", report.outcome.word()),
    }
}

fn names(calls: &[RequestedCall]) -> String {
    calls.iter().map(|call| call.call.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_turn_asks_runs_its_calls_and_asks_again_with_their_results() {
    let mut stage = Stage::new();
    stage.answer(CALLS);
    stage.ended("c2", "a b");
    assert_eq!(stage.count("append"), 0, "one result is missing");
    stage.ended("c1", "text of a");
    stage.answer(ANSWER);
    expect_test::expect![[r#"
        plan 1
        send
        emit item_started
        emit text_delta
        close 1
        end 1 completed +3
        emit item_completed
        emit usage_updated
        start c1 c2
        append 2
        plan 2
        send
        emit item_started
        emit text_delta
        close 2
        end 2 completed +1
        emit item_completed
        emit usage_updated
        finish completed"#]]
    .assert_eq(&stage.lines.join("\n"));
    assert_eq!(stage.report().text.as_deref(), Some("Two files."));
    assert_eq!(stage.report().usage.input, 50);
    let results: Vec<&LogItem> = stage.stored.iter().map(|entry| &entry.item).collect();
    assert!(
        matches!(results[4], LogItem::Result { call, .. } if call.as_str() == "c1"),
        "results follow in the order of their calls: {results:?}"
    );
    assert!(stage.stored.iter().enumerate().all(|(at, entry)| entry.seq == at as u64), "dense");
}

#[test]
fn the_first_result_of_a_call_counts() {
    let mut stage = Stage::new();
    stage.answer(CALLS);
    stage.ended("c2", "first");
    stage.ended("c2", "second");
    stage.ended("c1", "text of a");
    let LogItem::Result { parts, .. } = &stage.stored[5].item else { panic!("{:?}", stage.stored) };
    assert_eq!(plain_text(parts), "first");
}

#[test]
fn text_of_a_cut_attempt_is_void_and_no_call_of_it_runs() {
    let mut stage = Stage::new();
    let cut = &CALLS[..CALLS.find("data: {\"type\":\"message_delta\"").unwrap()];
    stage.answer(cut);
    assert_eq!(stage.count("start"), 0, "{:#?}", stage.lines);
    assert_eq!(stage.count("void 1 8 1"), 1, "{:#?}", stage.lines);
    assert_eq!(stage.stored.len(), 1, "nothing of it is history");
    assert_eq!(stage.count("emit retrying"), 1);
    assert_eq!(stage.bodies.len(), 1, "it waits before it tries again");
    stage.wait(Duration::from_secs(2));
    assert_eq!(stage.bodies[0], stage.bodies[1], "the same bytes");
    stage.answer(ANSWER);
    assert_eq!(stage.report().text.as_deref(), Some("Two files."), "never the text of both");
}

#[test]
fn what_a_model_showed_before_it_refused_is_void_and_the_refusal_alone_is_history() {
    let refused =
        ANSWER.replace("\"end_turn\"", "\"refusal\",\"stop_details\":{\"explanation\":\"not that\"}");
    let mut stage = Stage::new();
    stage.answer(&refused);
    assert_eq!(stage.count("void 1 10 1"), 1, "{:#?}", stage.lines);
    let report = stage.report();
    assert_eq!(report.outcome.word(), "failed");
    assert!(
        report.message.as_deref().is_some_and(|why| why.starts_with("the model refused: ")),
        "{report:?}"
    );
    assert_eq!((report.text.as_deref(), stage.bodies.len()), (None, 1), "it is not asked again");
    let last = stage.stored.last().unwrap();
    let LogItem::Assistant { parts, .. } = &last.item else { panic!("{last:?}") };
    assert!(matches!(parts[..], [LogPart::Refusal { .. }]), "{last:?}");
}

#[test]
fn shown_text_is_repeated_twice_at_most() {
    let mut stage = Stage::new();
    for _ in 0..3 {
        stage.answer(half());
        stage.wait(Duration::from_secs(60));
    }
    let report = stage.report();
    assert_eq!(report.outcome.word(), "failed");
    assert_eq!(report.code, Some(FailureCode::Connection));
    assert_eq!(stage.bodies.len(), 3);
    assert!(report.usage.partial, "what the cut attempts cost is not known");
}

#[test]
fn a_call_whose_arguments_do_not_parse_is_answered_and_never_started() {
    let mut stage = Stage::new();
    stage.answer(&cut_call());
    assert_eq!(stage.count("start c1"), 1, "{:#?}", stage.lines);
    stage.ended("c1", "text");
    let LogItem::Result { call, disposition, .. } = &stage.stored[5].item else {
        panic!("{:?}", stage.stored)
    };
    assert_eq!((call.as_str(), *disposition), ("c2", CallDisposition::Failed));
    assert_eq!(stage.bodies.len(), 2, "the model gets both results");
}

#[test]
fn an_answer_that_the_provider_calls_incomplete_is_not_completed() {
    let mut stage = Stage::new();
    stage.answer(&ANSWER.replace("end_turn", "max_tokens"));
    let report = stage.report();
    assert_eq!(report.outcome.word(), "failed");
    assert_eq!(report.message.as_deref(), Some("the answer is incomplete: the output limit was reached"));
    assert_eq!(report.text.as_deref(), Some("Two files."), "what was said is kept");
}

#[test]
fn an_interrupt_closes_the_connection_at_once() {
    let mut stage = Stage::new();
    stage.accept(200);
    stage.wire(WireNews::Bytes(half().as_bytes().to_vec()));
    stage.feed(LoopInput::Interrupt(Who::User));
    let tail = &stage.lines[stage.lines.len() - 5..];
    assert_eq!(
        tail,
        ["emit interrupting", "close 1", "end 1 cancelled +0", "void 1 10 1", "finish interrupted"]
    );
    stage.feed(LoopInput::Interrupt(Who::User));
    stage.wire(WireNews::Bytes(ANSWER.as_bytes().to_vec()));
    assert_eq!(stage.report().outcome.word(), "interrupted");
}

#[test]
fn an_interrupt_stops_calls_and_keeps_their_output() {
    let mut stage = Stage::new();
    stage.answer(CALLS);
    stage.ended("c1", "text of a");
    stage.feed(LoopInput::Interrupt(Who::User));
    assert_eq!(stage.count("stop calls"), 1);
    assert_eq!(stage.reports.len(), 0, "the running call has no result yet");
    let parts = vec![LogPart::text("half of it")];
    let disposition = CallDisposition::Stopped { after_ms: 3_200 };
    let seq = stage.seq("c2");
    stage.feed(LoopInput::CallEnded { seq, disposition, parts });
    assert_eq!(stage.report().outcome.word(), "interrupted");
    assert_eq!(stage.stored.len(), 6, "every call has its result");
    assert_eq!(stage.bodies.len(), 1, "nothing more is asked");
}

#[test]
fn an_interrupt_during_a_pause_ends_the_turn_at_once() {
    let mut stage = Stage::new();
    stage.refuse(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    assert!(stage.turn.wake_at().is_some());
    stage.feed(LoopInput::Interrupt(Who::User));
    assert_eq!(stage.report().outcome.word(), "interrupted");
    assert_eq!(stage.report().usage, Usage::default(), "a refusal costs nothing");
    assert_eq!(stage.turn.wake_at(), None);
}

#[test]
fn a_wrong_key_ends_the_turn_with_the_words_of_the_provider() {
    let mut stage = Stage::new();
    stage.refuse(
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
    );
    let report = stage.report();
    assert_eq!(report.code, Some(FailureCode::Auth));
    assert!(report.message.as_deref().unwrap().contains("invalid x-api-key"), "{report:?}");
    assert_eq!(stage.bodies.len(), 1);
}

#[test]
fn a_refused_parameter_is_left_out_once() {
    let mut setup = setup();
    setup.head.effort = Some("high".to_owned());
    let mut stage = Stage::with(setup, question());
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Unsupported parameter: 'thinking' is not supported with this model."}}"#;
    stage.refuse(400, body);
    assert_eq!(stage.bodies.len(), 2, "{:#?}", stage.lines);
    assert!(stage.bodies[0].contains("\"thinking\"") && !stage.bodies[1].contains("\"thinking\""));
    stage.refuse(400, body);
    assert_eq!(stage.bodies.len(), 2, "the same repair is not made twice");
    assert_eq!(stage.report().code, Some(FailureCode::BadRequest));
}

#[test]
fn steering_follows_the_results_of_running_calls() {
    let mut stage = Stage::new();
    stage.answer(CALLS);
    stage.feed(LoopInput::Steer(vec![LogPart::text("Skip the rest.")]));
    stage.ended("c1", "x");
    stage.ended("c2", "y");
    let kinds: Vec<bool> =
        stage.stored.iter().map(|entry| matches!(entry.item, LogItem::User { .. })).collect();
    assert_eq!(kinds, [true, false, false, false, false, false, true]);
    assert_eq!(stage.count("emit steered"), 1);
    stage.feed(LoopInput::Steer(vec![LogPart::text("And count them.")]));
    stage.answer(ANSWER);
    assert_eq!(stage.reports.len(), 0, "the last words of the person are answered too");
    stage.answer(ANSWER);
    assert_eq!(stage.report().outcome.word(), "completed");
}

#[test]
fn an_engine_after_a_crash_settles_calls_and_repeats_none() {
    let mut first = Stage::new();
    first.answer(CALLS);
    let mut second = Stage::with(setup(), first.stored.clone());
    assert_eq!(second.lines, ["settle c1 c2"]);
    second.ended("c1", "text of a");
    let parts = vec![LogPart::text(CallDisposition::Unknown.words())];
    let seq = second.seq("c2");
    second.feed(LoopInput::CallEnded { seq, disposition: CallDisposition::Unknown, parts });
    second.answer(ANSWER);
    assert_eq!(second.count("start"), 0);
    assert_eq!(second.report().outcome.word(), "completed");
    // The first engine, had it lived and learned the same, would have sent the same bytes.
    first.ended("c1", "text of a");
    let parts = vec![LogPart::text(CallDisposition::Unknown.words())];
    let seq = first.seq("c2");
    first.feed(LoopInput::CallEnded { seq, disposition: CallDisposition::Unknown, parts });
    assert_eq!(first.bodies[1], second.bodies[0]);
}

#[test]
fn a_complete_answer_that_was_left_ends_the_turn_and_nothing_is_asked_again() {
    let mut first = Stage::new();
    first.answer(ANSWER);
    let text = Some("Two files.".to_owned());
    let answered = LeftTurn { attempts: 1, text: text.clone(), is_answered: true, ..LeftTurn::default() };
    let second = Stage::left(setup(), first.stored.clone(), answered.clone());
    assert_eq!(second.lines, ["finish completed"]);
    assert_eq!(second.report().text, text);
    // An answer that the provider only paused was asked about again: that attempt is the last one.
    let paused = LeftTurn { attempts: 2, is_answered: false, ..answered };
    let third = Stage::left(setup(), first.stored.clone(), paused);
    assert_eq!(third.lines, ["plan 3", "send"]);
}

#[test]
fn an_interrupt_before_a_turn_continues_stops_and_answers_what_was_left() {
    let mut first = Stage::new();
    first.answer(&cut_call());
    let mut second = Stage::idle(setup(), first.stored.clone(), LeftTurn::default());
    second.feed(LoopInput::Interrupt(Who::User));
    assert_eq!(
        second.lines,
        ["emit interrupting", "settle c1", "stop calls"],
        "c2 cannot be read and never ran"
    );
    second.ended("c1", "half of it");
    assert_eq!(second.report().outcome.word(), "interrupted");
    assert_eq!(second.stored.len(), 6, "every call has its result");
}

#[test]
fn a_turn_has_a_limit_of_requests() {
    let mut stage = Stage::with(LoopSetup { rounds: 2, ..setup() }, question());
    for round in 0..2 {
        let body =
            CALLS.replace("\"c1\"", &format!("\"a{round}\"")).replace("\"c2\"", &format!("\"b{round}\""));
        stage.answer(&body);
        stage.ended(&format!("a{round}"), "x");
        stage.ended(&format!("b{round}"), "y");
    }
    let message = stage.report().message.clone().unwrap_or_default();
    assert!(
        message.starts_with("the turn made 2 model requests, which is its limit; what it did so far is done"),
        "{message}"
    );
}

/// A stream of data frames, ended as Chat servers do.
fn stream_of(frames: &[Value]) -> String {
    let frames = frames.iter().map(|frame| format!("data: {frame}\n\n"));
    frames.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// The setup of another built-in provider.
fn setup_at(provider: &str) -> LoopSetup {
    LoopSetup { profile: builtin_profile(provider).unwrap(), ..setup() }
}

/// The ids of the items that were begun, that pieces were shown under, and that were completed.
fn shown_ids(stage: &Stage) -> [Vec<String>; 3] {
    let mut ids = [Vec::new(), Vec::new(), Vec::new()];
    for event in &stage.events {
        let (list, id) = match event {
            Event::ItemStarted { item } => (0, &item.id),
            Event::TextDelta { item, .. } | Event::ReasoningDelta { item, .. } => (1, item),
            Event::ItemCompleted { item } => (2, &item.id),
            _ => continue,
        };
        if !ids[list].contains(&id.as_str().to_owned()) {
            ids[list].push(id.as_str().to_owned());
        }
    }
    ids
}

#[test]
fn an_answer_completes_the_items_that_its_pieces_were_shown_under() {
    let chunk = |delta: Value| json!({"choices": [{"delta": delta}]});
    let finish = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let text = [chunk(json!({"content": "Two "})), chunk(json!({"content": "files."})), finish.clone()];
    let thought = [chunk(json!({"reasoning_content": "hm"})), text[0].clone(), text[1].clone(), finish];
    let empty_first = ANSWER.replace("\"index\":0", "\"index\":1").replacen(
        "data: {\"type\":\"content_block_start\"",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
         data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
         data: {\"type\":\"content_block_start\"",
        1,
    );
    let item =
        json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Two files."}]});
    let delta = json!({"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "Two files."});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let completed = json!({"type": "response.completed", "response": {"status": "completed"}});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m"}});
    let announced = [added, delta.clone(), done.clone(), completed.clone()];
    for (provider, body, items) in [
        ("lmstudio", stream_of(&text), 1),
        ("deepseek", stream_of(&thought), 2),
        ("anthropic", ANSWER.to_owned(), 1),
        ("anthropic", empty_first, 1),
        ("openai", stream_of(&announced), 1),
        // Some servers do not announce items.
        ("openai", stream_of(&[delta, done, completed]), 1),
    ] {
        let mut stage = Stage::with(setup_at(provider), question());
        stage.answer(&body);
        assert_eq!(stage.report().text.as_deref(), Some("Two files."), "{provider} {body}");
        let [begun, shown, completed] = shown_ids(&stage);
        assert_eq!(shown.len(), items, "{provider} {body}");
        assert_eq!(completed, shown, "{provider} {body}");
        assert_eq!(begun, shown, "an engine after a crash knows by this what it showed: {provider} {body}");
    }
}

/// An answer with two calls that was cut before the arguments of the second.
fn unbegun_call() -> String {
    let from = CALLS.find("data: {\"type\":\"content_block_delta\",\"index\":2").unwrap();
    let until = CALLS[from..].find("\n\n").unwrap() + from + 2;
    format!("{}{}", &CALLS[..from], &CALLS[until..]).replace("\"tool_use\"},", "\"max_tokens\"},")
}

#[test]
fn a_call_that_was_cut_before_its_arguments_is_answered_and_never_started() {
    let mut stage = Stage::new();
    stage.answer(&unbegun_call());
    assert_eq!(stage.count("start c1"), 1, "{:#?}", stage.lines);
    assert_eq!(stage.count("start c1 c2"), 0, "{:#?}", stage.lines);
    stage.ended("c1", "text");
    let LogItem::Result { call, disposition, .. } = &stage.stored[5].item else {
        panic!("{:?}", stage.stored)
    };
    assert_eq!((call.as_str(), *disposition), ("c2", CallDisposition::Failed));
    // A tool without arguments in an answer that is complete is called.
    let mut whole = Stage::new();
    whole.answer(&unbegun_call().replace("\"max_tokens\"},", "\"tool_use\"},"));
    assert_eq!(whole.count("start c1 c2"), 1, "{:#?}", whole.lines);
}

#[test]
fn an_incomplete_answer_that_was_left_ends_as_it_would_have() {
    let mut first = Stage::new();
    first.answer(&unbegun_call());
    let reason = IncompleteReason::MaxOutput;
    let left = LeftTurn { attempts: 1, incomplete: Some(reason), ..LeftTurn::default() };
    let mut second = Stage::left(setup(), first.stored.clone(), left.clone());
    assert_eq!(second.lines, ["settle c1"], "c2 was never begun");
    second.ended("c1", "text");
    first.ended("c1", "text");
    assert_eq!(second.stored, first.stored);
    let mut first = Stage::new();
    first.answer(&ANSWER.replace("end_turn", "max_tokens"));
    let second = Stage::left(setup(), first.stored.clone(), left);
    assert_eq!(second.lines, ["finish failed"]);
    assert_eq!(second.report().message, first.report().message);
    for reason in [
        IncompleteReason::MaxOutput,
        IncompleteReason::Context,
        IncompleteReason::ContentFilter,
        IncompleteReason::Other("new".to_owned()),
    ] {
        assert_eq!(IncompleteReason::of_words(&reason.to_string()), reason);
    }
}

#[test]
fn the_repair_of_an_output_limit_asks_for_less_than_before() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens"}}"#;
    let limit = |stage: &Stage, at: usize| {
        serde_json::from_str::<Value>(&stage.bodies[at]).unwrap()["max_tokens"].as_u64().unwrap()
    };
    for model in ["claude-opus-4-8", "of-no-table"] {
        let mut setup = setup();
        setup.head.model = model.to_owned();
        let mut stage = Stage::with(setup, question());
        stage.refuse(400, body);
        assert_eq!(limit(&stage, 1), limit(&stage, 0) / 2, "{model}");
    }
}

#[test]
fn an_error_inside_a_stream_does_not_make_the_attempt_free() {
    let mut stage = Stage::with(setup_at("openrouter"), question());
    stage.accept(200);
    let frames = [
        json!({"choices": [{"delta": {"content": "Half of "}}]}),
        json!({"error": {"code": 502, "message": "Provider disconnected"}, "choices": [{"delta": {}, "finish_reason": "error"}]}),
    ];
    stage.wire(WireNews::Bytes(stream_of(&frames).into_bytes()));
    assert_eq!(stage.count("end 1 failed"), 1, "{:#?}", stage.lines);
    let tokens = stage.tokens[0];
    assert!(tokens.source == TokenSource::Estimated && tokens.usage().total > 0, "{tokens:?}");
    // A refusal before the first event is free.
    let mut refused = Stage::with(setup_at("openrouter"), question());
    refused.refuse(502, r#"{"error":{"code":502,"message":"no"}}"#);
    assert_eq!(refused.tokens[0].usage().total, 0);
}

#[test]
fn the_same_bytes_are_not_sent_again_without_a_parameter_that_is_not_in_them() {
    for name in ["temperature", "model", "messages", "tools"] {
        let mut stage = Stage::new();
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": format!("Unsupported parameter: '{name}'")}});
        stage.refuse(400, &body.to_string());
        assert_eq!(stage.bodies.len(), 1, "{name}: {:#?}", stage.lines);
        assert_eq!(stage.report().code, Some(FailureCode::BadRequest));
    }
}

/// An answer of a Chat server with two calls.
fn chat_calls(ids: [&str; 2], finish: &str) -> String {
    let call = |index: usize| {
        let arguments = json!({ "path": (if index == 0 { "a" } else { "b" }) }).to_string();
        json!({"choices": [{"delta": {"tool_calls": [{"index": index, "id": ids[index],
            "function": {"name": "read", "arguments": arguments}}]}}]})
    };
    let text = json!({"choices": [{"delta": {"content": "Looking."}}]});
    stream_of(&[text, call(0), call(1), json!({"choices": [{"delta": {}, "finish_reason": finish}]})])
}

#[test]
fn calls_of_a_chat_server_that_cut_its_answer_run_as_far_as_they_are_whole() {
    let whole = chat_calls(["c1", "c2"], "length");
    let arguments = json!(json!({ "path": "b" }).to_string()).to_string();
    assert!(whole.contains(&arguments), "{whole}");
    for begun in ["", "{\\\"path\\\": \\\""] {
        let mut stage = Stage::with(setup_at("lmstudio"), question());
        stage.answer(&whole.replace(&arguments, &format!("\"{begun}\"")));
        assert_eq!(stage.count("end 1 incomplete +3"), 1, "{:#?}", stage.lines);
        assert_eq!(stage.lines.last().map(String::as_str), Some("start c1"), "{begun}");
        stage.ended("c1", "text");
        assert_eq!(stage.bodies.len(), 2, "the model gets both results: {:#?}", stage.lines);
    }
}

#[test]
fn calls_with_empty_or_equal_ids_keep_their_own_results() {
    let response = |ids: [&str; 2]| {
        let done = |index: usize| {
            let arguments = json!({ "path": (if index == 0 { "a" } else { "b" }) }).to_string();
            json!({"type": "response.output_item.done", "output_index": index, "item": {"type": "function_call",
                "id": format!("fc_{index}"), "call_id": ids[index], "name": "read", "arguments": arguments}})
        };
        stream_of(&[
            done(0),
            done(1),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ])
    };
    let messages = |ids: [&str; 2]| {
        CALLS.replace("\"c1\"", &json!(ids[0]).to_string()).replace("\"c2\"", &json!(ids[1]).to_string())
    };
    for ids in [["", ""], ["same", "same"], ["call_2", ""]] {
        for (provider, body) in [
            ("lmstudio", chat_calls(ids, "tool_calls")),
            ("openai", response(ids)),
            ("anthropic", messages(ids)),
        ] {
            let mut stage = Stage::with(setup_at(provider), question());
            // The second answer has the ids of the first one again.
            for _ in 0..2 {
                stage.answer(&body);
                let open = open_calls(&stage.stored);
                assert_eq!(open.len(), 2, "{provider} {ids:?}: {:#?}", stage.lines);
                // The results come in the other order.
                for call in open.iter().rev() {
                    let RequestedCall { seq, input, .. } = &call.requested;
                    let parts = vec![LogPart::text(format!("result of {}", input.as_str()))];
                    stage.feed(LoopInput::CallEnded { seq: *seq, disposition: CallDisposition::Done, parts });
                }
            }
            let mut known = BTreeSet::new();
            let mut inputs = HashMap::new();
            let mut results = 0;
            for entry in &stage.stored {
                match &entry.item {
                    LogItem::Call { call, input, .. } => {
                        assert!(
                            !call.as_str().is_empty() && known.insert(call.clone()),
                            "{provider} {ids:?}"
                        );
                        inputs.insert(call.clone(), input.as_str().to_owned());
                    }
                    LogItem::Result { call, parts, .. } => {
                        results += 1;
                        assert_eq!(
                            plain_text(parts),
                            format!("result of {}", inputs[call]),
                            "{provider} {ids:?}"
                        );
                    }
                    _ => {}
                }
            }
            assert_eq!(results, 4, "{provider} {ids:?}");
            // The request names the same ids as the history.
            let body: Value = serde_json::from_str(stage.bodies.last().unwrap()).unwrap();
            let named = |name: &str| body.to_string().matches(&format!("\"{name}\":\"")).count();
            match provider {
                "lmstudio" => assert_eq!(named("tool_call_id"), 4),
                "openai" => assert_eq!(named("call_id"), 8),
                _ => assert_eq!(named("tool_use_id"), 4),
            }
            for call in &known {
                assert_eq!(
                    body.to_string().matches(&format!("\"{}\"", call.as_str())).count(),
                    2,
                    "{provider} {ids:?}: {body}"
                );
            }
        }
    }
}

#[test]
fn an_answer_that_reached_a_limit_is_not_complete_whatever_the_server_says() {
    let play = |provider: &str, input: u64, output: u64| {
        let mut setup = setup_at(provider);
        setup.head.model = "own".to_owned();
        let facts = ModelFacts { window: Some(4_096), max_output: Some(512), ..ModelFacts::default() };
        setup.profile.models.push(("own".to_owned(), facts));
        let mut stage = Stage::with(setup, question());
        let frames = [
            json!({"choices": [{"delta": {"content": "Two files."}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}}),
        ];
        // The first answer, and as often as the model is asked to continue it.
        for _ in 0..3 {
            stage.accept(200);
            stage.wire(WireNews::Bytes(stream_of(&frames).into_bytes()));
        }
        stage
    };
    let message = |stage: &Stage| stage.report().message.clone().unwrap_or_default();
    let fits = play("ollama", 1_000, 100);
    assert_eq!((fits.report().outcome.word(), fits.count("emit warning")), ("completed", 0));
    let cut = play("ollama", 1_000, 512);
    assert_eq!(message(&cut), "the answer is incomplete: the output limit was reached");
    assert_eq!(cut.count("end 1 incomplete +1"), 1, "its row says so: {:#?}", cut.lines);
    assert_eq!((cut.bodies.len(), cut.count("emit warning")), (3, 2), "continued twice: {:#?}", cut.lines);
    assert_eq!(cut.report().text.as_deref(), Some("Two files.Two files.Two files."));
    let full = play("ollama", 4_000, 96);
    assert_eq!(message(&full), "the answer is incomplete: the model's context is full");
    assert_eq!(full.bodies.len(), 1, "there is no room to continue");
    // How much of the input was cut is not known: the answer counts, with a warning.
    let overflow = play("glm", 5_000, 20);
    assert_eq!(overflow.report().outcome.word(), "completed");
    assert_eq!(overflow.count("emit warning"), 1, "{:#?}", overflow.lines);
    // A server that is known to report its cuts is believed.
    let believed = play("deepseek", 5_000, 512);
    assert_eq!((believed.report().outcome.word(), believed.count("emit warning")), ("completed", 0));
}

/// Something that may happen, at any time.
#[derive(Clone, Debug)]
enum Deed {
    Answer(u8),
    Result(u8),
    Steer,
    Interrupt,
    Refuse,
    Wait(u16),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0_u8..6).prop_map(Deed::Answer),
        6 => (0_u8..3).prop_map(Deed::Result),
        1 => Just(Deed::Steer),
        1 => Just(Deed::Interrupt),
        2 => Just(Deed::Refuse),
        3 => (0_u16..40).prop_map(Deed::Wait),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_history_is_legal_and_the_turn_ends_once(
        is_chat in any::<bool>(),
        deeds in prop::collection::vec(deed(), 0..60),
    ) {
        let mut stage = Stage::with(setup_at(if is_chat { "lmstudio" } else { "anthropic" }), question());
        let (mut number, mut said) = (0, 0);
        for deed in deeds {
            match deed {
                Deed::Answer(kind) => {
                    number += 1;
                    let own = [format!("c{number}a"), format!("c{number}b")];
                    let ids = match kind {
                        4 => ["", ""],
                        5 => ["same", "same"],
                        _ => [own[0].as_str(), own[1].as_str()],
                    };
                    let calls = match is_chat {
                        true => chat_calls(ids, "tool_calls"),
                        false => CALLS.replace("\"c1\"", &json!(ids[0]).to_string()).replace("\"c2\"", &json!(ids[1]).to_string()),
                    };
                    let text = json!({"choices": [{"delta": {"content": "Two files."}}]});
                    let finish = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
                    let body = match (kind, is_chat) {
                        (1, true) => stream_of(&[text, finish]),
                        (1, false) => ANSWER.to_owned(),
                        (2, true) => stream_of(&[text]),
                        (2, false) => half().to_owned(),
                        (3, _) => calls[..calls.len() / 2].to_owned(),
                        _ => calls,
                    };
                    stage.answer(&body);
                }
                Deed::Result(which) => {
                    let open = open_calls(&stage.stored);
                    if let Some(call) = open.get(usize::from(which)) {
                        let seq = call.requested.seq;
                        for text in ["done", "a second result"] {
                            let parts = vec![LogPart::text(text)];
                            stage.feed(LoopInput::CallEnded { seq, disposition: CallDisposition::Done, parts });
                        }
                    }
                }
                Deed::Steer => {
                    said += 1;
                    stage.feed(LoopInput::Steer(vec![LogPart::text("more")]));
                }
                Deed::Interrupt => stage.feed(LoopInput::Interrupt(Who::User)),
                Deed::Refuse => stage.refuse(500, "{}"),
                Deed::Wait(seconds) => stage.wait(Duration::from_secs(u64::from(seconds))),
            }
        }
        prop_assert!(stage.reports.len() <= 1);
        prop_assert_eq!(stage.turn.is_over(), stage.reports.len() == 1);
        // Every call has one result at most, and none is open when the next request is sent.
        let mut open: Vec<&CallId> = Vec::new();
        for entry in &stage.stored {
            match &entry.item {
                LogItem::Call { call, .. } => open.push(call),
                LogItem::Result { call, .. } => {
                    prop_assert!(open.contains(&call));
                    open.retain(|one| *one != call);
                }
                LogItem::User { .. } => prop_assert!(open.is_empty()),
                _ => {}
            }
        }
        // Words of the person are read by the model or come back; they wait only while the turn runs.
        let is_said = |entry: &&LogEntry| matches!(entry.item, LogItem::User { .. });
        let read = stage.stored.iter().skip(1).filter(is_said).count();
        prop_assert_eq!(read, stage.count("emit steered"));
        prop_assert!(read + stage.unread <= said);
        if stage.turn.is_over() {
            prop_assert!(open.is_empty(), "a turn ends with complete pairs");
            prop_assert_eq!(read + stage.unread, said);
        }
        prop_assert!(stage.stored.iter().enumerate().all(|(at, entry)| entry.seq == at as u64));
        // A call starts after its answer is stored, and a request is sent after its row.
        let mut planned = 0;
        let mut ended = 0;
        for line in &stage.lines {
            match line.split(' ').next() {
                Some("plan") => planned += 1,
                Some("send") => prop_assert_eq!(planned, ended + 1),
                Some("end") => ended += 1,
                Some("start") => prop_assert_eq!(planned, ended),
                _ => {}
            }
        }
        // Requests of one epoch only grow.
        for pair in stage.bodies.windows(2) {
            let unmarked = |body: &str| body.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
            let (before, later) = (unmarked(&pair[0]), unmarked(&pair[1]));
            let known = before.trim_end_matches(|letter| "]}".contains(letter));
            prop_assert!(later.starts_with(known), "{}\n{}", known, later);
        }
    }
}
