//! The built-in loop against aimock, a mock of the providers' APIs that we did not write: text, reasoning, parallel calls of
//! our real tools, images, steering, an interrupt, and a conversation that is resumed, in each family.

use std::fs;

use serde_json::{Value, json};
use talaria_testkit::eventually;
use talaria_testkit::model_peers::Aimock;

use crate::own_loop::{FAMILIES, KEY, answer, prefer};
use crate::scene::{Ended, Scene, of_type};
use crate::tasks::{rest, shown, start};

fn fixtures() -> Value {
    json!({ "fixtures": [
        { "match": { "userMessage": "and once more" }, "response": { "content": "It is still 42." } },
        {
            "match": { "userMessage": "what is the answer" },
            "response": { "content": "It is 42.", "reasoning": "I know this one.", "reasoningSignature": "c2lnbmVk" },
        },
        {
            "match": { "userMessage": "compare both files", "hasToolResult": false },
            "response": { "content": "I read both.", "toolCalls": [
                { "name": "read", "arguments": "{\"path\": \"one.txt\"}" },
                { "name": "read", "arguments": "{\"path\": \"two.txt\"}" },
                { "name": "write", "arguments": "{\"path\": \"three.txt\", \"text\": \"drei\\n\"}" },
            ] },
        },
        { "match": { "userMessage": "compare both files", "hasToolResult": true }, "response": { "content": "They differ." } },
        { "match": { "userMessage": "see this picture" }, "response": { "content": "A dot." } },
        {
            "match": { "userMessage": "count slowly" },
            "response": { "content": "one two three four five six seven eight nine ten" },
            "latency": 350, "chunkSize": 4,
        },
        {
            "match": { "userMessage": "count for ever" },
            "response": { "content": "one two three four five six seven eight nine ten" },
            "latency": 5000, "chunkSize": 4,
        },
        { "match": { "userMessage": "backwards, please" }, "response": { "content": "three two one" } },
    ] })
}

async fn scene(peer: &Aimock) -> Scene {
    let mut scene = Scene::empty().await;
    let base = peer.base_url();
    let section = |api: &str| {
        format!("[providers.mock-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\nkey_env = \"OWN_KEY\"\n")
    };
    scene.configure(&FAMILIES.map(section).concat());
    scene.set("OWN_KEY", KEY);
    scene
}

async fn exec(scene: &Scene, family: &str, arguments: &[&str]) -> Ended {
    let provider = format!("mock-{family}");
    let head = ["exec", "--json", "--provider", &provider, "--model", "mock-model"];
    scene.run(&[&head, arguments].concat()).await
}

/// The roles of the messages that aimock understood in its last request.
async fn last_messages(peer: &Aimock) -> Vec<Value> {
    let last = peer.journal().await.unwrap().pop().unwrap();
    last["body"]["messages"].as_array().unwrap().clone()
}

fn roles(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .filter(|role| *role != "system")
        .collect()
}

#[tokio::test]
async fn aimock_gets_text_reasoning_parallel_calls_images_and_a_resumed_conversation() {
    let peer = Aimock::start(&fixtures()).await;
    for family in FAMILIES {
        let scene = scene(&peer).await;
        let ended = exec(&scene, family, &["what is the answer"]).await.exits(0);
        let events = ended.events();
        assert_eq!(answer(&events), json!("It is 42."), "{family}: {ended}");
        let thoughts: String = of_type(&events, "reasoning_delta")
            .iter()
            .map(|event| event["delta"].as_str().unwrap())
            .collect();
        assert_eq!(thoughts, "I know this one.", "{family}: {ended}");
        assert_eq!(
            of_type(&events, "corrupt").len() + of_type(&events, "unknown").len(),
            0,
            "{family}: {ended}"
        );
        let session = events[0]["session"].as_str().unwrap();
        let ended = scene.run(&["exec", "--resume", session, "and once more"]).await.exits(0);
        assert_eq!(ended.stdout, "It is still 42.\n", "{family}: {ended}");
        let messages = last_messages(&peer).await;
        assert_eq!(roles(&messages), ["user", "assistant", "user"], "{family}: {messages:#?}");

        fs::write(scene.work().join("one.txt"), "eins\n").unwrap();
        fs::write(scene.work().join("two.txt"), "zwei\n").unwrap();
        let ended =
            exec(&scene, family, &["--sandbox", "workspace-write", "compare both files"]).await.exits(0);
        let events = ended.events();
        assert_eq!(answer(&events), json!("They differ."), "{family}: {ended}");
        assert_eq!(fs::read_to_string(scene.work().join("three.txt")).unwrap(), "drei\n", "{family}");
        let messages = last_messages(&peer).await;
        let results: Vec<String> = messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].to_string())
            .collect();
        assert_eq!(results.len(), 3, "{family}: {messages:#?}");
        assert!(results[0].contains("eins") && results[1].contains("zwei"), "{family}: {results:?}");

        fs::write(scene.work().join("dot.png"), super::refusals::PICTURE).unwrap();
        let ended = exec(&scene, family, &["--image", "dot.png", "see this picture"]).await.exits(0);
        assert_eq!(answer(&ended.events()), json!("A dot."), "{family}: {ended}");
        fs::remove_file(scene.work().join("three.txt")).unwrap();
        scene.close().await;
    }
}

#[tokio::test]
async fn aimock_streams_to_a_task_that_is_steered_and_to_one_that_is_stopped() {
    let peer = Aimock::start(&fixtures()).await;
    for family in FAMILIES {
        let scene = scene(&peer).await;
        let provider = format!("mock-{family}");
        prefer(&scene, &provider, "mock-model");
        let task = start(&scene, &["count slowly"]).await;
        scene.run(&["task", "steer", &task, "backwards, please"]).await.exits(0);
        rest(&scene).await;
        let done = shown(&scene, &task).await;
        assert_eq!(
            (&done["outcome"]["outcome"], &done["turns"]),
            (&json!("completed"), &json!(1)),
            "{family}: {done}"
        );
        let messages = last_messages(&peer).await;
        assert_eq!(roles(&messages), ["user", "assistant", "user"], "{family}: {messages:#?}");
        assert!(
            messages.last().unwrap()["content"].to_string().contains("backwards"),
            "{family}: {messages:#?}"
        );
        assert!(
            messages.iter().any(|message| message["content"].to_string().contains("nine ten")),
            "{family}"
        );

        let before = peer.journal().await.unwrap().len();
        let task = start(&scene, &["count for ever"]).await;
        let has_asked = async || (peer.journal().await.unwrap().len() > before).then_some(());
        eventually("the task asks its model", has_asked).await;
        scene.run(&["task", "interrupt", &task]).await.exits(0);
        rest(&scene).await;
        let stopped = shown(&scene, &task).await;
        assert_eq!(stopped["outcome"]["outcome"], "interrupted", "{family}: {stopped}");
        assert_eq!(peer.journal().await.unwrap().len(), before + 1, "{family}: a stopped turn asks no more");
        scene.close().await;
    }
}
