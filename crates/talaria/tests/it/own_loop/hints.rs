//! A directory that the model enters brings its own instructions, once, also after a restart.

use std::fs;

use serde_json::json;
use talaria_scripted::Reply;

use crate::own_loop::{exec, scene};

#[tokio::test]
async fn a_directory_that_is_entered_brings_its_instructions_once_also_for_the_next_engine() {
    let scene = scene().await;
    let inner = scene.work().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("AGENTS.md"), "Only small birds live here.").unwrap();
    fs::write(inner.join("bird.txt"), "a wren\n").unwrap();
    fs::write(inner.join("nest.txt"), "a nest\n").unwrap();
    scene.model.push(Reply::new().function("read", json!({ "path": "inner/bird.txt" })));
    scene.model.push(Reply::new().function("read", json!({ "path": "inner/nest.txt" })));
    scene.model.push(Reply::say("Read."));
    let ended = exec(&scene, "chat", &["--json", "Read."]).await.exits(0);
    let requests = scene.model.requests();
    let first = requests[1].tool_outputs();
    assert!(first[0].contains("a wren") && first[0].contains("Only small birds live here."), "{first:?}");
    assert!(
        first[0].contains("Project instructions from ") && first[0].contains("inner/AGENTS.md"),
        "{first:?}"
    );
    assert!(!requests[0].body.to_string().contains("small birds"), "the prompt does not have them");
    assert!(!requests[2].tool_outputs()[1].contains("small birds"), "once is enough");
    let session = ended.events()[0]["session"].as_str().unwrap().to_owned();
    scene.kill_engine().await;
    scene.model.push(Reply::new().function("read", json!({ "path": "inner/AGENTS.md" })));
    scene.model.push(Reply::say("Again."));
    scene.run(&["exec", "--resume", &session, "Read again."]).await.exits(0);
    let output = scene.model.requests().last().unwrap().tool_outputs().last().unwrap().clone();
    assert!(output.contains("small birds") && !output.contains("Project instructions"), "{output}");
    scene.close().await;
}
