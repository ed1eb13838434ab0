//! Events of every kind, for the tests of the crates that show them.

#![allow(missing_docs, clippy::unwrap_used, reason = "samples for tests; their names say what they are")]

use serde_json::value::RawValue;
use talaria_core::event::{Event, PlanStatus, PlanStep, Started, Usage};
use talaria_core::ids::{ItemId, ThreadId, TicketId, TurnId};
use talaria_core::item::{
    CommandSource, Compaction, CompactionCause, FileAction, FileChange, Item, ItemBody, SearchAction, Status,
    ToolResult,
};
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::{
    Ask, Decision, Field, FieldKind, FileAccess, Form, FormOption, PathAccess, PermissionPlace, Permissions,
    Persist, Question, QuestionOption, Who, Wish,
};

use super::Look;

/// Neither colour nor terminal.
pub const PIPE: Look = Look { color: false, width: None, live: false, unicode: true };
/// A terminal of 80 columns.
pub const TERMINAL: Look = Look { color: true, width: Some(80), live: true, unicode: true };

const USAGE: Usage =
    Usage { input: 9600, cached: 4800, output: 12, reasoning: 0, total: 9612, partial: false };

pub fn session_started() -> Event {
    Event::SessionStarted(Box::new(Started {
        thread: ThreadId::new("th-1"),
        cwd: "/home/me/project".into(),
        model: "gpt-5.5".into(),
        provider: "openai".into(),
        effort: Some("high".into()),
        sandbox: "workspace-write".into(),
        approval: "on-request".into(),
        codex: "0.166.0".into(),
        path: None,
        network: None,
        writable_roots: None,
    }))
}

pub fn turn_started() -> Event {
    Event::TurnStarted { turn: TurnId::new("t-1") }
}

pub fn text(item: &str, delta: &str) -> Event {
    Event::TextDelta { item: ItemId::new(item), delta: delta.into() }
}

pub fn reasoning(item: &str, delta: &str) -> Event {
    Event::ReasoningDelta { item: ItemId::new(item), delta: delta.into() }
}

pub fn output(item: &str, delta: &str) -> Event {
    Event::OutputDelta { item: ItemId::new(item), delta: delta.into() }
}

pub fn began(item: &str, body: ItemBody) -> Event {
    Event::ItemStarted { item: Box::new(Item { id: ItemId::new(item), body }) }
}

pub fn ended(item: &str, body: ItemBody) -> Event {
    Event::ItemCompleted { item: Box::new(Item { id: ItemId::new(item), body }) }
}

pub fn message_body(text: &str, phase: Option<&str>) -> ItemBody {
    ItemBody::AgentMessage { text: text.into(), phase: phase.map(str::to_owned), questions: Vec::new() }
}

pub fn command_body(command: &str, status: Status, exit_code: Option<i32>, output: Option<&str>) -> ItemBody {
    ItemBody::Command {
        command: command.into(),
        cwd: "/home/me/project".into(),
        source: CommandSource::Agent,
        status,
        exit_code,
        duration_ms: exit_code.map(|_| 430),
        output: output.map(str::to_owned),
    }
}

pub fn tool_body(error: Option<&str>) -> ItemBody {
    ItemBody::Tool {
        server: "docs".into(),
        tool: "search".into(),
        status: if error.is_some() { Status::Failed } else { Status::Completed },
        arguments: None,
        result: None,
        duration_ms: Some(61_000),
        error: error.map(str::to_owned),
    }
}

/// A step of each kind that is neither a message nor a command, a patch or a tool of an MCP server.
pub fn other_steps() -> Vec<ItemBody> {
    let search = |query: &str, action| ItemBody::WebSearch { query: query.into(), action };
    let url = Some("https://example.org".to_owned());
    let client_tool = |namespace: Option<&str>, status| ItemBody::ClientTool {
        namespace: namespace.map(str::to_owned),
        tool: "close".into(),
        status,
        success: None,
        arguments: None,
        result: None,
        duration_ms: Some(3),
    };
    let image = |status, path: Option<&str>, failure: Option<&str>| ItemBody::ImageGeneration {
        status,
        prompt: Some("a cat".into()),
        path: path.map(str::to_owned),
        failure: failure.map(str::to_owned),
    };
    vec![
        client_tool(Some("desk"), Status::Completed),
        client_tool(None, Status::Failed),
        ItemBody::Agents {
            action: "spawnAgent".into(),
            status: Status::Interrupted,
            threads: vec![ThreadId::new("th-2")],
            prompt: Some("look".into()),
            model: None,
            effort: None,
            agents: Vec::new(),
        },
        ItemBody::AgentActivity {
            activity: "started".into(),
            thread: ThreadId::new("th-2"),
            path: "/root/two".into(),
            model: Some("gpt-5.5".into()),
            effort: None,
        },
        search("rust", Some(SearchAction::Search { queries: vec!["rust".into(), "serde".into()] })),
        search("rust", None),
        search("x", Some(SearchAction::OpenPage { url: url.clone() })),
        search("x", Some(SearchAction::FindInPage { url, pattern: Some("fn\nmain".into()) })),
        ItemBody::ImageView { path: "/w/a.png".into() },
        image(Status::Completed, Some("/w/cat.png"), None),
        image(Status::Failed, None, Some("usageLimitExceeded")),
        ItemBody::Sleep { duration_ms: 1500 },
        ItemBody::HookPrompt { text: "be\nkind".into() },
        ItemBody::ToolOutput { namespace: None, tool: "f\u{1b}".into(), result: ToolResult::default() },
        ItemBody::ReviewStarted { review: "the changes".into() },
        ItemBody::ReviewEnded { review: "fine".into() },
        ItemBody::Compaction(Compaction {
            by: Some(CompactionCause::User),
            before: Some(96_240),
            after: Some(6_908),
            ..Compaction::default()
        }),
        ItemBody::FailedCall {
            tool: "apply\u{1b}_patch".into(),
            error: "apply\u{1b}_patch failed: no\nsuch \u{1b}[31mline".into(),
        },
    ]
}

pub fn patch_body(status: Status) -> ItemBody {
    ItemBody::Patch { status, changes: changes() }
}

pub fn changes() -> Vec<FileChange> {
    let change = |path: &str, action, diff: &str| FileChange {
        path: path.into(),
        action,
        move_to: None,
        diff: diff.into(),
    };
    vec![
        change(
            "src/a.rs",
            FileAction::Update,
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@\n fn a() {\n-    old();\n+    new();\n+    newer();\n }\n",
        ),
        change("notes.md", FileAction::Add, "# Notes\n\ttabbed\n"),
        change("gone.txt", FileAction::Delete, "bye\n"),
    ]
}

pub fn ask_command(command: &str) -> Ask {
    Ask::Command {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("c-1"),
        approval: None,
        command: command.into(),
        actions: Vec::new(),
        cwd: Some("/home/me/project".into()),
        reason: Some("may I?\nsure".into()),
        permissions: None,
        always: None,
        asked_because: None,
    }
}

/// A command with everything that can come with one.
pub fn ask_wide_command(evil: &str) -> Ask {
    Ask::Command {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("c-1"),
        approval: Some("3f6".into()),
        command: format!("cat {evil} more"),
        actions: vec![format!("read {evil}")],
        cwd: None,
        reason: None,
        permissions: Some(permissions(evil)),
        always: Some(vec!["cat".into(), evil.into()]),
        asked_because: None,
    }
}

fn permissions(evil: &str) -> Permissions {
    let file = |access, place| PathAccess { access, place };
    Permissions {
        network: true,
        files: vec![
            file(FileAccess::Write, PermissionPlace::Path(format!("/var/cache/{evil}"))),
            file(FileAccess::Deny, PermissionPlace::Pattern("**/*.env".into())),
        ],
        unknown: vec![format!("camera {evil}")],
    }
}

pub fn ask_stdin(evil: &str) -> Ask {
    Ask::Stdin {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("c-1"),
        approval: Some("call_7".into()),
        command: format!("write_stdin --session-id 63035 '{evil}\n'"),
        cwd: Some("/home/me/project".into()),
        reason: Some("Send input to an existing terminal.".into()),
        can_last: false,
    }
}

pub fn ask_network(evil: &str) -> Ask {
    Ask::Network {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("n-1"),
        host: format!("example.org{evil}"),
        protocol: "https".into(),
        command: Some(format!("curl {evil}")),
        reason: Some("example.org is not in the allowed_domains".into()),
        always: Some(format!("example.org{evil}")),
    }
}

pub fn ask_permissions(evil: &str) -> Ask {
    Ask::Permissions {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("w-1"),
        cwd: Some("/home/me/project".into()),
        reason: Some(format!("need a cache {evil}")),
        permissions: permissions(evil),
    }
}

pub fn ask_task_power(evil: &str) -> Ask {
    Ask::TaskPower {
        task: "codex-0a1b2c3d4e5f".into(),
        model: format!("model:m{evil}"),
        cwd: format!("/home/me/project{evil}"),
        permissions: permissions(evil),
    }
}

pub fn ask_web_page(evil: &str) -> Ask {
    Ask::WebPage {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("w-2"),
        site: format!("example.org{evil}"),
        url: format!("https://example.org/docs?page=2{evil}"),
    }
}

pub fn ask_own_tool(evil: &str) -> Ask {
    Ask::OwnTool {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("o-2"),
        tool: "talaria_memory".into(),
        arguments: format!("{{\"op\":\"{evil}\"}}"),
        reason: format!("a look{evil}"),
    }
}

pub fn question(id: &str, text: &str, labels: &[&str]) -> Question {
    let option =
        |label: &&str| QuestionOption { label: (*label).into(), description: format!("about {label}") };
    Question {
        id: id.into(),
        header: "Head".into(),
        question: text.into(),
        options: labels.iter().map(option).collect(),
        other: !labels.is_empty(),
        secret: false,
    }
}

pub fn ask_input(questions: Vec<Question>) -> Ask {
    Ask::Input { thread: ThreadId::new("th-1"), item: None, questions, blocking: Some(false) }
}

pub fn field(name: &str, kind: FieldKind) -> Field {
    let (title, description, default) = (None, None, None);
    Field { name: name.into(), title, description, required: false, secret: false, kind, default }
}

/// A form with every kind of field.
pub fn ask_form(evil: &str) -> Ask {
    let option =
        |value: &str, title: Option<&str>| FormOption { value: value.into(), title: title.map(Into::into) };
    let options = vec![option("r", Some("Red")), option(&format!("g{evil}"), None)];
    let text = |format: Option<&str>| FieldKind::Text {
        format: format.map(Into::into),
        min_length: None,
        max_length: None,
    };
    let (minimum, maximum) = (Some(0.0), Some(150.0));
    let fields = vec![
        Field { title: Some(format!("Name{evil}")), required: true, ..field("name", text(None)) },
        Field {
            description: Some(format!("in years{evil}")),
            ..field("age", FieldKind::Integer { minimum, maximum })
        },
        Field { default: Some(0.5.into()), ..field("ratio", FieldKind::Number { minimum, maximum }) },
        field("mail", text(Some("email"))),
        field("sure", FieldKind::Boolean),
        field("colour", FieldKind::One { options: options.clone() }),
        field("colours", FieldKind::Many { options, min_items: None, max_items: None }),
        Field { secret: true, ..field("password", text(None)) },
    ];
    elicitation(&format!("Who are you?{evil}"), Wish::Form(Form { fields }))
}

pub fn ask_url(evil: &str) -> Ask {
    elicitation("Sign in, please", Wish::Url { url: format!("https://example.org/{evil}") })
}

fn elicitation(message: &str, wish: Wish) -> Ask {
    Ask::Elicitation {
        thread: ThreadId::new("th-1"),
        server: "docs\nx".into(),
        message: message.into(),
        wish,
    }
}

pub fn ask_host() -> Ask {
    let summary = "Talaria keeps no ChatGPT tokens".into();
    Ask::Host { method: "account/chatgptAuthTokens/refresh".into(), summary }
}

pub fn ask_unsupported(evil: &str) -> Ask {
    Ask::Unsupported { thread: None, method: "new/thing".into(), summary: format!("something{evil}") }
}

/// A question of every kind, with a hostile text wherever others may write one.
pub fn every_ask(evil: &str) -> Vec<Ask> {
    vec![
        ask_command(evil),
        ask_wide_command(evil),
        ask_stdin(evil),
        ask_network(evil),
        ask_patch(Some(changes())),
        ask_permissions(evil),
        ask_task_power(evil),
        ask_web_page(evil),
        ask_own_tool(evil),
        ask_input(vec![question("q", evil, &[evil, "blue"])]),
        ask_form(evil),
        ask_url(evil),
        ask_tool(Some(evil), Some(evil)),
        ask_host(),
        ask_unsupported(evil),
    ]
}

pub fn ask_patch(changes: Option<Vec<FileChange>>) -> Ask {
    Ask::Patch {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("p-1"),
        changes,
        reason: None,
        grant_root: Some("/etc".into()),
    }
}

pub fn ask_tool(description: Option<&str>, arguments: Option<&str>) -> Ask {
    Ask::Tool {
        thread: Some(ThreadId::new("th-1")),
        server: "docs\nx".into(),
        message: "Allow the docs MCP server to run tool \"write\"?".into(),
        description: description.map(str::to_owned),
        arguments: arguments.map(str::to_owned),
        persist: vec![Persist::Session, Persist::Always],
        item: None,
    }
}

pub fn ticket() -> TicketId {
    TicketId::new("req-0123456789ab")
}

pub fn opened(ask: Ask) -> Event {
    Event::RequestOpened { id: ticket(), ask: Box::new(ask), place: None, digest: None }
}

pub fn closed(decision: Decision, by: Who) -> Event {
    Event::RequestClosed { id: ticket(), decision, by, why: None }
}

pub fn plan(first: PlanStatus) -> Event {
    let step = |step: &str, status| PlanStep { step: step.into(), status };
    Event::PlanUpdated {
        explanation: Some("two things".into()),
        steps: vec![step("look", first), step("leap", PlanStatus::Pending)],
    }
}

pub fn unknown(raw: &str) -> Event {
    let raw = RawValue::from_string(raw.to_owned()).unwrap();
    Event::Unknown { method: "item/new/thing".into(), raw }
}

pub fn completed(text: &str) -> Event {
    Event::Outcome(Box::new(Report::new(Outcome::Completed, Some(text.into()), USAGE, 0)))
}

pub fn declined(count: u32) -> Event {
    Event::Outcome(Box::new(Report::new(Outcome::Completed, None, USAGE, count)))
}

pub fn void(attempt: u64, items: &[&str]) -> Event {
    let items = items.iter().map(|item| ItemId::new(*item)).collect();
    Event::AttemptVoid { attempt, why: "the connection was cut".into(), shown_chars: 10, items }
}

pub fn failed() -> Event {
    let outcome = Outcome::Failed { code: FailureCode::RateLimit, message: "429 Too Many Requests".into() };
    Event::Outcome(Box::new(Report::new(outcome, Some("half".into()), USAGE, 0)))
}

pub fn lost() -> Event {
    Event::Outcome(Box::new(Report::new(Outcome::Lost { why: "codex was killed".into() }, None, USAGE, 0)))
}

pub fn interrupted() -> Event {
    Event::Outcome(Box::new(Report::new(Outcome::Interrupted { by: Who::User }, None, USAGE, 0)))
}

pub fn one_of_each() -> Vec<Event> {
    let other = ItemBody::Other {
        name: "newKind".into(),
        raw: RawValue::from_string(r#"{"type":"newKind","n":1}"#.into()).unwrap(),
    };
    let others = other_steps().into_iter().enumerate();
    let others = others.map(|(index, body)| ended(&format!("o-{index}"), body));
    let mut events = vec![
        session_started(),
        turn_started(),
        reasoning("r-1", "thinking"),
        text("m-1", "hello"),
        plan(PlanStatus::InProgress),
        began("c-1", command_body("touch x", Status::InProgress, None, None)),
        opened(ask_command("touch x")),
        closed(Decision::Accept, Who::User),
        output("c-1", "out\n"),
        ended("c-1", command_body("touch x", Status::Completed, Some(0), Some("out\n"))),
        opened(ask_input(vec![question("q", "Which?", &["red", "blue"])])),
        closed(Decision::AcceptAlways, Who::User),
        opened(ask_patch(Some(changes()))),
        closed(Decision::Decline, Who::Nobody),
        ended("p-1", patch_body(Status::Declined)),
        ended("w-1", tool_body(None)),
        ended("o-1", other),
        Event::ItemAbandoned { item: ItemId::new("c-2"), why: None },
        Event::DiffUpdated { diff: "+x".into() },
        Event::UsageUpdated { turn: USAGE, context: 5, window: Some(10), input: None },
        Event::Retrying { message: "Reconnecting… 1/5".into() },
        Event::Warning { message: "careful".into() },
        Event::Interrupting { by: Who::User },
        Event::Steered { turn: TurnId::new("t-1") },
        unknown(r#"{"id":1,"method":"item/new/thing"}"#),
        Event::Corrupt { reason: "not UTF-8".into(), bytes: 7 },
    ];
    events.extend(others);
    events.push(interrupted());
    events
}
