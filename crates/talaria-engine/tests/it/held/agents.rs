//! Sub-agents of the real Codex: they have ends and questions of their own.

use serde_json::json;
use talaria_codex::conversation::{Command, Options, When};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_core::event::{AgentPhase, Event};
use talaria_core::ids::ThreadId;
use talaria_core::item::{Item, ItemBody};
use talaria_core::outcome::Outcome;
use talaria_core::policy::{Answers, ApprovalPolicy, Sandbox};
use talaria_core::request::{Ask, Decision, Who};
use talaria_guard::place::Place;
use talaria_guard::rules::{Rule, Rules};
use talaria_scripted::{Gate, ModelRequest, Reply};
use talaria_testkit::Codex;

use crate::stage::{Ended, Real, Turn, begin, both_versions};
use crate::threads::runs;

both_versions!(
    a_sub_agents_end_does_not_end_its_parent,
    nothing_that_a_sub_agent_takes_outside_is_accepted_by_itself;
    newest:
    a_parent_that_ends_first_waits_for_its_sub_agent,
    rules_hold_for_sub_agents_too,
    an_interrupt_ends_what_a_sub_agent_runs_as_well,
    an_interrupt_after_the_end_ends_what_a_sub_agent_runs,
);

/// The word by which the model knows which of the two it is.
const TASK: &str = "be the child";

/// 0.166 keeps these tools apart from the others.
fn spawn(version: &str) -> Reply {
    let arguments = json!({ "message": TASK });
    if version == "0.130.0" {
        return Reply::new().function("spawn_agent", arguments);
    }
    let item = json!({ "type": "function_call", "call_id": "call_spawn", "name": "spawn_agent",
                       "namespace": "multi_agent_v1", "arguments": arguments.to_string() });
    Reply::new().event(json!({ "type": "response.output_item.done", "item": item }))
}

fn phases(ended: &Ended) -> Vec<(&ThreadId, AgentPhase)> {
    let phases = ended.events.iter().filter_map(|event| match event {
        Event::AgentUpdated { thread, phase } => Some((thread, *phase)),
        _ => None,
    });
    phases.collect()
}

fn agent_items(ended: &Ended) -> Vec<(&ThreadId, &Item)> {
    let items = ended.events.iter().filter_map(|event| match event {
        Event::AgentItemCompleted { thread, item } => Some((thread, &**item)),
        _ => None,
    });
    items.collect()
}

async fn a_sub_agents_end_does_not_end_its_parent(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    let (held, version) = (gate.clone(), codex.version);
    real.model.route(move |request| {
        Some(match (is_child(request), request.tool_outputs().len()) {
            (true, 0) => Reply::new().command("touch by-child"),
            (true, _) => Reply::say("I am the child."),
            (false, 0) => spawn(version),
            // Continues only when the child has ended; Codex may then report it and ask once more.
            (false, _) => Reply::new().text("I am ").gate(&held).text("the parent."),
        })
    });
    let mut turn = begin(real.session().await, "have a child");
    let ask = turn.answer(Decision::Accept, Who::User).await;
    let Ask::Command { thread: child, command, .. } = &ask else { panic!("{ask:?}") };
    assert!(command.contains("touch by-child"), "{command}");
    let is_end = |event: &Event| match event {
        Event::AgentUpdated { phase: AgentPhase::Running, .. } => None,
        Event::AgentUpdated { thread, phase } => Some((thread.clone(), *phase)),
        _ => None,
    };
    assert_eq!(turn.until(is_end).await, (child.clone(), AgentPhase::Completed));
    // Only a turn that runs takes further input.
    turn.command(Command::Say {
        input: crate::stage::said("go on"),
        when: When::Now,
        limit: None,
        kept: None,
    })
    .await;
    let is_taken = |event: &Event| match event {
        Event::Steered { .. } => Some(true),
        Event::Queued { .. } => Some(false),
        _ => None,
    };
    assert!(turn.until(is_taken).await, "the parent goes on: {:#?}", turn.seen);
    gate.open();
    let ended = turn.end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "I am the parent."));
    assert!(!ended.streamed_text().contains("child"), "{}", ended.streamed_text());
    assert_ne!(&ended.session.started().thread, child);
    assert_eq!(phases(&ended), [(child, AgentPhase::Running), (child, AgentPhase::Completed)]);
    let items = agent_items(&ended);
    assert!(items.iter().all(|(thread, _)| *thread == child));
    let kinds: Vec<_> = items.iter().map(|(_, item)| item.body.kind()).collect();
    assert!(kinds.contains(&"command") && kinds.contains(&"agent_message"), "{kinds:?}");
    assert_eq!(ended.commands().len(), 0, "what the child did is not the parent's");
    let names = |item: &&Item| matches!(&item.body, ItemBody::Agents { threads, .. } if threads == std::slice::from_ref(child));
    assert!(ended.completed().iter().any(names), "{:#?}", ended.events);
    assert_eq!((ended.report.children_running, ended.report.exit_code()), (0, 0));
    assert!(real.home.work().join("by-child").exists());

    let next = begin(ended.session, "and now?");
    gate.open();
    assert_eq!(next.end().await.text(), "I am the parent.", "the conversation goes on");
    real.close().await;
}

/// Is this a request of the sub-agent's model?
fn is_child(request: &ModelRequest) -> bool {
    request.user_texts().iter().any(|text| text.contains(TASK))
}

/// A parent that has a child, and a child that does one thing; both then say that they are done.
fn one_thing(real: &Real, version: &'static str, thing: Reply) {
    real.model.route(move |request| {
        Some(match (is_child(request), request.tool_outputs().len()) {
            (true, 0) => thing.clone(),
            (false, 0) => spawn(version),
            _ => Reply::say("Done."),
        })
    });
}

async fn a_parent_that_ends_first_waits_for_its_sub_agent(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    let (held, version) = (gate.clone(), codex.version);
    real.model.route(move |request| {
        Some(match (is_child(request), request.tool_outputs().len()) {
            (true, _) => Reply::new().text("I am ").gate(&held).text("the child."),
            (false, 0) => spawn(version),
            (false, _) => Reply::say("I am done."),
        })
    });
    let mut turn = begin(real.session().await, "have a child");
    let count = |event: &Event| match event {
        Event::ChildrenRunning { count } => Some(*count),
        _ => None,
    };
    assert_eq!(turn.until(count).await, 1);
    gate.open();
    let ended = turn.end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "I am done."));
    let told: Vec<_> = ended.events.iter().filter_map(count).collect();
    assert_eq!((told, ended.report.children_running), (vec![1, 0], 0));
    real.close().await;
}

async fn rules_hold_for_sub_agents_too(codex: Codex) {
    let real = Real::start(&codex).await;
    one_thing(&real, codex.version, Reply::new().command("touch by-child"));
    let rules = Rules { deny: vec![Rule::deny("touch *").unwrap()], ..Rules::default() };
    let options = Options { rules, ..Options::default() };
    let start = real.unconfined(ApprovalPolicy::Untrusted);
    let ended = begin(real.session_as(start, options).await, "have a child").end().await;
    assert_eq!((ended.report.declined, ended.report.exit_code()), (1, 3), "{:#?}", ended.events);
    assert!(!real.home.work().join("by-child").exists());
    let requests = real.model.requests();
    let told = |request: &ModelRequest| request.user_texts().iter().any(|text| text.contains("The reason: "));
    let last = requests.iter().rev().find(|request| is_child(request)).unwrap();
    assert!(told(last), "the child is told: {:?}", last.user_texts());
    assert!(!requests.iter().any(|request| !is_child(request) && told(request)), "and nobody else");
    real.close().await;
}

async fn nothing_that_a_sub_agent_takes_outside_is_accepted_by_itself(codex: Codex) {
    let real = Real::start(&codex).await;
    let out = real.home.root().join("outside");
    std::fs::create_dir(&out).unwrap();
    let line = format!("touch {}/by-child", out.display());
    one_thing(&real, codex.version, Reply::new().escalated_command(line, "May I?"));
    let sandbox = Some(Sandbox::WorkspaceWrite);
    let start = ThreadStart { sandbox, ..real.unconfined(ApprovalPolicy::OnRequest) };
    let options = Options { answers: Answers::Everything, ..Options::default() };
    let mut turn = begin(real.session_as(start, options).await, "have a child");
    let asked = |event: &Event| match event {
        Event::RequestOpened { id, place, .. } => Some((id.clone(), *place)),
        _ => None,
    };
    let (ticket, place) = turn.until(asked).await;
    assert!(matches!(place, Some(Place::Outside | Place::Undecidable)), "{place:?}");
    turn.command(Command::Answer { ticket, answer: Decision::Decline.into(), by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!((ended.report.declined, ended.text()), (0, "Done."), "{:#?}", ended.events);
    assert!(!out.join("by-child").exists());
    real.close().await;
}

/// A child that runs a command; whether the parent has ended by then is up to the gate.
fn long_work(real: &Real, version: &'static str, gate: &Gate) {
    let gate = gate.clone();
    real.model.route(move |request| {
        Some(match (is_child(request), request.tool_outputs().len()) {
            (true, 0) => Reply::new().command("sleep 9014"),
            (false, 0) => spawn(version),
            _ => Reply::new().text("I ").gate(&gate).text("wait."),
        })
    });
}

async fn until_the_child_works(real: &Real, turn: &mut Turn) {
    let begins = |event: &Event| match event {
        Event::AgentItemStarted { item, .. } => matches!(item.body, ItemBody::Command { .. }).then_some(()),
        _ => None,
    };
    turn.until(begins).await;
    runs(&real.marker, "sleep 9014", true).await;
}

/// Checks that the command has ended and that this was reported.
async fn is_ended(real: &Real, ended: &Ended) {
    let is_told = |event: &Event| matches!(event, Event::TerminalsEnded { .. });
    assert!(ended.events.iter().any(is_told), "{:#?}", ended.events);
    let last = phases(ended).pop().map(|(_, phase)| phase);
    assert_eq!((last, ended.report.children_running), (Some(AgentPhase::Interrupted), 0));
    runs(&real.marker, "sleep 9014", false).await;
}

async fn an_interrupt_ends_what_a_sub_agent_runs_as_well(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    long_work(&real, codex.version, &gate);
    let session = real.session_with(real.unconfined(ApprovalPolicy::Never)).await;
    let mut turn = begin(session, "have a child");
    until_the_child_works(&real, &mut turn).await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::User }, "{:#?}", ended.events);
    is_ended(&real, &ended).await;
    real.close().await;
}

async fn an_interrupt_after_the_end_ends_what_a_sub_agent_runs(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    long_work(&real, codex.version, &gate);
    let session = real.session_with(real.unconfined(ApprovalPolicy::Never)).await;
    let mut turn = begin(session, "have a child");
    until_the_child_works(&real, &mut turn).await;
    gate.open();
    turn.until(|event| matches!(event, Event::ChildrenRunning { .. }).then_some(())).await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "I wait."));
    is_ended(&real, &ended).await;
    real.close().await;
}
