//! `/permissions` and Shift-Tab: what is asked for holds from the next turn on, and the screen says what the runtime reports.

use std::fs;

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::screen::Screen;
use talaria_testkit::{Codex, Key, Terminal, both_versions};

use super::stage::{Stage, ended, is_at_prompt, quit, send};
use crate::own_loop::{MODEL, scene};

both_versions!(permissions_are_changed_from_the_next_turn_and_read_back_from_codex);

/// A turn whose command leaves a file, if the sandbox lets it.
async fn touch(stage: &Stage, terminal: &mut Terminal, name: &str) {
    let command = format!("touch {name}; true");
    stage.scene.model.push(Reply::new().function("exec_command", json!({ "cmd": command, "login": false })));
    stage.scene.model.push(Reply::say(format!("Tried {name}.")));
    send(terminal, &format!("Make {name}")).await;
}

async fn permissions_are_changed_from_the_next_turn_and_read_back_from_codex(codex: Codex) {
    let stage = Stage::new(&codex).await;
    let further = stage.scene.user_home().join("further");
    fs::create_dir(&further).unwrap();
    let mut terminal = stage.open(&["--sandbox", "read-only", "--approval", "on-request"]).await;
    touch(&stage, &mut terminal, "first").await;
    ended(&mut terminal, "Tried first.").await;
    assert!(!stage.folder().join("first").exists(), "the sandbox is read-only");

    // Read-only with on-request is neither mode: Shift-Tab goes to the tighter one first.
    terminal.key(Key::BackTab).await;
    terminal.wait_shown("mode approval-required").await;
    terminal.key(Key::BackTab).await;
    terminal.wait_shown("mode auto").await;
    terminal.wait_shown("workspace-write/on-request (next turn)").await;
    assert!(!stage.folder().join("first").exists());
    touch(&stage, &mut terminal, "second").await;
    ended(&mut terminal, "Tried second.").await;
    terminal.wait_shown("workspace-write/on-request").await;
    terminal.wait_hidden("(next turn)").await;
    assert!(stage.folder().join("second").exists(), "{}", terminal.screen());
    // The conversation is the same one.
    let said = stage.scene.model.requests().pop().unwrap().body["input"].to_string();
    assert!(said.contains("Make first") && said.contains("Make second"), "{said}");

    send(&mut terminal, &format!("/permissions network-on add-root {}", further.display())).await;
    terminal.wait_shown("network open").await;
    touch(&stage, &mut terminal, further.join("third").to_str().unwrap()).await;
    ended(&mut terminal, "third.").await;
    assert!(further.join("third").exists(), "{}", terminal.screen());
    send(&mut terminal, "/permissions").await;
    terminal.wait_shown("Esc closes").await;
    terminal.key(Key::Esc).await;
    terminal.wait_hidden("Esc closes").await;
    terminal.wait_shown("network       open").await;
    send(&mut terminal, "/permissions network-offf").await;
    terminal.wait_shown("did you mean network-off?").await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn the_list_of_permissions_says_what_each_means() {
    let stage = Stage::usual().await;
    let mut terminal = stage.open(&["--mode", "auto"]).await;
    stage.scene.model.push(Reply::say("Hello."));
    send(&mut terminal, "Hi").await;
    ended(&mut terminal, "Hello.").await;
    send(&mut terminal, "/permissions").await;
    terminal.wait_shown("Esc closes").await;
    stage.shows("permissions", &mut terminal).await;
    terminal.type_keys("approval-r").await;
    terminal.wait_shown("1/1").await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("read-only/untrusted (next turn)").await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_conversation_begins_with_the_permissions_that_were_chosen_before_it() {
    let stage = Stage::usual().await;
    let mut terminal = stage.open(&["--mode", "unrestricted"]).await;
    send(&mut terminal, "/permissions read-only untrusted").await;
    terminal.wait_shown("requested for the conversation that your").await;
    stage
        .scene
        .model
        .push(Reply::new().function("exec_command", json!({ "cmd": "touch made", "login": false })));
    stage.scene.model.push(Reply::say("No."));
    send(&mut terminal, "Make it").await;
    // The mode of the command line would have accepted it.
    super::stage::asked(&mut terminal).await;
    terminal.type_keys("n").await;
    ended(&mut terminal, "No.").await;
    assert!(!stage.folder().join("made").exists());
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn the_built_in_loop_has_changed_permissions_from_the_next_turn_and_its_model_is_told() {
    let stage = Stage::in_scene(scene().await);
    let arguments =
        ["--provider", "own-responses", "--model", MODEL, "--sandbox", "read-only", "--approval", "never"];
    let mut terminal = stage.start(40, 80, &arguments);
    let is_ready = |screen: &Screen| screen.contains("own-responses·tiny") && is_at_prompt(screen);
    terminal.wait_until("what runs, and a place to type", is_ready).await;
    let write = |name: &str| Reply::new().function("write", json!({ "path": name, "text": "x" }));
    stage.scene.model.push(write("first"));
    stage.scene.model.push(Reply::say("Not one."));
    send(&mut terminal, "Write one").await;
    ended(&mut terminal, "Not one.").await;
    assert!(!stage.folder().join("first").exists());
    send(&mut terminal, "/permissions workspace-write").await;
    terminal.wait_shown("workspace-write/never (next turn)").await;
    stage.scene.model.push(write("second"));
    stage.scene.model.push(Reply::say("Wrote two."));
    send(&mut terminal, "Write two").await;
    ended(&mut terminal, "Wrote two.").await;
    terminal.wait_hidden("(next turn)").await;
    assert!(stage.folder().join("second").exists(), "{}", terminal.screen());
    let told = stage.scene.model.requests().pop().unwrap().user_texts().join("\n");
    assert_eq!(told.matches("The user changed the permissions").count(), 1, "{told}");
    assert!(told.contains("sandbox workspace-write, approval policy never"), "{told}");
    quit(terminal).await;
    stage.scene.close().await;
}
