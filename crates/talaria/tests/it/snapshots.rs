//! Conversations as JSON files after each turn: whole, masked, made up for after a crash, and gone with the conversation.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use talaria_scripted::Reply;
use talaria_testkit::eventually;
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};

use crate::own_loop::{exec, scene, scene_configured};
use crate::scene::Scene;

const WANTED: &str = "[sessions]\nwrite_json_snapshots = true\n";

fn file(scene: &Scene, session: &str) -> PathBuf {
    scene.home().join(format!("sessions/session_{session}.json"))
}

/// The file; one that exists is whole.
fn read(scene: &Scene, session: &str) -> Option<Value> {
    let text = fs::read_to_string(file(scene, session)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// The last words of a conversation.
fn last(written: &Value) -> &str {
    let messages = written["messages"].as_array().unwrap();
    messages.last().and_then(|one| one["content"].as_str()).unwrap_or_default()
}

async fn newest(scene: &Scene) -> String {
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    listed[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_turn_leaves_the_whole_conversation_as_a_private_file_without_secrets() {
    let scene = scene_configured(WANTED).await;
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    scene.model.push(Reply::say("<REASONING_SCRATCHPAD>hm</REASONING_SCRATCHPAD>One."));
    exec(&scene, "chat", &[&format!("use {secret}")]).await.exits(0);
    let session = newest(&scene).await;
    scene.model.push(Reply::say("Two."));
    scene.run(&["exec", "--resume", &session, "again"]).await.exits(0);
    let path = file(&scene, &session);
    // The answer is shown before its file is written.
    let both = "the second turn is in the file";
    let written =
        eventually(both, async || Some(read(&scene, &session)?).filter(|written| last(written) == "Two."))
            .await;
    let messages = written["messages"].as_array().unwrap();
    let said: Vec<&str> = messages.iter().filter_map(|one| one["content"].as_str()).collect();
    assert_eq!(written["message_count"], messages.len(), "{written}");
    for words in ["<think>hm</think>One.", "again", "Two."] {
        assert!(said.contains(&words), "{words}: {written}");
    }
    assert_eq!((&written["model"], &written["platform"]), (&"tiny".into(), &"talaria".into()));
    assert!(!fs::read_to_string(&path).unwrap().contains("abcdefghijklmnop"), "{written}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    scene.model.push(Reply::say("Other."));
    exec(&scene, "chat", &["other"]).await.exits(0);
    scene.run(&["sessions", "prune", "--keep", "1", "--yes"]).await.exits(0);
    assert!(!path.exists(), "the file of a deleted conversation is deleted");
    scene.close().await;
}

#[tokio::test]
async fn no_file_is_written_unless_it_is_asked_for() {
    let scene = scene().await;
    scene.model.push(Reply::say("One."));
    exec(&scene, "chat", &["hello"]).await.exits(0);
    scene.run(&["stop"]).await.exits(0);
    assert!(!scene.home().join("sessions").exists());
    scene.close().await;
}

#[tokio::test]
async fn the_next_engine_writes_the_file_that_a_killed_one_owed() {
    let mut scene = scene_configured(WANTED).await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    for point in ["before:snapshot", "after:file-locked"] {
        let mut trap = points.trap(point, 0);
        scene.model.push(Reply::say("One."));
        exec(&scene, "chat", &["hello"]).await.exits(0);
        let held = trap.reached().await.unwrap();
        let session = newest(&scene).await;
        scene.kill_engine().await;
        drop(held);
        assert!(!file(&scene, &session).exists(), "{point}: not half of it either");
        // Any command that asks the engine starts one.
        newest(&scene).await;
        let written = eventually("the file is written", async || read(&scene, &session)).await;
        assert_eq!(last(&written), "One.", "{point}");
    }
    scene.close().await;
}
