//! Every variant of events, steps and questions with a secret in each text: only what the table names may show it.
//!
//! `samples!` matches without `_` and its samples are whole literals: a new variant or field does not compile before it
//! has a sample here.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::EventRedactor;
use crate::background::{BackgroundCommand, BackgroundEnd};
use crate::event::{
    AgentPhase, Escalation, Event, PlanStatus, PlanStep, QueuedInput, RateLimits, Stage, Started, Usage,
};
use crate::gap::Gap;
use crate::ids::{BackgroundId, ItemId, ThreadId, TicketId, TurnId};
use crate::item::{
    AgentState, Attachment, Author, CommandSource, Compaction, FileAction, FileChange, Item, ItemBody,
    MessageQuestion, SearchAction, Status, ToolResult,
};
use crate::next_step::NextStep;
use crate::outcome::{FailureCode, Outcome, Report};
use crate::request::{
    Ask, Decision, Field, FieldKind, FileAccess, Form, FormOption, PathAccess, PermissionPlace, Permissions,
    Wish,
};
use crate::request::{Question as Asked, QuestionOption, Who};
use crate::review::{LearnedChange, LearnedSkill, ReviewReport};

/// Fields that are not redacted, and why: each line begins with the reason, then the fields.
const WHOLE: [(&str, &[&str]); 5] = [
    (
        "ids, and names that a configuration or Codex defines",
        &[
            "ledger.client_id",
            "background_started.process",
            "request_opened.digest",
            "user_message.client_id",
            "unknown.method",
            "other.name",
            "outcome.next_step.provider",
            "host.method",
            "unsupported.method",
            "tool.server",
            "tool.tool",
            "client_tool.namespace",
            "client_tool.tool",
            "tool_output.namespace",
            "tool_output.tool",
            "agent_activity.path",
            "command.approval",
            "stdin.approval",
            "input.questions.id",
            "elicitation.server",
            "elicitation.fields.name",
            "elicitation.fields.format",
            "own_tool.tool",
            "task_power.task",
            "task_power.model",
        ],
    ),
    (
        "states and settings, in Codex's words",
        &[
            "session_started.model",
            "session_started.provider",
            "session_started.effort",
            "session_started.sandbox",
            "session_started.approval",
            "session_started.codex",
            "settings_confirmed.model",
            "settings_confirmed.effort",
            "model_rerouted.from",
            "model_rerouted.to",
            "rate_limits.plan",
            "rate_limits.reached",
            "user_message.attachments.kind",
            "agent_message.phase",
            "agents.action",
            "agents.model",
            "agents.effort",
            "agents.agents.status",
            "agent_activity.activity",
            "agent_activity.model",
            "agent_activity.effort",
            "network.protocol",
        ],
    ),
    (
        "directories that something runs in, files that Talaria reads again, paths that decide where a patch writes",
        &[
            "session_started.cwd",
            "session_started.path",
            "background_started.cwd",
            "command.cwd",
            "task_power.cwd",
            "stdin.cwd",
            "permissions.cwd",
            "patch.changes.path",
            "patch.changes.move_to",
            "patch_updated.changes.path",
            "patch_updated.changes.move_to",
            "steering.input.images",
            "queued.images",
            "unqueued.inputs.images",
        ],
    ),
    (
        "the answer itself",
        &["input.questions.options.label", "elicitation.fields.options.value", "elicitation.fields.default"],
    ),
    ("an address to visit", &["elicitation.url"]),
];

/// Made of parts, so that nothing that scans the source takes it for one.
fn secret() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap())
}

fn words() -> String {
    format!("see {} here", secret())
}

fn some() -> Option<String> {
    Some(words())
}

fn raw() -> Box<RawValue> {
    RawValue::from_string(json!({ "a": words() }).to_string()).unwrap()
}

fn step() -> ItemId {
    ItemId::new("i")
}

fn thread() -> ThreadId {
    ThreadId::new("t")
}

fn ticket() -> TicketId {
    TicketId::new("req-1")
}

fn plan() -> Box<Item> {
    Box::new(Item { id: step(), body: ItemBody::Plan { text: words() } })
}

fn result() -> ToolResult {
    ToolResult { text: some(), images: 1, other: 1 }
}

fn changes() -> Vec<FileChange> {
    vec![FileChange { path: words(), action: FileAction::Update, move_to: some(), diff: words() }]
}

fn queued() -> QueuedInput {
    QueuedInput { text: words(), images: vec![words()] }
}

fn permissions() -> Permissions {
    let places = [
        PermissionPlace::Path(words()),
        PermissionPlace::Pattern(words()),
        PermissionPlace::Special(words()),
    ];
    let files = places.map(|place| PathAccess { access: FileAccess::Write, place }).into();
    Permissions { network: true, files, unknown: vec![words()] }
}

fn field(kind: FieldKind) -> Field {
    let (title, description, default) = (some(), some(), Some(Value::String(words())));
    Field { name: words(), title, description, required: true, secret: false, kind, default }
}

fn form() -> Form {
    let option = || vec![FormOption { value: words(), title: some() }];
    let kinds = [
        FieldKind::Text { format: some(), min_length: None, max_length: None },
        FieldKind::Number { minimum: None, maximum: None },
        FieldKind::Integer { minimum: None, maximum: None },
        FieldKind::Boolean,
        FieldKind::One { options: option() },
        FieldKind::Many { options: option(), min_items: None, max_items: None },
    ];
    Form { fields: kinds.map(field).into() }
}

fn report(outcome: Outcome) -> Event {
    let mut report = Report::new(outcome, some(), Usage::default(), 0);
    report.message = some();
    report.hint = some();
    report.next_step = Some(NextStep::CheckProvider { provider: words() });
    Event::Outcome(Box::new(report))
}

/// The samples of a type, with a match that fails to compile when a variant has none.
macro_rules! samples {
    ($name:ident -> $type:ty { $($pattern:pat => [$($sample:expr),+ $(,)?]),+ $(,)? }) => {
        fn $name() -> Vec<$type> {
            let all = vec![$($({
                let sample: $type = $sample;
                assert!(matches!(sample, $pattern), "a sample of another variant: {sample:?}");
                sample
            }),+),+];
            let _ = |one: &$type| match one { $($pattern => ()),+ };
            all
        }
    };
}

samples!(events -> Event {
    Event::SessionStarted(_) => [Event::SessionStarted(Box::new(Started {
        thread: thread(), cwd: words(), model: words(), provider: words(), effort: some(), sandbox: words(),
        approval: words(), codex: words(), path: some(), network: Some(true), writable_roots: Some(vec![words()]),
    }))],
    Event::Ledger { .. } => [
        Event::Ledger { stage: Stage::Sent, client_id: some(), after: Some(TurnId::new("u")) },
    ],
    Event::TurnStarted { .. } => [Event::TurnStarted { turn: TurnId::new("u") }],
    Event::TextDelta { .. } => [Event::TextDelta { item: step(), delta: words() }],
    Event::ReasoningDelta { .. } => [Event::ReasoningDelta { item: step(), delta: words() }],
    Event::OutputDelta { .. } => [Event::OutputDelta { item: step(), delta: words() }],
    Event::PlanDelta { .. } => [Event::PlanDelta { item: step(), delta: words() }],
    Event::ToolProgress { .. } => [Event::ToolProgress { item: step(), message: words() }],
    Event::PatchUpdated { .. } => [Event::PatchUpdated { item: step(), changes: changes() }],
    Event::ItemStarted { .. } => [Event::ItemStarted { item: plan() }],
    Event::ItemCompleted { .. } => [Event::ItemCompleted { item: plan() }],
    Event::ItemAbandoned { .. } => [Event::ItemAbandoned { item: step(), why: None }],
    Event::BackgroundStarted(_) => [Event::BackgroundStarted(Box::new(BackgroundCommand {
        id: BackgroundId::new("bg-1"), item: step(), command: words(), cwd: words(), process: some(),
    }))],
    Event::BackgroundOutput { .. } => [
        Event::BackgroundOutput { id: BackgroundId::new("bg-1"), item: step(), delta: words() },
    ],
    Event::BackgroundEnded { .. } => [Event::BackgroundEnded {
        id: BackgroundId::new("bg-1"), item: step(), command: words(), end: BackgroundEnd::Exited, exit_code: None,
    }],
    Event::PlanUpdated { .. } => [Event::PlanUpdated {
        explanation: some(), steps: vec![PlanStep { step: words(), status: PlanStatus::Pending }],
    }],
    Event::DiffUpdated { .. } => [Event::DiffUpdated { diff: words() }],
    Event::RequestOpened { .. } => [Event::RequestOpened {
        id: ticket(), ask: Box::new(Ask::Host { method: "m".to_owned(), summary: words() }), place: None,
        digest: some(),
    }],
    Event::RequestClosed { .. } => [
        Event::RequestClosed { id: ticket(), decision: Decision::Decline, by: Who::User, why: some() },
    ],
    Event::DeliveryUnknown { .. } => [Event::DeliveryUnknown { id: ticket() }],
    Event::Gap(_) => [Event::Gap(Gap {
        since: None, found: 0, open: vec![step()], missing: Vec::new(), message: words(),
    })],
    Event::TurnUndone { .. } => [Event::TurnUndone { undone: 7 }],
    Event::Reviewed(_) => [Event::Reviewed(Box::new(ReviewReport {
        changes: vec![LearnedChange { scope: "user".to_owned(), before: some(), after: some(), revision: Some(1) }],
        skills: vec![LearnedSkill {
            proposal: "skp-1".to_owned(), name: words(), file: "SKILL.md".to_owned(), is_new: true,
        }],
        proposal: Some("prop-1".to_owned()), why: some(), not_done: true, ..ReviewReport::default()
    }))],
    Event::UsageUpdated { .. } => [Event::UsageUpdated { turn: Usage::default(), context: 0, window: None, input: None }],
    Event::RateLimits(_) => [Event::RateLimits(Box::new(RateLimits {
        primary: None, secondary: None, plan: some(), reached: some(),
    }))],
    Event::SettingsConfirmed { .. } => [Event::SettingsConfirmed { model: words(), effort: some() }],
    Event::ModelRerouted { .. } => [Event::ModelRerouted { from: words(), to: words(), reason: some(), until: Some(1_800_000_000) }],
    Event::Compacted => [Event::Compacted],
    Event::AgentUpdated { .. } => [Event::AgentUpdated { thread: thread(), phase: AgentPhase::Running }],
    Event::AgentItemStarted { .. } => [Event::AgentItemStarted { thread: thread(), item: plan() }],
    Event::AgentItemCompleted { .. } => [Event::AgentItemCompleted { thread: thread(), item: plan() }],
    Event::ChildrenRunning { .. } => [Event::ChildrenRunning { count: 1 }],
    Event::Quiet { .. } => [Event::Quiet { seconds: 1, open_items: vec![step()] }],
    Event::Retrying { .. } => [Event::Retrying { message: words() }],
    Event::AttemptVoid { .. } => [
        Event::AttemptVoid { attempt: 1, why: words(), shown_chars: 1, items: vec![step()] },
    ],
    Event::Warning { .. } => [Event::Warning { message: words() }],
    Event::Interrupting { .. } => [Event::Interrupting { by: Who::User }],
    Event::Escalated { .. } => [Event::Escalated { action: Escalation::Abandoned }],
    Event::TerminalsEnded { .. } => [Event::TerminalsEnded { message: words() }],
    Event::HostReplaced { .. } => [Event::HostReplaced { message: words() }],
    Event::Steering { .. } => [Event::Steering { input: queued() }],
    Event::Steered { .. } => [Event::Steered { turn: TurnId::new("u") }],
    Event::Queued { .. } => [Event::Queued { waiting: 1, input: queued() }],
    Event::Unqueued { .. } => [Event::Unqueued { inputs: vec![queued()], was_sent: true }],
    Event::Unknown { .. } => [Event::Unknown { method: words(), raw: raw() }],
    Event::Corrupt { .. } => [Event::Corrupt { reason: words(), bytes: 1 }],
    Event::Outcome(_) => [
        report(Outcome::Completed),
        report(Outcome::Failed { code: FailureCode::Other, message: words() }),
        report(Outcome::Interrupted { by: Who::User }),
        report(Outcome::Lost { why: words() }),
    ],
});

samples!(steps -> ItemBody {
    ItemBody::UserMessage { .. } => [ItemBody::UserMessage {
        text: words(), attachments: vec![Attachment { kind: words(), name: some() }], client_id: some(),
        author: Author::Person,
    }],
    ItemBody::HookPrompt { .. } => [ItemBody::HookPrompt { text: words() }],
    ItemBody::AgentMessage { .. } => [ItemBody::AgentMessage {
        text: words(), phase: some(), questions: vec![MessageQuestion { title: words(), options: vec![words()] }],
    }],
    ItemBody::Reasoning { .. } => [ItemBody::Reasoning { summary: vec![words()], content: vec![words()] }],
    ItemBody::Plan { .. } => [ItemBody::Plan { text: words() }],
    ItemBody::Command { .. } => [ItemBody::Command {
        command: words(), cwd: words(), source: CommandSource::Agent, status: Status::Failed, exit_code: None,
        duration_ms: None, output: some(),
    }],
    ItemBody::Patch { .. } => [ItemBody::Patch { status: Status::Failed, changes: changes() }],
    ItemBody::Tool { .. } => [ItemBody::Tool {
        server: words(), tool: words(), status: Status::Failed, arguments: Some(raw()), result: Some(result()),
        duration_ms: None, error: some(),
    }],
    ItemBody::ClientTool { .. } => [ItemBody::ClientTool {
        namespace: some(), tool: words(), status: Status::Failed, success: None, arguments: Some(raw()),
        result: Some(result()), duration_ms: None,
    }],
    ItemBody::ToolOutput { .. } => [ItemBody::ToolOutput { namespace: some(), tool: words(), result: result() }],
    ItemBody::Agents { .. } => [ItemBody::Agents {
        action: words(), status: Status::Failed, threads: vec![thread()], prompt: some(), model: some(),
        effort: some(), agents: vec![AgentState { thread: thread(), status: words(), message: some() }],
    }],
    ItemBody::AgentActivity { .. } => [ItemBody::AgentActivity {
        activity: words(), thread: thread(), path: words(), model: some(), effort: some(),
    }],
    ItemBody::WebSearch { .. } => [
        ItemBody::WebSearch { query: words(), action: Some(SearchAction::Search { queries: vec![words()] }) },
        ItemBody::WebSearch { query: words(), action: Some(SearchAction::OpenPage { url: some() }) },
        ItemBody::WebSearch {
            query: words(), action: Some(SearchAction::FindInPage { url: some(), pattern: some() }),
        },
    ],
    ItemBody::ImageView { .. } => [ItemBody::ImageView { path: words() }],
    ItemBody::ImageGeneration { .. } => [ItemBody::ImageGeneration {
        status: Status::Failed, prompt: some(), path: some(), failure: some(),
    }],
    ItemBody::ReviewStarted { .. } => [ItemBody::ReviewStarted { review: words() }],
    ItemBody::ReviewEnded { .. } => [ItemBody::ReviewEnded { review: words() }],
    ItemBody::Sleep { .. } => [ItemBody::Sleep { duration_ms: 1 }],
    ItemBody::FailedCall { .. } => [ItemBody::FailedCall { tool: words(), error: words() }],
    ItemBody::Compaction(_) => [ItemBody::Compaction(Compaction::default())],
    ItemBody::Other { .. } => [ItemBody::Other { name: words(), raw: raw() }],
});

samples!(asks -> Ask {
    Ask::Command { .. } => [Ask::Command {
        thread: thread(), item: step(), approval: some(), command: words(), actions: vec![words()], cwd: some(),
        reason: some(), permissions: Some(permissions()), always: Some(vec![words()]), asked_because: some(),
    }],
    Ask::Stdin { .. } => [Ask::Stdin {
        thread: thread(), item: step(), approval: some(), command: words(), cwd: some(), reason: some(),
        can_last: true,
    }],
    Ask::Network { .. } => [Ask::Network {
        thread: thread(), item: step(), host: words(), protocol: words(), command: some(), reason: some(),
        always: some(),
    }],
    Ask::Patch { .. } => [Ask::Patch {
        thread: thread(), item: step(), changes: Some(changes()), reason: some(), grant_root: some(),
    }],
    Ask::Permissions { .. } => [Ask::Permissions {
        thread: thread(), item: step(), cwd: some(), reason: some(), permissions: permissions(),
    }],
    Ask::TaskPower { .. } => [Ask::TaskPower {
        task: words(), model: words(), cwd: words(), permissions: permissions(),
    }],
    Ask::WebPage { .. } => [Ask::WebPage { thread: thread(), item: step(), site: words(), url: words() }],
    Ask::OwnTool { .. } => [Ask::OwnTool {
        thread: thread(), item: step(), tool: words(), arguments: words(), reason: words(),
    }],
    Ask::Input { .. } => [Ask::Input {
        thread: thread(), item: Some(step()), blocking: None,
        questions: vec![Asked {
            id: words(), header: words(), question: words(), other: true, secret: false,
            options: vec![QuestionOption { label: words(), description: words() }],
        }],
    }],
    Ask::Elicitation { .. } => [
        Ask::Elicitation { thread: thread(), server: words(), message: words(), wish: Wish::Form(form()) },
        Ask::Elicitation { thread: thread(), server: words(), message: words(), wish: Wish::Url { url: words() } },
    ],
    Ask::Tool { .. } => [Ask::Tool {
        thread: Some(thread()), server: words(), message: words(), description: some(), arguments: some(),
        persist: Vec::new(), item: Some(step()),
    }],
    Ask::Host { .. } => [Ask::Host { method: words(), summary: words() }],
    Ask::Unsupported { .. } => [Ask::Unsupported { thread: None, method: words(), summary: words() }],
});

/// The fields that show the secret, as paths of names.
fn showing(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.contains(&secret()) => {
            found.insert(path.to_owned());
        }
        Value::Array(values) => values.iter().for_each(|value| showing(value, path, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                showing(value, &format!("{path}.{name}"), found);
            }
        }
        _ => {}
    }
}

/// The fields that show the secret in what is left of these events; `tag` is the field with the name of the variant.
fn shown(events: Vec<Event>, tag: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for event in events {
        let (mut redactor, mut left) = (EventRedactor::default(), Vec::new());
        redactor.cover(event, &mut |event| left.push(event));
        let ended = Report::new(Outcome::Completed, None, Usage::default(), 0);
        redactor.cover(Event::Outcome(Box::new(ended)), &mut |event| left.push(event));
        for event in left {
            let value = serde_json::to_value(&event).unwrap();
            let step = value.get("item").filter(|item| tag == "kind" && item.is_object());
            let value = step.unwrap_or(&value);
            if let Some(name) = value[tag].as_str() {
                showing(value, name, &mut found);
            }
        }
    }
    found
}

fn of_steps() -> Vec<Event> {
    let item = |body| Event::ItemCompleted { item: Box::new(Item { id: step(), body }) };
    steps().into_iter().map(item).collect()
}

fn of_asks() -> Vec<Event> {
    let opened = |ask| Event::RequestOpened { id: ticket(), ask: Box::new(ask), place: None, digest: None };
    asks().into_iter().map(opened).collect()
}

/// The tests of the API validate these lines against the OpenAPI document.
#[test]
fn every_event_step_and_question_has_a_line_in_the_fixture() {
    let samples = events().into_iter().chain(of_steps()).chain(of_asks());
    let lines = samples.map(|event| serde_json::to_string(&event).unwrap().replace(&words(), "text") + "\n");
    expect_test::expect_file!["../../../talaria-testkit/fixtures/events.jsonl"]
        .assert_eq(&lines.collect::<String>());
}

#[test]
fn only_what_the_table_names_shows_a_secret() {
    let mut found = shown(events(), "type");
    found.extend(shown(of_steps(), "kind"));
    found.extend(shown(of_asks(), "kind"));
    let whole = WHOLE.iter().flat_map(|(_, fields)| fields.iter().map(|field| (*field).to_owned()));
    let whole: BTreeSet<String> = whole.collect();
    let leaks: Vec<_> = found.difference(&whole).collect();
    assert!(leaks.is_empty(), "these show a secret: {leaks:#?}");
    let stale: Vec<_> = whole.difference(&found).collect();
    assert!(stale.is_empty(), "these no longer need to be in the table: {stale:#?}");
}

#[test]
fn a_piece_that_was_held_back_comes_with_the_end_of_its_step() {
    let pieces: [fn(ItemId, String) -> Event; 4] = [
        |item, delta| Event::TextDelta { item, delta },
        |item, delta| Event::ReasoningDelta { item, delta },
        |item, delta| Event::OutputDelta { item, delta },
        |item, delta| Event::PlanDelta { item, delta },
    ];
    let command = BackgroundCommand {
        id: BackgroundId::new("bg-1"),
        item: step(),
        command: String::new(),
        cwd: String::new(),
        process: None,
    };
    let ends = [
        Event::ItemCompleted { item: plan() },
        Event::ItemAbandoned { item: step(), why: None },
        Event::BackgroundStarted(Box::new(command)),
    ];
    for (piece, end) in pieces.iter().flat_map(|piece| ends.iter().map(move |end| (piece, end))) {
        let (mut redactor, mut left) = (EventRedactor::default(), Vec::new());
        redactor.cover(piece(step(), "last words".to_owned()), &mut |event| left.push(event));
        redactor.cover(end.clone(), &mut |event| left.push(event));
        let left: Vec<Value> = left.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
        let text: String = left.iter().filter_map(|event| event["delta"].as_str()).collect();
        assert_eq!(text, "last words", "{left:?}");
        let kind = serde_json::to_value(piece(step(), String::new())).unwrap()["type"].clone();
        assert!(left.iter().filter(|event| event["delta"].is_string()).all(|event| event["type"] == kind));
        assert!(left.last().unwrap()["delta"].is_null(), "the end comes last: {left:?}");
    }
}

#[test]
fn held_text_of_a_void_answer_comes_before_the_word_that_it_is_void() {
    let mut redactor = EventRedactor::default();
    let mut events = Vec::new();
    let item = ItemId::new("m-1");
    let void =
        Event::AttemptVoid { attempt: 1, why: "cut".into(), shown_chars: 9, items: vec![item.clone()] };
    for event in [Event::TextDelta { item, delta: "two words".into() }, void, report(Outcome::Completed)] {
        redactor.cover(event, &mut |event| events.push(event));
    }
    let at = events
        .iter()
        .position(|event| matches!(event, Event::AttemptVoid { .. }))
        .expect("the event is not lost");
    let text: String = events[..at]
        .iter()
        .map(|event| match event {
            Event::TextDelta { delta, .. } => delta.as_str(),
            _ => "",
        })
        .collect();
    assert_eq!(text, "two words");
    assert_eq!(events.len(), at + 2, "nothing of it follows: {events:?}");
}
