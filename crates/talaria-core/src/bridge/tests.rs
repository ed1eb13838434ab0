//! The tool for models: description, accepted arguments, responses.

use expect_test::{expect, expect_file};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::api::{
    Changes, Dirty, NoticeInfo, NoticeState, Numbered, Problem, ProblemCode, RequestInfo, RequestState,
    TaskEvent, TaskInfo, TaskLine, TaskSent, TaskStatus, WorktreeInfo,
};
use crate::event::{Event, Usage};
use crate::ids::{ItemId, SessionId, TicketId, TurnId};
use crate::item::{Item, ItemBody, Status};
use crate::outcome::{FailureCode, Outcome, Report};
use crate::policy::{ApprovalPolicy, Sandbox};
use crate::principal::Principal;
use crate::request::{Ask, Who, samples};

fn read(value: Value) -> Result<(BridgeCall, Vec<&'static str>), Mistake> {
    BridgeCall::read(value.as_object().unwrap())
}

fn call(value: Value) -> BridgeCall {
    read(value).unwrap().0
}

fn told(value: Value) -> String {
    let Mistake { message, hint } = read(value).unwrap_err();
    format!("{message} / {}", hint.unwrap_or_default())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn request(ask: Ask) -> RequestInfo {
    RequestInfo {
        id: TicketId::new("req-0a1b2c3d4e5f"),
        session: SessionId::new("0199a000"),
        task: Some("codex-1a2b3c4d5e6f".to_owned()),
        title: None,
        kind: "command".to_owned(),
        summary: ask.label(),
        since: at(90),
        state: RequestState::Open,
        place: None,
        choices: ask.choices(),
        digest: None,
        answered_by: None,
        decision: None,
        answered_at: None,
        ask: Some(ask),
    }
}

fn task(status: TaskStatus) -> TaskInfo {
    TaskInfo {
        id: "codex-1a2b3c4d5e6f".to_owned(),
        session: SessionId::new("0199a000"),
        status,
        title: "fix the\nflaky test".to_owned(),
        outcome: None,
        answer: None,
        files: Vec::new(),
        commands: Vec::new(),
        running: Vec::new(),
        queued: Vec::new(),
        requests: Vec::new(),
        usage: None,
        created_at: at(0),
        started_at: None,
        completed_at: None,
        updated_at: at(90),
        owner: Principal::model("claude-code"),
        cwd: "/work".to_owned(),
        model: None,
        sandbox: Some(Sandbox::WorkspaceWrite),
        approval: Some(ApprovalPolicy::Untrusted),
        writable_roots: Vec::new(),
        network: false,
        turns: 1,
        ahead: None,
        worktree: None,
        notices: Vec::new(),
        events: Vec::new(),
        origin: None,
    }
}

#[test]
fn the_schema_is_as_it_was() {
    let schema = serde_json::to_string_pretty(&input_schema()).unwrap();
    expect_file!["expected/schema.json"].assert_eq(&format!("{schema}\n"));
}

#[test]
fn everything_of_the_reference_is_in_the_schema() {
    let schema = Value::from(input_schema());
    let properties = schema["properties"].as_object().unwrap();
    for name in [
        "prompt",
        "task_id",
        "instruction",
        "decision",
        "answers",
        "cwd",
        "provider",
        "model",
        "sandbox",
        "approval_policy",
        "codex_home",
        "notify_target",
        "limit",
        "dry_run",
    ] {
        assert!(properties.contains_key(name), "{name}");
    }
    for name in ["start", "status", "list", "notify_completed", "steer", "interrupt", "cancel", "respond"] {
        assert!(properties["action"]["enum"].as_array().unwrap().contains(&name.into()), "{name}");
    }
    assert_eq!(schema["required"], json!(["action"]));
    assert_eq!(properties["decision"]["enum"], json!(["accept", "acceptForSession", "decline", "cancel"]));
    assert_eq!(properties["decision"]["default"], "decline");
    assert_eq!(properties["sandbox"]["enum"], json!(["read-only", "workspace-write"]));
    assert_eq!(properties["approval_policy"]["enum"], json!(["untrusted", "on-request"]));
}

#[test]
fn every_name_of_an_action_is_found_in_any_letters() {
    for name in Action::NAMES {
        let found = Action::find(&format!(" {}\n", name.to_uppercase())).unwrap();
        assert_eq!(found.name(), if name == "cancel" { "interrupt" } else { name });
    }
}

#[test]
fn a_start_without_more_is_read_only_and_asks() {
    let BridgeCall::Start(start) =
        call(json!({ "action": " START ", "prompt": "x", "model": null, "cwd": " " }))
    else {
        panic!("no start")
    };
    let expected = Start {
        prompt: "x".to_owned(),
        cwd: None,
        provider: None,
        model: None,
        sandbox: Sandbox::ReadOnly,
        approval: ApprovalPolicy::Untrusted,
        writable_roots: Vec::new(),
        network: false,
        worktree: None,
        deadline: None,
        codex_home: None,
        notify: None,
    };
    assert_eq!(*start, expected);
}

#[test]
fn everything_that_can_be_said_with_a_start_arrives() {
    let BridgeCall::Start(start) = call(json!({
        "action": "start", "prompt": " keep \tme ", "cwd": "sub", "provider": " anthropic ", "model": " gpt-5.5 ", "sandbox": "workspace-write",
        "approval_policy": "on-request", "writable_roots": ["/data"], "network": true, "worktree": true,
        "uncommitted": "copy", "deadline_seconds": 60.0, "codex_home": "/h", "notify_target": " local ",
    })) else {
        panic!("no start")
    };
    let expected = Start {
        prompt: " keep \tme ".to_owned(),
        cwd: Some("sub".to_owned()),
        provider: Some("anthropic".to_owned()),
        model: Some("gpt-5.5".to_owned()),
        sandbox: Sandbox::WorkspaceWrite,
        approval: ApprovalPolicy::OnRequest,
        writable_roots: vec!["/data".to_owned()],
        network: true,
        worktree: Some(Dirty::Copy),
        deadline: Some(std::time::Duration::from_secs(60)),
        codex_home: Some("/h".to_owned()),
        notify: Some("local".to_owned()),
    };
    assert_eq!(*start, expected);
}

#[test]
fn what_becomes_of_uncommitted_changes_is_as_written() {
    for (written, expected) in [
        (json!("copy"), Dirty::Copy),
        (json!("leave"), Dirty::Leave),
        (json!("refuse"), Dirty::Refuse),
        (json!(null), Dirty::Refuse),
    ] {
        for worktree in [true, false] {
            let value =
                json!({ "action": "start", "prompt": "x", "worktree": worktree, "uncommitted": written });
            let BridgeCall::Start(start) = call(value) else { panic!("no start") };
            assert_eq!(start.worktree, worktree.then_some(expected), "{written}");
        }
    }
}

#[test]
fn a_list_has_a_line_for_each_task() {
    let line = TaskLine {
        id: "codex-1a2b3c4d5e6f".to_owned(),
        session: SessionId::new("0199a000"),
        status: TaskStatus::Working,
        title: "x".repeat(1000),
        owner: Principal::model("claude-code"),
        cwd: "/work".to_owned(),
        open_requests: 2,
        created_at: at(0),
        updated_at: at(90),
        completed_at: None,
        waits_for: None,
    };
    let ended = TaskLine {
        status: TaskStatus::Completed,
        title: "a\nb".to_owned(),
        completed_at: Some(at(120)),
        ..line.clone()
    };
    let value = BridgeReply::list(&[line, ended]).value;
    assert_eq!(value["count"], 2);
    let told = json!({ "task_id": "codex-1a2b3c4d5e6f", "status": "working", "prompt_summary": format!("{}…", "x".repeat(299)),
        "cwd": "/work", "open_requests": 2, "created_at": "1970-01-01T00:00:00Z",
        "updated_at": "1970-01-01T00:01:30Z", "completed_at": null });
    assert_eq!(value["tasks"][0], told);
    let second = &value["tasks"][1];
    assert_eq!((&second["status"], &second["prompt_summary"]), (&json!("completed"), &json!("a b")));
    assert_eq!(second["completed_at"], "1970-01-01T00:02:00Z");
}

#[test]
fn a_long_question_is_shortened_wherever_it_is_long() {
    let long = || "q".repeat(20_000);
    let mut ask = samples::questions();
    let Ask::Input { questions, .. } = &mut ask else { panic!("no questions") };
    questions[0].question = long();
    questions[0].options[0].description = long();
    let mut waiting = task(TaskStatus::WaitingForUserInput);
    waiting.requests = vec![request(ask)];
    let details = BridgeReply::status(&waiting).value["task"]["pending_requests"][0]["details"].clone();
    let question = &details["questions"][0];
    for text in [&question["question"], &question["options"][0]["description"]] {
        let text = text.as_str().unwrap();
        assert!(text.len() < 9 * 1024 && text.contains("[11808 bytes left out]"), "{}", text.len());
    }
    assert_eq!(details["questions"][1]["question"], "PIN?");
    for name in ["kind", "thread", "item", "approval"] {
        assert_eq!(details.get(name), None, "{name}");
    }
}

#[test]
fn at_most_the_last_twenty_events_are_told() {
    let event =
        |seq| TaskEvent { seq, at: at(seq), kind: "warning".to_owned(), text: format!("event {seq}") };
    let seqs = |count: i64| {
        let mut told = task(TaskStatus::Working);
        told.events = (1..=count).map(event).collect();
        let value = BridgeReply::status(&told).value["task"].clone();
        let events = value["recent_events"].as_array().unwrap().iter();
        (
            events.map(|event| event["seq"].as_i64().unwrap()).collect::<Vec<_>>(),
            value["last_progress_summary"].clone(),
        )
    };
    assert_eq!(seqs(25), ((6..=25).collect(), json!("event 25")));
    assert_eq!(seqs(20).0, (1..=20).collect::<Vec<_>>());
    assert_eq!(seqs(1).0, [1]);
}

#[test]
fn the_id_of_a_request_may_stand_where_the_reference_has_it() {
    for value in [
        json!({ "action": "respond", "instruction": "req-1", "decision": "accept" }),
        json!({ "action": "respond", "request_id": "req-1", "instruction": "ignored words", "decision": "accept" }),
    ] {
        assert!(matches!(call(value), BridgeCall::Respond { request, task: None, .. } if request == "req-1"));
    }
    assert!(told(json!({ "action": "respond", "instruction": "not an id" })).contains("request_id"));
}

#[test]
fn what_does_not_go_with_the_action_is_left_out_and_told_but_checked() {
    let (call, ignored) = read(json!({ "action": "list", "prompt": "x", "dry_run": false })).unwrap();
    assert!(matches!(call, BridgeCall::List { limit: 10 }));
    assert_eq!(ignored, ["dry_run", "prompt"]);
    assert!(read(json!({ "action": "list", "sandbox": "none" })).is_err());
    let reply = BridgeReply::list(&[]).ignoring(&ignored);
    assert_eq!(
        reply.value,
        json!({ "success": true, "count": 0, "tasks": [], "ignored": ["dry_run", "prompt"] })
    );
}

#[test]
fn a_blank_target_is_none() {
    for target in [json!(""), json!(" \n"), json!(null)] {
        let call = call(json!({ "action": "start", "prompt": "x", "notify_target": target }));
        assert!(matches!(&call, BridgeCall::Start(start) if start.notify.is_none()), "{call:?}");
    }
}

#[test]
fn ten_pending_notifications_are_sent_unless_a_limit_is_given() {
    let usual = call(json!({ "action": "notify_completed" }));
    assert!(matches!(usual, BridgeCall::NotifyCompleted { limit: 10, dry_run: false }), "{usual:?}");
    let chosen = call(json!({ "action": "notify_completed", "limit": 3, "dry_run": true }));
    assert!(matches!(chosen, BridgeCall::NotifyCompleted { limit: 3, dry_run: true }), "{chosen:?}");
}

#[test]
fn a_wrong_call_says_what_was_given_and_what_is_allowed() {
    let long = "x".repeat(1024 * 1024 + 1);
    let all: Vec<String> = [
        json!({}),
        json!({ "action": 5 }),
        json!({ "action": "strat" }),
        json!({ "action": "\u{1b}[2J" }),
        json!({ "action": "start" }),
        json!({ "action": "start", "prompt": "  " }),
        json!({ "action": "start", "prompt": ["x"] }),
        json!({ "action": "start", "prompt": long }),
        json!({ "action": "start", "prompt": "a\0b" }),
        json!({ "action": "start", "prompt": "x", "sandbox": "danger-full-access" }),
        json!({ "action": "start", "prompt": "x", "approval_policy": "never" }),
        json!({ "action": "start", "prompt": "x", "approval_policy": "on-failure" }),
        json!({ "action": "start", "prompt": "x", "sandbox": "read_only" }),
        json!({ "action": "start", "prompt": "x", "sandbox": true }),
        json!({ "action": "start", "prompt": "x", "network": "yes" }),
        json!({ "action": "start", "prompt": "x", "writable_roots": "/a" }),
        json!({ "action": "start", "prompt": "x", "writable_roots": [1] }),
        json!({ "action": "start", "prompt": "x", "deadline_seconds": 0 }),
        json!({ "action": "start", "promt": "x" }),
        json!({ "action": "start", "colour": "x" }),
        json!({ "action": "list", "limit": -1 }),
        json!({ "action": "list", "limit": 1001 }),
        json!({ "action": "list", "limit": 1.5 }),
        json!({ "action": "list", "limit": "10" }),
        json!({ "action": "status" }),
        json!({ "action": "status", "task_id": "codex-1; rm" }),
        json!({ "action": "steer", "task_id": "codex-1" }),
        json!({ "action": "send", "task_id": "codex-1", "instruction": "x" }),
        json!({ "action": "wait", "task_id": "codex-1", "timeout_seconds": 3601 }),
        json!({ "action": "respond", "task_id": "codex-1" }),
        json!({ "action": "respond", "request_id": "req-1", "decision": "accept_for_session" }),
        json!({ "action": "respond", "request_id": "req-1", "answers": ["x"] }),
    ]
    .into_iter()
    .map(told)
    .collect();
    expect_file!["expected/mistakes.txt"].assert_eq(&format!("{}\n", all.join("\n")));
}

#[test]
fn a_prompt_of_exactly_the_limit_is_taken() {
    let prompt = "x".repeat(crate::admission::LONGEST_PROMPT);
    assert!(read(json!({ "action": "start", "prompt": prompt })).is_ok());
}

proptest! {
    #[test]
    fn no_arguments_whatever_break_it(keys in prop::collection::vec("[a-z_]{0,12}", 0..6), text in ".{0,40}", n in any::<i64>()) {
        let known = ["action", "prompt", "task_id", "limit", "answers", "writable_roots", "network", "decision"];
        let values = [json!(text), json!(n), json!([text]), json!({ "a": text }), json!(null), json!(true), json!(0.5)];
        for (turn, action) in Action::NAMES.iter().enumerate() {
            let mut written = Map::from_iter([("action".to_owned(), json!(action))]);
            for (at, key) in keys.iter().map(String::as_str).chain(known).enumerate() {
                written.insert(key.to_owned(), values[(at + turn) % values.len()].clone());
            }
            if let Err(mistake) = BridgeCall::read(&written) {
                let reply = BridgeReply::mistake(&mistake);
                prop_assert!(reply.is_error);
                prop_assert!(!reply.text().contains("\\u001b"), "{}", reply.text());
            }
        }
    }

    #[test]
    fn nothing_in_a_reply_can_act_on_a_terminal(text in any::<String>()) {
        let hostile = format!("{text}\u{1b}[2J\u{9b}1m\u{202e}\u{7}");
        let mut task = task(TaskStatus::Failed);
        task.title.clone_from(&hostile);
        task.answer = Some(hostile.clone());
        task.files = vec![hostile.clone()];
        task.commands = vec![hostile.clone()];
        let failed = Outcome::Failed { code: FailureCode::Other, message: hostile.clone() };
        task.outcome = Some(Report::new(failed, None, Usage::default(), 0));
        task.requests = vec![request(samples::command())];
        task.requests[0].summary.clone_from(&hostile);
        let problem = Problem::new(ProblemCode::Unknown, hostile.clone()).try_this(hostile);
        for reply in [BridgeReply::status(&task), BridgeReply::result(&task), BridgeReply::problem(&problem)] {
            let is_bad = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
            let mut texts = Vec::new();
            gather(&reply.value, &mut texts);
            prop_assert!(texts.iter().all(|text| !text.contains(is_bad)), "{texts:?}");
        }
    }
}

fn gather<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(all) => all.iter().for_each(|one| gather(one, texts)),
        Value::Object(map) => {
            texts.extend(map.keys().map(String::as_str));
            map.values().for_each(|one| gather(one, texts));
        }
        _ => {}
    }
}

#[test]
fn a_task_is_told_with_what_it_waits_for_and_how_the_person_answers() {
    let mut waiting = task(TaskStatus::WaitingForApproval);
    waiting.requests = vec![request(samples::command())];
    let event =
        TaskEvent { seq: 3, at: at(60), kind: "turn_started".to_owned(), text: "the turn began".to_owned() };
    waiting.events = vec![event];
    let later = BridgeReply::waited(Waited::TimeOver, &waiting).value;
    assert!(later["message"].as_str().unwrap().contains("has not answered yet"), "{later}");
    let reply = BridgeReply::waited(Waited::ForPerson, &waiting);
    expect_file!["expected/waiting.json"].assert_eq(&format!("{:#}\n", reply.value));
    assert_eq!(serde_json::from_str::<Value>(&reply.text()).unwrap(), reply.value);
}

#[test]
fn an_ended_task_is_told_with_its_answer_and_its_changes() {
    let mut ended = task(TaskStatus::Completed);
    ended.answer = Some("\tIt was the clock.".to_owned());
    ended.completed_at = Some(at(120));
    ended.outcome = Some(Report::new(Outcome::Completed, ended.answer.clone(), Usage::default(), 0));
    ended.files = (0..60).map(|n| format!("src/{n}.rs")).collect();
    ended.worktree = Some(WorktreeInfo {
        repository: "/work".to_owned(),
        path: "/trees/1".to_owned(),
        branch: "talaria/codex-1a2b3c4d5e6f".to_owned(),
        base: "abc".to_owned(),
        changes: Some(Changes { insertions: 3, deletions: 1, ..Changes::default() }),
        problem: None,
    });
    ended.notices = vec![NoticeInfo {
        id: "n".to_owned(),
        task: ended.id.clone(),
        kind: "outcome".to_owned(),
        target: Some("local".to_owned()),
        state: NoticeState::Sent,
        attempts: 1,
        error: None,
        sent_at: Some(at(121)),
        due_at: None,
        repeat: false,
        message: None,
    }];
    let value = BridgeReply::status(&ended).value;
    let told = &value["task"];
    assert_eq!(told["answer"], "\tIt was the clock.");
    assert_eq!((told["files"].as_array().unwrap().len(), &told["files_left_out"]), (50, &json!(10)));
    assert_eq!(told["diff_stat"], "0 files changed, +3 -1");
    assert_eq!(told["branch"], "talaria/codex-1a2b3c4d5e6f");
    assert_eq!(told["notifications"][0]["notification_status"], "sent");
    assert_eq!(
        (&told["active_connection"], &told["completed_at"]),
        (&json!(false), &json!("1970-01-01T00:02:00Z"))
    );
    assert_eq!(BridgeReply::result(&ended).value["message"], "codex-1a2b3c4d5e6f is completed");
    let unfinished = BridgeReply::result(&task(TaskStatus::Working)).value;
    assert!(unfinished["message"].as_str().unwrap().contains("not the final result"), "{unfinished}");
}

#[test]
fn a_long_answer_is_cut_and_the_size_of_what_is_left_out_is_told() {
    let mut long = task(TaskStatus::Completed);
    long.answer = Some("é".repeat(200_000));
    let status = BridgeReply::status(&long);
    assert!(status.text().len() < 40_000, "{}", status.text().len());
    assert_eq!(status.value["task"]["answer_bytes_left_out"], 400_000 - 16 * 1024);
    let result = BridgeReply::result(&long);
    assert_eq!(result.value["task"]["answer_bytes_left_out"], 400_000 - 256 * 1024);
    long.answer = Some("short".to_owned());
    assert_eq!(BridgeReply::status(&long).value["task"].get("answer_bytes_left_out"), None);
}

#[test]
fn pieces_of_text_are_no_events() {
    let event = |seq, event| Numbered { session: SessionId::new("s"), seq, at: at(seq), turn: None, event };
    let command = ItemBody::Command {
        command: "cargo\ntest".to_owned(),
        cwd: "/w".to_owned(),
        source: crate::item::CommandSource::default(),
        status: Status::Completed,
        exit_code: Some(1),
        duration_ms: None,
        output: Some("secret of the output".to_owned()),
    };
    let item = |body| Box::new(Item { id: ItemId::new("i"), body });
    let patch = ItemBody::Patch { status: Status::Declined, changes: Vec::new() };
    let said = ItemBody::AgentMessage { text: "x".repeat(1000), phase: None, questions: Vec::new() };
    let events = [
        event(1, Event::TurnStarted { turn: TurnId::new("t") }),
        event(2, Event::ItemStarted { item: item(command.clone()) }),
        event(3, Event::OutputDelta { item: ItemId::new("i"), delta: "noise".to_owned() }),
        event(4, Event::TextDelta { item: ItemId::new("i"), delta: "noise".to_owned() }),
        event(5, Event::ItemCompleted { item: item(command) }),
        event(6, Event::ItemCompleted { item: item(patch) }),
        event(7, Event::Interrupting { by: Who::User }),
        event(8, Event::ItemCompleted { item: item(said) }),
        event(
            9,
            Event::RequestOpened {
                id: TicketId::new("req-1"),
                ask: Box::new(samples::command()),
                place: None,
                digest: None,
            },
        ),
    ];
    let reply = BridgeReply::events("codex-1", &events, Some(9));
    let lines: Vec<String> = reply.value["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let summary: String = event["summary"].as_str().unwrap().chars().take(60).collect();
            format!("{} {} {summary}", event["seq"], event["type"].as_str().unwrap())
        })
        .collect();
    expect![[r#"
        1 turn_started the turn began
        2 item_started command: cargo test
        5 item_completed ran cargo test (exit code 1)
        6 item_completed was not allowed: files: no files
        7 interrupting asked to stop by you
        8 item_completed said: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        9 request_opened asks (req-1): ls"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(reply.value["next_after"], 9);
    assert!(!reply.text().contains("noise") && !reply.text().contains("secret"), "{}", reply.text());
    assert!(reply.value["events"][5]["summary"].as_str().unwrap().chars().count() <= 300);
}

#[test]
fn a_refusal_of_the_engine_keeps_its_words_and_its_hint() {
    let problem = Problem::new(ProblemCode::Forbidden, "req-1 is for a person").try_this("ask the person");
    let reply = BridgeReply::problem(&problem);
    assert!(reply.is_error);
    let expected = json!({ "success": false, "error": "req-1 is for a person", "hint": "ask the person", "code": "forbidden" });
    assert_eq!(reply.value, expected);
}

#[test]
fn only_the_address_of_a_transcript_is_one() {
    assert_eq!(transcript_of(&transcript_uri("codex-1")), Some("codex-1"));
    for other in [
        "talaria://tasks//transcript",
        "talaria://tasks/a/b/transcript",
        "talaria://tasks/a",
        "file:///etc/passwd",
        "talaria://tasks/..%2f/transcript",
    ] {
        assert_eq!(transcript_of(other), None, "{other}");
    }
}

#[test]
fn a_queued_task_is_not_said_to_be_worked_on() {
    let message = |reply: BridgeReply| reply.value["message"].as_str().unwrap().to_owned();
    let queued = message(BridgeReply::started(&task(TaskStatus::Queued)));
    assert!(queued.starts_with("codex-1a2b3c4d5e6f is queued; it starts when"), "{queued}");
    let started = message(BridgeReply::started(&task(TaskStatus::Starting)));
    assert!(started.starts_with("codex-1a2b3c4d5e6f was started in the background; "), "{started}");
    let waited = message(BridgeReply::waited(Waited::TimeOver, &task(TaskStatus::Queued)));
    assert_eq!(waited, "codex-1a2b3c4d5e6f is queued: it has not ended yet; `wait` again");
    let sent = message(BridgeReply::sent(
        TaskSent { turn: Some(2), waits: false, after: 1 },
        &task(TaskStatus::Queued),
    ));
    assert!(!sent.contains("Codex"), "{sent}");
    let two = TaskInfo { turns: 2, queued: vec!["more".to_owned()], ..task(TaskStatus::Working) };
    let snapshot = BridgeReply::status(&two).value["task"].clone();
    assert_eq!((&snapshot["turns"], &snapshot["turns_queued"]), (&json!(1), &json!(1)));
}

#[test]
fn a_line_about_an_event_claims_no_more_than_is_known() {
    let line = |event: Value| step(&serde_json::from_value(event).unwrap()).unwrap_or_default();
    let closed = json!({ "type": "request_closed", "id": "req-1", "decision": "void", "by": "codex" });
    assert_eq!(line(closed), "req-1 was closed before it was answered");
    let closed = json!({ "type": "request_closed", "id": "req-1", "decision": "void", "by": "other_client" });
    assert_eq!(
        line(closed),
        "req-1 is no longer open: another client of Codex answered it, or Codex withdrew it"
    );
    let steered = json!({ "type": "steered", "turn": "t-1" });
    // The turn may have shown the input before Codex confirmed it.
    assert_eq!(line(steered), "further input was sent to the running turn");
    let command = json!({ "id": "c", "kind": "command", "command": "make", "cwd": "/w", "status": "unknown",
        "exit_code": null, "duration_ms": null, "output": null });
    let ended = json!({ "type": "item_completed", "item": command });
    assert_eq!(line(ended), "ended in an unknown way: make");
    for (count, words) in [(1, "1 sub-agent has not ended"), (2, "2 sub-agents have not ended"), (0, "")] {
        assert_eq!(line(json!({ "type": "children_running", "count": count })), words);
    }
}
