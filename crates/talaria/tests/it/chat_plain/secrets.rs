//! A secret is typed unseen, and the terminal shows again what is typed, however the program ends.

use std::fs;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use talaria_testkit::app_server::directive::{expect_answer, send};
use talaria_testkit::app_server::{THREAD, TURN, start_turn};
use talaria_testkit::terminal::Discipline;
use talaria_testkit::{AppServer, Key, Terminal, until};

use crate::scene::Scene;

/// Text before the input position of a secret.
const UNSEEN: &str = "your answer, not shown (empty line: back): ";

/// A Codex that asks for a secret.
async fn asking() -> Scene {
    let key =
        json!({ "id": "key", "header": "Key", "question": "Which key?", "isSecret": true, "options": null });
    let params = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "call_0", "startedAtMs": 1, "questions": [key],
                         "isBlocking": true, "autoResolutionMs": null });
    let asked = send(json!({ "id": 0, "method": "item/tool/requestUserInput", "params": params }));
    Scene::scripted(AppServer::ready([start_turn(), vec![asked, expect_answer(0)]].concat())).await.0
}

/// Runs the program as a job of a shell that leaves the terminal as it finds it.
const AS_A_JOB: &str = r#"
    sh -c 'echo $$ > pid; exec "$TALARIA" $OPTIONS'
    code=$?; eval "$MEANWHILE"; echo "left with $code"; read -r line; fg > /dev/null
"#;

/// Starts the program as a job, until it asks for the secret.
async fn asked(scene: &Scene, options: &str, more: &[(&str, &str)]) -> Terminal {
    let command = scene.shell_command(AS_A_JOB).env("OPTIONS", options);
    let command = more.iter().fold(command, |command, (name, value)| command.env(name, value));
    let mut terminal = Terminal::spawn(command);
    if options == "--plain" {
        terminal.wait_for("> ").await;
        terminal.type_keys("go\n").await;
    }
    terminal.wait_for(UNSEEN).await;
    assert_eq!(terminal.discipline(), Discipline::Raw, "it is not shown");
    terminal
}

/// Waits until the terminal is used like this.
async fn wait_discipline(terminal: &Terminal, wanted: Discipline) {
    until(&format!("the terminal is {wanted:?}"), || terminal.discipline() == wanted).await;
}

/// Lets the shell end.
async fn end(mut terminal: Terminal) {
    terminal.type_keys("\n").await;
    terminal.exit_status().await;
}

fn job(scene: &Scene) -> Pid {
    let pid = fs::read_to_string(scene.work().join("pid")).unwrap();
    pid.trim().parse().ok().and_then(Pid::from_raw).unwrap()
}

#[tokio::test]
async fn a_kill_while_a_secret_is_typed_leaves_the_terminal_as_it_was() {
    for options in ["--plain", "exec go"] {
        let scene = asking().await;
        let mut terminal = asked(&scene, options, &[]).await;
        terminal.type_keys("hunt").await;
        kill_process_group(job(&scene), Signal::KILL).unwrap();
        terminal.wait_for("left with 137").await;
        wait_discipline(&terminal, Discipline::Cooked).await;
        let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
        assert!(!raw.contains("hunt") && !raw.contains("\x1b[?1049l"), "{raw}");
        end(terminal).await;
        scene.close().await;
    }
}

#[tokio::test]
async fn a_panic_while_a_secret_is_typed_leaves_the_terminal_as_it_was() {
    let scene = asking().await;
    let more = [("TALARIA_PANIC", "plain"), ("RUST_BACKTRACE", "0")];
    let mut terminal = asked(&scene, "--plain", &more).await;
    // The keeper would do it too, but later.
    terminal.type_keys("hunter2\n").await;
    terminal.wait_for("a fault that a test asked for").await;
    assert_eq!(terminal.discipline(), Discipline::Cooked);
    terminal.wait_for("left with 101").await;
    end(terminal).await;
    scene.close().await;
}

#[tokio::test]
async fn a_secret_is_typed_unseen_after_the_program_was_put_aside() {
    let scene = asking().await;
    // As most shells do.
    let mut terminal = asked(&scene, "--plain", &[("MEANWHILE", "stty echo -echonl")]).await;
    terminal.key(Key::Ctrl('z')).await;
    terminal.wait_for("left with ").await;
    assert_eq!(terminal.discipline(), Discipline::Cooked);
    terminal.type_keys("\n").await;
    wait_discipline(&terminal, Discipline::Raw).await;
    terminal.type_keys("hunter2\n").await;
    terminal.wait_for("accepted by you").await;
    assert!(!String::from_utf8_lossy(&terminal.raw()).contains("hunter2"));
    terminal.ctrl_d().await;
    terminal.exit_status().await;
    scene.close().await;
}
