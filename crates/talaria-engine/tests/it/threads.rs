//! Threads of the real Codex: their settings in force, what reading them proves, and their state after a stop.
//!
//! Turns are driven by plain calls, because here the answers that a session waits for are taken away.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use talaria_codex::client::CallError;
use talaria_codex::host::{Host, HostError, Probe};
use talaria_codex::terminals::TerminalsEnded;
use talaria_codex::threads::ThreadError;
use talaria_codex_proto::power::{Setting, Weight};
use talaria_codex_proto::settle::{Deed, RecordedInput, Settlement, Vantage, settle};
use talaria_codex_proto::wire::call::{DynamicTool, ThreadStart, TurnInterrupt, TurnStart, UserInput};
use talaria_codex_proto::wire::history::{HistoryItem, HistoryTurn, ThreadStatus};
use talaria_codex_proto::wire::item::WireBody;
use talaria_codex_proto::wire::notification::TurnStatus;
use talaria_core::event::Event;
use talaria_core::ids::{ItemId, ThreadId, TurnId};
use talaria_core::input::InputPart;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::{expect, freeze, hang, on, reply, reply_error};
use talaria_testkit::app_server::{AppServer, THREAD, start_turn};
use talaria_testkit::{Codex, Marker, until};

use crate::stage::{PATIENCE, Real, Scripted, begin, both_transports, both_versions, real_spec};

both_versions!(
    what_was_asked_for_is_in_force,
    a_thread_that_would_keep_more_power_than_asked_for_is_not_taken_up,
    our_own_tools_and_instructions_reach_the_model,
    a_thread_in_which_nobody_said_anything_is_read_as_empty,
    input_whose_answer_was_lost_is_found_while_its_turn_runs_and_when_it_ended,
    input_that_never_arrived_is_not_there,
    input_whose_codex_was_killed_is_found_with_its_end,
    a_stop_ends_what_the_turn_left_running;
    newest:
    a_stopped_codex_is_silent_and_can_be_ended_although_others_hold_it,
    a_closed_host_refuses_and_starts_nothing,
);

both_transports!(
    more_power_than_asked_for_is_refused_and_the_thread_let_go,
    a_codex_that_refuses_the_greeting_is_ended_and_never_used,
    a_codex_that_answers_nothing_is_silent,
    an_overload_is_no_silence,
    an_answer_without_a_thread_id_names_its_keys,
    a_turn_without_an_id_is_no_turn,
    a_session_hears_why_its_codex_was_given_up,
);

/// Sends input and returns the started turn.
pub(crate) async fn say(host: &Host, thread: &ThreadId, text: &str) -> TurnId {
    host.call(&spoken(host, thread, text)).await.unwrap().turn.id
}

/// What `say` sends, with an id of ours where this version keeps it.
pub(crate) fn spoken(host: &Host, thread: &ThreadId, text: &str) -> TurnStart {
    TurnStart {
        thread_id: thread.clone(),
        input: words(text),
        model: None,
        effort: None,
        additional_context: std::collections::BTreeMap::new(),
        client_user_message_id: host.version().echoes_message_ids().then(|| format!("id of {text}")),
    }
}

fn words(text: &str) -> Vec<UserInput> {
    vec![UserInput::Text { text: text.to_owned() }]
}

/// Waits until a turn has this status and returns it. While it runs, it may be reported as interrupted for a
/// moment.
pub(crate) async fn turn_that_is(
    host: &Host,
    thread: &ThreadId,
    turn: &TurnId,
    status: TurnStatus,
) -> HistoryTurn {
    let look = async {
        loop {
            let turns = match host.read_thread(thread).await {
                Ok(history) => history.turns,
                // Its file is not written yet.
                Err(CallError::Refused { .. }) => Vec::new(),
                Err(error) => panic!("{error}"),
            };
            if let Some(found) = turns.into_iter().find(|other| other.id == *turn && other.status == status) {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, look).await.unwrap()
}

/// Says something and waits until the turn has completed.
pub(crate) async fn exchange(host: &Host, thread: &ThreadId, text: &str) -> HistoryTurn {
    let turn = say(host, thread, text).await;
    turn_that_is(host, thread, &turn, TurnStatus::Completed).await
}

/// Waits until a process whose command line ends like this exists, or does not.
pub(crate) async fn runs(marker: &Marker, command: &str, wanted: bool) {
    let is_there = || marker.survivors().iter().any(|process| process.command.trim().ends_with(command));
    until(&format!("{command} runs: {wanted}"), || is_there() == wanted).await;
}

/// Result of input that was sent after turn `last`.
async fn settled(host: &Host, sent: &TurnStart, last: Option<&TurnId>, vantage: Vantage) -> Settlement {
    let history = host.read_thread(&sent.thread_id).await.unwrap();
    let client_id = sent.client_user_message_id.as_deref();
    let part = |part: &UserInput| match part {
        UserInput::Text { text } => InputPart::text(text),
        UserInput::LocalImage { path } => InputPart::LocalImage { path: path.clone() },
    };
    let input: Vec<InputPart> = sent.input.iter().map(part).collect();
    settle(
        &RecordedInput { deed: Deed::Words, client_id, last_turn: last, input: &input, turn: None },
        &history,
        vantage,
    )
}

fn signal(host: &Host, signal: Signal) {
    kill_process(Pid::from_raw(host.pid()).unwrap(), signal).unwrap();
}

/// Suspends a Codex, and waits until all of its threads are stopped.
async fn stop(host: &Host) {
    signal(host, Signal::STOP);
    let pid = host.pid().to_string();
    // Linux reports each thread; elsewhere the process represents all of them.
    let options: &[&str] = if cfg!(target_os = "linux") { &["-L"] } else { &[] };
    let stands_still = || {
        let states = std::process::Command::new("ps")
            .args(options)
            .args(["-o", "stat=", "-p", &pid])
            .output()
            .unwrap();
        String::from_utf8_lossy(&states.stdout).lines().all(|state| state.trim().starts_with('T'))
    };
    until("every thread stands still", stands_still).await;
}

/// The model's messages.
fn texts(items: &[HistoryItem]) -> Vec<&str> {
    let mut texts = Vec::new();
    for item in items {
        if let WireBody::AgentMessage { text, .. } = &item.0.body {
            texts.push(text.as_str());
        }
    }
    texts
}

async fn what_was_asked_for_is_in_force(codex: Codex) {
    let real = Real::start(&codex).await;
    for sandbox in Sandbox::ALL {
        for policy in [ApprovalPolicy::Untrusted, ApprovalPolicy::OnRequest, ApprovalPolicy::Never] {
            let mut asked = ThreadStart { sandbox: Some(sandbox), ..real.unconfined(policy) };
            asked.set_effort("high");
            let roots = json!(["/opt/talaria-test"]);
            asked.config.insert("sandbox_workspace_write.writable_roots".to_owned(), roots);
            let opened = real.host.start_thread(&asked).await.unwrap();
            assert_eq!(opened.standing.differences, [], "{sandbox} {policy}");
            let in_force = &opened.standing.in_force;
            assert_eq!(
                (in_force.sandbox.to_string(), in_force.approval.as_str()),
                (sandbox.to_string(), policy.as_str())
            );
            assert_eq!(
                (in_force.effort.as_deref(), in_force.reviewer.as_deref()),
                (Some("high"), Some("user"))
            );
        }
    }
    let other = ThreadStart { model: Some("gpt-5.4".to_owned()), ..real.unconfined(ApprovalPolicy::Never) };
    let opened = real.host.start_thread(&other).await.unwrap();
    assert_eq!(opened.started.model, "gpt-5.4");
    real.close().await;
}

/// A loaded thread keeps its settings, regardless of the options of a resume.
async fn a_thread_that_would_keep_more_power_than_asked_for_is_not_taken_up(codex: Codex) {
    let real = Real::start(&codex).await;
    let opened = real.host.start_thread(&real.unconfined(ApprovalPolicy::Never)).await.unwrap();
    let thread = &opened.started.thread;
    real.model.push(Reply::say("one"));
    exchange(&real.host, thread, "first").await;

    let tighter =
        ThreadStart { sandbox: Some(Sandbox::ReadOnly), ..real.unconfined(ApprovalPolicy::Untrusted) };
    let error = real.host.resume_thread(thread, &tighter).await.unwrap_err();
    let ThreadError::Power(refusal) = &error else { panic!("{error:?}") };
    let settings: Vec<_> =
        refusal.0.iter().map(|difference| (difference.setting, difference.weight)).collect();
    let more = Weight::MorePower;
    assert_eq!(settings, [(Setting::Sandbox, more), (Setting::Approval, more)], "{error}");
    assert!(error.to_string().contains("asked for read-only, in force is danger-full-access"), "{error}");
    assert!(error.next_step().in_shell().contains("config.toml"), "{}", error.next_step().in_shell());

    let again = real.host.resume_thread(thread, &real.unconfined(ApprovalPolicy::Never)).await.unwrap();
    assert_eq!(&again.started.thread, thread, "it is still there for who asks for what it has");
    real.close().await;
}

async fn our_own_tools_and_instructions_reach_the_model(codex: Codex) {
    let real = Real::start(&codex).await;
    let tool = DynamicTool {
        kind: None,
        name: "lookup_ticket".to_owned(),
        description: "Finds a ticket.".to_owned(),
        input_schema: json!({ "type": "object", "properties": {} }),
    };
    let asked = ThreadStart {
        developer_instructions: Some("Speak of herons.".to_owned()),
        dynamic_tools: vec![tool],
        ..real.unconfined(ApprovalPolicy::Never)
    };
    let opened = real.host.start_thread(&asked).await.unwrap();
    real.model.push(Reply::say("herons"));
    exchange(&real.host, &opened.started.thread, "go").await;
    let request = &real.model.requests()[0];
    assert!(request.tool_names().contains(&"lookup_ticket"), "{:?}", request.tool_names());
    assert!(request.body.to_string().contains("Speak of herons."));
    real.close().await;
}

async fn a_thread_in_which_nobody_said_anything_is_read_as_empty(codex: Codex) {
    let real = Real::start(&codex).await;
    let opened = real.host.start_thread(&real.unconfined(ApprovalPolicy::Never)).await.unwrap();
    let thread = &opened.started.thread;
    assert!(real.host.read_thread(thread).await.unwrap().turns.is_empty());
    real.model.push(Reply::say("one"));
    let turn = exchange(&real.host, thread, "first").await;
    assert_eq!(texts(&turn.items), ["one"]);
    let stranger = ThreadId::new("01a1e0ee-4981-7281-b228-02ae4c3aa29d");
    assert!(matches!(real.host.read_thread(&stranger).await, Err(CallError::Refused { .. })));
    real.close().await;
}

async fn input_whose_answer_was_lost_is_found_while_its_turn_runs_and_when_it_ended(codex: Codex) {
    let real = Real::start(&codex).await;
    let opened = real.host.start_thread(&real.unconfined(ApprovalPolicy::Never)).await.unwrap();
    let thread = &opened.started.thread;
    real.model.push(Reply::say("one"));
    let first = exchange(&real.host, thread, "the same words").await.id;

    let sent = spoken(&real.host, thread, "the same words again");
    let before = settled(&real.host, &sent, Some(&first), Vantage::SameHost).await;
    assert!(matches!(before, Settlement::Unknown { .. }), "a Codex that lives may take it yet: {before:?}");

    let gate = Gate::new();
    real.model.push(Reply::new().text("half").gate(&gate).text(" and whole"));
    let (host, call) = (Arc::clone(&real.host), sent.clone());
    let starting = tokio::spawn(async move { host.call(&call).await });
    gate.reached().await;
    // Whether the answer arrived or not, no one has seen it.
    starting.abort();
    assert_eq!(real.host.thread_status(thread).await.unwrap(), ThreadStatus::Active);
    let running = settled(&real.host, &sent, Some(&first), Vantage::SameHost).await;
    let Settlement::Running { turn, .. } = running else { panic!("{running:?}") };
    gate.open();
    turn_that_is(&real.host, thread, &turn, TurnStatus::Completed).await;
    let over = settled(&real.host, &sent, Some(&first), Vantage::SameHost).await;
    let Settlement::Ended(over) = over else { panic!("{over:?}") };
    assert_eq!((&over.turn, over.status), (&turn, TurnStatus::Completed));
    assert_eq!(texts(&over.items), ["half and whole"]);
    real.close().await;
}

/// The input waits in the socket of a suspended Codex, and is lost with it.
async fn input_that_never_arrived_is_not_there(codex: Codex) {
    let real = Real::start(&codex).await;
    let asked = real.unconfined(ApprovalPolicy::Never);
    let opened = real.host.start_thread(&asked).await.unwrap();
    let thread = &opened.started.thread;
    real.model.push(Reply::say("one"));
    let first = exchange(&real.host, thread, "first").await.id;

    stop(&real.host).await;
    let sent = spoken(&real.host, thread, "second");
    let (host, call) = (Arc::clone(&real.host), sent.clone());
    let starting = tokio::spawn(async move { host.call(&call).await });
    assert_eq!(
        real.host.probe(Duration::from_millis(100)).await,
        Probe::Silent { limit: Duration::from_millis(100) }
    );
    real.host.terminate("it answers nothing").await;
    let error = starting.await.unwrap().unwrap_err();
    assert!(matches!(&error, CallError::Gone { why } if why == "it answers nothing"), "{error:?}");

    let next = Host::start(real_spec(&codex, &real.home, &real.marker)).await.unwrap();
    let found = settled(&next, &sent, Some(&first), Vantage::AfterItsEnd).await;
    assert!(matches!(found, Settlement::NotThere), "{found:?}");
    assert_eq!(real.model.requests().len(), 1, "and the model never heard of it");
    next.close().await;
    real.close().await;
}

async fn input_whose_codex_was_killed_is_found_with_its_end(codex: Codex) {
    let real = Real::start(&codex).await;
    let opened = real.host.start_thread(&real.unconfined(ApprovalPolicy::Never)).await.unwrap();
    let thread = &opened.started.thread;
    let gate = Gate::new();
    real.model.push(Reply::new().text("half").gate(&gate));
    let sent = spoken(&real.host, thread, "first");
    let (host, call) = (Arc::clone(&real.host), sent.clone());
    let starting = tokio::spawn(async move { host.call(&call).await });
    gate.reached().await;
    starting.abort();
    signal(&real.host, Signal::KILL);

    let next = Host::start(real_spec(&codex, &real.home, &real.marker)).await.unwrap();
    let found = settled(&next, &sent, None, Vantage::AfterItsEnd).await;
    let Settlement::Ended(over) = found else { panic!("{found:?}") };
    assert_eq!(over.status, TurnStatus::Interrupted);
    next.close().await;
    real.close().await;
}

/// A command that the model does not wait for.
fn left_running(seconds: u32) -> Reply {
    let arguments = json!({ "cmd": format!("sleep {seconds}"), "yield_time_ms": 250 });
    Reply::new().function("exec_command", arguments).call_id(format!("call_{seconds}"))
}

async fn a_stop_ends_what_the_turn_left_running(codex: Codex) {
    let real = Real::start(&codex).await;
    let opened = real.host.start_thread(&real.unconfined(ApprovalPolicy::Never)).await.unwrap();
    let thread = &opened.started.thread;
    // An earlier turn leaves a command running on purpose.
    real.model.play([left_running(9001), Reply::say("it runs")]);
    exchange(&real.host, thread, "start a server").await;
    runs(&real.marker, "sleep 9001", true).await;

    let gate = Gate::new();
    real.model.play([left_running(9002), Reply::new().text("half").gate(&gate)]);
    let turn = say(&real.host, thread, "do something long").await;
    gate.reached().await;
    let interrupt = TurnInterrupt { thread_id: thread.clone(), turn_id: turn.clone() };
    real.host.call(&interrupt).await.unwrap();
    turn_that_is(&real.host, thread, &turn, TurnStatus::Interrupted).await;
    runs(&real.marker, "sleep 9002", true).await;

    assert_eq!(real.host.end_terminals(thread, &[]).await.unwrap(), TerminalsEnded::Nothing);
    runs(&real.marker, "sleep 9001", true).await;
    let opened = [ItemId::new("call_9002")];
    let done = real.host.end_terminals(thread, &opened).await.unwrap();
    runs(&real.marker, "sleep 9002", false).await;
    if codex.version == "0.130.0" {
        assert_eq!(done, TerminalsEnded::All);
        assert!(done.to_string().contains("cannot distinguish those of the turn from older ones"), "{done}");
        runs(&real.marker, "sleep 9001", false).await;
    } else {
        assert_eq!(done, TerminalsEnded::Own { commands: vec!["sleep 9002".to_owned()] });
        runs(&real.marker, "sleep 9001", true).await;
        assert_eq!(real.host.end_terminals(thread, &opened).await.unwrap(), TerminalsEnded::Nothing);
    }
    real.close().await;
}

async fn a_stopped_codex_is_silent_and_can_be_ended_although_others_hold_it(codex: Codex) {
    let real = Real::start(&codex).await;
    let opened = real.host.start_thread(&real.unconfined(ApprovalPolicy::Never)).await.unwrap();
    assert_eq!(real.host.probe(PATIENCE).await, Probe::Answers);
    let other = ThreadId::new("other");
    let guard = real.host.enter_turn(&opened.started.thread);
    assert_eq!(
        (real.host.has_other_turns(&opened.started.thread), real.host.has_other_turns(&other)),
        (false, true)
    );
    drop(guard);
    assert!(!real.host.has_other_turns(&other));

    stop(&real.host).await;
    let limit = Duration::from_millis(100);
    assert_eq!(real.host.probe(limit).await, Probe::Silent { limit });
    assert!(real.host.is_alive(), "a silent Codex is not a dead one");
    let holder = Arc::clone(&real.host);
    real.host.terminate("it was silent for too long").await;
    assert!(!holder.is_alive());
    assert_eq!(holder.end_reason(), Some("it was silent for too long"));
    let why = "it was silent for too long".to_owned();
    assert_eq!(holder.probe(limit).await, Probe::Gone { why });
    real.close().await;
}

async fn a_closed_host_refuses_and_starts_nothing(codex: Codex) {
    let real = Real::start(&codex).await;
    let asked = real.unconfined(ApprovalPolicy::Never);
    let opened = real.host.start_thread(&asked).await.unwrap();
    let thread = &opened.started.thread;
    real.host.close().await;
    let is_gone = |error: &CallError| matches!(error, CallError::Gone { .. });
    assert!(
        real.host
            .start_thread(&asked)
            .await
            .is_err_and(|error| matches!(&error, ThreadError::Call(error) if is_gone(error)))
    );
    assert!(real.host.resume_thread(thread, &asked).await.is_err());
    assert!(real.host.read_thread(thread).await.is_err_and(|error| is_gone(&error)));
    assert!(real.host.call(&spoken(&real.host, thread, "x")).await.is_err_and(|error| is_gone(&error)));
    assert!(!real.host.is_alive());
    assert_eq!(real.marker.survivors(), [], "and nothing was started for it");
    real.close().await;
}

/// An answer to `thread/start` that grants everything.
fn generous() -> Value {
    json!({
        "thread": { "id": THREAD }, "cwd": "$.params.cwd", "model": "m", "modelProvider": "p",
        "approvalPolicy": "never", "approvalsReviewer": "user", "sandbox": { "type": "dangerFullAccess" },
    })
}

fn received(scripted: &Scripted, method: &str) -> usize {
    scripted.program.received().iter().filter(|message| message["method"] == method).count()
}

async fn more_power_than_asked_for_is_refused_and_the_thread_let_go(version: &str) {
    let refusal = json!({ "code": -32600, "message": "no rollout found" });
    let play = [on("thread/start", [reply(generous())]), on("thread/archive", [reply_error(refusal)])];
    let scripted = Scripted::start(AppServer::ready(play), version).await;
    let asked = ThreadStart {
        cwd: "/w".to_owned(),
        sandbox: Some(Sandbox::WorkspaceWrite),
        ..ThreadStart::default()
    };
    let error = scripted.host.start_thread(&asked).await.unwrap_err();
    assert!(matches!(error, ThreadError::Power(_)), "{error:?}");
    assert_eq!((received(&scripted, "thread/archive"), received(&scripted, "thread/unsubscribe")), (1, 1));
    assert_eq!(received(&scripted, "turn/start"), 0);

    // Options that were not requested come from the user's own configuration.
    let unsaid = ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() };
    let opened = scripted.host.start_thread(&unsaid).await.unwrap();
    assert_eq!(
        (opened.started.sandbox.as_str(), opened.started.approval.as_str()),
        ("danger-full-access", "never")
    );
    scripted.close().await;
}

async fn a_codex_that_refuses_the_greeting_is_ended_and_never_used(version: &str) {
    let refusal = json!({ "code": -32600, "message": "not today" });
    let server = AppServer::script([expect("initialize"), reply_error(refusal), hang()]);
    let Err(error) = Scripted::try_start(server, version).await else { panic!("it started") };
    assert!(matches!(error, HostError::Greeting(_)), "{error:?}");
    assert!(error.to_string().contains("not today"), "{error}");
    assert!(error.next_step().in_shell().contains("talaria doctor"));
}

async fn a_codex_that_answers_nothing_is_silent(version: &str) {
    for end in [hang(), freeze()] {
        let scripted = Scripted::start(AppServer::ready([start_turn(), vec![end]].concat()), version).await;
        let thread = ThreadId::new(THREAD);
        say(&scripted.host, &thread, "go").await;
        let limit = Duration::from_millis(50);
        assert_eq!(scripted.host.probe(limit).await, Probe::Silent { limit });
        scripted.host.terminate("silent").await;
        scripted.close().await;
    }
}

async fn an_overload_is_no_silence(version: &str) {
    let overload = json!({ "code": -32001, "message": "Server overloaded; retry later." });
    let play = [on("thread/loaded/list", [reply_error(overload)])];
    let scripted = Scripted::start(AppServer::ready(play), version).await;
    assert_eq!(scripted.host.probe(PATIENCE).await, Probe::Answers);
    assert_eq!(received(&scripted, "thread/loaded/list"), 1);
    scripted.close().await;
}

async fn an_answer_without_a_thread_id_names_its_keys(version: &str) {
    let play = [on("thread/start", [reply(json!({ "thread": {}, "model": "m", "brandNew": 1 }))])];
    let scripted = Scripted::start(AppServer::ready(play), version).await;
    let asked = ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() };
    let error = scripted.host.start_thread(&asked).await.unwrap_err();
    assert!(error.to_string().contains("it has no thread id, only brandNew, model, thread"), "{error}");
    scripted.close().await;
}

/// Nothing could be stopped or followed by it.
async fn a_turn_without_an_id_is_no_turn(version: &str) {
    let play = [expect("turn/start"), reply(json!({ "turn": { "status": "inProgress" } }))];
    let scripted = Scripted::start(AppServer::ready(play), version).await;
    let turn = spoken(&scripted.host, &ThreadId::new(THREAD), "go");
    let error = scripted.host.call(&turn).await.unwrap_err();
    assert!(matches!(error, CallError::Shape { .. }), "{error:?}");
    scripted.close().await;
}

async fn a_session_hears_why_its_codex_was_given_up(version: &str) {
    let scripted = Scripted::start(AppServer::ready([start_turn(), vec![hang()]].concat()), version).await;
    let mut turn = begin(scripted.session().await, "go");
    turn.until(|event| matches!(event, Event::TurnStarted { .. }).then_some(())).await;
    scripted.host.terminate("it was silent for too long").await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome.word(), "lost");
    let message = ended.report.message.clone().unwrap_or_default();
    assert!(message.contains("it was silent for too long"), "{message}");
    ended.leave().await;
    scripted.close().await;
}
