//! Approvals as a panel: the exact command or diff, one key per choice, also while scrolled up and from elsewhere.

use std::fs;

use talaria_scripted::{Gate, Reply};
use talaria_testkit::screen::Screen;
use talaria_testkit::{Codex, Key};

use super::stage::{Stage, asked, ended, quit, send};
use crate::scene::both_versions;

both_versions!(a_command_is_run_when_it_was_accepted_with_one_key);

async fn a_command_is_run_when_it_was_accepted_with_one_key(codex: Codex) {
    let stage = Stage::new(&codex).await;
    stage.scene.model.push(Reply::new().text("I will count.").command("wc -w greeting.txt | tee count.txt"));
    stage.scene.model.push(Reply::say("Counted."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "How many words?").await;
    terminal.wait_shown("wc -w greeting.txt | tee count.txt").await;
    asked(&mut terminal).await;
    assert!(!stage.folder().join("count.txt").exists(), "not before it was accepted");
    if codex.version == "0.166.0" {
        stage.shows("approval", &mut terminal).await;
    }
    terminal.type_keys("y").await;
    ended(&mut terminal, "Counted.").await;
    if codex.version == "0.166.0" {
        stage.shows("approved", &mut terminal).await;
    }
    assert!(stage.folder().join("count.txt").exists());
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_word_that_is_typed_over_a_request_answers_nothing() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().command("touch made"));
    stage.scene.model.push(Reply::say("Not made."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Touch it").await;
    asked(&mut terminal).await;
    terminal.type_keys("yes").await;
    terminal.wait_shown("› yes").await;
    let screen = terminal.settled().await;
    assert!(screen.contains("Ctrl-G answers it"), "{}", screen.text());
    assert!(!stage.folder().join("made").exists());
    terminal.key(Key::Ctrl('g')).await;
    terminal.wait_shown("[n]").await;
    terminal.type_keys("n").await;
    terminal.wait_shown("Not made.").await;
    assert!(!stage.folder().join("made").exists());
    terminal.key(Key::Ctrl('u')).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_command_that_was_denied_with_a_reason_is_not_run_and_the_model_is_told() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().command("touch forbidden"));
    stage.scene.model.push(Reply::say("Then not."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Touch it").await;
    asked(&mut terminal).await;
    terminal.type_keys("r").await;
    terminal.wait_shown("tell the model why").await;
    terminal.type_keys("not on a Sunday").await;
    terminal.wait_shown("not on a Sunday").await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("Then not.").await;
    assert!(!stage.folder().join("forbidden").exists());
    let told = stage
        .scene
        .model
        .requests()
        .iter()
        .any(|request| request.body.to_string().contains("not on a Sunday"));
    assert!(told, "the reason reaches the model");
    quit(terminal).await;
    stage.close().await;
}

const PATCH: &str = "*** Begin Patch\n*** Update File: greeting.txt\n@@\n-Hello.\n+Hello, and welcome!\n This is a greeting.\n*** End Patch\n";

#[tokio::test]
async fn a_patch_is_shown_as_a_diff_before_it_is_made() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().patch(PATCH));
    stage.scene.model.push(Reply::say("Friendlier now."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Be friendlier").await;
    terminal.wait_shown("+Hello, and welcome!").await;
    let screen = asked(&mut terminal).await;
    assert!(screen.contains("-Hello."), "{}", screen.text());
    assert_ne!(screen.style_of("+Hello").unwrap().foreground, screen.style_of("-Hello").unwrap().foreground);
    assert!(fs::read_to_string(stage.folder().join("greeting.txt")).unwrap().starts_with("Hello.\n"));
    stage.shows("patch", &mut terminal).await;
    terminal.type_keys("y").await;
    terminal.wait_shown("Friendlier now.").await;
    assert!(
        fs::read_to_string(stage.folder().join("greeting.txt")).unwrap().starts_with("Hello, and welcome!\n")
    );
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_request_can_be_answered_while_scrolled_up() {
    let stage = Stage::usual().await;
    let long: String = (1..=60).map(|line| format!("line {line}\n\n")).collect();
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text(long).gate(&gate).command("touch asked"));
    stage.scene.model.push(Reply::say("Touched."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Tell and touch").await;
    terminal.wait_shown("line 60").await;
    terminal.key(Key::PageUp).await;
    terminal.key(Key::PageUp).await;
    terminal.wait_hidden("line 60").await;
    gate.open();
    let screen = asked(&mut terminal).await;
    assert!(screen.contains("touch asked"), "{}", screen.text());
    stage.shows("approval-scrolled", &mut terminal).await;
    terminal.type_keys("y").await;
    terminal.wait_hidden("[y]").await;
    for _ in 0..4 {
        terminal.key(Key::PageDown).await;
    }
    terminal.wait_shown("Touched.").await;
    assert!(stage.folder().join("asked").exists());
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn the_request_of_a_background_task_is_a_badge_and_can_be_answered_here() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().command("echo made > by-task"));
    stage.scene.model.push(Reply::say("Task done."));
    let mut terminal = stage.open(&[]).await;
    let folder = stage.folder();
    let cwd = folder.to_str().unwrap();
    let start =
        ["task", "start", "--cwd", cwd, "--sandbox", "workspace-write", "--approval", "untrusted", "make it"];
    let started = stage.scene.run(&start).await.exits(0).stdout;
    let task =
        started.split(|c: char| !c.is_alphanumeric() && c != '-').find(|word| word.starts_with("codex-"));
    let filter = stage.filter().replace(task.unwrap(), "codex-000000000000");
    let is_known = |screen: &Screen| screen.contains("1 request waits: F2") && screen.contains("1 task");
    terminal.wait_until("the badge", is_known).await;
    stage.shows("badge", &mut terminal).await;
    terminal.key(Key::F(2)).await;
    let screen = asked(&mut terminal).await;
    assert!(screen.contains("echo made > by-task"), "{}", screen.text());
    stage.shows_filtered("request-of-a-task", &mut terminal, &filter).await;
    assert!(!folder.join("by-task").exists());
    terminal.type_keys("y").await;
    terminal.wait_hidden("1 request").await;
    stage
        .scene
        .wait_status(|status| status["tasks"]["working"] == 0 && status["tasks"]["waiting"] == 0)
        .await;
    assert!(folder.join("by-task").exists());
    terminal.wait_shown("completed (make it)").await;
    stage.shows_filtered("task-ended", &mut terminal, &filter).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_choice_is_marked_with_arrows_and_taken_with_enter() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().command("touch marked"));
    stage.scene.model.push(Reply::say("Marked."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Touch it").await;
    asked(&mut terminal).await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("nothing is marked").await;
    assert!(!stage.folder().join("marked").exists());
    terminal.type_keys("z").await;
    terminal.wait_shown("z is none of the keys").await;
    terminal.key(Key::Down).await;
    terminal.wait_shown("› 1 [y] yes, once").await;
    stage.shows("approval-marked", &mut terminal).await;
    terminal.key(Key::Enter).await;
    ended(&mut terminal, "Marked.").await;
    assert!(stage.folder().join("marked").exists());
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_long_patch_is_accepted_after_the_list_of_its_files() {
    let stage = Stage::usual().await;
    let file = |name: &str| format!("*** Add File: {name}\n{}", "+generated\n".repeat(90));
    let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", file("one.txt"), file("two.txt"));
    stage.scene.model.push(Reply::new().patch(&patch));
    stage.scene.model.push(Reply::say("Generated."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Generate them").await;
    terminal.wait_shown("2 files, +180").await;
    asked(&mut terminal).await;
    stage.shows("long-patch", &mut terminal).await;
    terminal.type_keys("y").await;
    terminal.wait_shown("read it all first").await;
    assert!(!stage.folder().join("one.txt").exists());
    terminal.type_keys("u").await;
    ended(&mut terminal, "Generated.").await;
    assert_eq!(fs::read_to_string(stage.folder().join("two.txt")).unwrap().lines().count(), 90);
    quit(terminal).await;
    stage.close().await;
}
