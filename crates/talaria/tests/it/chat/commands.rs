//! The slash commands, each to an effect that can be seen.

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::Key;
use talaria_testkit::screen::Screen;

use super::stage::{FREE, READY, Stage, ended, quit, send};
use crate::scene::write_program;

#[tokio::test]
async fn the_model_is_changed_from_the_next_turn_and_codex_confirms_it() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("First."));
    stage.scene.model.push(Reply::say("Second."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Hello").await;
    ended(&mut terminal, "First.").await;
    send(&mut terminal, "/model").await;
    terminal.wait_shown("Esc closes").await;
    stage.shows("models", &mut terminal).await;
    terminal.key(Key::Esc).await;
    terminal.wait_hidden("Esc closes").await;
    send(&mut terminal, "/model gpt-5.4").await;
    send(&mut terminal, "Again").await;
    terminal.wait_shown("Second.").await;
    terminal.wait_shown("codex·gpt-5.4").await;
    assert_eq!(stage.scene.model.requests()[1].body["model"], "gpt-5.4");
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn the_live_thread_is_compacted() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("A long story."));
    stage.scene.model.push(Reply::say("Summary of it."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Tell").await;
    ended(&mut terminal, "A long story.").await;
    send(&mut terminal, "/compact").await;
    terminal.wait_shown("you shortened the conversation with /compact").await;
    assert_eq!(stage.scene.model.requests().len(), 2);
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn the_last_turn_is_repeated_and_undone_and_a_fork_is_opened() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("About apples."));
    stage.scene.model.push(Reply::say("About pears."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Fruit?").await;
    ended(&mut terminal, "About apples.").await;
    send(&mut terminal, "/retry").await;
    ended(&mut terminal, "About pears.").await;
    let screen = terminal.wait_shown("turn 1 was undone").await;
    assert!(screen.contains("About apples."), "what was said stays on the screen: {}", screen.text());
    let asked = stage.scene.model.requests().pop().unwrap();
    assert_eq!((asked.prompt(), asked.assistant_texts()), ("Fruit?", vec![]));
    send(&mut terminal, "/fork --at x").await;
    terminal.wait_shown("it is not clear up to where").await;
    send(&mut terminal, "/fork").await;
    terminal.wait_shown("forked:").await;
    stage.scene.model.push(Reply::say("In the fork."));
    send(&mut terminal, "More?").await;
    ended(&mut terminal, "In the fork.").await;
    assert_eq!(stage.scene.model.requests().pop().unwrap().assistant_texts(), ["About pears."]);
    send(&mut terminal, "/undo").await;
    terminal.wait_shown("its changes to files stay").await;
    let listed = stage.scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    assert_eq!(listed.len(), 2, "{listed:?}");
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn conversations_are_listed_resumed_and_exported() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("About apples."));
    stage.scene.model.push(Reply::say("About pears."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Apples?").await;
    ended(&mut terminal, "About apples.").await;
    send(&mut terminal, "/new").await;
    terminal.wait_hidden("About apples.").await;
    send(&mut terminal, "Pears?").await;
    ended(&mut terminal, "About pears.").await;
    send(&mut terminal, "/sessions").await;
    terminal.wait_shown("Apples?").await;
    send(&mut terminal, "/search apples").await;
    terminal.wait_shown("About [apples]").await;
    send(&mut terminal, "/export talk.md").await;
    let is_told = |screen: &Screen| {
        screen.lines().iter().any(|row| row.contains("talk.md") && !row.contains("/export"))
    };
    terminal.wait_until("what was written", is_told).await;
    let exported = std::fs::read_to_string(stage.folder().join("talk.md")).unwrap();
    assert!(exported.contains("About pears.") && !exported.contains("About apples."), "{exported}");
    stage.scene.model.push(Reply::say("More about apples."));
    send(&mut terminal, "/resume").await;
    terminal.wait_shown("Esc closes").await;
    terminal.type_keys("apples").await;
    terminal.wait_shown("1/1").await;
    terminal.key(Key::Enter).await;
    // Without waiting: input after the choice is for the chosen conversation.
    send(&mut terminal, "More?").await;
    let screen = terminal.wait_shown("More about apples.").await;
    assert!(screen.contains("Apples?") && !screen.contains("Pears?"), "{}", screen.text());
    let asked = stage.scene.model.requests()[2].body["input"].to_string();
    assert!(asked.contains("Apples?") && !asked.contains("Pears?"), "{asked}");
    terminal.wait_hidden("working").await;
    terminal.type_keys("/resume pears").await;
    terminal.wait_shown("Pears?").await;
    terminal.key(Key::Tab).await;
    terminal.wait_hidden("/resume pears").await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("About pears.").await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn what_can_be_typed_and_what_runs_is_told() {
    let stage = Stage::usual().await;
    let mut terminal = stage.start(64, 100, &[]);
    terminal.wait_shown(READY).await;
    send(&mut terminal, "/help").await;
    terminal.wait_shown("/quit").await;
    stage.shows("help", &mut terminal).await;
    let effects = [
        ("/codex-runtime", "codex_app_server, because"),
        ("/status", "No open requests."),
        ("/usage", "no tokens were used here yet"),
        ("/tasks", "no tasks"),
    ];
    for (typed, seen) in effects {
        send(&mut terminal, typed).await;
        terminal.wait_shown(seen).await;
    }
    send(&mut terminal, "/modle").await;
    terminal.wait_shown("there is no command /modle; did you mean /model?").await;
    terminal.key(Key::Ctrl('u')).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_background_command_is_counted_listed_read_and_stopped() {
    let stage = Stage::usual().await;
    let serve = "until [ -e more ]; do sleep 0.05; done; echo served-$((40+2)); until [ -e stop ]; do sleep 0.05; done";
    let arguments = json!({ "cmd": serve, "yield_time_ms": 250 });
    stage.scene.model.push(Reply::new().function("exec_command", arguments).call_id("call_server"));
    stage.scene.model.push(Reply::say("It runs."));
    let mut terminal = stage.open(&FREE).await;
    send(&mut terminal, "Serve").await;
    ended(&mut terminal, "It runs.").await;
    terminal.wait_shown("1 background command running").await;
    std::fs::write(stage.folder().join("more"), "").unwrap();
    terminal.wait_shown("served-42").await;
    send(&mut terminal, "/ps").await;
    terminal.wait_shown("show its output with: /ps 1; stop it with: /ps stop 1").await;
    send(&mut terminal, "/new").await;
    terminal.wait_hidden("It runs.").await;
    send(&mut terminal, "/ps 1").await;
    terminal.wait_shown("served-42").await;
    send(&mut terminal, "/ps stop 1").await;
    terminal.wait_shown("stopped: bg-").await;
    terminal.wait_hidden("1 background command running").await;
    send(&mut terminal, "/ps").await;
    terminal.wait_shown("no background commands").await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn what_is_not_committed_is_shown_and_the_last_answer_is_copied() {
    let stage = Stage::usual().await;
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
        let home = stage.scene.user_home();
        assert!(command.current_dir(stage.folder()).env("HOME", home).output().unwrap().status.success());
    };
    let copied = stage.scene.user_home().join("copied");
    let programs = stage.scene.codex_home.root().join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    write_program(&programs.join("wl-copy"), &format!("cat > '{}'", copied.display()));
    // The folder of the test may lie inside another checkout.
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "/diff").await;
    terminal.wait_shown("nothing is changed since the last commit").await;
    std::fs::write(stage.folder().join("greeting.txt"), "Hello.\nThis is another greeting.\n").unwrap();
    std::fs::write(stage.folder().join("notes.md"), "new\n").unwrap();
    send(&mut terminal, "/diff").await;
    let screen = terminal.wait_shown("new files, not yet added:").await;
    for row in ["-This is a greeting.", "+This is another greeting.", "  notes.md"] {
        assert!(screen.contains(row), "{row}: {}", screen.text());
    }
    stage.scene.model.push(Reply::say("One **answer**.\n\nWith two paragraphs."));
    send(&mut terminal, "Hi").await;
    ended(&mut terminal, "With two paragraphs.").await;
    send(&mut terminal, "/copy").await;
    terminal.wait_shown("copied the last answer: 3 lines").await;
    assert_eq!(std::fs::read_to_string(copied).unwrap(), "One **answer**.\n\nWith two paragraphs.");
    quit(terminal).await;
    stage.close().await;
}
