//! The ways to end a turn before its end: Ctrl-C, signals, the time limit.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;
use talaria_testkit::app_server::directive::{self, ignore_signals, on, send};
use talaria_testkit::app_server::{AppServer, agent_delta, start_turn};

use crate::scene::{Scene, both_versions, only};

both_versions!(
    ctrl_c_interrupts_the_turn_and_says_who,
    ctrl_c_at_a_question_interrupts_the_turn,
    a_signal_to_end_interrupts_the_turn,
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

async fn a_signal_to_end_interrupts_the_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("never said"));
    let running = scene.start(&["exec", "--json", "talk"]);
    gate.reached().await;
    kill_process(running.pid(), Signal::TERM).unwrap();
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
    ended.prints(&["error: the turn ran out of time and was stopped", "hint: give it longer: --timeout"]);
    scene.close().await;
}

async fn a_terminal_that_is_closed_does_not_stop_the_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let mut terminal = scene.terminal(&["exec", "go"]);
    terminal.wait_for("half").await;
    // What the kernel sends when a window is closed.
    let pid = terminal.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap())).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    let status = scene.wait_status(|status| status["turns"].as_array().unwrap().len() == 1).await;
    let session = status["turns"][0]["session"].as_str().unwrap();
    gate.open();
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    let ended = scene.run(&["exec", "--attach", session]).await.exits(0);
    ended.prints(&["half\nand whole"]).complains(&["nothing runs on"]);
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
    scene.close().await;
}

#[tokio::test]
async fn a_second_signal_leaves_although_codex_ignores_the_interrupt() {
    let scene = deaf().await;
    let mut running = scene.start(&["exec", "--json", "talk"]);
    running.wait_for("Endless").await;
    kill_process(running.pid(), Signal::TERM).unwrap();
    running.wait_for("interrupting").await;
    kill_process(running.pid(), Signal::TERM).unwrap();
    let ended = running.end().await.exits(4);
    let events = ended.events();
    let outcome = events.last().unwrap();
    assert_eq!((&outcome["type"], &outcome["outcome"]), (&"outcome".into(), &"lost".into()));
    assert!(outcome["message"].as_str().unwrap().starts_with("you left before the turn ended"), "{outcome}");
    assert_eq!((&outcome["seq"], &outcome["exit"]), (&Value::Null, &4.into()));
    scene.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn two_signals_leave_although_nobody_reads_the_output() {
    let mut directives = start_turn();
    directives.push(directive::repeat(50_000, agent_delta("more than a pipe holds ")));
    let (scene, _) = Scene::scripted(AppServer::ready(directives)).await;
    let mut running = scene.start(&["exec", "--json", "talk"]);
    running.wait_for("text_delta").await;
    running.wait_held_up().await;
    kill_process(running.pid(), Signal::TERM).unwrap();
    running.wait_signalled().await;
    kill_process(running.pid(), Signal::TERM).unwrap();
    running.end_unread().await.exits(4).complains(&["error: left before the turn ended"]);
    scene.close().await;
}

#[tokio::test]
async fn a_signal_while_codex_does_not_answer_ends_the_turn_and_leaves_nothing_behind() {
    for method in ["initialize", "account/read", "thread/start"] {
        // It comes up and never answers this.
        let server = AppServer::ready([ignore_signals(), on(method, [])]);
        let (scene, installed) = Scene::scripted(server).await;
        let running = scene.start(&["exec", "talk"]);
        let asked = || installed.received().iter().any(|message| message["method"] == method);
        while !asked() {
            tokio::task::yield_now().await;
        }
        kill_process(running.pid(), Signal::TERM).unwrap();
        running.end().await.exits(4);
        scene.close().await;
    }
}
