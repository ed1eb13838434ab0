//! `talaria_delegate` in turns of the real Codex: tasks start once, within the bounds of their parent, and each result reaches
//! the parent once: by a call, or with the next turn, also after a compaction and a restart.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use talaria_core::api::{
    Compact, Kind, NewSession, SessionStarted, TaskInfo, TaskLine, TaskQuery, TaskStatus,
};
use talaria_core::event::Event;
use talaria_core::outcome::{Outcome, Report};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::{Gate, ModelRequest, Reply};
use talaria_testkit::Codex;

use crate::home::{Home, calling};
use crate::stage::both_versions;
use crate::tasks::conversation;

both_versions!(
    a_model_delegates_waits_and_has_each_result_once,
    what_was_not_collected_arrives_once_after_a_compaction_and_a_restart;
    newest:
    depth_and_number_are_bounded_before_anything_starts,
    partial_work_is_named_with_its_files,
    a_conversation_reaches_no_task_but_its_own,
    a_task_waits_for_and_stops_neither_itself_nor_its_parent,
);

const TOOL: &str = "talaria_delegate";
/// Begins the part of an input that Talaria added.
const ADDED: &str = "[From Talaria, not from the user:";

fn delegate(arguments: Value) -> Reply {
    Reply::new().function(TOOL, arguments)
}

/// The tasks of the home, the oldest first.
async fn tasks(home: &Home) -> Vec<TaskLine> {
    let mut tasks = home.engine().tasks(TaskQuery::default()).await.unwrap();
    tasks.sort_by_key(|task| task.created_at);
    tasks
}

async fn task(home: &Home, line: &TaskLine) -> TaskInfo {
    home.engine().task(&line.id).await.unwrap()
}

async fn next_turn(home: &Home, started: &SessionStarted, text: &str) -> Report {
    let (id, turn) = (started.id.clone(), home.turn(text));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    home.events(&next, next.after).await.outcome().await
}

/// Tool results of the model that received this prompt.
fn returned(home: &Home, prompt: &str) -> Vec<String> {
    let requests = home.model.requests();
    let asked = requests.iter().rev().find(|request| request.user_texts().contains(&prompt));
    asked.unwrap().tool_outputs()
}

/// How often a request contains this text, in user input and tool results.
fn count(request: &ModelRequest, text: &str) -> usize {
    let outputs = request.tool_outputs();
    let said = request.user_texts().into_iter().chain(outputs.iter().map(String::as_str));
    said.map(|said| said.matches(text).count()).sum()
}

fn announcements(events: &[Event]) -> Vec<&str> {
    fn message(event: &Event) -> Option<&str> {
        match event {
            Event::Warning { message } if message.starts_with("delegated task") => Some(message.as_str()),
            _ => None,
        }
    }
    events.iter().filter_map(message).collect()
}

/// The id of a task in what the tool returned.
fn id_in(request: &ModelRequest) -> Option<String> {
    let outputs = request.tool_outputs().join("\n");
    let at = outputs.find("codex-")?;
    Some(outputs[at..].chars().take("codex-".len() + 12).collect())
}

async fn a_model_delegates_waits_and_has_each_result_once(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.route(|request| {
        let goal = request.user_texts().into_iter().find_map(|text| text.strip_prefix("look at "))?;
        Some(Reply::say(format!("Looked at {goal}.")))
    });
    let goals = json!([
        { "goal": "look at the heron" },
        { "goal": "look at the owl", "context": "It is in the barn." },
    ]);
    home.model.play([
        delegate(json!({ "op": "start", "goals": goals })),
        delegate(json!({ "op": "wait", "seconds": 60 })),
        delegate(json!({ "op": "wait", "seconds": 60 })),
        delegate(json!({ "op": "wait", "seconds": 60 })),
        delegate(json!({ "op": "list" })),
        Reply::say("Both were seen."),
    ]);
    let (started, report) = home.run("see both").await;
    assert_eq!(report.outcome, Outcome::Completed);
    let returned = returned(&home, "see both");
    let [begun, rest @ .., list] = &returned[..] else { panic!("{returned:#?}") };
    assert!(begun.starts_with("Delegated tasks (complete): 2 of 2 started.\ncodex-"), "{begun}");
    let results = rest.join("\n");
    // A task that has not ended yet may show the same words as its progress.
    for answer in ["own words:\nLooked at the heron.", "own words:\nLooked at the owl"] {
        assert_eq!(results.matches(answer).count(), 1, "{results}");
    }
    assert_eq!(results.matches("Result of codex-").count(), 2, "{results}");
    assert!(!results.contains("has not ended (complete): completed"), "{results}");
    assert!(rest[2].contains("nothing is owed"), "{results}");
    assert!(list.starts_with("Delegated tasks (complete): 2.\ncodex-"), "{list}");
    assert_eq!(list.matches(" completed, result delivered: look at").count(), 2, "{list}");

    let tasks = tasks(&home).await;
    assert_eq!(tasks.len(), 2);
    for line in &tasks {
        assert_eq!(line.owner.delegator(), Some(started.id.as_str()), "{line:?}");
        let task = task(&home, line).await;
        assert_eq!(
            (task.sandbox, task.approval),
            (Some(Sandbox::WorkspaceWrite), Some(ApprovalPolicy::Untrusted))
        );
        assert_eq!(task.cwd, std::fs::canonicalize(home.codex_home.work()).unwrap().to_str().unwrap());
    }
    let requests = home.model.requests();
    let of_owl = requests.iter().find(|request| count(request, "It is in the barn.") > 0).unwrap();
    assert!(
        of_owl.prompt().starts_with("look at the owl\n\nContext:\nIt is in the barn."),
        "{}",
        of_owl.prompt()
    );

    home.model.push(Reply::say("Nothing is left."));
    assert_eq!(next_turn(&home, &started, "and now?").await.outcome, Outcome::Completed);
    assert_eq!(
        count(home.model.requests().last().unwrap(), ADDED),
        0,
        "what was collected is not sent again"
    );
    let events: Vec<Event> = home.all(&started).await.into_iter().map(|numbered| numbered.event).collect();
    assert_eq!(announcements(&events).len(), 2, "{events:#?}");
    home.close().await;
}

async fn what_was_not_collected_arrives_once_after_a_compaction_and_a_restart(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let gates = [Gate::new(), Gate::new()];
    let held = gates.clone();
    home.model.route(move |request| {
        let goal = request.user_texts().into_iter().find_map(|text| text.strip_prefix("count the "))?;
        let (gate, number) =
            if goal.starts_with("herons") { (&held[0], "seven") } else { (&held[1], "nine") };
        Some(Reply::new().gate(gate).text(format!("There are {number}.")))
    });
    let goals = json!([{ "goal": "count the herons" }, { "goal": "count the owls" }]);
    home.model.play([delegate(json!({ "op": "start", "goals": goals })), Reply::say("They count.")]);
    let (started, report) = home.run("have them counted").await;
    assert_eq!(report.outcome, Outcome::Completed);

    // The first ends between two turns, before the conversation is shortened.
    let mut events = home.events(&started, 0).await;
    gates[0].open();
    let is_end =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("count the herons"));
    events.is(is_end).await;
    home.model.push(Reply::say("A summary without a number."));
    let compact = Compact { caller: home.caller.clone() };
    let id = started.id.clone();
    let next = home.on(|engine| async move { engine.compact(id.as_str(), compact).await }).await.unwrap();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);

    // The second ends without an engine.
    gates[1].reached().await;
    home.crash().await;
    gates[1].open();
    home.open().await;
    let mut events = home.events(&started, 0).await;
    let is_end =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("count the owls"));
    events.is(is_end).await;

    home.model.push(Reply::say("Seven and nine."));
    assert_eq!(next_turn(&home, &started, "how many?").await.outcome, Outcome::Completed);
    let request = home.model.requests().last().unwrap().clone();
    for text in [ADDED, "There are seven.", "There are nine."] {
        assert_eq!(count(&request, text), 1, "{text}: {:#?}", request.user_texts());
    }
    home.crash().await;
    home.open().await;
    home.model.push(Reply::say("I said so."));
    assert_eq!(next_turn(&home, &started, "once more?").await.outcome, Outcome::Completed);
    let request = home.model.requests().last().unwrap().clone();
    for text in [ADDED, "There are seven.", "There are nine."] {
        assert_eq!(count(&request, text), 1, "{text}: only in the history");
    }
    let detail = home.detail(&started).await;
    let prompts: Vec<&str> = detail.turns.iter().map(|turn| turn.prompt.as_str()).collect();
    assert_eq!(
        prompts,
        ["have them counted", "/compact", "how many?", "once more?"],
        "as the person said it"
    );
    let events: Vec<Event> = home.all(&started).await.into_iter().map(|numbered| numbered.event).collect();
    assert_eq!(announcements(&events).len(), 2, "each end is reported once: {events:#?}");
    home.close().await;
}

async fn depth_and_number_are_bounded_before_anything_starts(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.route(|request| {
        let is_child = request.user_texts().iter().any(|text| text.starts_with("delegate further"));
        let further = delegate(json!({ "op": "start", "goals": [{ "goal": "do it for me" }] }));
        is_child.then(|| if request.is_after_tool() { Reply::say("I may not.") } else { further })
    });
    let goal = |text: &str| json!({ "goal": text });
    home.model.play([
        delegate(json!({ "op": "start", "goals": [goal("a"), goal("b"), goal("c"), goal("d")] })),
        delegate(json!({ "op": "start", "goals": [goal("delegate further")] })),
        delegate(json!({ "op": "wait", "seconds": 60 })),
        Reply::say("Done."),
    ]);
    let (started, report) = home.run("hand it on").await;
    assert_eq!(report.outcome, Outcome::Completed);
    let outputs = returned(&home, "hand it on");
    assert!(outputs[0].contains("nothing was started: at most 3 delegated tasks"), "{}", outputs[0]);
    assert!(outputs[1].contains("1 of 1 started"), "{}", outputs[1]);
    assert!(outputs[2].contains("I may not."), "{}", outputs[2]);
    assert_eq!(tasks(&home).await.len(), 1, "neither the four nor the one of the task");
    let requests = home.model.requests();
    let refused = requests.iter().filter(|request| request.prompt().starts_with("delegate further"));
    let refused = refused.flat_map(ModelRequest::tool_outputs).next().unwrap();
    assert!(refused.contains("this conversation is itself a delegated task"), "{refused}");
    assert!(refused.contains("1 deep at most (delegation.max_depth)"), "{refused}");
    let events: Vec<Event> = home.all(&started).await.into_iter().map(|numbered| numbered.event).collect();
    let is_told = |event: &Event| matches!(event, Event::Warning { message } if message.starts_with("delegation: a call of the model was refused"));
    assert!(events.iter().any(is_told), "the person learns it: {events:#?}");

    home.configure("[delegation]\nmax_depth = 2\nmax_children = 1\n");
    home.model.route(|request| (request.prompt() == "do it for me").then(|| Reply::say("Done for you.")));
    home.model.play([
        delegate(json!({ "op": "start", "goals": [goal("x"), goal("y")] })),
        delegate(json!({ "op": "start", "goals": [goal("delegate further")] })),
        delegate(json!({ "op": "wait", "seconds": 60 })),
        Reply::say("Done."),
    ]);
    assert_eq!(home.run("again").await.1.outcome, Outcome::Completed);
    assert!(returned(&home, "again")[0].contains("at most 1 delegated task of"));
    let owner = tasks(&home).await.last().unwrap().owner.clone();
    assert_eq!(tasks(&home).await.len(), 3, "the task delegated one itself");
    assert_eq!(owner.delegator(), Some(tasks(&home).await[1].session.as_str()));

    home.configure("[tools]\ndelegate = false\n");
    home.model.play([delegate(json!({ "op": "list" })), Reply::say("No.")]);
    assert_eq!(next_turn(&home, &started, "list them").await.outcome, Outcome::Completed);
    assert!(returned(&home, "list them").last().unwrap().contains("switched off"));
    home.close().await;
}

fn git(cwd: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    let done = Command::new("git").current_dir(cwd).args(identity).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

async fn partial_work_is_named_with_its_files(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let repository = home.codex_home.root().join("repository");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    std::fs::write(repository.join("a.txt"), "a\n").unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "--message", "a"]);
    let gate = Gate::new();
    let held = gate.clone();
    let patch = "*** Begin Patch\n*** Add File: half.txt\n+half\n*** End Patch";
    home.model.route(move |request| {
        let is_child = request.user_texts().iter().any(|text| text.starts_with("write two files"));
        is_child.then(|| match request.is_after_tool() {
            false => Reply::new().patch(patch),
            true => Reply::new().gate(&held).text("Never."),
        })
    });
    let goals = json!([{ "goal": "write two files", "worktree": true }]);
    home.model.push(delegate(json!({ "op": "start", "goals": goals })));
    let written = Gate::new();
    home.model.push(Reply::new().gate(&written).text("It writes."));
    let new = NewSession {
        kind: Kind::Chat,
        cwd: repository.to_str().unwrap().to_owned(),
        model: None,
        sandbox: Some(Sandbox::WorkspaceWrite),
        approval: Some(ApprovalPolicy::OnRequest),
        turn: home.turn("have it written"),
    };
    let parent = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
    gate.reached().await;
    written.open();
    assert_eq!(home.events(&parent, 0).await.outcome().await.outcome, Outcome::Completed);
    let child = tasks(&home).await.remove(0);
    home.model.route(|request| {
        if request.prompt() != "stop it" {
            return None;
        }
        let id = id_in(request).unwrap();
        Some(match request.tool_outputs().len() {
            1 => delegate(json!({ "op": "stop", "id": id })),
            2 => delegate(json!({ "op": "result", "id": id })),
            _ => Reply::say("It was stopped."),
        })
    });
    assert_eq!(next_turn(&home, &parent, "stop it").await.outcome, Outcome::Completed);
    let outputs = returned(&home, "stop it");
    assert_eq!(
        outputs[1],
        format!("{} (complete): stopped before it completed. op result names what it did.", child.id)
    );
    let result = &outputs[2];
    assert!(
        result.starts_with(&format!("Result of {} (complete): stopped before it completed.", child.id)),
        "{result}"
    );
    let info = task(&home, &child).await;
    assert_eq!(info.status, TaskStatus::Cancelled);
    let branch = info.worktree.unwrap().branch;
    assert!(
        result.contains(&format!("Partial work, files: 1 file changed, +1 -0 on branch {branch}")),
        "{result}"
    );
    assert!(result.contains("\n  added half.txt +1 -0"), "{result}");
    assert!(!repository.join("half.txt").exists(), "only its worktree has it");
    gate.open();
    home.close().await;
}

async fn a_conversation_reaches_no_task_but_its_own(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.route(|request| (request.prompt() == "be short").then(|| Reply::say("Yes.")));
    home.model.play([
        delegate(json!({ "op": "start", "goals": [{ "goal": "be short" }] })),
        delegate(json!({ "op": "wait", "seconds": 60 })),
        Reply::say("It was."),
    ]);
    let (parent, _) = home.run("one").await;
    let id = tasks(&home).await[0].id.clone();
    home.model.play([
        delegate(json!({ "op": "result", "id": id })),
        delegate(json!({ "op": "stop", "id": id })),
        delegate(json!({ "op": "wait", "id": parent.id.as_str() })),
        delegate(json!({ "op": "list" })),
        delegate(json!({ "op": "begin" })),
        Reply::say("None."),
    ]);
    assert_eq!(home.run("another").await.1.outcome, Outcome::Completed);
    let outputs = returned(&home, "another");
    for output in &outputs[..3] {
        assert!(output.contains("this conversation delegated no task"), "{output}");
    }
    assert_eq!(outputs[3], "Delegated tasks (complete): this conversation has none.");
    assert!(outputs[4].contains("op must be start, wait, result, stop or list, not begin"), "{}", outputs[4]);

    // A client that takes the name of the conversation does not become the owner of its tasks.
    let claim = tasks(&home).await[0].owner.clone();
    let forged = calling(home.engine(), &claim);
    assert_ne!(*forged.principal(), claim);
    assert!(forged.task(&id).await.is_err());
    assert_eq!(forged.tasks(TaskQuery::default()).await.unwrap().len(), 0);
    home.close().await;
}

async fn a_task_waits_for_and_stops_neither_itself_nor_its_parent(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let gate = Gate::new();
    let (begun, ids) = (gate.clone(), Arc::new(Mutex::new(Vec::<String>::new())));
    let known = Arc::clone(&ids);
    home.model.route(move |request| {
        let is_child = request.user_texts().iter().any(|text| text.starts_with("turn round"));
        let ids = known.lock().unwrap();
        let on = |op: &str, at: usize| delegate(json!({ "op": op, "id": ids[at] }));
        is_child.then(|| match request.tool_outputs().len() {
            0 => delegate(json!({ "op": "list" })).gate(&begun),
            1 => on("wait", 0),
            2 => on("stop", 0),
            3 => on("wait", 1),
            4 => on("stop", 1),
            _ => Reply::say("I reached no one."),
        })
    });
    home.model.play([
        delegate(json!({ "op": "start", "goals": [{ "goal": "turn round" }] })),
        delegate(json!({ "op": "wait", "seconds": 60 })),
        Reply::say("It ended."),
    ]);
    let parent = home.start(ApprovalPolicy::Never, "have it turned").await;
    gate.reached().await;
    let child = tasks(&home).await.remove(0);
    ids.lock().unwrap().extend([child.id.clone(), parent.id.to_string()]);
    gate.open();
    assert_eq!(home.events(&parent, 0).await.outcome().await.outcome, Outcome::Completed);
    let outputs = returned(&home, "have it turned");
    assert!(outputs[1].contains("I reached no one."), "{outputs:?}");
    assert_eq!(task(&home, &child).await.status, TaskStatus::Completed);
    let requests = home.model.requests();
    let of_child = requests.iter().rev().find(|request| request.prompt().starts_with("turn round")).unwrap();
    let refused = of_child.tool_outputs();
    assert_eq!(refused.len(), 5, "{refused:?}");
    for output in &refused[1..] {
        assert!(output.contains("this conversation delegated no task"), "{output}");
    }
    let session = conversation(&child.session);
    let events: Vec<Event> = home.all(&session).await.into_iter().map(|numbered| numbered.event).collect();
    let is_line =
        |event: &&Event| matches!(event, Event::Warning { message } if message.contains("delegated no task"));
    assert_eq!(events.iter().filter(is_line).count(), 4, "one line for each: {events:#?}");
    home.close().await;
}
