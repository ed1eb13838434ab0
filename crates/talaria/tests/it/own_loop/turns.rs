//! One turn: text, calls, retries, and what people see of it.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{Reply, StreamCut};
use talaria_testkit::Codex;

use crate::own_loop::{FAMILIES, KEY, answer, exec, scene, scene_with};
use crate::scene::{both_versions, of_type, only};

both_versions! {
    newest:
    a_turn_edits_a_file_and_runs_a_command,
}

#[tokio::test]
async fn an_answer_arrives_in_every_family_and_the_conversation_continues() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.push(Reply::new().text("The answer ").text("is 42."));
        let ended = exec(&scene, family, &["--json", "What is the answer?"]).await.exits(0);
        let events = ended.events();
        assert_eq!(answer(&events), json!("The answer is 42."), "{ended}");
        let session = events[0]["session"].as_str().unwrap().to_owned();
        scene.model.push(Reply::say("It is still 42."));
        let ended = scene.run(&["exec", "--resume", &session, "And now?"]).await.exits(0);
        assert_eq!(ended.stdout, "It is still 42.\n", "{ended}");
        let requests = scene.model.requests();
        assert_eq!(requests[1].user_texts(), ["What is the answer?", "And now?"], "{family}");
        assert_eq!(requests[1].assistant_texts(), ["The answer is 42."], "{family}");
        assert!(!ended.stderr.contains(KEY) && !ended.stdout.contains(KEY));
        scene.close().await;
    }
}

async fn a_turn_edits_a_file_and_runs_a_command(codex: Codex) {
    for family in FAMILIES {
        let scene = scene_with(&codex).await;
        fs::write(scene.work().join("greeting.txt"), "hello world\n").unwrap();
        scene.model.push(Reply::new().function("read", json!({ "path": "greeting.txt" })));
        scene.model.push(
            Reply::new()
                .text("I change it.")
                .function("edit", json!({ "path": "greeting.txt", "old": "world", "new": "moon" })),
        );
        scene.model.push(Reply::new().function("run", json!({ "command": "cat greeting.txt" })));
        scene.model.push(Reply::say("Done."));
        let arguments = ["--json", "--sandbox", "workspace-write", "Change the greeting."];
        let ended = exec(&scene, family, &arguments).await.exits(0);
        let events = ended.events();
        assert_eq!(answer(&events), json!("Done."), "{ended}");
        assert_eq!(fs::read_to_string(scene.work().join("greeting.txt")).unwrap(), "hello moon\n");
        let outputs = scene.model.requests()[3].tool_outputs();
        assert_eq!(outputs.len(), 3, "{family}: every call has one result: {outputs:?}");
        assert!(outputs[2].contains("hello moon"), "{family}: {outputs:?}");
        let kinds: Vec<&Value> =
            of_type(&events, "item_completed").iter().map(|event| &event["item"]["kind"]).collect();
        assert!(kinds.contains(&&json!("command")) && kinds.contains(&&json!("patch")), "{kinds:?}");
        scene.close().await;
    }
}

#[tokio::test]
async fn text_of_a_cut_answer_is_void_and_never_joined_with_the_next() {
    for family in FAMILIES {
        let scene = scene().await;
        scene
            .model
            .push(Reply::new().text("A wrong beginning").cut_after(2_000, StreamCut::Dropped).drop_stream());
        scene.model.push(Reply::say("The whole answer."));
        let ended = exec(&scene, family, &["--json", "Say it."]).await.exits(0);
        let events = ended.events();
        let void = only(&events, "attempt_void");
        assert_eq!(void["attempt"], 1, "{ended}");
        assert_eq!(answer(&events), json!("The whole answer."), "{ended}");
        assert_eq!(scene.model.requests()[1].assistant_texts(), [""; 0], "a cut answer is no history");
        scene.close().await;
    }
}
