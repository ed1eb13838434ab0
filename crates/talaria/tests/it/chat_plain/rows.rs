//! Which row has what in plain mode: it is read line by line, and a person types on the same page.

use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use super::ASKING;
use crate::scene::{Scene, both_versions};

both_versions!(
    reasoning_is_its_heading_and_what_is_in_force_is_told_once;
    newest:
    the_first_lines_say_what_begins_and_ask_once,
    what_comes_while_a_question_stands_begins_a_row_and_the_question_is_put_again,
    what_comes_while_a_line_is_wanted_begins_a_row_and_the_sign_stands_again,
    a_command_and_the_end_begin_rows_of_their_own,
    what_is_said_elsewhere_is_shown_here,
    without_input_an_old_conversation_is_shown_and_it_is_said_why_it_ends,
);

async fn the_first_lines_say_what_begins_and_ask_once(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = scene.terminal(&["--plain", "--effort", "high", "--sandbox", "read-only"]);
    terminal.wait_for("> ").await;
    let told = terminal.transcript();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("Talaria ") && lines[0].contains(" in "), "{told}");
    let names = lines.iter().filter_map(|line| line.split_once(": ")).map(|(name, _)| name);
    assert_eq!(names.collect::<Vec<_>>()[..3], ["runtime", "model", "permissions"], "{told}");
    assert!(told.contains(", effort high"), "{told}");
    assert!(told.contains("permissions: sandbox read-only (requested), approvals "), "{told}");
    assert_eq!(told.matches("\n> ").count(), 1, "{told}");
    terminal.ctrl_d().await;
    terminal.exit_code().await;
    scene.close().await;
}

async fn what_comes_while_a_question_stands_begins_a_row_and_the_question_is_put_again(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch made"));
    let mut terminal = scene.terminal(&[&ASKING[..], &["--plain"]].concat());
    terminal.wait_for("> ").await;
    terminal.type_keys("do it\n").await;
    terminal.wait_for("[x] no, stop the turn: ").await;
    terminal.type_keys("no").await;
    scene.model.push(Reply::new().command("touch elsewhere"));
    scene.run_with_input(&ASKING, b"do it\n").await.exits(4);
    terminal.wait_for("\n1 request waits for you elsewhere: /requests\nstill open: ").await;
    terminal.wait_for("touch made").await;
    terminal.wait_for("\n[y] yes, once").await;
    terminal.wait_for("[x] no, stop the turn: ").await;
    scene.model.push(Reply::say("Left alone."));
    // The line continues where it stopped.
    terminal.type_keys("\n").await;
    terminal.wait_for("declined by you").await;
    terminal.wait_for("Left alone.").await;
    terminal.wait_for("\n> ").await;
    terminal.ctrl_d().await;
    terminal.exit_code().await;
    assert!(!scene.work().join("made").exists());
    scene.close().await;
}

async fn what_comes_while_a_line_is_wanted_begins_a_row_and_the_sign_stands_again(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = scene.terminal(&["--plain"]);
    terminal.wait_for("\n> ").await;
    terminal.type_keys("half a ").await;
    terminal.wait_for("half a ").await;
    scene.model.push(Reply::new().command("touch elsewhere"));
    scene.run_with_input(&ASKING, b"do it\n").await.exits(4);
    terminal.wait_for("\n1 request waits for you elsewhere: /requests\n> ").await;
    scene.model.push(Reply::say("Whole."));
    terminal.type_keys("line\n").await;
    terminal.wait_for("Whole.").await;
    assert_eq!(scene.model.requests().last().unwrap().prompt(), "half a line");
    terminal.ctrl_d().await;
    terminal.exit_code().await;
    scene.close().await;
}

async fn reasoning_is_its_heading_and_what_is_in_force_is_told_once(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let thoughts = "**Looking** around\n\nThere is *a lot* to see.";
    scene.model.push(Reply::new().reasoning(thoughts).text("One."));
    scene.model.push(Reply::say("Two."));
    let ended = scene.run_with_input(&[], b"first\nsecond\n").await.exits(0);
    let ended = ended.prints(&["\nthinking: Looking around\n", "One.", "Two."]);
    assert!(!ended.stdout.contains("**") && !ended.stdout.contains("a lot"), "{ended}");
    assert_eq!(ended.stdout.matches("\nsandbox ").count(), 1, "{ended}");
    assert!(ended.stdout.contains("s\n\nTwo."), "turns stand apart: {ended}");
    scene.close().await;
}

async fn a_command_and_the_end_begin_rows_of_their_own(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("Working").gate(&gate).text(" on it."));
    let mut terminal = scene.terminal(&["--plain", "--sandbox", "danger-full-access"]);
    terminal.wait_for("\n> ").await;
    terminal.type_keys("!printf out; exit 3\n").await;
    terminal.wait_for("\nout\nexit code 3\n> ").await;
    terminal.type_keys("go\n").await;
    scene.model.wait_for_requests(1).await;
    terminal.wait_for("approval ").await;
    terminal.ctrl_c().await;
    terminal.wait_for("^C\n").await;
    terminal.wait_for("\ninterrupted by you\n> ").await;
    terminal.ctrl_d().await;
    terminal.wait_for("\nreturn with: talaria --resume ").await;
    terminal.exit_code().await;
    gate.open();
    scene.close().await;
}

async fn what_is_said_elsewhere_is_shown_here(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("One."));
    let mut terminal = scene.terminal(&["--plain"]);
    terminal.wait_for("\n> ").await;
    terminal.type_keys("first\n").await;
    terminal.wait_for("One.").await;
    terminal.wait_for("\n> ").await;
    scene.model.push(Reply::say("Two."));
    scene.run_with_input(&["--last"], b"second\n").await.exits(0);
    terminal.wait_for("\n> second\n").await;
    terminal.wait_for("Two.").await;
    terminal.wait_for("\n> ").await;
    let told = terminal.transcript();
    assert_eq!(told.matches("> first\n").count(), 1, "what was typed here stands there already: {told}");
    terminal.ctrl_d().await;
    terminal.exit_code().await;
    scene.close().await;
}

async fn without_input_an_old_conversation_is_shown_and_it_is_said_why_it_ends(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let ended = scene.run(&[]).await.exits(0);
    assert!(ended.stdout.is_empty(), "{ended}");
    let ended = ended.complains(&["there was no input, so nothing was sent"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    scene.model.push(Reply::say("The first answer."));
    scene.model.push(Reply::failed("server_error", "it broke"));
    scene.run_with_input(&[], b"one\ntwo\n").await.exits(1);
    let ended = scene.run(&["--last"]).await.exits(0);
    let ended = ended.prints(&["\n> two\n", "it broke"]).complains(&["the conversation was only shown"]);
    assert!(!ended.stdout.contains("The first answer.") && ended.stdout.ends_with('\n'), "{ended}");
    scene.close().await;
}
