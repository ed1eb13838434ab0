//! A model that repeats itself is a question to the person, or a failure where no one is asked.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::Reply;

use crate::own_loop::{exec, scene};
use crate::scene::{Scene, of_type};

fn repeat(scene: &Scene, times: usize) {
    fs::write(scene.work().join("bird.txt"), "a wren\n").unwrap();
    for _ in 0..times {
        scene.model.push(Reply::new().function("read", json!({ "path": "bird.txt" })));
    }
}

#[tokio::test]
async fn the_same_call_three_times_ends_a_turn_in_which_no_one_is_asked() {
    let scene = scene().await;
    repeat(&scene, 3);
    let ended = exec(&scene, "chat", &["--json", "--approval", "never", "Read."]).await;
    let events = ended.events();
    let message = of_type(&events, "outcome")[0].to_string();
    assert!(message.contains("called read 3 times in a row"), "{message}");
    assert_ne!(ended.code, Some(0), "{ended}");
    assert_eq!(scene.model.requests().len(), 3);
    scene.close().await;
}

#[tokio::test]
async fn a_person_who_is_asked_lets_a_turn_that_repeats_itself_continue() {
    let scene = scene().await;
    repeat(&scene, 3);
    scene.model.push(Reply::say("Done."));
    let running =
        scene.start(&["exec", "--provider", "own-chat", "--model", "tiny", "--approve", "wait", "Read."]);
    let open = |status: &Value| status["requests"].as_array().unwrap().len() == 1;
    let id = scene.wait_status(open).await["requests"][0]["id"].as_str().unwrap().to_owned();
    scene.run(&["requests", "show", &id]).await.exits(0).prints(&["called read 3 times in a row"]);
    assert_eq!(scene.model.requests().len(), 3, "nothing is sent before the answer");
    scene
        .run(&["requests", "answer", &id, "accept", "--answers", "{\"repeats\": \"Continue\"}"])
        .await
        .exits(0);
    running.end().await.exits(0).prints(&["Done."]);
    scene.close().await;
}
