//! The transcripts of everything that was captured from the real Codex, of both versions.

use std::collections::BTreeMap;

use expect_test::expect;
use serde::Deserialize;
use serde_json::{Value, json};
use talaria_codex_proto::frame::{Decoded, Frame as Message, decode_text};
use talaria_codex_proto::project;
use talaria_codex_proto::wire::notification::{Notification, TurnStatus};
use talaria_core::input::InputPart;
use talaria_core::outcome::{FailureCode, Outcome};
use talaria_core::request::Who;
use talaria_core::transcript::{self, ProjectionLimits, Projector, Role, SentInput, digest};
use talaria_testkit::wire::{CapturedFrame, Direction, frames};

/// One turn of a capture, as a caller follows it who records its own inputs.
struct Turn {
    projector: Projector,
    messages: Vec<transcript::Message>,
}

/// The turns of one capture.
#[derive(Default)]
struct Capture {
    /// By thread and turn.
    turns: BTreeMap<(String, String), Turn>,
    /// Inputs that were sent and belong to a turn that has not begun, by thread.
    sent: BTreeMap<String, Vec<Vec<InputPart>>>,
}

#[derive(Deserialize)]
struct Input {
    method: String,
    params: InputParams,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputParams {
    thread_id: String,
    input: Vec<InputPart>,
}

impl Turn {
    fn record(&mut self, input: &[InputPart]) {
        self.projector.sent(SentInput::new(None, input));
        self.drain();
        self.messages.push(transcript::Message::user("(the caller's own)"));
    }

    fn drain(&mut self) {
        self.messages.extend(std::iter::from_fn(|| self.projector.poll()));
    }
}

impl Capture {
    fn take(&mut self, frame: &CapturedFrame) {
        match frame.direction {
            Direction::ToCodex => {
                if let Ok(Input { method, params }) = serde_json::from_str::<Input>(&frame.text)
                    && method == "turn/start"
                {
                    self.sent.entry(params.thread_id).or_default().push(params.input);
                }
            }
            Direction::FromCodex => {
                if let Decoded::Known(Message::Notification(notification)) = decode_text(&frame.text) {
                    self.notice(notification.into_owned());
                }
            }
        }
    }

    fn notice(&mut self, notification: Notification<'static>) {
        match notification {
            Notification::TurnStarted(params) => {
                self.turn(params.thread_id.to_string(), params.turn.id.to_string());
            }
            Notification::ItemStarted(params) => {
                let turn = self.turn(params.thread_id.to_string(), params.turn_id.to_string());
                turn.projector.begin(&project::item(params.item));
            }
            Notification::ItemCompleted(params) => {
                let turn = self.turn(params.thread_id.to_string(), params.turn_id.to_string());
                turn.projector.complete(&project::item(params.item));
            }
            Notification::TurnCompleted(params) => {
                let outcome = match (params.turn.status, params.turn.error) {
                    (TurnStatus::Failed, error) => Outcome::Failed {
                        code: FailureCode::Other,
                        message: error.map(|error| error.message).unwrap_or_default(),
                    },
                    (TurnStatus::Interrupted, _) => Outcome::Interrupted { by: Who::User },
                    _ => Outcome::Completed,
                };
                self.turn(params.thread_id.to_string(), params.turn.id.to_string())
                    .projector
                    .finish(&outcome);
            }
            _ => {}
        }
    }

    /// The turn, which begins with what was sent since the last one. Long captures lack some `turn/started`.
    fn turn(&mut self, thread: String, turn: String) -> &mut Turn {
        let sent = &mut self.sent;
        self.turns.entry((thread, turn)).or_insert_with_key(|(thread, _)| {
            let mut turn =
                Turn { projector: Projector::new(ProjectionLimits::default()), messages: Vec::new() };
            sent.remove(thread).unwrap_or_default().iter().for_each(|input| turn.record(input));
            turn
        })
    }

    /// The transcripts of all turns, in the order of their ids, which is that of time.
    fn finish(self) -> Vec<Vec<transcript::Message>> {
        let lost = Outcome::Lost { why: "the capture ends here".to_owned() };
        let turns = self.turns.into_values().map(|mut turn| {
            turn.projector.finish(&lost);
            turn.drain();
            turn.messages
        });
        turns.collect()
    }
}

/// Every captured turn, with the name of its capture.
fn turns() -> Vec<(String, Vec<transcript::Message>)> {
    let mut captures: BTreeMap<String, Capture> = BTreeMap::new();
    for frame in frames() {
        let name = format!("{}/{}", frame.version, frame.scenario);
        captures.entry(name).or_default().take(&frame);
    }
    let turns = captures.into_iter().flat_map(|(name, capture)| {
        capture.finish().into_iter().map(move |messages| (name.clone(), messages))
    });
    turns.collect()
}

fn is_in_order(messages: &[transcript::Message]) -> bool {
    let ends = messages.first().is_some_and(|message| message.role == Role::User)
        && messages.last().is_some_and(|message| message.role == Role::Assistant);
    let follows = |pair: &[transcript::Message]| match (pair[0].role, pair[1].role) {
        (Role::Assistant, Role::Tool) => pair[1].tool_call_id.as_deref() == Some(&pair[0].tool_calls[0].id),
        (Role::Assistant, Role::User) => pair[0].tool_calls.is_empty(),
        (before, after) => before != after && after != Role::Tool,
    };
    ends && messages.windows(2).all(follows)
}

#[test]
fn every_captured_turn_is_a_transcript_with_its_roles_in_order() {
    let turns = turns();
    assert!(turns.len() > 180, "{} turns", turns.len());
    for (name, messages) in &turns {
        assert!(is_in_order(messages), "{name}: {messages:#?}");
    }
}

#[test]
fn projecting_the_captures_twice_gives_the_same_bytes() {
    let bytes = || turns().iter().map(|(name, turn)| format!("{name} {}", json!(turn))).collect::<String>();
    assert_eq!(bytes(), bytes());
}

/// A client's own input is never recorded twice in its transcript; the input of another client is recorded.
#[test]
fn no_capture_has_an_echo_of_the_callers_own_message() {
    let mut others = Vec::new();
    for (name, messages) in turns() {
        let own = messages.iter().any(|message| message.content.as_deref() == Some("(the caller's own)"));
        let users =
            messages.iter().filter(|message| message.role == Role::User && !message.sources.is_empty());
        let count = users.count();
        if count > 0 && own {
            others.push(format!("{name}: {count}\n"));
        }
    }
    expect![[r#"
        0.130.0/steer: 1
        0.166.0/steer: 1
        0.166.0/unix_share-a: 1
    "#]]
    .assert_eq(&others.concat());
}

#[test]
fn the_calls_in_the_captures_and_how_they_ended_are_these() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for message in turns().iter().flat_map(|(_, messages)| messages) {
        for call in &message.tool_calls {
            *seen.entry(call.function.name.to_string()).or_default() += 1;
            let arguments: Value = serde_json::from_str(&call.function.arguments).unwrap();
            assert_eq!(arguments.to_string(), call.function.arguments, "keys are in order");
        }
        let content = message.content.as_deref().filter(|_| message.role == Role::Tool).unwrap_or_default();
        for word in ["[no end", "[did not run", "[declined", "[failed", "[exit code", "[no output]"] {
            *seen.entry(word.to_owned()).or_default() += content.matches(word).count();
        }
    }
    let table: String = seen.iter().map(|(what, count)| format!("{what} {count}\n")).collect();
    expect![[r#"
        [declined 12
        [did not run 0
        [exit code 0
        [failed 6
        [no end 28
        [no output] 14
        apply_patch 17
        close_ticket 2
        exec_command 68
        lookup_ticket 14
        mcp.tiny.ask 2
        mcp.tiny.echo 2
        slow_tool 2
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_rich_capture_reads_like_this() {
    let mut out = String::new();
    for (name, messages) in turns() {
        if name == "0.130.0/steer" || name == "0.166.0/subagent" {
            let line = |message: &transcript::Message| serde_json::to_string(message).unwrap() + "\n";
            out.extend(messages.iter().map(line));
        }
    }
    expect![[r#"
        {"role":"user","content":"(the caller's own)"}
        {"role":"assistant","content":"long long long long long long long long long long long long long long long long long long long long ","tool_calls":[{"id":"call_fcb171a5_s0_1","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"/bin/bash -lc 'echo one'\",\"cwd\":\"/home/dev/lab/work\"}"}}]}
        {"role":"tool","content":"one\n","tool_call_id":"call_fcb171a5_s0_1"}
        {"role":"user","content":"steer: focus on tests\n\nsteer: second turn while active"}
        {"role":"assistant","content":"after steer"}
        {"role":"user","content":"(the caller's own)"}
        {"role":"assistant","content":"[agents: spawnAgent, done]\ntask: @@SCRIPT [[{\"call\": \"exec_command\", \"args\": {\"cmd\": \"touch child.txt\", \"login\": false}}], [{\"text\": \"child done\"}]] @@END\n01a1e0f0-a886-7d91-b57d-a9c3c51bc592: pendingInit\n\nspawned\n\ndone"}
        {"role":"user","content":"@@SCRIPT [[{\"call\": \"exec_command\", \"args\": {\"cmd\": \"touch child.txt\", \"login\": false}}], [{\"text\": \"child done\"}]] @@END"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"call_75333d80_s0_0","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"/bin/bash -c 'touch child.txt'\",\"cwd\":\"/home/dev/lab/work\"}"}}]}
        {"role":"tool","content":"[no output]","tool_call_id":"call_75333d80_s0_0"}
        {"role":"assistant","content":"child done"}
    "#]].assert_eq(&out);
}

#[test]
fn a_digest_of_the_captures_keeps_to_its_budget() {
    let messages: Vec<transcript::Message> = turns().into_iter().flat_map(|(_, turn)| turn).collect();
    for budget in [0, 10, 100, 1000, 10_000, 100_000] {
        let text = digest(&messages, budget);
        let length = text.chars().count();
        assert!(length <= budget && length * 2 >= budget.min(50_000), "{length} of {budget}");
    }
}
