//! The user's hooks in turns of the built-in loop: context before a turn, the account after it, and what happens before a call.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use talaria_scripted::Reply;

use crate::own_loop::{FAMILIES, exec, scene};
use crate::scene::{Scene, of_type, write_program};

/// Writes a program that keeps what it reads, one call after another, and prints this.
fn program(scene: &Scene, name: &str, answer: &Value) -> (PathBuf, PathBuf) {
    let root = scene.codex_home.root();
    let (path, read) = (root.join(name), root.join(format!("{name}.read")));
    write_program(
        &path,
        &format!("cat >> '{}'\necho >> '{}'\ncat <<'END'\n{answer}\nEND", read.display(), read.display()),
    );
    (path, read)
}

fn configure(scene: &Scene, more: &str) {
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure(&format!("{config}{more}"));
}

fn calls(read: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(read).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn context_of_turn_start_reaches_the_model_as_untrusted_and_turn_end_reads_the_answer() {
    for family in FAMILIES {
        let scene = scene().await;
        let (start, _) = program(&scene, "start", &json!({ "context": "The cache is Redis." }));
        let (end, read) = program(&scene, "end", &json!({}));
        configure(&scene, &format!("[hooks]\nturn_start = {start:?}\nturn_end = {end:?}\n"));
        scene.model.push(Reply::say("Redis."));
        let ended = exec(&scene, family, &["--json", "Which cache?"]).await.exits(0);
        let said = scene.model.requests()[0].user_texts().join("\n");
        assert!(
            said.contains("The cache is Redis.") && said.contains("<untrusted-context>"),
            "{family}: {said}"
        );
        assert!(!ended.stdout.contains("Redis.</"), "{family}: the person did not say it");
        talaria_testkit::until("the end of the turn was passed on", || !calls(&read).is_empty()).await;
        let call = calls(&read).remove(0);
        assert_eq!(
            (&call["hook"], &call["outcome"], &call["answer"]),
            (&json!("turn_end"), &json!("completed"), &json!("Redis.")),
            "{family}"
        );
        scene.close().await;
    }
}

#[tokio::test]
async fn tool_call_decides_about_tools_of_the_loop_and_of_talaria() {
    for family in FAMILIES {
        let scene = scene().await;
        let answer = json!({ "decision": "deny", "reason": "not on Wednesdays" });
        let (decides, read) = program(&scene, "decides", &answer);
        configure(&scene, &format!("[hooks]\ntool_call = {decides:?}\n"));
        scene.model.play([
            Reply::new().function("write", json!({ "path": "made.txt", "text": "x" })),
            Reply::new().function(
                "talaria_memory",
                json!({ "operations": [{ "op": "add", "scope": "user", "text": "Prefers pelicans" }] }),
            ),
            Reply::say("I may not."),
        ]);
        let arguments = ["--json", "--sandbox", "workspace-write", "Write it down."];
        let ended = exec(&scene, family, &arguments).await;
        let outputs = scene.model.requests().last().unwrap().tool_outputs();
        assert_eq!(outputs.len(), 2, "{family}: {ended}");
        assert!(outputs.iter().all(|output| output.contains("not on Wednesdays")), "{family}: {outputs:?}");
        assert!(!scene.work().join("made.txt").exists(), "{family}");
        assert_eq!(scene.run(&["memory", "list", "--json"]).await.exits(0).json().len(), 0, "{family}");
        let tools: Vec<Value> = calls(&read).iter().map(|call| call["tool"].clone()).collect();
        assert_eq!(tools, ["write", "talaria_memory"], "{family}: each call once");
        let events = ended.events();
        let steps = of_type(&events, "item_completed");
        assert!(
            steps
                .iter()
                .all(|step| step["item"]["status"] != "completed" || step["item"]["kind"] == "agent_message"),
            "{family}: nothing is called done: {steps:?}"
        );
        scene.close().await;
    }
}

#[tokio::test]
async fn allow_of_tool_call_does_not_make_a_read_a_question() {
    let scene = scene().await;
    let (decides, read) = program(&scene, "decides", &json!({ "decision": "allow" }));
    configure(&scene, &format!("[hooks]\ntool_call = {decides:?}\n"));
    fs::write(scene.work().join("notes.txt"), "pelicans\n").unwrap();
    scene.model.push(Reply::new().function("read", json!({ "path": "notes.txt" })));
    scene.model.push(Reply::say("Pelicans."));
    let ended = exec(&scene, "chat", &["--approval", "never", "What is in it?"]).await.exits(0);
    let outputs = scene.model.requests()[1].tool_outputs();
    assert!(outputs[0].contains("pelicans"), "{outputs:?}\n{ended}");
    assert_eq!(calls(&read).len(), 1, "the hook was asked");
    scene.close().await;
}
