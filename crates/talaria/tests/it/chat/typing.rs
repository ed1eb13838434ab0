//! Typing: completion that never takes Enter by surprise, pastes of many lines, history, shell commands.

use std::fs;

use talaria_scripted::Reply;
use talaria_testkit::Key;

use super::stage::{FREE, Stage, ended, quit, send};
use crate::options::PNG;

#[tokio::test]
async fn enter_submits_unless_a_completion_was_chosen() {
    let stage = Stage::usual().await;
    fs::write(stage.folder().join("great.txt"), "").unwrap();
    stage.scene.model.push(Reply::say("As typed."));
    stage.scene.model.push(Reply::say("As chosen."));
    let mut terminal = stage.open(&[]).await;
    terminal.type_keys("read @gre").await;
    terminal.wait_shown("greeting.txt").await;
    stage.shows("files", &mut terminal).await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("As typed.").await;
    terminal.type_keys("read @greet").await;
    terminal
        .wait_until("the file offered", |screen| screen.text().matches("greeting.txt").count() == 1)
        .await;
    terminal.key(Key::Tab).await;
    terminal.wait_shown("read greeting.txt").await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("As chosen.").await;
    let requests = stage.scene.model.requests();
    assert!(requests[0].body.to_string().contains("read @gre\""), "as it was typed");
    assert!(requests[1].body.to_string().contains("read greeting.txt"));
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_slash_offers_commands_with_a_line_of_help() {
    let stage = Stage::usual().await;
    let mut terminal = stage.open(&[]).await;
    terminal.type_keys("/").await;
    terminal.wait_shown("/permissions").await;
    stage.shows("slash", &mut terminal).await;
    terminal.type_keys("comp").await;
    terminal
        .wait_until("one command alone", |screen| {
            screen.contains("/compact") && !screen.contains("/permissions")
        })
        .await;
    terminal.key(Key::Esc).await;
    // Esc and a key that follows at once are Alt and that key.
    terminal.wait_hidden("shorten the").await;
    terminal.key(Key::Ctrl('u')).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_paste_of_many_lines_is_one_message_and_is_sent_whole() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("Read it all."));
    let mut terminal = stage.open(&[]).await;
    let pasted: String = (1..=120).map(|line| format!("pasted line {line}\n")).collect();
    terminal.type_keys("Look: ").await;
    terminal.paste(&pasted).await;
    terminal.wait_shown("120 lines").await;
    stage.shows("paste", &mut terminal).await;
    assert_eq!(stage.scene.model.requests().len(), 0, "a line break that was pasted sends nothing");
    terminal.key(Key::Enter).await;
    terminal.wait_shown("Read it all.").await;
    let body = stage.scene.model.requests()[0].body.to_string();
    assert!(
        body.contains("Look: pasted line 1\\npasted line 2\\n") && body.contains("pasted line 120"),
        "whole"
    );
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn several_lines_are_typed_with_alt_enter_and_found_again_in_the_history() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("One answer."));
    stage.scene.model.push(Reply::say("Other answer."));
    let mut terminal = stage.open(&[]).await;
    terminal.type_keys("first line").await;
    terminal.key(Key::AltEnter).await;
    terminal.type_keys("second line").await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("One answer.").await;
    assert!(stage.scene.model.requests()[0].body.to_string().contains("first line\\nsecond line"));
    terminal.key(Key::Ctrl('r')).await;
    terminal.type_keys("second").await;
    terminal.settled().await;
    terminal.key(Key::Enter).await;
    terminal.settled().await;
    if stage.scene.model.requests().len() == 1 {
        terminal.key(Key::Enter).await;
    }
    terminal.wait_shown("Other answer.").await;
    assert!(stage.scene.model.requests()[1].body.to_string().contains("first line\\nsecond line"));
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn an_exclamation_mark_runs_a_shell_command_in_the_folder() {
    let stage = Stage::usual().await;
    let mut terminal = stage.open(&FREE).await;
    send(&mut terminal, "!wc -l < greeting.txt; pwd; exit 3").await;
    terminal.wait_hidden("Ctrl-C stops it").await;
    stage.shows("shell", &mut terminal).await;
    assert_eq!(stage.scene.model.requests().len(), 0, "no turn");
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn an_image_is_shown_with_what_was_said_now_and_later() {
    let stage = Stage::usual().await;
    fs::write(stage.folder().join("red dot.png"), PNG).unwrap();
    stage.scene.model.push(Reply::say("It is red."));
    let mut terminal = stage.open(&[]).await;
    terminal.type_keys("Which colour has ").await;
    terminal.paste(stage.folder().join("red dot.png").to_str().unwrap()).await;
    terminal.wait_shown("[image red dot.png]").await;
    terminal.type_keys("?").await;
    terminal.key(Key::Enter).await;
    ended(&mut terminal, "It is red.").await;
    stage.shows("image", &mut terminal).await;
    let request = stage.scene.model.requests()[0].body.to_string();
    assert!(request.contains("Which colour has [image red dot.png]?"), "its place: {request}");
    assert_eq!(request.matches("data:image/png").count(), 1, "{request}");
    quit(terminal).await;
    let mut terminal = stage.open(&["--last"]).await;
    terminal.wait_shown("▌ Which colour has [image red dot.png]?").await;
    terminal.key(Key::Up).await;
    terminal.wait_shown("› Which colour has [image red dot.png, not attached]?").await;
    terminal.key(Key::Down).await;
    terminal.wait_hidden("not attached").await;
    quit(terminal).await;
    stage.close().await;
}
