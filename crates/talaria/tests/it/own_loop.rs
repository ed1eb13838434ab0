//! Conversations on the built-in loop: `exec --provider` against a scripted model in each wire family, with the real tools, and
//! with the sandbox of the real Codex where a command runs.

mod aimock;
mod asking;
mod choosing;
mod compacting;
mod confined;
mod counting;
mod fallback;
mod fronts;
mod hints;
mod hooking;
mod inline_thinking;
mod key_pools;
mod keyless;
mod llama;
mod long_texts;
pub(crate) mod reading_web;
mod refusals;
mod remembering;
mod repeating;
mod reviewing;
pub(crate) mod searching;
mod secrets;
mod servers;
mod stopping;
mod surviving;
mod switching;
mod tooling;
mod trusting;
mod turns;
mod unsaid_cuts;
mod wire_faults;

use serde_json::{Value, json};
use talaria_testkit::Codex;

use crate::scene::{Ended, Scene};

/// The key of every provider of a scene. It must appear nowhere but in requests.
pub(crate) const KEY: &str = "sk-test-0123456789abcdefghij";

/// The wire families, which are also the names of the providers of a scene.
pub(crate) const FAMILIES: [&str; 3] = ["responses", "chat", "messages"];

/// The model that the scripted server plays.
pub(crate) const MODEL: &str = "tiny";

/// A scene whose configuration has a provider of each family, all of them the scripted model, and no Codex.
pub(crate) async fn scene() -> Scene {
    configured(Scene::empty().await, "")
}

/// The same, with more in its configuration.
pub(crate) async fn scene_configured(more: &str) -> Scene {
    configured(Scene::empty().await, more)
}

/// The same, with a Codex for the sandbox of commands.
pub(crate) async fn scene_with(codex: &Codex) -> Scene {
    let bin = format!("[codex]\nbin = {:?}\n", codex.native.to_str().unwrap());
    configured(Scene::empty().await, &bin)
}

fn configured(mut scene: Scene, more: &str) -> Scene {
    let base = scene.model.base_url();
    let mut config = more.to_owned();
    for api in FAMILIES {
        config.push_str(&format!(
            "[providers.own-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\nkey_env = \"OWN_KEY\"\n\
             [providers.own-{api}.models.{MODEL}]\ncontext = 200000\n"
        ));
    }
    scene.configure(&config);
    scene.set("OWN_KEY", KEY);
    // The scripted model is on loopback, where no proxy is asked.
    scene.set("NO_PROXY", "127.0.0.1");
    scene
}

/// `exec` with the provider of a family.
pub(crate) async fn exec(scene: &Scene, family: &str, arguments: &[&str]) -> Ended {
    let provider = format!("own-{family}");
    let mut all = vec!["exec", "--provider", &provider, "--model", MODEL];
    all.extend(arguments);
    scene.run(&all).await
}

/// Makes a provider and its model the usual ones, which tasks have.
pub(crate) fn prefer(scene: &Scene, provider: &str, model: &str) {
    let file = scene.home().join("config.toml");
    let config = std::fs::read_to_string(file).unwrap();
    scene.configure(&format!("{config}[model]\nprovider = \"{provider}\"\ndefault = \"{model}\"\n"));
}

/// The text of the answer in the events of a turn.
pub(crate) fn answer(events: &[Value]) -> Value {
    events.last().map_or(json!(null), |event| event["text"].clone())
}
