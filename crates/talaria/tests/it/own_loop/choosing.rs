//! Who runs a conversation: the three values of `model.openai_runtime` with and without a Codex, the option of a task, and that a
//! conversation keeps what it has.

use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::own_loop::KEY;
use crate::scene::{Ended, Scene, both_versions};

both_versions!(
    newest:
    openai_runs_on_codex_or_on_the_loop_as_the_configuration_says,
);

/// The provider `openai` is the scripted model, for the loop.
fn configure(scene: &mut Scene, openai_runtime: &str, more: &str) {
    let base = scene.model.base_url();
    scene.configure(&format!(
        "{more}[model]\nopenai_runtime = \"{openai_runtime}\"\n[providers.openai]\nbase_url = \"{base}\"\n\
         key_env = \"OWN_KEY\"\n"
    ));
    scene.set("OWN_KEY", KEY);
    scene.set("NO_PROXY", "127.0.0.1");
}

async fn exec(scene: &Scene, options: &[&str]) -> Ended {
    scene.run(&[&["exec", "--json"], options, &["Go."]].concat()).await
}

/// The runtime of the newest conversation.
async fn runtime(scene: &Scene) -> Value {
    scene.run(&["sessions", "list", "--json"]).await.exits(0).json()[0]["runtime"].clone()
}

async fn openai_runs_on_codex_or_on_the_loop_as_the_configuration_says(codex: Codex) {
    let mut scene = Scene::real(&codex).await;
    let bin = format!("[codex]\nbin = {:?}\n", codex.native.to_str().unwrap());
    let on_loop = ["--provider", "openai", "--model", "gpt-5.4"];
    for (value, options, expected) in [
        ("auto", &["--provider", "openai"][..], "codex_app_server"),
        ("auto", &[], "codex_app_server"),
        ("codex_app_server", &["--provider", "openai"], "codex_app_server"),
        ("off", &on_loop, "own_loop"),
    ] {
        configure(&mut scene, value, &bin);
        scene.model.push(Reply::say("Here."));
        exec(&scene, options).await.exits(0);
        assert_eq!(runtime(&scene).await, expected, "{value} {options:?}");
    }
    configure(&mut scene, "off", &bin);
    exec(&scene, &["--provider", "openai-codex"])
        .await
        .exits(2)
        .complains(&["openai-codex always runs on Codex"]);
    // The option replaces the configuration for one conversation, which keeps what it has.
    configure(&mut scene, "auto", &bin);
    scene.model.push(Reply::say("Here."));
    let started = ["task", "start", "--wait", "--json", "--runtime", "off"];
    scene.run(&[&started[..], &on_loop, &["Go."]].concat()).await.exits(0);
    assert_eq!(runtime(&scene).await, "own_loop");
    let session = scene.run(&["sessions", "list", "--json"]).await.exits(0).json()[0]["id"].clone();
    scene.model.push(Reply::say("Here again."));
    scene.run(&["exec", "--resume", session.as_str().unwrap(), "Again."]).await.exits(0);
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["runtime"]), (&session, &json!("own_loop")));
    // Codex is not made to ask a provider that it cannot ask.
    let of_codex = listed.iter().find(|session| session["runtime"] == "codex_app_server").unwrap();
    let id = of_codex["id"].as_str().unwrap();
    let resume = ["--resume", id, "--provider", "anthropic", "--model", "m", "--runtime", "on"];
    let refused = exec(&scene, &resume).await.exits(2);
    assert!(refused.to_string().contains("Codex cannot ask anthropic"), "{refused}");
    // Which runtime each conversation has is on one page.
    let page = scene.run(&["codex-runtime"]).await.exits(0);
    page.prints(&["Newest conversations:", "own_loop", "openai, gpt-5.4", "codex_app_server"]);
    let state = scene.run(&["codex-runtime", "--json"]).await.exits(0).json().remove(0);
    assert_eq!(state["conversations"].as_array().unwrap().len(), listed.len());
    scene.close().await;
}

#[tokio::test]
async fn without_a_codex_openai_runs_on_the_loop_unless_codex_is_insisted_on() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    configure(&mut scene, "auto", "");
    scene.model.push(Reply::say("Here."));
    exec(&scene, &["--provider", "openai", "--model", "gpt-5.4"]).await.exits(0);
    assert_eq!(runtime(&scene).await, "own_loop");
    configure(&mut scene, "codex_app_server", "");
    let refused = exec(&scene, &["--provider", "openai", "--model", "gpt-5.4"]).await.exits(6);
    assert!(refused.to_string().contains("odex"), "{refused}");
    assert_eq!(scene.model.requests().len(), 1, "nothing was asked instead");
    scene.close().await;
}
