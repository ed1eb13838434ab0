//! A change of the permissions of a conversation, with engines that are killed while it is recorded and while Codex loads the
//! thread again.

use serde_json::Value;
use talaria_scripted::Reply;
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};
use talaria_testkit::{Codex, both_versions};

use crate::scene::{Scene, only};

both_versions!(an_engine_killed_at_every_step_of_a_change_leaves_the_conversation_whole);

async fn exec(scene: &Scene, arguments: &[&str]) -> Vec<Value> {
    scene.run(&[&["exec", "--json"], arguments].concat()).await.exits(0).events()
}

async fn an_engine_killed_at_every_step_of_a_change_leaves_the_conversation_whole(codex: Codex) {
    let mut scene = Scene::real(&codex).await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    scene.model.push(Reply::say("first"));
    let events =
        exec(&scene, &["--sandbox", "workspace-write", "--approval", "on-request", "Say first"]).await;
    let started = only(&events, "session_started");
    let (session, thread) = (events[0]["session"].as_str().unwrap().to_owned(), started["thread"].clone());
    let steps = ["before:permissions", "after:permissions", "codex:archived"];
    for (round, point) in steps.into_iter().enumerate() {
        // Each round asks for another sandbox than the one before.
        let wanted = if round % 2 == 0 { "read-only" } else { "workspace-write" };
        let words = format!("/permissions {wanted}\n");
        let change = ["--plain", "--resume", session.as_str()];
        let mut trap = points.trap(point, 0);
        let prompt = format!("Say {round}");
        scene.model.push(Reply::say("ok"));
        if point == "codex:archived" {
            scene.run_with_input(&change, words.as_bytes()).await.exits(0);
            let running = scene.start(&["exec", "--json", "--resume", &session, &prompt]);
            let held = trap.reached().await.unwrap();
            scene.kill_engine().await;
            drop(held);
            running.end().await;
            scene.wait_status(|status| status["turns"].as_array().is_some_and(Vec::is_empty)).await;
        } else {
            let (changed, ()) = tokio::join!(scene.run_with_input(&change, words.as_bytes()), async {
                let held = trap.reached().await.unwrap();
                scene.kill_engine().await;
                drop(held);
            });
            // It is not claimed that nothing was changed where that is not known.
            assert!(!changed.to_string().contains("requested from the next turn on"), "{point}: {changed}");
            // The next engine knows what was recorded; asking again changes nothing that was.
            scene.run_with_input(&change, words.as_bytes()).await.exits(0);
            exec(&scene, &["--resume", &session, &prompt]).await;
        }
        let shown = scene.run(&["sessions", "show", &session, "--json"]).await.exits(0).json().remove(0);
        let turns = shown["turns"].as_array().unwrap();
        // Two in each round, and the first one.
        assert_eq!(turns.len(), 2 * round + 2, "{point}: {shown}");
        assert_eq!(turns[2 * round + 1]["outcome"]["outcome"], "completed", "{point}: {shown}");
        assert_eq!(shown["thread"], thread, "{point}: it is the same thread");
        let said = scene.model.requests().pop().unwrap().body["input"].to_string();
        assert!(
            said.contains("Say first") && said.contains(&prompt),
            "{point}: the history is whole: {said}"
        );
        scene.model.push(Reply::say("once more"));
        let next = exec(&scene, &["--resume", &session, "Once more"]).await;
        assert_eq!(only(&next, "session_started")["sandbox"], wanted, "{point}");
    }
    scene.close().await;
}
