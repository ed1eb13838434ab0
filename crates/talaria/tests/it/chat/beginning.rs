//! A prompt on the command line opens the chat with it.

use talaria_scripted::Reply;
use talaria_testkit::screen::Screen;
use talaria_testkit::{Codex, Key};

use super::stage::{FREE, READY, Stage, ended, quit, send};
use crate::scene::both_versions;

both_versions!(a_prompt_of_the_command_line_is_the_first_message);

async fn a_prompt_of_the_command_line_is_the_first_message(codex: Codex) {
    let stage = Stage::new(&codex).await;
    stage.scene.model.push(Reply::say("The test is fixed."));
    let mut terminal = stage.start(24, 80, &[&FREE[..], &["fix the test"]].concat());
    ended(&mut terminal, "The test is fixed.").await;
    if codex.version == "0.166.0" {
        stage.shows("first-prompt", &mut terminal).await;
    }
    quit(terminal).await;
    stage.scene.model.push(Reply::say("And explained."));
    let mut terminal = stage.start(24, 80, &["--last", "--", "elucidate"]);
    ended(&mut terminal, "And explained.").await;
    let bodies: Vec<String> =
        stage.scene.model.requests().iter().map(|request| request.body.to_string()).collect();
    assert_eq!(bodies.len(), 2, "each prompt was sent once");
    assert!(bodies[0].contains("fix the test") && !bodies[0].contains("elucidate"));
    assert!(
        bodies[1].contains("The test is fixed.") && bodies[1].contains("elucidate"),
        "the same conversation"
    );
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_misspelt_command_opens_no_chat_and_says_what_to_type() {
    let stage = Stage::usual().await;
    let ended = stage.scene.run(&["sesions", "list"]).await.exits(2);
    ended.complains(&[
        "unrecognized command 'sesions'",
        "a similar command exists: 'sessions'",
        "talaria \"sesions list\"",
    ]);
    assert_eq!(
        stage.scene.run(&["help", "sessions", "list"]).await.exits(0).stdout,
        stage.scene.run(&["sessions", "list", "--help"]).await.exits(0).stdout
    );
    assert_eq!(stage.scene.model.requests().len(), 0);
    stage.close().await;
}

#[tokio::test]
async fn without_a_terminal_a_prompt_is_one_turn_and_does_not_drop_a_pipe() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("Once."));
    let ended = stage.scene.run(&["--sandbox", "read-only", "say it once"]).await.exits(0);
    assert!(ended.stdout.contains("Once."), "{ended}");
    let both = stage.scene.run_with_input(&["say it once"], b"data\n").await.exits(2);
    both.complains(&["a prompt and input from a pipe", "talaria exec PROMPT"]);
    assert_eq!(stage.scene.model.requests().len(), 1);
    stage.close().await;
}

#[tokio::test]
async fn a_conversation_is_found_in_a_list_by_its_title_and_renamed() {
    let stage = Stage::usual().await;
    for (prompt, answer) in [("mend the parser", "Mended."), ("write the release notes", "Written.")] {
        stage.scene.model.push(Reply::say(answer));
        stage.scene.run(&["exec", "--cwd", stage.folder().to_str().unwrap(), prompt]).await.exits(0);
    }
    let mut terminal = stage.start(24, 80, &["resume"]);
    terminal.wait_shown("Conversations, the newest first").await;
    terminal.wait_shown(READY).await;
    terminal.wait_shown("mend the parser").await;
    stage.shows("resume-list", &mut terminal).await;
    terminal.type_keys("parser").await;
    terminal.wait_until("the other gone", |screen: &Screen| !screen.contains("release notes")).await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("Mended.").await;
    send(&mut terminal, "/rename the flaky parser").await;
    terminal.wait_shown("renamed: the flaky parser").await;
    quit(terminal).await;
    let listed = stage.scene.run(&["sessions", "list"]).await.exits(0).stdout;
    assert!(listed.contains("the flaky parser") && !listed.contains("mend the parser"), "{listed}");
    let id = listed.lines().find(|line| line.contains("release")).unwrap().split_whitespace().next().unwrap();
    let renamed = stage.scene.run(&["sessions", "rename", id, "notes", "for", "1.0"]).await.exits(0).stdout;
    assert!(renamed.contains("notes for 1.0"), "{renamed}");
    assert!(stage.scene.run(&["sessions", "list"]).await.stdout.contains("notes for 1.0"));
    stage.scene.run(&["sessions", "rename", id, " "]).await.exits(2).complains(&["the title is empty"]);
    stage.scene.run(&["--resume", "--plain"]).await.prints(&["notes for 1.0", "the flaky parser"]);
    assert_eq!(stage.scene.model.requests().len(), 2, "a title costs no request");
    stage.close().await;
}

#[tokio::test]
async fn a_folder_that_codex_does_not_trust_is_said_to_be_read_only_and_how_to_change_it() {
    let stage = Stage::usual().await;
    let mut terminal = stage.open(&[]).await;
    let screen = terminal.settled().await;
    assert!(screen.contains("read-only because Codex does not trust this folder"), "{}", screen.text());
    assert!(screen.contains("talaria --sandbox workspace-write"), "{}", screen.text());
    quit(terminal).await;
    let mut terminal = stage.open(&["--sandbox", "workspace-write"]).await;
    assert!(!terminal.settled().await.contains("does not trust"));
    quit(terminal).await;
    stage.close().await;
}
