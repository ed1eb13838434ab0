//! Arbitrary sequences of frames for as long as one likes: no frame, in whatever shape, makes the machine panic or break
//! a promise.
//!
//! `TALARIA_SOAK_SECONDS` sets the duration, one second by default; `./test` sets twenty. A sequence is generated
//! from a seed. One that fails is minimised and printed; it can be pasted into a test.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::properties::Ledger;
use super::script::Run;
use crate::wire::notification::Notification;
use crate::wire::server_request::ServerRequest;

/// Numbers that look arbitrary (xorshift), the same for the same beginning.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

/// The fields of frames, each with what it usually is, as JSON.
const FIELDS: &[(&str, &[&str])] = &[
    ("threadId", &[r#""t""#, r#""t""#, r#""t""#, r#""child""#, r#""other""#]),
    ("turnId", &[r#""u""#, r#""u""#, r#""u""#, r#""v""#, r#""x""#]),
    ("itemId", &[r#""i1""#, r#""i2""#]),
    ("delta", &[r#""piece""#]),
    ("diff", &[r#""--- a""#]),
    ("plan", &["[]", r#"[{"step":"s","status":"pending"}]"#]),
    ("message", &[r#""words""#]),
    ("summary", &[r#""words""#]),
    ("requestId", &["0", "1", r#""0""#]),
    ("willRetry", &["true", "false"]),
    ("error", &[r#"{"message":"boom"}"#]),
    ("command", &[r#""ls""#, r#""/bin/sh -c 'rm -rf /'""#, "null"]),
    ("questions", &["[]", r#"[{"id":"q","question":"Which?"}]"#]),
    ("serverName", &[r#""tiny""#]),
    ("permissions", &["{}", r#"{"network":{"enabled":true}}"#]),
    ("changes", &["[]", r#"[{"path":"b","kind":{"type":"delete"},"diff":"d"}]"#]),
    ("callId", &[r#""i1""#]),
    ("tool", &[r#""lookup""#]),
    ("arguments", &["{}"]),
    ("status", &[r#"{"type":"idle"}"#, r#"{"type":"active","activeFlags":[]}"#]),
];

const ITEM: &[(&str, &[&str])] = &[
    ("id", &[r#""i1""#, r#""i2""#, r#""i3""#]),
    (
        "type",
        &[
            r#""userMessage""#,
            r#""agentMessage""#,
            r#""reasoning""#,
            r#""plan""#,
            r#""commandExecution""#,
            r#""fileChange""#,
            r#""mcpToolCall""#,
            r#""dynamicToolCall""#,
            r#""collabAgentToolCall""#,
            r#""subAgentActivity""#,
            r#""webSearch""#,
            r#""imageView""#,
            r#""contextCompaction""#,
            r#""teleport""#,
        ],
    ),
    ("text", &[r#""hello""#, r#""<turn_aborted>""#]),
    ("phase", &["null", r#""commentary""#, r#""final_answer""#]),
    ("content", &["[]", r#"[{"type":"text","text":"hi"}]"#]),
    ("summary", &["[]", r#"["thinking"]"#]),
    ("command", &[r#""ls""#]),
    ("cwd", &[r#""/w""#]),
    ("status", &[r#""inProgress""#, r#""completed""#, r#""failed""#, r#""declined""#]),
    ("exitCode", &["null", "0", "1"]),
    ("changes", &["[]", r#"[{"path":"a","kind":{"type":"add"},"diff":"d"}]"#]),
    ("server", &[r#""tiny""#]),
    ("tool", &[r#""spawnAgent""#, r#""closeAgent""#, r#""echo""#]),
    ("receiverThreadIds", &["[]", r#"["child"]"#, r#"["child","t"]"#]),
    ("agentThreadId", &[r#""child""#]),
    ("kind", &[r#""started""#, r#""completed""#]),
    ("query", &[r#""rust""#]),
    ("path", &[r#""/a.png""#]),
];

const TURN: &[(&str, &[&str])] = &[
    ("id", &[r#""u""#, r#""u""#, r#""v""#, r#""x""#]),
    ("status", &[r#""completed""#, r#""failed""#, r#""interrupted""#, r#""inProgress""#]),
    ("error", &["null", r#"{"message":"boom","codexErrorInfo":"other"}"#]),
];

const ANYTHING: &[&str] = &["null", "true", "-1", "1e300", "\"\"", "\"\\u0000é\"", "[]", "{}", "[[{}]]"];

const STEPS: &[&str] = &[
    "accepted u",
    "< u begins",
    "< u ends completed",
    "< u ends interrupted",
    "< child/x ends completed",
    "< u item completed agents a1 child",
    "< u asks 0 command i1",
    "< child/x asks 1 patch i2",
    "answer req-1 accept by user",
    "answer req-2 cancel by user",
    "answer req-3 decline by nobody",
    "interrupt by user",
    "gone killed",
    "found absent",
    "found running u",
    "found ended u completed read",
    "found ended u interrupted",
    "found unreadable no",
    "escalated host_ended",
    "escalated abandoned",
    "terminals gone",
    "background c1",
    "unanswered late",
    "refused -32600 no",
    "send",
    "restart",
    "restart",
    "restart without codex",
    "stored req-1 accept by user",
    "stored req-2 decline by user",
    "found interrupted u idle",
    "found running u | completed message item-1 hello | completed command i1 | started command i2",
    "found ended u completed | completed message i3 hello | completed command i1",
    "tick",
    "< {nonsense",
];

/// An object in which a field is as it should be, seldom missing and seldom anything.
fn object(numbers: &mut Numbers, fields: &[(&str, &[&str])]) -> Map<String, Value> {
    let mut object = Map::new();
    for (name, usual) in fields {
        let text = match numbers.below(16) {
            0 => continue,
            1 => numbers.one(ANYTHING),
            _ => numbers.one(usual),
        };
        object.insert((*name).to_owned(), serde_json::from_str(text).unwrap());
    }
    object
}

/// A message with a method that is read and parameters that fit, or nearly so.
fn frame(numbers: &mut Numbers) -> String {
    let (notifications, requests) = (Notification::METHODS, ServerRequest::METHODS);
    let method = match numbers.below(8) {
        0 => "thread/levitated",
        1 | 2 => numbers.one(requests),
        3 | 4 => numbers.one(&["item/started", "item/completed", "turn/started", "turn/completed"]),
        _ => numbers.one(notifications),
    };
    let mut params = object(numbers, FIELDS);
    params.insert("item".to_owned(), Value::Object(object(numbers, ITEM)));
    params.insert("turn".to_owned(), Value::Object(object(numbers, TURN)));
    let mut message = json!({ "method": method, "params": params });
    if requests.contains(&method) || numbers.below(12) == 0 {
        message["id"] = json!(numbers.below(3));
    }
    format!("< {message}")
}

fn script(seed: u64) -> Vec<String> {
    // Neighbours would begin alike.
    let numbers = &mut Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let settings = ["limit 100ms", "quiet 50ms", "quiet 5s", "after v"];
    let mut script: Vec<String> = settings[..numbers.below(4)].iter().map(|&line| line.to_owned()).collect();
    let mut now = 0;
    for _ in 0..numbers.below(60) {
        now += match numbers.below(12) {
            0 => [10_000, 30_000, 60_000, 90_000][numbers.below(4)],
            1 | 2 => numbers.below(500),
            _ => 0,
        };
        let step = if numbers.below(3) == 0 { (*numbers.one(STEPS)).to_owned() } else { frame(numbers) };
        script.extend([format!("at {now}ms"), step]);
    }
    script
}

fn check(script: &[String]) {
    let mut run = Run::new();
    let mut ledger = Ledger::default();
    for line in script {
        ledger.hear(line, &run.tickets);
        run.step(line);
        for output in run.outputs.drain(..) {
            ledger.take(&output, &run.tickets);
        }
        run.shown.clear();
        let is_input = !line.starts_with("at ") && !line.starts_with("stored ");
        assert!(
            !is_input || run.turn.wake_at().is_none_or(|at| at > run.now),
            "wants to be woken in the past"
        );
    }
}

fn fails(script: &[String]) -> bool {
    catch_unwind(AssertUnwindSafe(|| check(script))).is_err()
}

/// Leaves out what is not needed for the failure.
fn shortened(mut script: Vec<String>) -> Vec<String> {
    let mut at = script.len();
    while at > 0 {
        at -= 1;
        let line = script.remove(at);
        if !fails(&script) {
            script.insert(at, line);
        }
    }
    script
}

#[test]
fn no_sequence_of_frames_makes_the_machine_panic_or_break_a_promise() {
    let seconds = std::env::var("TALARIA_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let first = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let mut tried = 0;
    while Instant::now() < end {
        let seed = first.wrapping_add(tried);
        let script = script(seed);
        if fails(&script) {
            panic!("this sequence breaks a promise (seed {seed}):\n{}", shortened(script).join("\n"));
        }
        tried += 1;
    }
    println!("{tried} sequences in {seconds} s");
}
