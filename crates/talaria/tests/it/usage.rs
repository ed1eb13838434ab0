//! `talaria usage`: what was reported is counted once, by day, model and conversation.

use serde_json::Value;
use talaria_scripted::{ModelUsage, Reply};
use talaria_testkit::Codex;

use crate::scene::Scene;

async fn sums(scene: &Scene, by: &str) -> Vec<Value> {
    scene.run(&["usage", "--by", by, "--json"]).await.exits(0).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_turns_cost_is_added_up_and_outlives_the_engine() {
    let scene = Scene::real(&Codex::v0_166()).await;
    scene.run(&["usage"]).await.exits(0).prints(&["no tokens were used in the last 30 days"]);
    let usage = ModelUsage { input: 900, cached: 500, output: 40, reasoning: 7 };
    for prompt in ["one", "two"] {
        scene.model.push(Reply::say("Done.").usage(usage));
        scene.run(&["exec", prompt]).await.exits(0);
    }
    let before = sums(&scene, "session").await;
    assert_eq!(before.len(), 2, "{before:?}");
    scene.run(&["stop"]).await.exits(0);
    let after = sums(&scene, "session").await;
    assert_eq!(after, before, "the next engine counts the same");
    for (row, title) in after.iter().zip(["two", "one"]) {
        assert_eq!(
            (&row["title"], &row["requests"], &row["unreported"]),
            (&title.into(), &1.into(), &0.into())
        );
        let tokens =
            ["input", "cached", "output", "reasoning", "total"].map(|name| row["usage"][name].clone());
        assert_eq!(tokens, [900, 500, 40, 7, 940].map(Value::from));
    }
    for by in ["day", "model"] {
        let rows = sums(&scene, by).await;
        assert_eq!((rows.len(), &rows[0]["usage"]["total"]), (1, &1880.into()), "{rows:?}");
        assert!(rows[0]["key"].is_string(), "{rows:?}");
    }
    scene.run(&["usage", "--by", "model"]).await.exits(0).prints(&["MODEL", "total", "1880"]);
    scene.run(&["usage", "--days", "0"]).await.exits(2).complains(&["--days"]);
    scene.close().await;
}
