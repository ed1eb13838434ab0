//! A turn that a crash cut, and the next engine without its key: it waits visibly, and continues when a command brings the key.

use serde_json::{Value, json};
use talaria_scripted::{Gate, Reply};

use crate::own_loop::{FAMILIES, KEY, MODEL, prefer, scene};
use crate::tasks::{rest, shown, start};

#[tokio::test]
async fn a_turn_whose_key_is_missing_waits_visibly_until_a_command_brings_it() {
    for family in FAMILIES {
        let mut scene = scene().await;
        prefer(&scene, &format!("own-{family}"), MODEL);
        let gate = Gate::new();
        scene.model.push(Reply::new().text("Half of ").gate(&gate).text("it."));
        let task = start(&scene, &["Say it."]).await;
        scene.model.wait_for_requests(1).await;
        scene.kill_engine().await;
        gate.open();
        // The commands that follow have no key.
        scene.set("OWN_KEY", "");
        scene.run(&["task", "list"]).await.exits(0);
        let waits = |status: &Value| status["turns"][0]["waits_for"] == "OWN_KEY";
        scene.wait_status(waits).await;
        scene.run(&["status"]).await.exits(0).prints(&["waiting for OWN_KEY"]);
        scene.run(&["task", "list"]).await.exits(0).prints(&["waiting for OWN_KEY"]);
        assert_eq!(scene.model.requests().len(), 1, "{family}: nothing was asked without the key");
        // A chat or a task brings it; the turn that waited continues beside the new one.
        scene.set("OWN_KEY", KEY);
        scene.model.route(|request| {
            let is_new = request.user_texts().contains(&"Another.");
            Some(Reply::say(if is_new { "The other answer." } else { "The whole answer." }))
        });
        start(&scene, &["Another."]).await;
        rest(&scene).await;
        let done = shown(&scene, &task).await;
        assert_eq!(
            (&done["outcome"]["outcome"], &done["outcome"]["text"]),
            (&json!("completed"), &json!("The whole answer.")),
            "{family}: {done}"
        );
        assert_eq!(done["turns"], 1, "{family}: the same turn: {done}");
        let requests = scene.model.requests();
        assert!(requests.iter().all(|request| request.headers.iter().any(|(_, value)| value.contains(KEY))));
        scene.close().await;
    }
}
