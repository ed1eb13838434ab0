//! Turns of the real Codex, as captured: an engine that dies anywhere in one, for any time, and another one that resumes
//! it, report the same as one engine that survives.
//!
//! The content of the thread when it is read is derived from the frames so far, as in each version: 0.130 renames messages
//! and reasoning, and omits the commands of an ended turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use talaria_testkit::ApiDocument;
use talaria_testkit::wire::{Direction, frames};

use super::super::*;
use super::script;
use super::store::Store;
use crate::frame::{Decoded, Frame, decode_text};
use crate::rollout;
use crate::settle::{Deed, RecordedInput, Vantage, settle};
use crate::wire::history::ThreadReadReply;
use talaria_core::input::InputPart;
use talaria_core::item::ItemBody;
use talaria_core::request::Decision;

/// The longest turn that is taken; floods are longer.
const LONGEST: usize = 90;

/// A turn that was captured, with everything from its beginning on.
#[derive(Debug)]
struct Case {
    name: String,
    is_old: bool,
    thread: ThreadId,
    turn: TurnId,
    text: String,
    frames: Vec<(Direction, Value)>,
}

fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        let mut captures: BTreeMap<(String, String), Vec<(Direction, Value)>> = BTreeMap::new();
        for frame in frames() {
            let message = serde_json::from_str(&frame.text).unwrap();
            captures.entry((frame.version, frame.scenario)).or_default().push((frame.direction, message));
        }
        captures
            .into_iter()
            .flat_map(|((version, scenario), frames)| turns(&version, &scenario, &frames))
            .collect()
    })
}

fn turns(version: &str, scenario: &str, frames: &[(Direction, Value)]) -> Vec<Case> {
    let is_start = |(direction, frame): &(Direction, Value)| {
        *direction == Direction::ToCodex && frame["method"] == "turn/start"
    };
    let starts: Vec<usize> = (0..frames.len()).filter(|at| is_start(&frames[*at])).collect();
    let (mut cases, mut begun) = (Vec::new(), BTreeSet::new());
    for (index, at) in starts.iter().enumerate() {
        let until = starts.get(index + 1).copied().unwrap_or(frames.len());
        let (id, params) = (&frames[*at].1["id"], &frames[*at].1["params"]);
        let rest = &frames[*at + 1..until];
        let answer = rest.iter().find(|(direction, frame)| {
            *direction == Direction::FromCodex && frame["id"] == *id && frame.get("result").is_some()
        });
        let Some(turn) = answer.and_then(|(_, frame)| frame["result"]["turn"]["id"].as_str()) else {
            continue;
        };
        // Codex takes input that arrives while a turn runs as a part of that turn. Talaria steers then, so that is no turn.
        if !begun.insert(turn) {
            continue;
        }
        let ends = rest
            .iter()
            .any(|(_, frame)| frame["method"] == "turn/completed" && frame["params"]["turn"]["id"] == turn);
        if ends && rest.len() <= LONGEST {
            let text = params["input"][0]["text"].as_str().unwrap_or_default();
            cases.push(Case {
                name: format!("{version}/{scenario} turn {index}"),
                is_old: version == "0.130.0",
                thread: ThreadId::new(params["threadId"].as_str().unwrap()),
                turn: TurnId::new(turn),
                text: text.to_owned(),
                frames: rest.to_vec(),
            });
        }
    }
    cases
}

impl Case {
    /// How many frames come before Codex shows that it has the turn. Read before that, the thread could not have it.
    fn first_sign(&self) -> usize {
        let is_sign = |(_, frame): &(Direction, Value)| {
            frame["result"]["turn"]["id"] == self.turn.as_str()
                || frame["params"]["turnId"] == self.turn.as_str()
                || frame["params"]["turn"]["id"] == self.turn.as_str()
        };
        self.frames.iter().position(is_sign).unwrap() + 1
    }

    /// The thread as it is read after this many frames.
    fn read(&self, count: usize, known: Option<&TurnId>) -> Settlement {
        let mut items: Vec<Value> = Vec::new();
        let (mut status, mut error) = ("inProgress".to_owned(), Value::Null);
        for (direction, frame) in &self.frames[..count] {
            let params = &frame["params"];
            let is_ours = params["threadId"] == self.thread.as_str()
                && (params["turnId"] == self.turn.as_str() || params["turn"]["id"] == self.turn.as_str());
            if *direction == Direction::ToCodex || !is_ours {
                continue;
            }
            match frame["method"].as_str().unwrap_or_default() {
                "item/started" if params["item"]["status"] == "inProgress" => {
                    items.push(params["item"].clone());
                }
                "item/completed" => {
                    let item = params["item"].clone();
                    match items
                        .iter_mut()
                        .find(|known| known["id"] == item["id"] && known["type"] == item["type"])
                    {
                        Some(known) => *known = item,
                        None => items.push(item),
                    }
                }
                "turn/completed" => {
                    status = params["turn"]["status"].as_str().unwrap().to_owned();
                    error = params["turn"]["error"].clone();
                }
                _ => {}
            }
        }
        if !items.iter().any(|item| item["type"] == "userMessage") {
            let content = json!([{ "type": "text", "text": self.text }]);
            items.insert(0, json!({ "type": "userMessage", "id": "said", "content": content }));
        }
        let is_over = status != "inProgress";
        if self.is_old {
            items.retain(|item| !is_over || item["type"] != "commandExecution");
            for (at, item) in items.iter_mut().enumerate() {
                if ["userMessage", "agentMessage", "reasoning"].iter().any(|kind| item["type"] == *kind) {
                    item["id"] = json!(format!("item-{at}"));
                }
            }
        }
        let turn = json!({ "id": self.turn, "status": status, "error": error, "items": items });
        let turns = [turn];
        let mode = if self.is_old { Value::Null } else { json!("paginated") };
        let state = json!({ "type": if is_over { "idle" } else { "active" } });
        let thread =
            json!({ "thread": { "id": self.thread, "status": state, "historyMode": mode, "turns": turns } });
        let history = serde_json::from_str::<ThreadReadReply>(&thread.to_string()).unwrap().thread;
        let input = [InputPart::Text { text: self.text.clone() }];
        let sent =
            RecordedInput { deed: Deed::Words, client_id: None, last_turn: None, input: &input, turn: known };
        settle(&sent, &history, Vantage::Reconnected)
    }

    /// Steps in the rollout file beyond those that Codex reported: it has the raw calls and their outputs.
    fn untold(&self) -> Untold {
        let event =
            |kind: &str| json!({ "type": "event_msg", "payload": { "type": kind, "turn_id": self.turn } });
        let raw = self.frames.iter().filter(|(_, frame)| frame["method"] == "rawResponseItem/completed");
        let raw =
            raw.map(|(_, frame)| json!({ "type": "response_item", "payload": frame["params"]["item"] }));
        let lines = [event("task_started")].into_iter().chain(raw).chain([event("task_complete")]);
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        rollout::read(&text, &self.turn).unwrap().untold()
    }

    /// The requests that Codex waits for after this many frames.
    fn pending(&self, count: usize) -> Vec<&Value> {
        let mut pending: Vec<&Value> = Vec::new();
        for (direction, frame) in &self.frames[..count] {
            let is_request = frame.get("method").is_some() && frame.get("id").is_some();
            match direction {
                Direction::FromCodex if is_request => pending.push(frame),
                Direction::FromCodex if frame["method"] == "serverRequest/resolved" => {
                    pending.retain(|request| request["id"] != frame["params"]["requestId"]);
                }
                Direction::FromCodex if frame["method"] == "turn/completed" => pending.clear(),
                Direction::FromCodex => {}
                Direction::ToCodex => pending.retain(|request| request["id"] != frame["id"]),
            }
        }
        pending
    }

    /// No one answers while no engine runs.
    fn longest_gap(&self, from: usize) -> usize {
        let answered = self.frames[from..].iter().position(|(direction, _)| *direction == Direction::ToCodex);
        answered.unwrap_or(self.frames.len() - from)
    }
}

/// Result of a turn.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    outcome: String,
    text: Option<String>,
    /// Completed steps, messages and thoughts by what they say.
    completed: Vec<String>,
    closed: Vec<TicketId>,
    /// Every event, as JSON. Only of a turn that one engine lives through.
    events: Vec<Value>,
}

struct Play<'a> {
    case: &'a Case,
    turn: Turn,
    store: Store,
    now: Moment,
    told: Told,
    is_read: bool,
    is_looked_up: bool,
    is_done: bool,
    keeps_events: bool,
}

impl Play<'_> {
    fn handle(&mut self, input: Input) {
        self.now += Duration::from_millis(1);
        self.turn.handle(self.now, input);
        self.drain();
        if std::mem::take(&mut self.is_looked_up) {
            self.turn.handle(self.now, Input::UntoldFound(self.case.untold()));
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.turn.poll() {
            self.store.take(&output);
            if self.keeps_events {
                let event = match &output {
                    Output::Emit(event) => Some(serde_json::to_value(event).unwrap()),
                    Output::Finish(report, _) => {
                        Some(serde_json::to_value(Event::Outcome(report.clone())).unwrap())
                    }
                    _ => None,
                };
                self.told.events.extend(event);
            }
            match output {
                Output::Read => self.is_read = true,
                Output::LookUpUntold => self.is_looked_up = true,
                Output::Emit(Event::ItemCompleted { item }) => self.told.completed.push(match &item.body {
                    ItemBody::AgentMessage { text, .. } => format!("said {text}"),
                    ItemBody::Reasoning { summary, .. } => format!("thought {summary:?}"),
                    _ => format!("{} {}", item.body.kind(), item.id),
                }),
                Output::Emit(Event::RequestClosed { id, .. }) => self.told.closed.push(id),
                Output::Finish(report, _) => {
                    self.told.outcome = format!("{:?}", report.outcome);
                    self.told.text = report.text;
                    self.is_done = true;
                }
                _ => {}
            }
        }
    }

    fn arrive(&mut self, message: &Value, name: &str) {
        let input = match decode_text(&message.to_string()) {
            Decoded::Known(Frame::Notification(told)) => Input::Notification(told.into_owned()),
            Decoded::Known(Frame::Request { id, request }) => {
                Input::Request { ticket: TicketId::new(format!("{name}-{id}")), id, request }
            }
            Decoded::Known(Frame::Response { .. }) => return,
            Decoded::Unknown(unknown) => Input::Unknown(unknown),
            Decoded::Corrupt(corrupt) => Input::Corrupt(corrupt),
        };
        self.handle(input);
    }

    fn step(&mut self, direction: Direction, frame: &Value) {
        match direction {
            Direction::FromCodex if frame["result"]["turn"]["id"] == self.case.turn.as_str() => {
                self.handle(Input::Accepted(self.case.turn.clone()));
            }
            Direction::FromCodex => self.arrive(frame, "req"),
            Direction::ToCodex if frame.get("method").is_none() => {
                let word = frame["result"]["decision"].as_str().or(frame["result"]["action"].as_str());
                let decision = match word {
                    Some("accept") => Decision::Accept,
                    Some("acceptForSession") => Decision::AcceptForSession,
                    Some("cancel") => Decision::Cancel,
                    _ => Decision::Decline,
                };
                let ticket = TicketId::new(format!("req-{}", frame["id"]));
                self.handle(Input::Answer { ticket, answer: decision.into(), by: Who::User });
            }
            Direction::ToCodex => {}
        }
    }

    /// Another engine takes the turn up after `count` frames.
    fn restart(&mut self, count: usize) {
        let order = Order { thread: self.case.thread.clone(), has_file: true, ..script::order() };
        self.turn = Turn::adopt(self.now, order, self.store.flight());
        self.drain();
        while std::mem::take(&mut self.is_read) {
            let settlement = self.case.read(count, self.turn.id());
            self.handle(Input::Settled(settlement));
            if !self.is_done && !matches!(self.turn.phase, Phase::Running | Phase::Ending { .. }) {
                self.now = self.turn.wake_at().unwrap_or(self.now);
                self.handle(Input::Tick);
            }
        }
        for request in self.case.pending(count) {
            // One that was asked while no one was there is new.
            let ticket = TicketId::new(format!("req-{}", request["id"]));
            let is_recorded = self.store.requests.iter().any(|record| record.ticket == ticket);
            self.arrive(request, if is_recorded { "again" } else { "req" });
        }
    }
}

/// Plays a turn; an engine dies after `cut` frames and another one starts `gap` frames later.
fn play(case: &Case, death: Option<(usize, usize)>) -> Told {
    Play::of(case).run(death)
}

impl<'a> Play<'a> {
    fn of(case: &'a Case) -> Self {
        let order = Order { thread: case.thread.clone(), ..script::order() };
        Play {
            case,
            turn: Turn::new(Moment::ZERO, order),
            store: Store::default(),
            now: Moment::ZERO,
            told: Told::default(),
            is_read: false,
            is_looked_up: false,
            is_done: false,
            keeps_events: false,
        }
    }

    fn run(mut self, death: Option<(usize, usize)>) -> Told {
        let case = self.case;
        self.handle(Input::Send);
        for (at, (direction, frame)) in case.frames.iter().enumerate() {
            let (cut, gap) = death.unwrap_or((usize::MAX, 0));
            if !self.is_done && at == cut + gap {
                self.restart(at);
            }
            if at < cut || at >= cut + gap {
                self.step(*direction, frame);
            }
        }
        if let Some((cut, gap)) = death.filter(|(cut, gap)| cut + gap == case.frames.len())
            && !self.is_done
        {
            self.restart(cut + gap);
        }
        for _ in 0..40 {
            if let Some(at) = self.turn.wake_at() {
                self.now = at;
                self.handle(Input::Tick);
            }
        }
        assert!(self.is_done, "{} does not end: {:?}", case.name, self.turn.phase);
        self.told.completed.sort();
        self.told.closed.sort();
        self.told
    }
}

fn has_no_repeats<T: Ord + Clone>(list: &[T]) -> bool {
    list.iter().cloned().collect::<BTreeSet<T>>().len() == list.len()
}

fn check(case: &Case, cut: usize, gap: usize) {
    if cut + gap < case.first_sign() {
        return;
    }
    let whole = play(case, None);
    let taken_up = play(case, Some((cut, gap)));
    let place = format!("{} after {cut} frames for {gap}\n{whole:#?}\n{taken_up:#?}", case.name);
    assert_eq!(taken_up.outcome, whole.outcome, "{place}");
    assert_eq!(taken_up.text, whole.text, "{place}");
    assert!(has_no_repeats(&taken_up.closed), "{place}");
    assert!(taken_up.closed.iter().all(|ticket| whole.closed.contains(ticket)), "{place}");
    let is_command = |step: &&String| step.starts_with("command ");
    let has_ended = case.frames[..cut + gap].iter().any(|(_, frame)| frame["method"] == "turn/completed");
    if case.is_old && has_ended {
        let but_commands =
            |told: &Told| told.completed.iter().filter(|step| !is_command(step)).cloned().collect::<Vec<_>>();
        assert_eq!(but_commands(&taken_up), but_commands(&whole), "{place}");
        assert!(
            taken_up.completed.iter().filter(is_command).all(|step| whole.completed.contains(step)),
            "{place}"
        );
        assert!(has_no_repeats(&taken_up.completed.iter().filter(is_command).collect::<Vec<_>>()), "{place}");
    } else {
        assert_eq!(taken_up.completed, whole.completed, "{place}");
    }
}

#[test]
fn there_is_something_to_resume() {
    let (old, new): (Vec<&Case>, Vec<&Case>) = cases().iter().partition(|case| case.is_old);
    assert!(old.len() > 40 && new.len() > 40, "{} and {}", old.len(), new.len());
    assert!(
        cases().iter().filter(|case| (0..case.frames.len()).any(|at| !case.pending(at).is_empty())).count()
            > 20
    );
}

#[test]
fn every_event_of_a_captured_turn_fits_the_openapi_document() {
    let schema = ApiDocument::committed().schema("Event");
    let mut types = BTreeSet::new();
    for case in cases() {
        let told = Play { keeps_events: true, ..Play::of(case) }.run(None);
        for event in &told.events {
            schema.assert_fits(event);
            types.insert(event["type"].as_str().unwrap().to_owned());
        }
    }
    for name in ["ledger", "turn_started", "item_completed", "request_opened", "request_closed", "outcome"] {
        assert!(types.contains(name), "{name} is not among {types:?}");
    }
}

#[test]
fn an_engine_that_dies_in_an_approval_anywhere_changes_nothing() {
    for case in cases().iter().filter(|case| case.name.contains("exec_approval-accept")) {
        for cut in 1..case.frames.len() {
            check(case, cut, 0);
            check(case, cut, case.longest_gap(cut));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_engine_that_dies_anywhere_for_any_time_changes_nothing(
        case in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        gap in any::<prop::sample::Index>(),
    ) {
        let case = case.get(cases());
        let cut = cut.index(case.frames.len());
        check(case, cut, gap.index(case.longest_gap(cut) + 1));
    }
}
