//! What happens when Codex asks: at a terminal a person decides; elsewhere the request is declined, and that is said.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::{exit, expect_answer, notify, send};
use talaria_testkit::app_server::{InstalledAppServer, THREAD, TURN, complete_turn, start_turn};
use talaria_testkit::{AppServer, Codex, Terminal};

use crate::scene::{Scene, both_versions, only};

both_versions!(
    yes_runs_the_command,
    yes_for_the_session_is_not_asked_again,
    no_does_not_run_the_command_and_the_turn_goes_on,
    a_patch_is_on_the_screen_before_it_is_answered;
    newest:
    without_a_terminal_a_request_is_declined_visibly,
    json_shows_the_request_and_who_declined_it,
    decline_can_be_chosen_at_a_terminal,
    stop_ends_the_turn,
    closing_the_input_is_a_no,
    a_line_that_is_no_answer_asks_again,
    what_was_typed_before_the_question_is_no_answer,
    a_hostile_command_is_shown_and_does_not_act_on_the_terminal,
);

/// A turn without a sandbox in which commands and patches are asked about.
const ASKING: [&str; 6] = ["exec", "--sandbox", "danger-full-access", "--approval", "untrusted", "do it"];

/// The end of the line that waits for an answer.
const CHOICES: &str = "[x] no, stop the turn: ";

async fn without_a_terminal_a_request_is_declined_visibly(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch forbidden"));
    scene.model.push(Reply::say("Then not."));
    let ended = scene.run(&ASKING).await.exits(3);
    assert_eq!(ended.stdout, "Then not.\n", "{ended}");
    ended.complains(&[
        "The model asks to run a command",
        "touch forbidden",
        "→ declined by default, without asking a person",
        "1 request was declined without asking a person",
        "with --approve wait, requests that no rule decides stay open for you",
    ]);
    assert!(!scene.work().join("forbidden").exists());
    scene.close().await;
}

async fn json_shows_the_request_and_who_declined_it(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch forbidden"));
    scene.model.push(Reply::say("Then not."));
    let ended = scene.run(&[&ASKING[..], &["--json"]].concat()).await.exits(3);
    let events = ended.events();
    let (opened, closed) = (only(&events, "request_opened"), only(&events, "request_closed"));
    assert_eq!(opened["kind"], "command");
    assert!(opened["command"].as_str().unwrap().contains("touch forbidden"), "{opened}");
    assert_eq!(closed["id"], opened["id"]);
    assert_eq!((&closed["decision"], &closed["by"]), (&"decline".into(), &"nobody".into()));
    let outcome = events.last().unwrap();
    assert_eq!((&outcome["outcome"], &outcome["declined"]), (&"completed".into(), &1.into()));
    scene.close().await;
}

async fn decline_can_be_chosen_at_a_terminal(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch forbidden"));
    scene.model.push(Reply::say("Then not."));
    let mut terminal = scene.terminal(&[&ASKING[..], &["--approve", "decline"]].concat());
    assert_eq!(terminal.exit_code().await, Some(3), "{}", terminal.transcript());
    let transcript = terminal.transcript();
    assert!(!transcript.contains(CHOICES), "{transcript}");
    assert!(transcript.contains("declined by default, without asking a person"), "{transcript}");
    assert!(!transcript.contains("this is not a terminal"), "there was a person: {transcript}");
    scene.close().await;
}

/// Starts a turn whose model runs `command` this often, and then says `Done.`
fn ask(scene: &Scene, command: &str, times: usize) -> Terminal {
    for _ in 0..times {
        scene.model.push(Reply::new().command(command));
    }
    scene.model.push(Reply::say("Done."));
    scene.terminal(&ASKING)
}

async fn yes_runs_the_command(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = ask(&scene, "echo made > note; echo out-$((40+2))", 1);
    terminal.wait_for("? The model asks to run a command").await;
    terminal.wait_for("echo made > note").await;
    terminal.wait_for(CHOICES).await;
    assert!(!scene.work().join("note").exists(), "it ran before it was accepted");
    terminal.type_keys("y\n").await;
    for text in ["→ accepted by you", "✓ echo made > note", "out-42", "Done.", "tokens:"] {
        terminal.wait_for(text).await;
    }
    assert_eq!(terminal.exit_code().await, Some(0));
    assert_eq!(fs::read_to_string(scene.work().join("note")).unwrap(), "made\n");
    scene.close().await;
}

async fn yes_for_the_session_is_not_asked_again(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = ask(&scene, "echo again >> note", 2);
    terminal.wait_for(CHOICES).await;
    terminal.type_keys("s\n").await;
    terminal.wait_for("→ accepted for this session by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert_eq!(terminal.transcript().matches("The model asks").count(), 1, "{}", terminal.transcript());
    assert_eq!(fs::read_to_string(scene.work().join("note")).unwrap(), "again\nagain\n");
    scene.close().await;
}

async fn no_does_not_run_the_command_and_the_turn_goes_on(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = ask(&scene, "touch forbidden", 1);
    terminal.wait_for(CHOICES).await;
    terminal.type_keys("n\n").await;
    for text in ["→ declined by you", "declined", "Done."] {
        terminal.wait_for(text).await;
    }
    assert_eq!(
        terminal.exit_code().await,
        Some(0),
        "a person who says no has decided: {}",
        terminal.transcript()
    );
    assert!(!terminal.transcript().contains("without asking a person"), "{}", terminal.transcript());
    assert!(!scene.work().join("forbidden").exists());
    scene.close().await;
}

async fn stop_ends_the_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch forbidden"));
    let mut terminal = scene.terminal(&ASKING);
    terminal.wait_for(CHOICES).await;
    terminal.type_keys("x\n").await;
    terminal.wait_for("→ cancelled by you").await;
    terminal.wait_for("interrupted by you").await;
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    assert!(!scene.work().join("forbidden").exists());
    scene.close().await;
}

async fn closing_the_input_is_a_no(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = ask(&scene, "touch forbidden", 1);
    terminal.wait_for(CHOICES).await;
    terminal.ctrl_d().await;
    terminal.wait_for("→ declined by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert!(!scene.work().join("forbidden").exists());
    scene.close().await;
}

async fn a_line_that_is_no_answer_asks_again(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = ask(&scene, "touch forbidden", 1);
    for nonsense in ["maybe\n", "\n", "yn\n"] {
        terminal.wait_for(CHOICES).await;
        terminal.type_keys(nonsense).await;
    }
    terminal.wait_for(CHOICES).await;
    assert!(!scene.work().join("forbidden").exists(), "{}", terminal.transcript());
    terminal.type_keys("NO\n").await;
    terminal.wait_for("→ declined by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    scene.close().await;
}

async fn what_was_typed_before_the_question_is_no_answer(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("Thinking. So ").gate(&gate).command("touch forbidden"));
    scene.model.push(Reply::say("Done."));
    let mut terminal = scene.terminal(&ASKING);
    terminal.wait_for("Thinking.").await;
    terminal.type_keys("y\ny").await;
    // The terminal shows what is typed: it has arrived.
    terminal.wait_for("y\ny").await;
    gate.open();
    terminal.wait_for(CHOICES).await;
    terminal.type_keys("n\n").await;
    terminal.wait_for("→ declined by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert!(!scene.work().join("forbidden").exists(), "{}", terminal.transcript());
    scene.close().await;
}

async fn a_patch_is_on_the_screen_before_it_is_answered(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let file = scene.work().join("greeting.txt");
    fs::write(&file, "hello\nworld\n").unwrap();
    let patch =
        "*** Begin Patch\n*** Update File: greeting.txt\n@@\n-hello\n+good evening\n world\n*** End Patch\n";
    scene.model.push(Reply::new().patch(patch));
    scene.model.push(Reply::say("Done."));
    let mut terminal = scene.terminal(&ASKING);
    for text in
        ["? The model asks to change 1 file", "greeting.txt (+1 −1)", "-hello", "+good evening", CHOICES]
    {
        terminal.wait_for(text).await;
    }
    let screen = terminal.screen();
    assert!(screen.contains("+good evening"), "the diff is in sight with the choices: {screen}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello\nworld\n", "changed before it was accepted");
    terminal.type_keys("y\n").await;
    terminal.wait_for("→ accepted by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert_eq!(fs::read_to_string(&file).unwrap(), "good evening\nworld\n");
    assert_eq!(
        terminal.transcript().matches("+good evening").count(),
        1,
        "shown once: {}",
        terminal.transcript()
    );
    scene.close().await;
}

async fn a_hostile_command_is_shown_and_does_not_act_on_the_terminal(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let hostile = "echo '\u{1b}[2J\u{1b}[8m\u{202e}evil\u{200b}\u{9b}31m\u{7}'; touch forbidden #\rls";
    scene.model.push(Reply::new().text("before").command(hostile));
    scene.model.push(Reply::say("\u{1b}]0;owned\u{7}after \u{1b}[2J"));
    let mut terminal = scene.colour_terminal(&ASKING);
    terminal.wait_for(CHOICES).await;
    let screen = terminal.screen();
    for text in ["before", "␛[2J␛[8m⟨U+202E⟩evil⟨U+200B⟩", "␇", "touch forbidden #␍ls", "[y] yes, once"]
    {
        assert!(screen.contains(text), "{text:?} is not in sight: {screen}");
    }
    terminal.type_keys("n\n").await;
    terminal.wait_for("after ␛[2J").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    for text in ["\u{1b}[2J", "\u{1b}[8m", "\u{1b}]0;", "\u{202e}", "\u{200b}", "\u{9b}", "\u{7}"] {
        assert!(!raw.contains(text), "{text:?} reached the terminal: {raw:?}");
    }
    assert!(raw.contains("\u{1b}["), "this terminal shows colours: {raw:?}");
    scene.close().await;
}

#[tokio::test]
async fn a_question_that_this_build_cannot_put_is_declined_visibly_and_the_exit_code_says_so() {
    let mut directives = start_turn();
    let question = json!({
        "id": 0, "method": "mcpServer/elicitation/request",
        "params": { "threadId": THREAD, "turnId": TURN, "serverName": "tiny", "mode": "openai/form",
                    "message": "Which colour?", "_meta": null, "requestedSchema": { "anything": true } },
    });
    directives.extend([send(question), expect_answer(0)]);
    directives.extend(complete_turn("Then none."));
    let (scene, _) = Scene::scripted(AppServer::ready(directives)).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    terminal.wait_for("Codex asks something that this version of Talaria cannot show").await;
    terminal.wait_for("declined by Talaria").await;
    assert_eq!(terminal.exit_code().await, Some(3), "{}", terminal.transcript());
    scene.close().await;
}

/// The model asks to run a command.
fn question(id: u64, command: &str) -> Value {
    let params = json!({
        "kind": "command", "threadId": THREAD, "turnId": TURN, "itemId": format!("call_{id}"), "startedAtMs": 1,
        "environmentId": "local", "command": command, "cwd": "/w", "commandActions": [],
        "availableDecisions": ["accept", "cancel"],
    });
    send(json!({ "id": id, "method": "item/commandExecution/requestApproval", "params": params }))
}

/// The client's answer to the request with this id.
fn answers(installed: &InstalledAppServer, id: u64) -> Vec<Value> {
    let received = installed.received().into_iter();
    let ours = received.filter(|message| message.get("method").is_none() && message["id"] == id);
    ours.map(|message| message["result"]["decision"].clone()).collect()
}

#[tokio::test]
async fn two_questions_at_once_are_asked_one_after_the_other() {
    let mut directives = start_turn();
    directives.extend([
        question(0, "first-command"),
        question(1, "second-command"),
        expect_answer(0),
        expect_answer(1),
    ]);
    directives.extend(complete_turn("Done."));
    let (scene, installed) = Scene::scripted(AppServer::ready(directives)).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    // The one that waits is in sight already; the one that is asked is last, with the choices.
    for text in ["second-command", "first-command", CHOICES] {
        terminal.wait_for(text).await;
    }
    terminal.type_keys("y\n").await;
    terminal.wait_for("→ accepted by you").await;
    terminal.wait_for("second-command").await;
    terminal.wait_for(CHOICES).await;
    terminal.type_keys("n\n").await;
    terminal.wait_for("→ declined by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert_eq!(
        (answers(&installed, 0), answers(&installed, 1)),
        (vec!["accept".into()], vec!["decline".into()])
    );
    scene.close().await;
}

#[tokio::test]
async fn a_question_that_codex_takes_back_is_not_answered() {
    let mut directives = start_turn();
    let taken_back = notify("serverRequest/resolved", json!({ "threadId": THREAD, "requestId": 0 }));
    // The keyboard was being read for the first question: when the warning is shown, it is read for the second.
    let warning = notify("warning", json!({ "threadId": THREAD, "message": "something else happened" }));
    directives.extend([
        question(0, "first-command"),
        taken_back,
        question(1, "second-command"),
        warning,
        expect_answer(1),
    ]);
    directives.extend(complete_turn("Done."));
    let (scene, installed) = Scene::scripted(AppServer::ready(directives)).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    terminal.wait_for("no longer open: another client of Codex answered it, or Codex withdrew it").await;
    for text in ["something else happened", "second-command", CHOICES] {
        terminal.wait_for(text).await;
    }
    terminal.type_keys("y\n").await;
    terminal.wait_for("→ accepted by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert_eq!((answers(&installed, 0), answers(&installed, 1)), (vec![], vec!["accept".into()]));
    scene.close().await;
}

#[tokio::test]
async fn a_question_that_a_warning_was_shown_below_is_asked_again() {
    let mut directives = start_turn();
    let warning = notify("warning", json!({ "threadId": THREAD, "message": "something else happened" }));
    directives.extend([question(0, "the-command"), warning, expect_answer(0)]);
    directives.extend(complete_turn("Done."));
    let (scene, installed) = Scene::scripted(AppServer::ready(directives)).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    for text in ["something else happened", "the-command", CHOICES] {
        terminal.wait_for(text).await;
    }
    terminal.type_keys("y\n").await;
    terminal.wait_for("→ accepted by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert_eq!(answers(&installed, 0), ["accept"]);
    scene.close().await;
}

/// The answer may be one of a rule or a mode: it is not called the person's.
#[tokio::test]
async fn an_answer_that_codex_never_confirmed_is_never_called_delivered() {
    for rules in ["", "\n[approvals]\nallow = [\"ls\"]\n"] {
        let play = [start_turn(), vec![question(0, "ls"), expect_answer(0), exit(1)]].concat();
        let (scene, installed) = Scene::scripted(AppServer::ready(play)).await;
        scene.configure(&format!("[codex]\nbin = {:?}\n{rules}", installed.codex.to_str().unwrap()));
        let approve = if rules.is_empty() { "all" } else { "decline" };
        let ended = scene.run(&["exec", "--approve", approve, "go"]).await.exits(7);
        assert_eq!(answers(&installed, 0), ["accept"], "{ended}");
        let ended = ended.complains(&["Codex was lost before it confirmed the answer to req-"]);
        assert!(ended.stderr.contains("; it may or may not have received it"), "{ended}");
        assert!(!ended.stderr.contains("your answer"), "{ended}");
        scene.close().await;
    }
}
