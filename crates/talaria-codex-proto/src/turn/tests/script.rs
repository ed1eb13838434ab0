//! The language of the transcripts. One step a line:
//!
//! ```text
//! limit 100ms                          the caller's limit (before anything else)
//! baseline 100                         the thread's token total so far (before anything else); `at least 100`: more may
//!                                      have been spent
//! quiet 120s                           when silence is told first (before anything else)
//! after old                            the last turn that is known (before anything else)
//! wants M E | in-force M E | file      model and effort (`-` is none); Codex does not tell them (before anything else)
//! reads                                the file of the conversation can be read for what is not told (before anything else)
//! compacts                             the turn shortens the conversation (before anything else)
//! sandbox TYPE POLICY                  where Codex works, and when it asks (before anything else)
//! unsent                               nothing has been sent (before anything else); `send` does it
//! ledger                               shows the stages too, and what else is only written down
//! at 250ms                             what follows happens then
//! accepted u | taken | refused CODE WORD   the answer to what was sent
//! settings M E | settings unknown      what the file of the conversation says is in force
//! < u begins                           `turn/started`; `other/u` is turn `u` of the thread `other`
//! < u ends completed                   `turn/completed` with this status, and what is said about a failure
//! < u item started command c1          also: completed; message, final, commentary, patch, user, agents, teleport
//! < u delta m1 text                    a piece of a message
//! < u usage 120 | < u retry text | < u error text
//! found absent | found running u | found ended u completed text | found unreadable WHY
//! found running u | completed command c1 | …   with what the thread has of it
//! found interrupted u idle             also: active
//! restart                              the engine dies, and another one takes the turn up from what was written down
//! restart without codex                Codex is dead too
//! stored req-1 accept by user          an answer is written down and the engine dies before it is used
//! escrow req-0 accept by user for u asks 0 command c1   an answer from before (before anything else), good for 10 s
//! untold failed TOOL ID WHY | …        what the file says beyond what Codex told; also: said TEXT; nothing
//! escalated host_ended | escalated abandoned | terminals WORDS | background ITEM…
//! < u asks 0 command c1                also: patch p1, network, tool, form, url, permissions, questions, lookup, tokens,
//!                                      and vague form, permissions, questions; the id keeps its type
//! < u resolved 0
//! < {"method":…}                       any other message as it is on the wire
//! answer req-1 accept by user          tickets are counted from 1, one for each request that is offered
//! answer req-1 decline by user because WHY
//! answer req-1 give c red by user      a (secret) answer to the question `c`
//! hook | deny RULE                     the hook is asked before a person; this deny rule holds
//! verdict req-1 allow | deny WHY | ask WHY | none
//! interrupt by user | gone WHY | login trouble | tick
//! wake | steerable                     shows when the machine wants to be woken, what could be steered
//! ```
//!
//! The outputs of a step are below it, after `=>`. An event is written as in JSON, but flat and without nulls and
//! zeros (the exit code is always there). Short frames are written as JSON and decoded like Codex's own.

use expect_test::Expect;
use serde_json::{Value, json};

use super::super::*;
use super::store::Store;
use crate::frame::{Decoded, Frame, decode_text};
use crate::project;
use crate::settle::{EndedTurn, Found};
use crate::thread_bounds::ThreadBounds;
use crate::wire::history::HistoryItem;
use talaria_core::escrow::{Escrow, EscrowedAnswers};
use talaria_core::gap::Extent;
use talaria_core::ids::BackgroundId;
use talaria_core::item::ItemBody;
use talaria_core::policy::Answers;
use talaria_core::request::{Answer, Content, Decision, Given};
use talaria_guard::rules::{Rule, Rules};

/// Runs the steps of a transcript and compares their outputs with the expected ones.
pub(super) fn check(transcript: Expect) {
    let text = transcript.data().to_owned();
    let steps = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("=>"));
    let mut run = Run::new();
    let mut actual = String::new();
    for step in steps {
        actual += &format!("{step}\n");
        run.step(step);
        for shown in run.shown.drain(..) {
            actual += &format!("  => {shown}\n");
        }
        run.outputs.clear();
    }
    transcript.assert_eq(&actual);
}

/// A machine and the script that drives it.
pub(super) struct Run {
    pub(super) turn: Turn,
    pub(super) now: Moment,
    /// The raw outputs.
    pub(super) outputs: Vec<Output>,
    /// The formatted outputs.
    pub(super) shown: Vec<String>,
    /// Tickets and the ids that they were minted for.
    pub(super) tickets: Vec<(TicketId, RequestId)>,
    store: Store,
    order: Order,
    is_unsent: bool,
    shows_ledger: bool,
}

/// An ordinary turn on the thread `t`.
pub(super) fn order() -> Order {
    Order {
        thread: ThreadId::new("t"),
        client_id: None,
        after: None,
        baseline: Usage::default(),
        limit: None,
        quiet_after: None,
        asks_hook: false,
        escrow: EscrowedAnswers::default(),
        choosing: Choosing::default(),
        deed: Deed::Words,
        cwd: "/w".to_owned(),
        has_file: false,
        gate: ThreadGate::new(
            ThreadBounds::new(
                &json!({ "type": "readOnly" }),
                &json!("on-request"),
                "/w",
                "0.166.0".parse().unwrap(),
            ),
            Rules::default(),
            Answers::Person,
            None,
        ),
    }
}

impl Run {
    pub(super) fn new() -> Self {
        let order = order();
        let turn = Turn::new(Moment::ZERO, order.clone());
        let (outputs, shown, tickets) = (Vec::new(), Vec::new(), Vec::new());
        let now = Moment::ZERO;
        let (is_unsent, shows_ledger) = (false, false);
        let store = Store::default();
        let mut run = Self { turn, now, outputs, shown, tickets, store, order, is_unsent, shows_ledger };
        run.begin_anew();
        run
    }

    /// Makes the turn as ordered; unless a script says otherwise, its input has been sent.
    fn begin_anew(&mut self) {
        self.turn = Turn::new(Moment::ZERO, self.order.clone());
        if !self.is_unsent {
            self.turn.handle(Moment::ZERO, Input::Send);
        }
        self.store = Store::default();
        while let Some(output) = self.turn.poll() {
            self.store.take(&output);
        }
    }

    /// Another engine takes the turn up.
    fn restart(&mut self, gone: Option<String>) {
        if matches!(self.turn.phase, Phase::Done) {
            return;
        }
        let flight = Flight { gone, ..self.store.flight() };
        self.turn = Turn::adopt(self.now, self.order.clone(), flight);
        self.drain();
    }

    pub(super) fn drain(&mut self) {
        while let Some(output) = self.turn.poll() {
            self.store.take(&output);
            if self.shows_ledger || !is_bookkeeping(&output) {
                self.shown.push(show(&output));
            }
            self.outputs.push(output);
        }
    }

    /// Takes one step and drains the machine.
    pub(super) fn step(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "#" => return,
            "at" => return self.now = duration(rest),
            "wants" | "in-force" | "file" | "reads" | "compacts" | "limit" | "baseline" | "quiet"
            | "after" | "client" | "unsent" | "sandbox" | "hook" | "deny" => {
                return self.prepare(word, rest);
            }
            "ledger" => return self.shows_ledger = true,
            "restart" => return self.restart((!rest.is_empty()).then(|| "Codex died".to_owned())),
            "stored" => {
                let words: Vec<&str> = rest.split(' ').collect();
                let [ticket, decision, "by", who] = words[..] else { panic!("no such answer: {rest}") };
                let ticket = TicketId::new(ticket);
                return self.store.answer(&ticket, decision_of(decision).into(), who_is(who));
            }
            "escrow" => return self.keep(rest),
            "wake" => {
                let wake =
                    self.turn.wake_at().map_or("never".to_owned(), |at| format!("{}ms", at.as_millis()));
                return self.shown.push(format!("wake {wake}"));
            }
            "steerable" => {
                let turn = self.turn.steerable().map_or("nothing", TurnId::as_str);
                return self.shown.push(format!("steerable {turn}"));
            }
            _ => {}
        }
        let input = match word {
            "<" => self.arrival(rest),
            _ => command(word, rest).unwrap_or_else(|| panic!("no such step: {line}")),
        };
        self.turn.handle(self.now, input);
        self.drain();
    }

    /// Keeps an answer from before for this turn.
    fn keep(&mut self, rest: &str) {
        let (answer, asked) = rest.split_once(" for ").unwrap();
        let words: Vec<&str> = answer.split(' ').collect();
        let [ticket, decision, "by", who, ..] = words[..] else { panic!("no such answer: {rest}") };
        let text = if asked.starts_with('{') { asked.to_owned() } else { message(asked).to_string() };
        let Decoded::Known(Frame::Request { request, .. }) = decode_text(&text) else {
            panic!("no such question: {asked}")
        };
        let subject = project::subject(&request, None);
        let escrow = Escrow {
            ticket: TicketId::new(ticket),
            binding: project::binding(&request, subject.as_ref()).unwrap(),
            place: self.order.gate.judge(&request, subject.as_ref()).0,
            answer: decision_of(decision).into(),
            by: who_is(who),
            until: 10_000,
            is_used: false,
        };
        self.order.escrow = EscrowedAnswers::new(vec![escrow], Moment::ZERO, 0);
        self.begin_anew();
    }

    fn prepare(&mut self, word: &str, value: &str) {
        match word {
            "limit" => self.order.limit = Some(duration(value)),
            "quiet" => self.order.quiet_after = Some(duration(value)),
            "after" => self.order.after = Some(TurnId::new(value)),
            "client" => self.order.client_id = Some(value.to_owned()),
            "unsent" => self.is_unsent = true,
            "hook" => self.order.asks_hook = true,
            "deny" => {
                let rules = Rules { deny: vec![Rule::deny(value).unwrap()], ..Rules::default() };
                let bounds = self.order.gate.bounds().clone();
                self.order.gate = ThreadGate::new(bounds, rules, Answers::Person, None);
            }
            "sandbox" => {
                let (sandbox, policy) = value.split_once(' ').unwrap();
                let (sandbox, version) = (json!({ "type": sandbox }), "0.166.0".parse().unwrap());
                self.order.gate.rebind(ThreadBounds::new(&sandbox, &json!(policy), "/w", version));
            }
            "file" => self.order.choosing.told_by = ToldBy::File,
            "reads" => self.order.has_file = true,
            "compacts" => self.order.deed = Deed::Compaction,
            "wants" | "in-force" => {
                let words: Vec<&str> = value.split(' ').collect();
                let [model, effort @ ..] = &words[..] else { panic!("no model: {value}") };
                let choosing = &mut self.order.choosing;
                let side = if word == "wants" { &mut choosing.wanted } else { &mut choosing.in_force };
                *side = choice(model, effort);
            }
            _ => {
                let (value, partial) = match value.strip_prefix("at least ") {
                    Some(value) => (value, true),
                    None => (value, false),
                };
                let exact = project::usage(serde_json::from_value(tokens(value)).unwrap());
                self.order.baseline = Usage { partial, ..exact };
            }
        }
        self.begin_anew();
    }

    fn arrival(&mut self, rest: &str) -> Input {
        let text = if rest.starts_with('{') { rest.to_owned() } else { message(rest).to_string() };
        match decode_text(&text) {
            Decoded::Known(Frame::Notification(notification)) => {
                Input::Notification(notification.into_owned())
            }
            Decoded::Known(Frame::Request { id, request }) => {
                let ticket = TicketId::new(format!("req-{}", self.tickets.len() + 1));
                self.tickets.push((ticket.clone(), id.clone()));
                Input::Request { ticket, id, request }
            }
            Decoded::Known(Frame::Response { .. }) => panic!("a response is no step: {text}"),
            Decoded::Unknown(unknown) => Input::Unknown(unknown),
            Decoded::Corrupt(corrupt) => Input::Corrupt(corrupt),
        }
    }
}

fn duration(text: &str) -> Duration {
    let millis = text.strip_suffix("ms").and_then(|n| n.parse().ok()).map(Duration::from_millis);
    let seconds = || text.strip_suffix('s').and_then(|n| n.parse().ok()).map(Duration::from_secs);
    millis.or_else(seconds).unwrap_or_else(|| panic!("not a time: {text}"))
}

/// Inputs that are not frames of Codex.
fn command(word: &str, rest: &str) -> Option<Input> {
    let words: Vec<&str> = rest.split(' ').collect();
    Some(match (word, words.as_slice()) {
        ("tick", _) => Input::Tick,
        ("verdict", [ticket, word, reason @ ..]) => {
            let reason = (!reason.is_empty()).then(|| reason.join(" "));
            let verdict = match *word {
                "allow" => HookVerdict::Allow { reason },
                "deny" => HookVerdict::Deny { reason },
                "ask" => HookVerdict::Ask { reason },
                _ => HookVerdict::NoOpinion,
            };
            Input::Consulted { ticket: TicketId::new(*ticket), verdict }
        }
        ("send", _) => Input::Send,
        ("login", ["trouble"]) => Input::LoginTrouble,
        ("found", ["absent"]) => Input::Settled(Settlement::NotThere),
        ("found", ["running", turn, "|", ..]) => {
            let found = Found { items: found_items(rest), extent: Extent::Messages };
            Input::Settled(Settlement::Running { turn: TurnId::new(*turn), found })
        }
        ("found", ["interrupted", turn, thread]) => {
            let thread = serde_json::from_value(json!({ "type": thread })).unwrap();
            let (turn, found) = (TurnId::new(*turn), Found::default());
            Input::Settled(Settlement::Admitted { turn, thread, found })
        }
        ("found", ["running", turn]) => {
            Input::Settled(Settlement::Running { turn: TurnId::new(*turn), found: Found::default() })
        }
        ("found", ["ended", turn, status, text @ ..]) => Input::Settled(ended(turn, status, &text.join(" "))),
        ("found", ["unreadable", why @ ..]) => Input::Settled(Settlement::Unknown { why: why.join(" ") }),
        ("escalated", ["host_ended"]) => Input::Escalated(Escalation::HostEnded),
        ("escalated", ["abandoned"]) => Input::Escalated(Escalation::Abandoned),
        ("background", _) => Input::TerminalsFound(
            rest.split_whitespace()
                .map(|item| BackgroundCommand {
                    id: BackgroundId::new(format!("bg-{item}")),
                    item: ItemId::new(item),
                    command: "serve".to_owned(),
                    cwd: "/w".to_owned(),
                    process: None,
                })
                .collect(),
        ),
        ("uninterrupted", [turn, why @ ..]) => {
            Input::InterruptRefused { turn: TurnId::new(*turn), why: why.join(" ") }
        }
        ("terminals", _) => Input::TerminalsEnded((!rest.is_empty()).then(|| rest.to_owned())),
        ("gone", _) => Input::Gone(rest.to_owned()),
        ("unanswered", _) => Input::Unanswered(rest.to_owned()),
        ("taken", _) => Input::Taken,
        ("settings", ["unknown"]) => Input::SettingsFound(None),
        ("untold", ["nothing"]) => Input::UntoldFound(Untold::default()),
        ("untold", ["failed", tool, id, why @ ..]) => {
            let body = ItemBody::FailedCall { tool: (*tool).to_owned(), error: why.join(" ") };
            Input::UntoldFound(Untold {
                failed: vec![Item { id: ItemId::new(*id), body }],
                ..Untold::default()
            })
        }
        ("untold", ["said", text @ ..]) => {
            Input::UntoldFound(Untold { said: vec![vec![text.join(" ")]], ..Untold::default() })
        }
        ("settings", [model, effort @ ..]) => Input::SettingsFound(Some(choice(model, effort))),
        ("accepted", [turn]) => Input::Accepted(TurnId::new(*turn)),
        ("refused", [code, why]) => Input::Refused(RpcError {
            code: code.parse().unwrap(),
            message: "no".to_owned(),
            data: Some(json!({ "input_error_code": why })),
        }),
        ("interrupt", ["by", who]) => Input::Interrupt { by: who_is(who) },
        ("answer", [ticket, decision, "by", who]) => {
            let answer = decision_of(decision).into();
            Input::Answer { ticket: TicketId::new(*ticket), answer, by: who_is(who) }
        }
        ("answer", [ticket, decision, "by", who, "because", why @ ..]) => {
            let answer = Answer { reason: Some(why.join(" ")), ..decision_of(decision).into() };
            Input::Answer { ticket: TicketId::new(*ticket), answer, by: who_is(who) }
        }
        ("answer", [ticket, "give", id, value, "by", who]) => {
            let given = [Given::secret(*value)].to_vec();
            let answer = Answer::with(Content::Answers([((*id).to_owned(), given)].into()));
            Input::Answer { ticket: TicketId::new(*ticket), answer, by: who_is(who) }
        }
        _ => return None,
    })
}

/// A model and perhaps an effort; `-` is none.
fn choice(model: &str, effort: &[&str]) -> ModelSettings {
    let given = |word: &&str| (*word != "-").then(|| (*word).to_owned());
    ModelSettings { model: given(&model), effort: effort.first().and_then(given) }
}

fn decision_of(word: &str) -> Decision {
    match word {
        "accept" => Decision::Accept,
        "accept-for-session" => Decision::AcceptForSession,
        "accept-always" => Decision::AcceptAlways,
        "decline" => Decision::Decline,
        "cancel" => Decision::Cancel,
        "void" => Decision::Void,
        other => panic!("no such decision: {other}"),
    }
}

/// The thread's report about an ended turn, with its last message if it has one, or its items.
fn ended(turn: &str, status: &str, text: &str) -> Settlement {
    if text.starts_with('|') {
        let (status, items) =
            (serde_json::from_value(json!(status)).unwrap(), found_items(&format!(" {text}")));
        let (turn, extent) = (TurnId::new(turn), Extent::Steps);
        return Settlement::Ended(Box::new(EndedTurn { turn, status, error: None, items, extent }));
    }
    let message = json!({ "type": "agentMessage", "id": "read", "text": text, "phase": null });
    let items =
        if text.is_empty() { vec![] } else { vec![serde_json::from_str(&message.to_string()).unwrap()] };
    let status = serde_json::from_value(json!(status)).unwrap();
    Settlement::Ended(Box::new(EndedTurn {
        turn: TurnId::new(turn),
        status,
        error: None,
        items,
        extent: Extent::Steps,
    }))
}

/// The part after the slashes: items with their status.
fn found_items(rest: &str) -> Vec<HistoryItem> {
    let item = |part: &str| {
        let (status, rest) = part.split_once(' ').unwrap();
        let (kind, id) = rest.split_once(' ').unwrap();
        let status = if status == "started" { "inProgress" } else { "completed" };
        serde_json::from_str(&item(kind, id, status).to_string()).unwrap()
    };
    rest.split(" | ").skip(1).map(item).collect()
}

fn who_is(word: &str) -> Who {
    match word {
        "user" => Who::User,
        "nobody" => Who::Nobody,
        "demo" => Who::Demo,
        "deadline" => Who::Deadline,
        "codex" => Who::Codex,
        other => panic!("nobody is called {other}"),
    }
}

/// A usual message in its short form, as Codex would write it.
fn message(short: &str) -> Value {
    let (scope, rest) = short.split_once(' ').unwrap();
    let (thread, turn) = scope.split_once('/').unwrap_or(("t", scope));
    let words: Vec<&str> = rest.splitn(4, ' ').collect();
    let (method, more) = match words.as_slice() {
        ["begins"] => {
            ("turn/started", json!({ "turn": { "id": turn, "status": "inProgress", "error": null } }))
        }
        ["ends", status] => {
            ("turn/completed", json!({ "turn": { "id": turn, "status": status, "error": null } }))
        }
        ["ends", status, why @ ..] => {
            let error =
                json!({ "message": why.join(" "), "codexErrorInfo": "other", "additionalDetails": null });
            ("turn/completed", json!({ "turn": { "id": turn, "status": status, "error": error } }))
        }
        ["item", "started", kind, id] => ("item/started", json!({ "item": item(kind, id, "inProgress") })),
        ["item", "completed", kind, id] => ("item/completed", json!({ "item": item(kind, id, "completed") })),
        ["delta", id, text @ ..] => {
            ("item/agentMessage/delta", json!({ "itemId": id, "delta": text.join(" ") }))
        }
        ["usage", total] => {
            let usage = json!({ "total": tokens(total), "last": tokens("7"), "modelContextWindow": 1000 });
            ("thread/tokenUsage/updated", json!({ "tokenUsage": usage }))
        }
        ["retry", why @ ..] => {
            let error =
                json!({ "message": why.join(" "), "codexErrorInfo": null, "additionalDetails": null });
            ("error", json!({ "error": error, "willRetry": true }))
        }
        ["error", why @ ..] => {
            let error =
                json!({ "message": why.join(" "), "codexErrorInfo": "other", "additionalDetails": null });
            ("error", json!({ "error": error, "willRetry": false }))
        }
        ["resolved", id] => ("serverRequest/resolved", json!({ "requestId": request_id(id) })),
        ["asks", id, what @ ..] => {
            let (method, more) = question(what);
            return with_scope(method, more, thread, turn, Some(request_id(id)));
        }
        _ => panic!("no such message: {short}"),
    };
    with_scope(method, more, thread, turn, None)
}

fn with_scope(method: &str, mut params: Value, thread: &str, turn: &str, id: Option<Value>) -> Value {
    params["threadId"] = json!(thread);
    params["turnId"] = json!(turn);
    match id {
        Some(id) => json!({ "method": method, "id": id, "params": params }),
        None => json!({ "method": method, "params": params }),
    }
}

fn request_id(word: &str) -> Value {
    serde_json::from_str(word).unwrap()
}

fn question(words: &[&str]) -> (&'static str, Value) {
    match words {
        ["command", item] => {
            ("item/commandExecution/requestApproval", json!({ "itemId": item, "command": "ls", "cwd": "/w" }))
        }
        ["patch", item] => ("item/fileChange/requestApproval", json!({ "itemId": item })),
        ["network"] => {
            let context = json!({ "host": "example.org", "protocol": "https" });
            (
                "item/commandExecution/requestApproval",
                json!({ "itemId": "n", "networkApprovalContext": context }),
            )
        }
        ["permissions"] => {
            let profile = json!({ "network": { "enabled": true } });
            ("item/permissions/requestApproval", json!({ "itemId": "x", "permissions": profile }))
        }
        ["vague", "permissions"] => {
            ("item/permissions/requestApproval", json!({ "itemId": "x", "reason": "cache" }))
        }
        ["questions"] => {
            ("item/tool/requestUserInput", json!({ "questions": [{ "id": "c", "question": "Which?" }] }))
        }
        ["vague", "questions"] => ("item/tool/requestUserInput", json!({ "questions": [] })),
        ["lookup"] => ("item/tool/call", json!({ "callId": "l", "tool": "lookup", "arguments": {} })),
        ["tokens"] => ("account/chatgptAuthTokens/refresh", json!({ "reason": "unauthorized" })),
        ["url"] => (
            "mcpServer/elicitation/request",
            json!({ "serverName": "tiny", "message": "Go", "mode": "url", "url": "https://example.org" }),
        ),
        ["form"] => (
            "mcpServer/elicitation/request",
            json!({ "serverName": "tiny", "message": "Sure?", "mode": "form",
                    "requestedSchema": { "type": "object", "properties": {} } }),
        ),
        ["tool"] => {
            let meta = json!({ "codex_approval_kind": "mcp_tool_call" });
            (
                "mcpServer/elicitation/request",
                json!({ "serverName": "tiny", "message": "Run?", "_meta": meta }),
            )
        }
        ["vague", "form"] => (
            "mcpServer/elicitation/request",
            json!({ "serverName": "tiny", "message": "Who?", "_meta": null }),
        ),
        _ => panic!("no such question: {words:?}"),
    }
}

/// `id` is followed by what the item says, if it says something.
fn item(kind: &str, id: &str, status: &str) -> Value {
    let (id, text) = id.split_once(' ').unwrap_or((id, ""));
    let phase = match kind {
        "final" => Some("final_answer"),
        "commentary" => Some("commentary"),
        _ => None,
    };
    match kind {
        "message" | "final" | "commentary" => {
            json!({ "type": "agentMessage", "id": id, "text": text, "phase": phase })
        }
        "command" => {
            json!({ "type": "commandExecution", "id": id, "command": "ls", "cwd": "/w", "status": status })
        }
        "patch" => {
            let change = json!({ "path": "a.txt", "kind": { "type": "add" }, "diff": "hi" });
            json!({ "type": "fileChange", "id": id, "changes": [change], "status": status })
        }
        "user" => json!({ "type": "userMessage", "id": id, "content": [{ "type": "text", "text": text }] }),
        "agents" => {
            let threads = [text];
            json!({ "type": "collabAgentToolCall", "id": id, "tool": "spawnAgent", "status": status,
                    "receiverThreadIds": threads })
        }
        "teleport" => json!({ "type": "teleport", "id": id, "to": "Mars" }),
        _ => panic!("no such item: {kind}"),
    }
}

/// `total`, or `total/input/cached/output/reasoning`.
fn tokens(text: &str) -> Value {
    let numbers: Vec<u64> = text.split('/').map(|n| n.parse().unwrap()).collect();
    let [total, input, cached, output, reasoning] = numbers[..] else {
        return tokens(&format!("{text}/{text}/0/0/0"));
    };
    json!({ "totalTokens": total, "inputTokens": input, "cachedInputTokens": cached, "outputTokens": output,
            "reasoningOutputTokens": reasoning })
}

/// Outputs that are only recorded.
fn is_bookkeeping(output: &Output) -> bool {
    matches!(output, Output::Emit(Event::Ledger { .. }) | Output::Record(_))
}

fn show(output: &Output) -> String {
    match output {
        Output::Start => "start".to_owned(),
        Output::Consult { ticket, call } => {
            format!("consult {ticket} {}", serde_json::to_string(call).unwrap())
        }
        Output::CallTool { id, call } => format!("call {} for id={id}", call.tool),
        Output::Heard(item) => match &item.body {
            ItemBody::UserMessage { author, .. } if !author.is_person() => {
                format!("heard {} of talaria", item.id)
            }
            _ => format!("heard {}", item.id),
        },
        Output::Steer { thread, turn, text } => format!("steer {thread}/{turn} {text:?}"),
        Output::Interrupt { thread, turn } if thread.as_str() == "t" => format!("interrupt {turn}"),
        Output::Interrupt { thread, turn } => format!("interrupt {thread}/{turn}"),
        Output::Read => "read the thread".to_owned(),
        Output::LookUpSettings => "look up the settings".to_owned(),
        Output::LookUpUntold => "look up what was not told".to_owned(),
        Output::Escalate => "escalate".to_owned(),
        Output::EndTerminals { thread, items } => {
            let items: Vec<&str> = items.iter().map(ItemId::as_str).collect();
            let whose = if thread.as_str() == "t" { String::new() } else { format!(" on {thread}") };
            format!("end the terminals of {}{whose}", items.join(", "))
        }
        Output::FindTerminals { commands, .. } => {
            let items: Vec<&str> = commands.iter().map(|command| command.item.as_str()).collect();
            format!("find the terminals of {}", items.join(", "))
        }
        Output::Record(Record::Opened(opened)) => {
            format!("opened {} as id={}", opened.ticket, opened.asked.id)
        }
        Output::Record(Record::Delivering { ticket, by, .. }) => {
            format!("delivering {ticket} by {by:?}").to_lowercase()
        }
        Output::Record(Record::Fate { ticket, fate }) => {
            let word = match fate {
                Fate::Delivered => "delivered",
                Fate::Unknown => "delivery unknown",
                Fate::Kept { .. } => "kept",
                Fate::Void => "void",
            };
            format!("fate {ticket} {word}")
        }
        Output::Record(Record::EscrowUsed { kept, ticket }) => format!("escrow of {kept} answers {ticket}"),
        Output::Reply { id, result } => format!("reply id={id} {result}"),
        Output::Finish(report, total) => {
            let at_least = if total.partial { "at least " } else { "" };
            let total =
                if total.total == 0 { String::new() } else { format!(" total {at_least}{}", total.total) };
            format!("finish {} exit {}{total}", report.outcome.word(), report.exit_code())
        }
        Output::Emit(event) => {
            let mut value = serde_json::to_value(event).unwrap();
            // It is meaningless to the reader of a script; `escrow` tests it.
            value.as_object_mut().unwrap().remove("digest");
            let mut fields = Vec::new();
            flatten("", &value, &mut fields);
            format!("emit {}{}", value["type"].as_str().unwrap(), fields.concat())
        }
    }
}

fn flatten(path: &str, value: &Value, fields: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Number(n) if n.as_u64() == Some(0) && !path.starts_with("exit") => {}
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| *key != "type" || !path.is_empty()) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, fields);
            }
        }
        Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '\n']) => {
            fields.push(format!(" {path}={text}"));
        }
        other => fields.push(format!(" {path}={other}")),
    }
}
