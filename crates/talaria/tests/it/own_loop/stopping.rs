//! The ways to end a turn of the loop before its end, and what becomes of its command then.

use rustix::process::{Signal, kill_process};
use serde_json::json;
use talaria_scripted::Reply;

use crate::own_loop::{exec, scene};
use crate::scene::of_type;

/// The options of a conversation whose commands run without a sandbox.
const FREE: [&str; 2] = ["--sandbox", "danger-full-access"];

#[tokio::test]
async fn a_signal_stops_the_command_in_the_foreground_and_keeps_what_it_printed() {
    let scene = scene().await;
    let command = json!({ "command": "echo line-$((40 + 2)); sleep 1000" });
    scene.model.push(Reply::new().function("run", command));
    let arguments =
        ["exec", "--json", "--provider", "own-chat", "--model", "tiny", FREE[0], FREE[1], "Wait."];
    let mut running = scene.interruptible(&arguments);
    running.wait_for("line-42").await;
    kill_process(running.pid(), Signal::INT).unwrap();
    let ended = running.end().await.exits(4);
    let events = ended.events();
    assert_eq!(events.last().unwrap()["outcome"], "interrupted", "{ended}");
    let session = events[0]["session"].as_str().unwrap().to_owned();
    let steps = of_type(&events, "item_completed");
    assert!(steps.iter().any(|step| step["item"]["status"] == "interrupted"), "{ended}");
    scene.model.push(Reply::say("It was stopped."));
    scene.run(&["exec", "--resume", &session, "What happened?"]).await.exits(0);
    let results = scene.model.requests()[1].tool_outputs();
    assert!(results[0].contains("line-42"), "{results:?}");
    scene.close().await;
}

#[tokio::test]
async fn the_time_limit_stops_a_turn_and_its_command() {
    let scene = scene().await;
    scene.model.push(Reply::new().function("run", json!({ "command": "sleep 1000" })));
    let arguments = [&FREE[..], &["--timeout", "1s", "Wait."]].concat();
    let ended = exec(&scene, "responses", &arguments).await.exits(5);
    ended.complains(&["error: the turn timed out and was stopped"]);
    scene.close().await;
}
