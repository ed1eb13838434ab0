//! The chat on the built-in loop: what the screen says runs, `/model` over every provider, requests, and text that is void.

use std::fs;

use serde_json::json;
use talaria_scripted::{Gate, ModelRequest, Reply, StreamCut};
use talaria_testkit::screen::Screen;
use talaria_testkit::{Key, Terminal};

use super::stage::{ASKING, Stage, asked, ended, is_at_prompt, quit, send};
use crate::own_loop::{MODEL, scene};

/// A chat with a provider of the scene and without a Codex.
async fn stage() -> Stage {
    Stage::in_scene(scene().await)
}

async fn open(stage: &Stage, provider: &str, more: &[&str]) -> Terminal {
    let arguments = [&["--provider", provider, "--model", MODEL][..], more].concat();
    let mut terminal = stage.start(40, 80, &arguments);
    let ready = format!("{provider}·{MODEL}");
    let is_ready = |screen: &Screen| screen.contains(&ready) && is_at_prompt(screen);
    terminal.wait_until("what runs, and a place to type", is_ready).await;
    terminal
}

fn last(stage: &Stage) -> ModelRequest {
    stage.scene.model.requests().pop().unwrap()
}

#[tokio::test]
async fn the_screen_says_who_runs_and_never_that_it_is_codex() {
    let stage = stage().await;
    let mut terminal = open(&stage, "own-messages", &[]).await;
    let first = stage.shows("loop_first", &mut terminal).await;
    assert!(!first.contains("codex") && !first.contains("asking Codex"), "{}", first.text());
    let cut = Reply::new().text("A zebra beginning").cut_after(2_000, StreamCut::Dropped).drop_stream();
    stage.scene.model.push(cut);
    stage.scene.model.push(Reply::new().reasoning("I think of it.").text("The **whole** answer."));
    send(&mut terminal, "Say it").await;
    ended(&mut terminal, "The whole answer.").await;
    let screen = terminal.settled().await;
    // The pause before the second request is random, so this screen is no expected text.
    assert!(screen.contains("this text does not count") && screen.contains("▌ Say it"), "{}", screen.text());
    assert!(!screen.contains("not confirmed"), "{}", screen.text());
    assert!(screen.contains("A zebra beginning"), "{}", screen.text());
    send(&mut terminal, "/status").await;
    let screen = terminal.wait_shown("Talaria's built-in loop, own-messages").await;
    assert!(!screen.contains("runtime       Codex"), "{}", screen.text());
    quit(terminal).await;
    // Who returns reads what was said.
    let mut terminal = stage.start(24, 80, &["--last"]);
    let screen = terminal.wait_shown("The whole answer.").await;
    assert_eq!(screen.text().matches("▌ Say it").count(), 1, "{}", screen.text());
    quit(terminal).await;
    stage.scene.close().await;
}

#[tokio::test]
async fn the_model_is_chosen_from_all_providers_in_the_middle_of_a_conversation() {
    let stage = stage().await;
    let mut terminal = open(&stage, "own-chat", &[]).await;
    stage.scene.model.push(Reply::say("One."));
    send(&mut terminal, "Count").await;
    ended(&mut terminal, "One.").await;
    send(&mut terminal, "/model").await;
    let screen = terminal.wait_shown("Esc closes").await;
    for provider in ["own-chat", "own-messages", "own-responses", "ollama"] {
        let is_listed = screen.contains(&format!("{provider}  {MODEL}"));
        assert_eq!(is_listed, provider != "ollama", "{provider}: {}", screen.text());
    }
    assert!(screen.contains("own-chat  tiny (chosen)"), "{}", screen.text());
    assert!(!screen.contains("anthropic"), "there is no key for it: {}", screen.text());
    terminal.type_keys("own-messages").await;
    terminal.wait_shown("1/1").await;
    terminal.key(Key::Enter).await;
    terminal.wait_shown("tiny of own-messages is requested from the next turn on").await;
    stage.scene.model.push(Reply::say("Two."));
    send(&mut terminal, "Next").await;
    ended(&mut terminal, "Two.").await;
    terminal.wait_shown("own-messages·tiny").await;
    let request = last(&stage);
    assert_eq!(format!("{:?}", request.family), "Messages");
    assert_eq!(request.user_texts(), ["Count", "Next"]);

    send(&mut terminal, "/model own-responses tine").await;
    terminal.wait_shown("did you mean tiny?").await;
    stage.scene.model.push(Reply::say("Three."));
    send(&mut terminal, "And on").await;
    ended(&mut terminal, "Three.").await;
    terminal.wait_shown("own-responses·tine").await;
    let request = last(&stage);
    assert_eq!(
        (format!("{:?}", request.family).as_str(), &request.body["model"]),
        ("Responses", &json!("tine"))
    );

    send(&mut terminal, "/model nowhere big").await;
    terminal.wait_shown("there is no provider \"nowhere\"").await;
    send(&mut terminal, "/model anthropic claude-opus-5").await;
    terminal.wait_shown("ANTHROPIC_API_KEY is not set").await;
    quit(terminal).await;
    stage.scene.close().await;
}

#[tokio::test]
async fn a_request_is_answered_with_a_key_and_a_message_steers_the_turn() {
    let stage = stage().await;
    let mut terminal = open(&stage, "own-responses", &ASKING).await;
    stage
        .scene
        .model
        .push(Reply::new().function("run", json!({ "command": "echo ran >> proof; cat proof" })));
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("It ran once.\n\n").gate(&gate).text("Really."));
    stage.scene.model.push(Reply::say("As you say."));
    send(&mut terminal, "Run it").await;
    let screen = asked(&mut terminal).await;
    assert!(screen.contains("echo ran") && !screen.contains("Codex"), "{}", screen.text());
    assert!(!stage.folder().join("proof").exists());
    terminal.type_keys("y").await;
    terminal.wait_shown("It ran once.").await;
    assert_eq!(fs::read_to_string(stage.folder().join("proof")).unwrap(), "ran\n");
    send(&mut terminal, "Only once").await;
    terminal.wait_shown("Only once").await;
    stage.scene.model.wait_for_requests(2).await;
    gate.open();
    ended(&mut terminal, "As you say.").await;
    assert_eq!(last(&stage).user_texts(), ["Run it", "Only once"]);
    let screen = terminal.settled().await;
    assert!(!screen.contains("not confirmed") && !screen.contains("not read"), "{}", screen.text());
    let stuck = Gate::new();
    stage.scene.model.push(Reply::new().text("On and on.\n\n").gate(&stuck).text("On."));
    send(&mut terminal, "Go").await;
    terminal.wait_shown("On and on.").await;
    terminal.key(Key::Esc).await;
    terminal.wait_shown("interrupted").await;
    stuck.open();
    quit(terminal).await;
    stage.scene.close().await;
}

#[tokio::test]
async fn a_chat_on_codex_continues_with_another_provider() {
    let stage = Stage::usual().await;
    let file = stage.scene.home().join("config.toml");
    let config = fs::read_to_string(&file).unwrap_or_default();
    let base = stage.scene.model.base_url();
    stage.scene.configure(&format!(
        "{config}[providers.house]\nbase_url = \"{base}\"\napi = \"chat\"\n[providers.house.models.tiny]\ncontext = 200000\n"
    ));
    let mut terminal = stage.open(&[]).await;
    stage.scene.model.push(Reply::say("Codex answers."));
    send(&mut terminal, "Hello").await;
    ended(&mut terminal, "Codex answers.").await;
    send(&mut terminal, "/model house tiny").await;
    terminal.wait_shown("then continues on the built-in loop").await;
    stage.scene.model.push(Reply::say("The house answers."));
    send(&mut terminal, "And you?").await;
    ended(&mut terminal, "The house answers.").await;
    terminal.wait_shown("house·tiny").await;
    let asked = last(&stage).text;
    assert!(asked.contains("You are Talaria, a coding agent"), "{asked}");
    assert!(asked.contains("Codex answers."), "the digest of what was said: {asked}");
    quit(terminal).await;
    stage.close().await;
}
