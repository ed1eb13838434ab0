//! `talaria_recall` in turns of the real Codex: the model is offered it, finds earlier conversations, and every call is
//! answered, also by the next engine. Access is checked at the call.

use serde_json::{Value, json};
use talaria_core::api::SessionStarted;
use talaria_core::event::Event;
use talaria_core::item::{ItemBody, Status};
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::principal::Principal;
use talaria_scripted::{Gate, ModelUsage, Reply};
use talaria_testkit::Codex;

use crate::home::{Home, calling};
use crate::stage::both_versions;
use crate::tasks::conversation;

both_versions!(
    a_model_finds_and_reads_what_an_earlier_conversation_said,
    a_resumed_thread_keeps_the_tool,
    what_a_compaction_took_out_of_the_turn_is_found,
    a_call_that_no_engine_was_there_for_is_answered_by_the_next;
    newest:
    what_was_done_is_found_by_its_kind,
    what_a_model_sees_is_judged_at_the_call,
    a_task_that_a_model_started_sees_only_itself,
);

const TOOL: &str = "talaria_recall";

fn recall(arguments: Value) -> Reply {
    Reply::new().function(TOOL, arguments)
}

/// The last tool results.
fn returned(home: &Home) -> Vec<String> {
    home.model.requests().last().unwrap().tool_outputs()
}

/// An earlier conversation, and its answer.
async fn earlier(home: &Home) -> SessionStarted {
    home.model.push(Reply::say("The cache moves to the pelican cluster."));
    home.run("where does the cache go").await.0
}

/// The steps of our tools: whether each worked, and its text.
async fn steps(home: &Home, started: &SessionStarted) -> Vec<(Status, String)> {
    let step = |event: Event| match event {
        Event::ItemCompleted { item } => match item.body {
            ItemBody::ClientTool { tool, status, result, .. } if tool == TOOL => {
                Some((status, result.and_then(|result| result.text).unwrap_or_default()))
            }
            _ => None,
        },
        _ => None,
    };
    home.all(started).await.into_iter().filter_map(|numbered| step(numbered.event)).collect()
}

async fn a_model_finds_and_reads_what_an_earlier_conversation_said(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let first = earlier(&home).await;
    home.model.play([
        recall(json!({ "query": "pelican cluster" })),
        recall(json!({ "session": first.id.as_str() })),
        recall(json!({ "query": 7 })),
        Reply::say("To the pelican cluster."),
    ]);
    let (second, report) = home.run("which pelican cluster did we choose").await;
    assert_eq!(report.outcome, Outcome::Completed);
    let offered = home.model.requests();
    assert!(
        offered.iter().all(|request| request.tool_names().contains(&TOOL)),
        "{:?}",
        offered[0].tool_names()
    );
    let returned = returned(&home);
    let [found, read, refused] = &returned[..] else { panic!("{returned:#?}") };
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(
        lines[0],
        "Passages with \"pelican cluster\": 1 found, complete, recall.scope all. Left out: 1 of the present turn."
    );
    assert!(lines[3].contains(&format!("session {}, around ", first.id)), "{found}");
    assert_eq!(lines[4], "  The cache moves to the [pelican] [cluster].");
    assert!(
        read.contains("where does the cache go") && read.contains("complete from here to its end"),
        "{read}"
    );
    assert_eq!(refused, "talaria_recall: query must be a string");
    let steps = steps(&home, &second).await;
    let ends: Vec<Status> = steps.iter().map(|(status, _)| *status).collect();
    assert_eq!(ends, [Status::Completed, Status::Completed, Status::Failed], "{steps:#?}");
    assert_eq!(steps[2].1, *refused, "the person sees the refusal");
    home.close().await;
}

/// Prompt, answer, command and patch have the same word; each kind finds its own.
async fn what_was_done_is_found_by_its_kind(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let patch = "*** Begin Patch\n*** Add File: pelican.txt\n+grey\n*** End Patch";
    home.model.play([
        Reply::new().command("echo pelican"),
        Reply::new().patch(patch),
        Reply::say("The pelican is grey."),
    ]);
    assert_eq!(home.run("draw a pelican").await.1.outcome, Outcome::Completed);
    for (kind, shown, other) in [
        ("commands", "echo [pelican]", "is grey"),
        ("patches", "[pelican].txt", "echo"),
        ("answers", "The [pelican] is grey.", "echo"),
        ("words", "draw a [pelican]", "echo ["),
    ] {
        let found = asked_once(&home, json!({ "query": "pelican", "kind": kind })).await;
        assert!(found.contains(shown) && !found.contains(other), "{kind}: {found}");
    }
    home.close().await;
}

async fn a_resumed_thread_keeps_the_tool(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let first = earlier(&home).await;
    home.stop(false).await;
    home.open().await;
    home.model.play([recall(json!({ "query": "pelican" })), Reply::say("There.")]);
    let (id, turn) = (first.id.clone(), home.turn("where was that"));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
    let asked = home.model.requests().pop().unwrap();
    assert!(asked.tool_names().contains(&TOOL), "{:?}", asked.tool_names());
    let found = returned(&home).pop().unwrap();
    assert!(found.contains("(this conversation)") && found.contains("[pelican]"), "{found}");
    home.close().await;
}

/// Codex shortens the conversation in the middle of a turn when its model has read enough.
async fn what_a_compaction_took_out_of_the_turn_is_found(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let config = home.codex_home.path().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("model_auto_compact_token_limit = 20000\n{text}")).unwrap();
    home.open().await;
    let much = ModelUsage { input: 50_000, cached: 0, output: 10, reasoning: 0 };
    home.model.play([
        recall(json!({ "query": "ospreys" })).usage(much),
        Reply::say("They spoke of birds."),
        recall(json!({ "query": "ospreys" })),
        Reply::say("Found."),
    ]);
    let (started, report) = home.run("the ospreys chose the cluster").await;
    assert_eq!((&report.outcome, report.text.as_deref()), (&Outcome::Completed, Some("Found.")));
    let events = home.all(&started).await;
    let is_compaction = |event: &Event| match event {
        Event::ItemCompleted { item } => matches!(item.body, ItemBody::Compaction(_)),
        event => matches!(event, Event::Compacted),
    };
    assert!(events.iter().any(|numbered| is_compaction(&numbered.event)), "{events:#?}");
    let steps = steps(&home, &started).await;
    let [(_, before), (_, after)] = &steps[..] else { panic!("{steps:#?}") };
    assert!(before.starts_with("Passages with \"ospreys\": 0 found"), "{before}");
    assert!(before.contains("Left out: 1 of the present turn"), "{before}");
    assert!(after.starts_with("Passages with \"ospreys\": 1 found"), "{after}");
    assert!(after.contains("the [ospreys] chose the cluster"), "{after}");
    home.close().await;
}

async fn a_call_that_no_engine_was_there_for_is_answered_by_the_next(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    home.open().await;
    earlier(&home).await;
    home.model.play([recall(json!({ "query": "cluster" })).gate(&gate), Reply::say("Found.")]);
    let started = home.start(ApprovalPolicy::Never, "look it up").await;
    gate.reached().await;
    home.crash().await;
    gate.open();
    home.open().await;
    let report = home.events(&started, 0).await.outcome().await;
    assert_eq!((&report.outcome, report.text.as_deref()), (&Outcome::Completed, Some("Found.")));
    assert!(returned(&home)[0].contains("[cluster]"), "{:?}", returned(&home));
    home.close().await;
}

/// Runs a conversation that calls once; returns the tool result.
async fn asked_once(home: &Home, arguments: Value) -> String {
    home.model.play([recall(arguments), Reply::say("ok")]);
    assert_eq!(home.run("and now").await.1.outcome, Outcome::Completed);
    returned(home).pop().unwrap()
}

async fn what_a_model_sees_is_judged_at_the_call(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let first = earlier(&home).await;
    let query = || json!({ "query": "pelican" });
    let own = "[recall]\nscope = \"own\"\n";
    home.configure(own);
    assert!(asked_once(&home, query()).await.starts_with("Passages with \"pelican\": 0 found"));
    let read = asked_once(&home, json!({ "session": first.id.as_str() })).await;
    assert_eq!(read, format!("talaria_recall: no conversation {} (recall.scope is own)", first.id));
    home.configure("[recall]\nscope = \"project\"\n");
    assert!(asked_once(&home, query()).await.contains("recall.scope project"));
    assert!(asked_once(&home, query()).await.contains("[pelican]"));
    let elsewhere = tempfile::tempdir_in(talaria_testkit::build_dir::homes()).unwrap();
    std::fs::create_dir(elsewhere.path().join(".git")).unwrap();
    home.model.play([recall(query()), Reply::say("ok")]);
    home.run_in(elsewhere.path(), "and here").await;
    assert!(returned(&home)[0].starts_with("Passages with \"pelican\": 0 found"), "{:?}", returned(&home));
    home.configure("[recall]\nscope = \"everything\"\n");
    assert!(asked_once(&home, query()).await.contains("the configuration of Talaria has an error"));

    // A thread that has the tool keeps it; a call of it is refused, and a new thread is not offered it.
    let gate = Gate::new();
    home.configure("");
    home.model.play([recall(query()).gate(&gate), Reply::say("ok")]);
    let started = home.start(ApprovalPolicy::Never, "try").await;
    gate.reached().await;
    home.configure("[tools]\nrecall = false\n");
    gate.open();
    home.events(&started, 0).await.outcome().await;
    assert_eq!(returned(&home), ["talaria_recall: switched off in the configuration of Talaria"]);
    home.model.push(Reply::say("no tool"));
    home.run("try again").await;
    assert!(!home.model.requests().last().unwrap().tool_names().contains(&TOOL));
    home.close().await;
}

async fn a_task_that_a_model_started_sees_only_itself(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    earlier(&home).await;
    for (owner, found) in [(Principal::model("other"), 0), (Principal::person("owner"), 1)] {
        home.model.play([recall(json!({ "query": "pelican" })), Reply::say("ok")]);
        let mut new = home.writing_task("look");
        new.started_in = Some(new.cwd.clone());
        let engine = calling(home.engine(), &owner);
        let task = home.on(|_| async move { engine.start_task(new).await }).await.unwrap();
        home.events(&conversation(&task.session), 0).await.outcome().await;
        let returned = returned(&home);
        let expected = format!("Passages with \"pelican\": {found} found");
        assert!(returned[0].starts_with(&expected), "{returned:?}");
    }
    home.close().await;
}
