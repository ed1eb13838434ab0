//! Messages when something is missing: no Codex, no login, no such session, no engine.

use rustix::process::{Signal, kill_process};
use talaria_scripted::Reply;
use talaria_testkit::screen::Screen;
use talaria_testkit::{Codex, Key};

use super::stage::{READY, Stage, quit, send};
use crate::scene::Scene;

#[tokio::test]
async fn without_a_login_the_first_screen_says_what_to_do() {
    let stage = Stage::in_scene(Scene::without_login(&Codex::v0_166()).await);
    let mut terminal = stage.start(24, 240, &[]);
    terminal.wait_shown("not logged in").await;
    terminal.wait_shown(READY).await;
    stage.shows("no-login", &mut terminal).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn without_codex_the_first_screen_says_what_to_do() {
    let stage = Stage::in_scene(Scene::empty().await);
    stage.scene.configure("[codex]\nbin = \"/nowhere/codex\"\n");
    let mut terminal = stage.start(24, 80, &[]);
    terminal.wait_shown("/nowhere/codex").await;
    stage.shows("no-codex", &mut terminal).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_session_that_does_not_exist_is_said_and_nothing_is_drawn() {
    let stage = Stage::usual().await;
    let id = "019a0000-0000-7000-8000-000000000000";
    let mut terminal = stage.start(24, 80, &["--resume", id]);
    assert_ne!(terminal.exit_code().await, Some(0));
    assert!(terminal.screen().contains("error: ") && terminal.screen().contains(id), "{}", terminal.screen());
    super::restoring::assert_restored(&terminal);
    stage.scene.run(&["--plain", "--resume", id]).await.complains(&["error: ", id]);
    stage.close().await;
}

#[tokio::test]
async fn an_engine_that_a_person_stopped_stays_down_until_something_is_sent() {
    let stage = Stage::usual().await;
    for _ in 0..2 {
        stage.scene.model.push(Reply::say("Back again."));
    }
    let mut terminal = stage.open(&[]).await;
    for turn in 1..=2 {
        // On the first screen the periodic look finds out, later the end of the stream shows it.
        stage.scene.run(&["stop"]).await.exits(0);
        terminal.wait_shown("engine stopped").await;
        let screen = terminal.wait_shown("your next message or command starts it again").await;
        assert!(screen.contains("engine was stopped"), "{}", screen.text());
        assert_eq!(stage.scene.engine_pid().await, None);
        send(&mut terminal, "Are you there?").await;
        let is_back = |screen: &Screen| {
            screen.text().matches("Back again.").count() == turn && !screen.contains("engine stopped")
        };
        terminal.wait_until("the answer of an engine that was started again", is_back).await;
    }
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn an_engine_that_is_gone_is_said_and_started_again() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("Back again."));
    let mut terminal = stage.open(&[]).await;
    kill_process(stage.scene.engine_pid().await.unwrap(), Signal::KILL).unwrap();
    send(&mut terminal, "Are you there?").await;
    let is_decided =
        |screen: &Screen| screen.contains("Back again.") || screen.contains("cannot start the turn");
    let screen = terminal.wait_until("an answer or a refusal", is_decided).await;
    if screen.contains("cannot start the turn") {
        // The connection broke while it was said: it is not known whether it arrived, so the person says it again.
        terminal.wait_shown("› Are you there?").await;
        terminal.key(Key::Enter).await;
    }
    terminal.wait_shown("Back again.").await;
    quit(terminal).await;
    stage.close().await;
}
