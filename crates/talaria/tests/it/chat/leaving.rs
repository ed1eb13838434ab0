//! Leaving stops nothing and coming back shows where things are: after a kill of the client, of the engine, with two at once.

use rustix::process::{Signal, kill_process};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::screen::Screen;
use talaria_testkit::{Codex, Key};

use super::stage::{Stage, asked, ended, quit, send};
use crate::scene::both_versions;

both_versions!(
    newest:
    a_chat_that_was_killed_is_taken_up_where_the_turn_is,
);

async fn a_chat_that_was_killed_is_taken_up_where_the_turn_is(codex: Codex) {
    let stage = Stage::new(&codex).await;
    let (first, second) = (Gate::new(), Gate::new());
    stage
        .scene
        .model
        .push(Reply::new().text("One. ").gate(&first).text("Two. ").gate(&second).text("Three."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Count").await;
    terminal.wait_shown("One.").await;
    terminal.signal(Signal::KILL);
    terminal.exit_status().await;
    first.open();
    second.reached().await;
    let mut terminal = stage.open(&["--last"]).await;
    let screen = terminal.wait_shown("One. Two.").await;
    assert!(screen.contains("Count") && !screen.contains("Three."), "{}", screen.text());
    if codex.version == "0.166.0" {
        stage.shows("taken-up", &mut terminal).await;
    }
    second.open();
    terminal.wait_shown("One. Two. Three.").await;
    assert_eq!(stage.scene.model.requests().len(), 1, "nothing was asked twice");
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn an_engine_that_was_killed_comes_back_and_the_turn_ends() {
    let stage = Stage::usual().await;
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("half ").gate(&gate).text("and whole."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Talk").await;
    terminal.wait_shown("half").await;
    let killed = stage.scene.engine_pid().await.unwrap();
    kill_process(killed, Signal::KILL).unwrap();
    // The next engine is attached: Codex reports tokens once, and not to an engine that comes later.
    stage.scene.wait_status(|status| status["hosts"][0]["turns"] == 1).await;
    assert_ne!(stage.scene.engine_pid().await, Some(killed));
    gate.open();
    ended(&mut terminal, "half and whole.").await;
    let screen = stage.shows("engine-killed", &mut terminal).await;
    assert_eq!(screen.text().matches("half").count(), 1, "{}", screen.text());
    assert_eq!(stage.scene.model.requests().len(), 1, "nothing was asked twice");
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn the_last_one_is_the_one_that_was_typed_into_last_also_after_a_kill() {
    let stage = Stage::usual().await;
    for answer in ["About apples.", "About pears."] {
        stage.scene.model.push(Reply::say(answer));
    }
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("More of them ").gate(&gate));
    let mut first = stage.open(&[]).await;
    send(&mut first, "Apples?").await;
    ended(&mut first, "About apples.").await;
    let mut second = stage.open(&[]).await;
    send(&mut second, "Pears?").await;
    ended(&mut second, "About pears.").await;
    send(&mut first, "More?").await;
    first.wait_shown("More of them").await;
    first.signal(Signal::KILL);
    first.exit_status().await;
    let mut again = stage.open(&["--last"]).await;
    let screen = again.wait_shown("More of them").await;
    assert!(screen.contains("Apples?") && !screen.contains("Pears?"), "{}", screen.text());
    gate.open();
    quit(again).await;
    quit(second).await;
    stage.close().await;
}

#[tokio::test]
async fn two_chats_on_one_session_see_the_same_and_one_answer_wins() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().text("I will touch it.").command("echo once >> touched"));
    stage.scene.model.push(Reply::say("Touched it."));
    let mut first = stage.open_asking().await;
    send(&mut first, "Touch").await;
    first.wait_shown("[y]").await;
    let mut second = stage.open(&["--last"]).await;
    let (seen, also_seen) = (asked(&mut first).await, asked(&mut second).await);
    assert_eq!(stage.filter().text(&seen.text()), stage.filter().text(&also_seen.text()));
    stage.shows("two-chats", &mut first).await;
    // The second cannot see yet that the first has answered.
    second.signal(Signal::STOP);
    first.type_keys("y").await;
    first.wait_shown("Touched it.").await;
    second.type_keys("n").await;
    second.signal(Signal::CONT);
    ended(&mut second, "Touched it.").await;
    // Before the key it was answered elsewhere, after it the answer came too late.
    let is_told = |screen: &Screen| {
        screen.contains("the request was answered elsewhere: accepted")
            || screen.contains("your answer was not accepted")
    };
    second.wait_until("who lost is told", is_told).await;
    second.key(Key::Ctrl('u')).await;
    let made = std::fs::read_to_string(stage.folder().join("touched")).unwrap_or_default();
    assert_eq!(made, "once\n", "the first answer, and it alone");
    quit(first).await;
    quit(second).await;
    stage.close().await;
}

#[tokio::test]
async fn leaving_says_what_the_turn_does_and_never_that_a_stopped_one_continues() {
    let stage = Stage::usual().await;
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("half ").gate(&gate));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Talk").await;
    terminal.wait_shown("half").await;
    terminal.ctrl_c().await;
    terminal.ctrl_c().await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.screen());
    // It may have ended before the second Ctrl-C.
    let told = terminal.transcript();
    assert!(told.contains("return with: ") && !told.contains("the turn continues"), "{told}");
    gate.open();

    stage.scene.model.push(Reply::new().command("touch never"));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Touch").await;
    asked(&mut terminal).await;
    terminal.key(Key::Ctrl('d')).await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.screen());
    let told = terminal.transcript();
    assert!(told.contains("the turn waits for your answer; return with: "), "{told}");
    stage.close().await;
}
