//! Budgets of conversations on the real Codex: checked before each turn and whenever Codex reports tokens. Nothing is cut short without
//! a word, and a person is asked before the next turn is sent.

use serde_json::{Value, json};
use talaria_scripted::{Gate, ModelUsage, Reply};
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions, of_type};

both_versions!(
    a_turn_that_passes_its_budget_is_interrupted_and_a_person_asked;
    newest:
    a_budget_that_is_used_up_is_asked_about_before_the_turn,
    a_budget_in_dollars_does_not_bound_codex_and_says_so,
);

const LARGE: ModelUsage = ModelUsage { input: 5_000, cached: 0, output: 40, reasoning: 0 };

fn limit(scene: &Scene, budget: &str) {
    let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap_or_default();
    scene.configure(&format!("{config}[budget]\n{budget}\n"));
}

async fn asked(scene: &Scene) -> String {
    let open = |status: &Value| status["requests"].as_array().is_some_and(|open| open.len() == 1);
    scene.wait_status(open).await["requests"][0]["id"].as_str().unwrap().to_owned()
}

async fn reply(scene: &Scene, id: &str, words: &str) {
    let answers = json!({ "budget": words }).to_string();
    scene.run(&["requests", "answer", id, "accept", "--answers", &answers]).await.exits(0);
}

async fn idle(scene: &Scene) {
    scene.wait_status(|status| status["turns"].as_array().is_some_and(Vec::is_empty)).await;
}

async fn a_turn_that_passes_its_budget_is_interrupted_and_a_person_asked(codex: Codex) {
    let scene = Scene::real(&codex).await;
    limit(&scene, "conversation = \"4k tokens\"");
    let gate = Gate::new();
    scene.model.push(Reply::new().command("true").usage(LARGE));
    scene.model.push(Reply::new().gate(&gate).text("Too much."));
    let ended =
        scene.run(&["exec", "--json", "--sandbox", "danger-full-access", "--approval", "never", "Go."]).await;
    let events = ended.events();
    let outcome = of_type(&events, "outcome")[0];
    assert_eq!((&outcome["outcome"], &outcome["by"]), (&json!("interrupted"), &json!("talaria")), "{ended}");
    let warned = of_type(&events, "warning").into_iter().any(|warning| {
        warning["message"]
            .as_str()
            .unwrap()
            .starts_with("the budget of the conversation (4k tokens) is reached")
    });
    assert!(warned, "{ended}");
    let id = asked(&scene).await;
    scene
        .run(&["requests", "show", &id])
        .await
        .exits(0)
        .prints(&["The budget of the conversation is 4k tokens"]);
    gate.open();
    let before = scene.model.requests().len();
    scene.model.push(Reply::say("Continued."));
    reply(&scene, &id, "100k tokens").await;
    idle(&scene).await;
    assert_eq!(scene.model.requests().len(), before + 1, "Codex continues after the answer");
    scene.close().await;
}

async fn a_budget_that_is_used_up_is_asked_about_before_the_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("Cheap.").usage(LARGE));
    scene.run(&["exec", "One."]).await.exits(0);
    limit(&scene, "day = \"4k tokens\"");
    // Without a person nothing is sent.
    let refused = scene.run(&["exec", "Two."]).await.exits(1);
    refused.complains(&["the budget for today is 4k tokens", "talaria config set budget.day"]);
    assert_eq!(scene.model.requests().len(), 1);
    let running = scene.start(&["exec", "--approve", "wait", "Three."]);
    let id = asked(&scene).await;
    scene.model.push(Reply::say("Allowed."));
    reply(&scene, &id, "50k tokens").await;
    running.end().await.exits(0).prints(&["Allowed."]);
    scene.run(&["usage"]).await.exits(0).prints(&["budget    today: ", " of 54k tokens"]);
    scene.close().await;
}

async fn a_budget_in_dollars_does_not_bound_codex_and_says_so(codex: Codex) {
    let scene = Scene::real(&codex).await;
    limit(&scene, "day = \"$5\"");
    let refused = scene.run(&["exec", "Go."]).await.exits(1);
    refused.complains(&["Codex reports no price", "talaria config set budget.providers.codex unlimited"]);
    scene.run(&["config", "set", "budget.providers.codex", "unlimited"]).await.exits(0);
    scene.model.push(Reply::say("Within the subscription."));
    scene.run(&["exec", "Go."]).await.exits(0).prints(&["Within the subscription."]);
    scene.close().await;
}
