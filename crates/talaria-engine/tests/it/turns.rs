//! Turns of the real Codex, from the input to the outcome.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use talaria_codex::HostTransport;
use talaria_codex::conversation::{CodexConversation, Command, Options, When};
use talaria_codex::host::Host;
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_core::event::{Event, PlanStatus, Usage};
use talaria_core::input::InputPart;
use talaria_core::item::{FileAction, ItemBody, Status};
use talaria_core::outcome::{FailureCode, Outcome};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::request::{Ask, Decision, Who};
use talaria_scripted::{Gate, ModelUsage as Tokens, Phase, PlanStepStatus as Step, Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome, Marker};

use crate::stage::{Real, begin, begin_with, begin_within, both_versions, real_spec, repository};

both_versions!(
    a_text_turn_streams_its_text_and_counts_its_tokens,
    a_plan_is_shown_with_its_steps,
    an_accepted_command_runs_and_the_model_sees_its_output,
    a_declined_command_does_not_run_and_the_turn_goes_on,
    cancelling_a_request_interrupts_the_turn,
    a_patch_is_shown_before_it_is_answered_and_then_made,
    an_interrupt_before_the_turn_is_accepted_ends_it,
    steering_reaches_the_model_in_the_running_turn,
    faults_of_the_model_fail_the_turn_with_their_class_and_not_the_thread,
    an_input_over_the_limit_is_refused_and_the_thread_goes_on,
    a_writable_sandbox_of_the_users_configuration_is_kept_and_nothing_is_written;
    newest:
    a_turn_works_over_stdio_too,
    a_second_turn_remembers_the_first_and_pays_only_for_itself,
    reasoning_is_streamed_and_the_answer_is_the_final_message,
    a_command_accepted_for_the_session_is_not_asked_again,
    a_request_that_nobody_answers_is_declined_and_the_exit_code_says_so,
    a_declined_patch_changes_nothing_and_the_turn_goes_on,
    an_interrupt_ends_a_streaming_answer,
    an_interrupt_closes_the_open_request,
    input_that_no_running_turn_can_take_waits_for_the_next,
    a_killed_codex_loses_the_turn_with_the_signal_named,
    a_killed_codex_leaves_no_command_behind,
    the_deadline_interrupts_the_turn,
    the_deadline_stands_still_while_somebody_is_asked,
    the_users_configuration_is_not_written,
    a_level_of_trust_that_the_user_recorded_is_kept,
);

async fn a_text_turn_streams_its_text_and_counts_its_tokens(codex: Codex) {
    let real = Real::start(&codex).await;
    let tokens = Tokens { input: 900, cached: 500, output: 40, reasoning: 7 };
    real.model.push(Reply::new().text_chunks(["Hel", "lo, ", "wörld", "\n```\nx\n```"]).usage(tokens));
    let ended = begin(real.session().await, "greet me").end().await;
    assert_eq!(ended.text(), "Hello, wörld\n```\nx\n```");
    assert_eq!(ended.streamed_text(), ended.text());
    assert_eq!(ended.report.outcome, Outcome::Completed);
    assert_eq!(ended.report.exit_code(), 0);
    let usage = Usage { input: 900, cached: 500, output: 40, reasoning: 7, total: 940, ..Usage::default() };
    assert_eq!(ended.report.usage, usage);
    assert!(matches!(
        ended.events.iter().find(|event| !matches!(event, Event::Warning { .. } | Event::Ledger { .. })),
        Some(Event::TurnStarted { .. })
    ));
    let strangers: Vec<_> =
        ended.events.iter().filter(|event| matches!(event, Event::Unknown { .. })).collect();
    assert!(strangers.is_empty(), "an ordinary turn has nothing unknown in it: {strangers:#?}");
    assert_eq!(real.model.requests()[0].prompt(), "greet me");
    real.close().await;
}

async fn a_turn_works_over_stdio_too(codex: Codex) {
    let model = ScriptedModel::start().await.unwrap();
    let (home, marker) = (CodexHome::new(&model), Marker::new());
    let mut spec = real_spec(&codex, &home, &marker);
    spec.transport = HostTransport::Stdio;
    let host = std::sync::Arc::new(Host::start(spec).await.unwrap());
    let cwd = home.work().to_str().unwrap().to_owned();
    let start = ThreadStart { cwd, ..ThreadStart::default() };
    let session = CodexConversation::start(host.clone(), start, Options::default()).await.unwrap();
    model.push(Reply::say("over pipes"));
    assert_eq!(begin(session, "go").end().await.text(), "over pipes");
    host.close().await;
    marker.wait_gone(Duration::from_secs(5)).await.unwrap();
}

async fn a_second_turn_remembers_the_first_and_pays_only_for_itself(codex: Codex) {
    let real = Real::start(&codex).await;
    let tokens = |input, output| Tokens { input, cached: 100, output, reasoning: 5 };
    real.model.push(Reply::say("The word is heron.").usage(tokens(900, 40)));
    real.model.push(Reply::say("It was heron.").usage(tokens(1300, 60)));
    let first = begin(real.session().await, "tell me a word").end().await;
    assert_eq!(
        first.report.usage,
        Usage { input: 900, cached: 100, output: 40, reasoning: 5, total: 940, ..Usage::default() }
    );
    let second = begin(first.session, "which was it?").end().await;
    assert_eq!(
        second.report.usage,
        Usage { input: 1300, cached: 100, output: 60, reasoning: 5, total: 1360, ..Usage::default() }
    );
    let request = &real.model.requests()[1];
    assert_eq!(request.assistant_texts(), ["The word is heron."]);
    assert!(request.user_texts().contains(&"tell me a word"));
    assert_eq!(request.prompt(), "which was it?");
    real.close().await;
}

async fn reasoning_is_streamed_and_the_answer_is_the_final_message(codex: Codex) {
    let real = Real::start(&codex).await;
    let reply = Reply::new().reasoning("I ").reasoning("think");
    real.model.push(reply.message(Phase::Commentary, "Looking.").message(Phase::FinalAnswer, "Done."));
    let ended = begin(real.session().await, "think").end().await;
    let thought: String = ended
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ReasoningDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(thought, "I think");
    let is_whole =
        |body: &ItemBody| matches!(body, ItemBody::Reasoning { summary, .. } if *summary == ["I think"]);
    assert!(ended.completed().iter().any(|item| is_whole(&item.body)), "{:#?}", ended.events);
    assert_eq!(ended.text(), "Done.");
    real.close().await;
}

async fn a_plan_is_shown_with_its_steps(codex: Codex) {
    let real = Real::start(&codex).await;
    let steps = [("look", Step::Completed), ("act", Step::InProgress), ("rest", Step::Pending)];
    real.model.push(Reply::new().plan("first things first", steps));
    real.model.push(Reply::say("planned"));
    let ended = begin(real.session().await, "plan").end().await;
    let plans: Vec<_> = ended
        .events
        .iter()
        .filter_map(|event| match event {
            Event::PlanUpdated { explanation, steps } => Some((explanation.as_deref(), steps)),
            _ => None,
        })
        .collect();
    let [(explanation, steps)] = plans[..] else { panic!("{plans:?}") };
    assert_eq!(explanation, Some("first things first"));
    let steps: Vec<_> = steps.iter().map(|step| (step.step.as_str(), step.status)).collect();
    let (completed, in_progress) = (PlanStatus::Completed, PlanStatus::InProgress);
    assert_eq!(steps, [("look", completed), ("act", in_progress), ("rest", PlanStatus::Pending)]);
    real.close().await;
}

async fn an_accepted_command_runs_and_the_model_sees_its_output(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("echo made > note && cat note").call_id("call_note"));
    real.model.push(Reply::say("It is there."));
    let mut turn = begin(real.session().await, "make a note");
    let ask = turn.answer(Decision::Accept, Who::User).await;
    let Ask::Command { item, command, cwd, .. } = ask else { panic!("{ask:?}") };
    assert_eq!(item.as_str(), "call_note");
    assert!(command.contains("echo made > note && cat note"), "{command}");
    assert_eq!(cwd.as_deref(), real.home.work().to_str());
    let ended = turn.end().await;
    assert_eq!((ended.report.exit_code(), ended.text(), ended.report.declined), (0, "It is there.", 0));
    assert_eq!(fs::read_to_string(real.home.work().join("note")).unwrap(), "made\n");
    let [item] = &ended.commands()[..] else { panic!("{:#?}", ended.events) };
    let ItemBody::Command { status, exit_code, .. } = &item.body else { unreachable!() };
    assert_eq!((*status, *exit_code), (Status::Completed, Some(0)));
    assert!(real.model.requests()[1].tool_outputs()[0].contains("made"));
    real.close().await;
}

async fn a_command_accepted_for_the_session_is_not_asked_again(codex: Codex) {
    let real = Real::start(&codex).await;
    for _ in 0..2 {
        real.model.push(Reply::new().command("echo again >> note"));
        real.model.push(Reply::say("noted"));
    }
    let mut turn = begin(real.session().await, "note");
    turn.answer(Decision::AcceptForSession, Who::User).await;
    let first = turn.end().await;
    assert_eq!((first.report.exit_code(), first.requests()), (0, 1));
    let second = begin(first.session, "note again").end().await;
    assert_eq!((second.report.exit_code(), second.requests()), (0, 0), "the same command is not asked again");
    assert_eq!(fs::read_to_string(real.home.work().join("note")).unwrap(), "again\nagain\n");
    real.close().await;
}

async fn a_declined_command_does_not_run_and_the_turn_goes_on(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("touch forbidden"));
    real.model.push(Reply::say("Then not."));
    let mut turn = begin(real.session().await, "touch it");
    turn.answer(Decision::Decline, Who::User).await;
    let ended = turn.end().await;
    assert_eq!(
        (ended.report.exit_code(), ended.text()),
        (0, "Then not."),
        "declined by a person is an ordinary end"
    );
    let [item] = &ended.commands()[..] else { panic!("{:#?}", ended.events) };
    assert!(matches!(item.body, ItemBody::Command { status: Status::Declined, .. }), "{item:?}");
    assert!(!real.home.work().join("forbidden").exists());
    real.close().await;
}

async fn cancelling_a_request_interrupts_the_turn(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("touch forbidden"));
    let mut turn = begin(real.session().await, "touch it");
    turn.answer(Decision::Cancel, Who::User).await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::User });
    assert_eq!(ended.report.exit_code(), 4);
    assert!(!real.home.work().join("forbidden").exists());
    real.model.push(Reply::say("still here"));
    assert_eq!(begin(ended.session, "and now?").end().await.text(), "still here");
    real.close().await;
}

async fn a_request_that_nobody_answers_is_declined_and_the_exit_code_says_so(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("touch forbidden"));
    real.model.push(Reply::say("Could not."));
    let mut turn = begin(real.session().await, "touch it");
    turn.answer(Decision::Decline, Who::Nobody).await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Completed);
    assert_eq!((ended.report.declined, ended.report.exit_code()), (1, 3));
    real.close().await;
}

const PATCH: &str = "*** Begin Patch\n*** Add File: new.txt\n+fresh\n*** Update File: old.txt\n@@\n one\n-two\n+three\n*** End Patch";

async fn a_patch_is_shown_before_it_is_answered_and_then_made(codex: Codex) {
    let real = Real::start(&codex).await;
    fs::write(real.home.work().join("old.txt"), "one\ntwo\n").unwrap();
    real.model.push(Reply::new().patch(PATCH));
    real.model.push(Reply::say("Patched."));
    let mut turn = begin(real.session().await, "patch it");
    let (ticket, ask) = turn.request().await;
    let Ask::Patch { changes: Some(changes), .. } = &ask else { panic!("{ask:?}") };
    let change = |name: &str| changes.iter().find(|change| change.path.ends_with(name)).unwrap();
    assert_eq!((change("new.txt").action, change("new.txt").diff.as_str()), (FileAction::Add, "fresh\n"));
    assert_eq!(change("old.txt").action, FileAction::Update);
    assert!(change("old.txt").diff.contains("-two\n+three"), "{}", change("old.txt").diff);
    assert!(!real.home.work().join("new.txt").exists(), "nothing is changed before the answer");
    turn.command(Command::Answer { ticket, answer: Decision::Accept.into(), by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!((ended.report.exit_code(), ended.text()), (0, "Patched."));
    assert_eq!(fs::read_to_string(real.home.work().join("new.txt")).unwrap(), "fresh\n");
    assert_eq!(fs::read_to_string(real.home.work().join("old.txt")).unwrap(), "one\nthree\n");
    let is_done = |body: &ItemBody| matches!(body, ItemBody::Patch { status: Status::Completed, changes } if changes.len() == 2);
    assert!(ended.completed().iter().any(|item| is_done(&item.body)), "{:#?}", ended.events);
    let diffs = ended
        .events
        .iter()
        .filter(|event| matches!(event, Event::DiffUpdated { diff } if diff.contains("+three")));
    assert!(diffs.count() > 0, "the diff of the turn is told");
    real.close().await;
}

async fn a_declined_patch_changes_nothing_and_the_turn_goes_on(codex: Codex) {
    let real = Real::start(&codex).await;
    fs::write(real.home.work().join("old.txt"), "one\ntwo\n").unwrap();
    real.model.push(Reply::new().patch(PATCH));
    real.model.push(Reply::say("Then not."));
    let mut turn = begin(real.session().await, "patch it");
    turn.answer(Decision::Decline, Who::User).await;
    let ended = turn.end().await;
    assert_eq!((ended.report.exit_code(), ended.text()), (0, "Then not."));
    let is_declined = |body: &ItemBody| matches!(body, ItemBody::Patch { status: Status::Declined, .. });
    assert!(ended.completed().iter().any(|item| is_declined(&item.body)), "{:#?}", ended.events);
    assert_eq!(fs::read_to_string(real.home.work().join("old.txt")).unwrap(), "one\ntwo\n");
    assert!(!real.home.work().join("new.txt").exists());
    real.close().await;
}

async fn an_interrupt_ends_a_streaming_answer(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    real.model.push(Reply::new().text("half an ").gate(&gate).text("answer"));
    let mut turn = begin(real.session().await, "talk");
    turn.until(|event| matches!(event, Event::TextDelta { .. }).then_some(())).await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::User });
    assert_eq!(ended.report.exit_code(), 4);
    assert_eq!(ended.streamed_text(), "half an ");
    assert!(ended.events.iter().any(|event| matches!(event, Event::Interrupting { by: Who::User })));
    assert!(ended.events.iter().any(|event| matches!(event, Event::ItemAbandoned { .. })));
    real.model.push(Reply::say("whole"));
    assert_eq!(begin(ended.session, "again").end().await.text(), "whole");
    real.close().await;
}

async fn an_interrupt_before_the_turn_is_accepted_ends_it(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    let held = gate.clone();
    // The model may or may not be reached before the interrupt.
    real.model.route(move |request| {
        (request.prompt() == "never mind").then(|| Reply::new().gate(&held).text("no"))
    });
    let input = vec![InputPart::Text { text: "never mind".to_owned() }];
    let interrupt = Command::Interrupt { by: Who::User };
    let ended = begin_with(real.session().await, input, None, vec![interrupt]).end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::User }, "{:#?}", ended.events);
    let position = |wanted: fn(&Event) -> bool| ended.events.iter().position(wanted);
    let (asked, started) = (
        position(|event| matches!(event, Event::Interrupting { .. })),
        position(|event| matches!(event, Event::TurnStarted { .. })),
    );
    assert!(asked.is_some() && started.is_none(), "nothing was sent: {:#?}", ended.events);
    assert!(real.model.requests().is_empty(), "the model was not asked");
    real.model.push(Reply::say("whole"));
    assert_eq!(begin(ended.session, "again").end().await.text(), "whole");
    real.close().await;
}

async fn an_interrupt_closes_the_open_request(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("touch forbidden"));
    let mut turn = begin(real.session().await, "touch it");
    let (ticket, _) = turn.request().await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::User });
    let is_void = |event: &&Event| matches!(event, Event::RequestClosed { id, decision: Decision::Void, by: Who::Codex, .. } if *id == ticket);
    assert_eq!(ended.events.iter().filter(is_void).count(), 1, "{:#?}", ended.events);
    assert!(!real.home.work().join("forbidden").exists());
    real.close().await;
}

async fn steering_reaches_the_model_in_the_running_turn(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    real.model.push(Reply::new().text("The sky ").gate(&gate).text("is blue."));
    real.model.push(Reply::say("The sea is deep."));
    let mut turn = begin(real.session().await, "tell me of the sky");
    let started = turn.until(|event| match event {
        Event::TurnStarted { turn } => Some(turn.clone()),
        _ => None,
    });
    let started = started.await;
    turn.until(|event| matches!(event, Event::TextDelta { .. }).then_some(())).await;
    turn.command(Command::Say {
        input: crate::stage::said("no, of the sea"),
        when: When::Now,
        limit: None,
        kept: None,
    })
    .await;
    let steered = turn.until(|event| match event {
        Event::Steered { turn } => Some(turn.clone()),
        Event::Warning { message } if message.contains("did not take") => panic!("{message}"),
        _ => None,
    });
    assert_eq!(steered.await, started);
    gate.open();
    let ended = turn.end().await;
    assert_eq!((ended.report.exit_code(), ended.text()), (0, "The sea is deep."));
    let requests = real.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].prompt(), "no, of the sea");
    assert!(requests[1].user_texts().contains(&"tell me of the sky"));
    real.close().await;
}

async fn input_that_no_running_turn_can_take_waits_for_the_next(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::say("unmoved"));
    let input = vec![InputPart::Text { text: "go".to_owned() }];
    let steer =
        Command::Say { input: crate::stage::said("too early"), when: When::Now, limit: None, kept: None };
    let ended = begin_with(real.session().await, input, None, vec![steer]).end().await;
    assert_eq!(ended.text(), "unmoved");
    let is_queued =
        |event: &Event| matches!(event, Event::Queued { waiting: 1, input } if input.text == "too early");
    assert!(ended.events.iter().any(is_queued), "{:#?}", ended.events);
    real.close().await;
}

async fn faults_of_the_model_fail_the_turn_with_their_class_and_not_the_thread(codex: Codex) {
    let real = Real::start(&codex).await;
    let faults = [
        (Reply::status(401), FailureCode::Auth, 6),
        (Reply::status(429), FailureCode::RateLimit, 1),
        (Reply::status(500), FailureCode::Server, 1),
        (Reply::new().text("half").drop_stream(), FailureCode::Connection, 1),
    ];
    let mut session = real.session().await;
    for (fault, class, exit) in faults {
        real.model.push(fault);
        let ended = begin(session, "go").end().await;
        assert_eq!(ended.report.outcome.word(), "failed", "{class}: {:#?}", ended.events);
        assert_eq!(
            (ended.report.code, ended.report.exit_code()),
            (Some(class), exit),
            "{:?}",
            ended.report.message
        );
        let message = ended.report.message.unwrap_or_default();
        assert!(!message.is_empty(), "{class} says something");
        real.model.push(Reply::say(format!("well after {class}")));
        let next = begin(ended.session, "and now?").end().await;
        assert_eq!(next.text(), format!("well after {class}"));
        session = next.session;
    }
    drop(session);
    real.close().await;
}

async fn an_input_over_the_limit_is_refused_and_the_thread_goes_on(codex: Codex) {
    let real = Real::start(&codex).await;
    let ended = begin(real.session().await, &"x".repeat(1_048_577)).end().await;
    assert_eq!(ended.report.code, Some(FailureCode::InputTooLarge), "{:?}", ended.report);
    assert_eq!((ended.report.exit_code(), real.model.requests().len()), (1, 0));
    real.model.push(Reply::say("short is fine"));
    assert_eq!(begin(ended.session, "short").end().await.text(), "short is fine");
    real.close().await;
}

fn kill(host: &Host) {
    kill_process(Pid::from_raw(host.pid()).unwrap(), Signal::KILL).unwrap();
}

async fn a_killed_codex_loses_the_turn_with_the_signal_named(codex: Codex) {
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    real.model.push(Reply::new().text("half an ").gate(&gate).text("answer"));
    let mut turn = begin(real.session().await, "talk");
    turn.until(|event| matches!(event, Event::TextDelta { .. }).then_some(())).await;
    kill(&real.host);
    let ended = turn.end().await;
    assert!(matches!(ended.report.outcome, Outcome::Lost { .. }), "{:?}", ended.report);
    assert_eq!(ended.report.exit_code(), 7);
    let message = ended.report.message.unwrap();
    assert!(message.contains("SIGKILL"), "{message}");
    real.model.push(Reply::say("I am."));
    let again = begin(ended.session, "are you there?").end().await;
    assert_eq!(again.text(), "I am.", "{:#?}", again.events);
    let asked = real.model.requests();
    let last = asked.last().unwrap();
    assert_eq!(last.user_texts().iter().filter(|text| text.contains("talk")).count(), 1, "{last:?}");
    again.leave().await;
    assert!(real.host.end_reason().is_some_and(|why| why.contains("SIGKILL")));
    assert!(real.host.account().await.unwrap_err().to_string().contains("SIGKILL"));
    real.close().await;
}

async fn a_killed_codex_leaves_no_command_behind(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("echo up; sleep 600"));
    let session = real.session_with(real.unconfined(ApprovalPolicy::Never)).await;
    let mut turn = begin(session, "wait");
    turn.until(|event| match event {
        Event::ItemStarted { item } => matches!(item.body, ItemBody::Command { .. }).then_some(()),
        _ => None,
    })
    .await;
    kill(&real.host);
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome.word(), "lost");
    ended.leave().await;
    real.close().await;
}

async fn the_deadline_interrupts_the_turn(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().text("half").stall());
    let ended = begin_within(real.session().await, "talk", Duration::from_millis(300)).end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::Deadline }, "{:#?}", ended.events);
    assert_eq!(ended.report.exit_code(), 5);
    // Nothing may be left over from a turn that was stopped before the model was asked.
    real.model.route(|request| (request.prompt() == "again").then(|| Reply::say("in time")));
    assert_eq!(begin(ended.session, "again").end().await.text(), "in time");
    real.close().await;
}

async fn the_deadline_stands_still_while_somebody_is_asked(codex: Codex) {
    const LIMIT: Duration = Duration::from_secs(10);
    let real = Real::start(&codex).await;
    real.model.route(|request| match request.prompt() {
        "be the clock" => Some(Reply::new().stall()),
        _ if request.is_after_tool() => Some(Reply::say("in time")),
        _ => Some(Reply::new().command("touch allowed")),
    });
    let mut turn = begin_within(real.session().await, "touch it", LIMIT);
    let (ticket, _) = turn.request().await;
    // Another turn with the same limit, started only now, shows when the limit has passed.
    let clock = begin_within(real.session().await, "be the clock", LIMIT).end().await;
    assert_eq!(clock.report.outcome, Outcome::Interrupted { by: Who::Deadline });
    turn.command(Command::Answer { ticket, answer: Decision::Accept.into(), by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "in time"));
    real.close().await;
}

async fn the_users_configuration_is_not_written(codex: Codex) {
    let real = Real::start(&codex).await;
    let fresh = real.home.root().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let inside = repository(&real.home.root().join("repository"));
    for cwd in [fresh, inside] {
        for sandbox in Sandbox::ALL {
            for approval_policy in [None, Some(ApprovalPolicy::OnRequest)] {
                let cwd = cwd.to_str().unwrap().to_owned();
                let start = ThreadStart {
                    cwd: cwd.clone(),
                    sandbox: Some(sandbox),
                    approval_policy,
                    ..ThreadStart::default()
                };
                let session = real.session_with(start).await;
                let started = session.started();
                assert_eq!(started.sandbox, sandbox.as_str(), "what was asked for is in force");
                assert_eq!((started.cwd.as_str(), started.approval.as_str()), (cwd.as_str(), "on-request"));
                real.model.push(Reply::say("ok"));
                assert_eq!(begin(session, "go").end().await.text(), "ok");
            }
        }
    }
    real.close().await;
}

async fn a_level_of_trust_that_the_user_recorded_is_kept(codex: Codex) {
    let model = ScriptedModel::start().await.unwrap();
    let (home, marker) = (CodexHome::new(&model), Marker::new());
    let work = home.work().canonicalize().unwrap().to_str().unwrap().to_owned();
    home.append_config(&format!("[projects.{work:?}]\ntrust_level = \"untrusted\""));
    let before = fs::read(home.path().join("config.toml")).unwrap();
    let host = std::sync::Arc::new(Host::start(real_spec(&codex, &home, &marker)).await.unwrap());
    let sandbox = Some(Sandbox::WorkspaceWrite);
    let start = ThreadStart { cwd: work, sandbox, ..ThreadStart::default() };
    let session = CodexConversation::start(host.clone(), start, Options::default()).await.unwrap();
    assert_eq!(session.started().approval, "untrusted", "as Codex does by itself for such a directory");
    host.close().await;
    marker.wait_gone(Duration::from_secs(5)).await.unwrap();
    assert_eq!(fs::read(home.path().join("config.toml")).unwrap(), before);
}

async fn a_writable_sandbox_of_the_users_configuration_is_kept_and_nothing_is_written(codex: Codex) {
    let model = ScriptedModel::start().await.unwrap();
    let (home, marker) = (CodexHome::new(&model), Marker::new());
    let path = home.path().join("config.toml");
    let config = format!("sandbox_mode = \"workspace-write\"\n{}", fs::read_to_string(&path).unwrap());
    fs::write(&path, &config).unwrap();
    let host = std::sync::Arc::new(Host::start(real_spec(&codex, &home, &marker)).await.unwrap());
    let cwd = home.work().canonicalize().unwrap().to_str().unwrap().to_owned();
    let session = CodexConversation::start(
        host.clone(),
        ThreadStart { cwd, ..ThreadStart::default() },
        Options::default(),
    )
    .await
    .unwrap();
    let started = session.started();
    assert_eq!((started.sandbox.as_str(), started.approval.as_str()), ("workspace-write", "on-request"));
    drop(session);
    host.close().await;
    marker.wait_gone(Duration::from_secs(5)).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), config);
}
