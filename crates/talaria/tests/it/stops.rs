//! The ways to end a turn before its end: Ctrl-C, signals, the time limit.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;
use talaria_testkit::app_server::directive::{self, ignore_signals, on, send};
use talaria_testkit::app_server::{AppServer, agent_delta, complete_turn, start_turn};
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};

use crate::scene::{Scene, both_versions, only};

both_versions!(
    newest:
    ctrl_c_interrupts_the_turn_and_says_who,
    ctrl_c_at_a_question_interrupts_the_turn,
    sigint_interrupts_the_turn_of_a_script,
    signals_to_end_leave_the_turn_running_and_say_how_to_come_back,
    what_a_command_declined_waits_when_a_signal_has_ended_it,
    text_said_before_a_stop_is_shown_before_the_notice,
    the_time_limit_ends_a_turn_that_stalls,
    a_terminal_that_is_closed_does_not_stop_the_turn,
);

async fn ctrl_c_interrupts_the_turn_and_says_who(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().text("Endless ").stall());
    let mut terminal = scene.terminal(&["exec", "talk"]);
    terminal.wait_for("Endless").await;
    terminal.ctrl_c().await;
    terminal.wait_for("stopping").await;
    terminal.wait_for("interrupted by you").await;
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    scene.close().await;
}

async fn ctrl_c_at_a_question_interrupts_the_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch forbidden"));
    let mut terminal =
        scene.terminal(&["exec", "--sandbox", "danger-full-access", "--approval", "untrusted", "touch"]);
    terminal.wait_for("stop the turn: ").await;
    terminal.ctrl_c().await;
    terminal.wait_for("interrupted by you").await;
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    assert!(!scene.work().join("forbidden").exists());
    scene.close().await;
}

/// The redactor holds the last word until no secret can begin with it.
async fn text_said_before_a_stop_is_shown_before_the_notice(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().text("alpha beta gam").stall());
    let mut terminal = scene.terminal(&["exec", "talk"]);
    terminal.wait_for("beta").await;
    terminal.ctrl_c().await;
    terminal.wait_for("interrupted by you").await;
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    let shown = terminal.transcript();
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} is missing: {shown}"));
    assert!(at("gam") < at("topping"), "{shown}");
    scene.close().await;
}

async fn signals_to_end_leave_the_turn_running_and_say_how_to_come_back(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let cases = [
        (&["exec", "talk"][..], Signal::TERM, 143),
        (&["exec", "--quiet", "talk"], Signal::TERM, 143),
        (&["exec", "--json", "talk"], Signal::TERM, 143),
        (&["exec", "--approve", "decline", "talk"], Signal::TERM, 143),
        (&["exec", "--approve", "wait", "talk"], Signal::TERM, 143),
        (&["exec", "talk"], Signal::HUP, 129),
    ];
    for (arguments, signal, code) in cases {
        let gate = Gate::new();
        scene.model.push(Reply::new().gate(&gate).text("said late"));
        let running = scene.start(arguments);
        gate.reached().await;
        let status = scene.status().await;
        let session = status["turns"][0]["session"].as_str().unwrap();
        kill_process(running.pid(), signal).unwrap();
        let ended = running.end().await.exits(code);
        let again = format!("talaria exec --attach {}", &session[session.len() - 8..]);
        if arguments.contains(&"--json") {
            let outcome = ended.events().pop().unwrap();
            assert_eq!((&outcome["outcome"], &outcome["exit"]), (&"lost".into(), &code.into()));
            assert!(outcome["message"].as_str().unwrap().ends_with(&again), "{outcome}");
        } else {
            assert_eq!(ended.stdout, "", "nothing that looks like an answer");
        }
        let ended = ended.complains(&["ended this command; the turn continues", &again]);
        assert!(!ended.stderr.contains("error"), "{ended}");
        // Without a terminal questions are declined by the command, not by the turn.
        let is_waiting = arguments.contains(&"wait");
        let words =
            "questions that this command would have declined wait for an answer (talaria requests list)";
        assert_eq!(ended.stderr.contains(words), !is_waiting, "{ended}");
        assert_eq!(scene.status().await["turns"].as_array().unwrap().len(), 1, "it still runs");
        gate.open();
        scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
        let seen = scene.run(&["exec", "--attach", session]).await.exits(0);
        assert_eq!(seen.stdout, "said late\n");
    }
    scene.close().await;
}

async fn what_a_command_declined_waits_when_a_signal_has_ended_it(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).command("touch asked"));
    scene.model.push(Reply::new().text("as you say"));
    let ask = ["exec", "--approve", "decline", "--sandbox", "danger-full-access", "--approval", "untrusted"];
    let running = scene.start(&[&ask[..], &["touch"]].concat());
    gate.reached().await;
    kill_process(running.pid(), Signal::TERM).unwrap();
    running.end().await.exits(143).complains(&["wait for an answer (talaria requests list)"]);
    gate.open();
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    let request = status["requests"][0]["id"].as_str().unwrap();
    scene.run(&["requests", "list"]).await.exits(0).prints(&["touch asked"]);
    scene.run(&["requests", "answer", request, "decline"]).await.exits(0);
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    assert!(!scene.work().join("asked").exists());
    scene.close().await;
}

async fn sigint_interrupts_the_turn_of_a_script(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("never said"));
    let running = scene.interruptible(&["exec", "--json", "talk"]);
    gate.reached().await;
    kill_process(running.pid(), Signal::INT).unwrap();
    let ended = running.end().await.exits(4);
    let events = ended.events();
    assert_eq!(only(&events, "interrupting")["by"], "user");
    let outcome = events.last().unwrap();
    assert_eq!((&outcome["outcome"], &outcome["by"]), (&"interrupted".into(), &"user".into()));
    scene.close().await;
}

async fn the_time_limit_ends_a_turn_that_stalls(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().stall());
    let ended = scene.run(&["exec", "--timeout", "1s", "talk"]).await.exits(5);
    assert_eq!(ended.stdout, "", "nothing that looks like an answer");
    ended.complains(&["error: the turn timed out and was stopped", "hint: allow more time with --timeout"]);
    scene.close().await;
}

async fn a_terminal_that_is_closed_does_not_stop_the_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let mut terminal = scene.terminal(&["exec", "go"]);
    terminal.wait_for("half").await;
    // The signal of the kernel when a window is closed.
    let pid = terminal.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap())).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    assert_eq!(terminal.exit_code().await, Some(129), "{}", terminal.transcript());
    let status = scene.wait_status(|status| status["turns"].as_array().unwrap().len() == 1).await;
    let session = status["turns"][0]["session"].as_str().unwrap();
    gate.open();
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    let ended = scene.run(&["exec", "--attach", session]).await.exits(0);
    ended.prints(&["half\nand whole"]).complains(&["no turn is running in"]);
    scene.close().await;
}

/// An app-server that ignores everything that could end it or its turn.
async fn deaf() -> Scene {
    let mut directives = vec![ignore_signals(), on("turn/interrupt", [])];
    directives.extend(start_turn());
    directives.push(send(agent_delta("Endless\n")));
    Scene::scripted(AppServer::ready(directives)).await.0
}

#[tokio::test]
async fn a_second_ctrl_c_leaves_although_codex_ignores_the_interrupt() {
    let scene = deaf().await;
    let mut terminal = scene.terminal(&["exec", "talk"]);
    terminal.wait_for("Endless").await;
    terminal.ctrl_c().await;
    terminal.wait_for("stopping").await;
    terminal.ctrl_c().await;
    terminal.wait_for("you left before the turn ended").await;
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    scene.close_deaf().await;
}

#[tokio::test]
async fn a_second_signal_leaves_although_codex_ignores_the_interrupt() {
    let scene = deaf().await;
    let mut running = scene.interruptible(&["exec", "--json", "talk"]);
    running.wait_for("Endless").await;
    kill_process(running.pid(), Signal::INT).unwrap();
    running.wait_for("interrupting").await;
    kill_process(running.pid(), Signal::INT).unwrap();
    let ended = running.end().await.exits(4);
    let events = ended.events();
    let outcome = events.last().unwrap();
    assert_eq!((&outcome["type"], &outcome["outcome"]), (&"outcome".into(), &"lost".into()));
    let message = outcome["message"].as_str().unwrap();
    assert!(message.starts_with("you left before the turn ended; it was asked to stop"), "{outcome}");
    assert_eq!((&outcome["seq"], &outcome["exit"]), (&Value::Null, &4.into()));
    scene.close_deaf().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_signal_to_end_leaves_although_nobody_reads_the_output() {
    let mut directives = start_turn();
    directives.push(directive::repeat(50_000, agent_delta("more than a pipe holds ")));
    let (scene, _) = Scene::scripted(AppServer::ready(directives)).await;
    let mut running = scene.start(&["exec", "--json", "talk"]);
    running.wait_for("text_delta").await;
    running.wait_held_up().await;
    kill_process(running.pid(), Signal::TERM).unwrap();
    let ended = running.end_unread().await.exits(143);
    ended.complains(&["error: left before it ended", "`talaria status` shows what is still running"]);
    scene.close().await;
}

#[tokio::test]
async fn a_signal_while_codex_does_not_answer_ends_the_command_and_leaves_nothing_behind() {
    let cases = [
        ("initialize", Signal::TERM, 143, "SIGTERM ended this command; the turn continues"),
        ("account/read", Signal::HUP, 129, "SIGHUP ended this command; the turn continues"),
        ("thread/start", Signal::INT, 4, "interrupted by you"),
    ];
    for (method, signal, code, words) in cases {
        // It starts and never answers this.
        let server = AppServer::ready([ignore_signals(), on(method, [])]);
        let (scene, installed) = Scene::scripted(server).await;
        let running = scene.interruptible(&["exec", "talk"]);
        installed.wait_received(method).await;
        kill_process(running.pid(), signal).unwrap();
        running.end().await.exits(code).complains(&[words]);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_signal_before_the_engine_has_confirmed_the_turn_does_not_say_whether_it_runs() {
    let play = [start_turn(), complete_turn("done")].concat();
    let (mut scene, _installed) = Scene::scripted(AppServer::ready(play)).await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    let mut trap = points.trap("before:prepared", 0);
    let running = scene.start(&["exec", "--json", "talk"]);
    let held = trap.reached().await.unwrap();
    kill_process(running.pid(), Signal::TERM).unwrap();
    let ended = running.end().await.exits(143);
    let outcome = ended.json().pop().unwrap();
    assert_eq!((&outcome["outcome"], &outcome["exit"]), (&"lost".into(), &143.into()), "{outcome}");
    assert_eq!((&outcome["message"], &outcome["session"]), (&"ended by SIGTERM".into(), &Value::Null));
    ended.complains(&[
        "error: ended by SIGTERM",
        "hint: `talaria status` shows what is running in the engine",
    ]);
    drop(held);
    scene.close().await;
}
