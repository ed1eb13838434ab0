//! Typing while a turn runs: Esc and Ctrl-C interrupt, Enter steers or queues.

use talaria_scripted::{Gate, Reply};
use talaria_testkit::Key;
use talaria_testkit::screen::Screen;

use super::restoring::assert_restored;
use super::stage::{FREE, Stage, ended, quit, send};

#[tokio::test]
async fn esc_interrupts_the_turn_and_the_next_one_runs() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().text("Endless talk ").stall());
    stage.scene.model.push(Reply::say("Short talk."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Talk").await;
    terminal.wait_shown("Endless talk").await;
    terminal.key(Key::Esc).await;
    terminal.wait_shown("interrupted by you").await;
    stage.shows("interrupted", &mut terminal).await;
    send(&mut terminal, "Shorter").await;
    terminal.wait_shown("Short talk.").await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn what_is_typed_while_a_turn_runs_reaches_it() {
    let stage = Stage::usual().await;
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("Thinking ").gate(&gate).command("true"));
    stage.scene.model.push(Reply::say("In French, then."));
    let mut terminal = stage.open(&FREE).await;
    send(&mut terminal, "Write a poem").await;
    terminal.wait_shown("Thinking").await;
    send(&mut terminal, "/steer make it French").await;
    // Codex may show the input at once; the note that it is unread is gone then.
    let is_sent = |screen: &Screen| {
        ["sent to the running turn", "▌ make it French"].iter().any(|text| screen.contains(text))
    };
    terminal.wait_until("the input is sent", is_sent).await;
    gate.open();
    let screen = ended(&mut terminal, "In French, then.").await;
    let requests = stage.scene.model.requests();
    assert_eq!(requests.len(), 2, "one turn");
    assert!(requests[1].body.to_string().contains("make it French"));
    assert!(screen.contains("▌ make it French"), "{}", screen.text());
    assert!(!screen.contains("not read yet"), "the turn has shown it\n{}", screen.text());
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn what_is_queued_runs_after_the_turn() {
    let stage = Stage::usual().await;
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("First answer ").gate(&gate));
    stage.scene.model.push(Reply::say("Second answer."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "First").await;
    terminal.wait_shown("First answer").await;
    send(&mut terminal, "/queue and then second").await;
    terminal.wait_shown("queued: and then second").await;
    stage.shows("queued", &mut terminal).await;
    assert_eq!(stage.scene.model.requests().len(), 1, "not yet");
    gate.open();
    terminal.wait_shown("Second answer.").await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn ctrl_c_once_interrupts_and_twice_leaves() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::new().text("Endless talk ").stall());
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Talk").await;
    terminal.wait_shown("Endless talk").await;
    terminal.ctrl_c().await;
    terminal.wait_shown("interrupted by you").await;
    terminal.ctrl_c().await;
    terminal.settled().await;
    terminal.ctrl_c().await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.screen());
    assert_restored(&terminal);
    stage.close().await;
}
