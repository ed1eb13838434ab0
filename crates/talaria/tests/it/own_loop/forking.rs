//! Forks and undone turns of conversations on the built-in loop: what the next request has, and what the pages show.

use talaria_scripted::Reply;

use crate::own_loop::{FAMILIES, answer, exec, scene};
use crate::scene::Scene;

/// A conversation with these answers to `prompt 1`, `prompt 2`, …
async fn talked(scene: &Scene, family: &str, answers: &[&str]) -> String {
    let mut session = String::new();
    for (number, said) in (1..).zip(answers) {
        scene.model.push(Reply::say(*said));
        let prompt = format!("prompt {number}");
        let ended = match number {
            1 => exec(scene, family, &["--json", &prompt]).await.exits(0),
            _ => scene.run(&["exec", "--json", "--resume", &session, &prompt]).await.exits(0),
        };
        ended.events()[0]["session"].as_str().unwrap().clone_into(&mut session);
    }
    session
}

/// Sends a prompt and returns what the model said before, as it was sent to it.
async fn knows(scene: &Scene, session: &str, prompt: &str) -> Vec<String> {
    scene.model.push(Reply::say(format!("answer to {prompt}")));
    scene.run(&["exec", "--resume", session, prompt]).await.exits(0);
    let request = scene.model.requests().pop().unwrap();
    assert_eq!(request.prompt(), prompt);
    request.assistant_texts().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_fork_has_the_history_up_to_its_turn_and_the_original_keeps_its_own() {
    for family in FAMILIES {
        let scene = scene().await;
        let session = talked(&scene, family, &["heron", "stork", "crane"]).await;
        let before = scene.model.requests().pop().unwrap();
        let forked = scene.run(&["sessions", "fork", &session, "--at", "2", "--json"]).await.exits(0).json();
        let fork = forked[0]["id"].as_str().unwrap();
        assert_eq!(knows(&scene, fork, "in the fork").await, ["heron", "stork"], "{family}");
        let asked = scene.model.requests().pop().unwrap();
        assert!(!asked.text.contains("crane"), "{family}: {}", asked.text);
        assert_eq!(asked.body["system"], before.body["system"], "{family}: the head is that of the original");
        scene.run(&["stop"]).await.exits(0);
        assert_eq!(
            knows(&scene, fork, "again").await,
            ["heron", "stork", "answer to in the fork"],
            "{family}"
        );
        assert_eq!(knows(&scene, &session, "here").await, ["heron", "stork", "crane"], "{family}");
        let shown = scene.run(&["sessions", "show", fork]).await.exits(0).stdout;
        assert!(shown.contains("after turn 2") && shown.contains("stork"), "{shown}");
        let refused = scene.run(&["sessions", "fork", &session, "--before-compaction"]).await.exits(1);
        assert!(refused.stderr.contains("ever shortened"), "{}", refused.stderr);
        scene.close().await;
    }
}

#[tokio::test]
async fn an_undone_turn_is_in_no_request_and_is_repeated_in_its_place() {
    for family in FAMILIES {
        let scene = scene().await;
        let session = talked(&scene, family, &["heron", "stork"]).await;
        let undone = scene.run(&["sessions", "undo", &session]).await.exits(0).stdout;
        assert_eq!(undone, "turn 2 is undone: prompt 2\nits changes to files stay\n", "{family}");
        assert_eq!(knows(&scene, &session, "now").await, ["heron"], "{family}");
        assert!(!scene.model.requests().pop().unwrap().text.contains("prompt 2"), "{family}");
        scene.run(&["stop"]).await.exits(0);
        scene.model.push(Reply::say("crane"));
        let again = scene.run(&["sessions", "retry", &session, "--json"]).await.exits(0);
        assert_eq!(answer(&again.events()), "crane", "{family}");
        let request = scene.model.requests().pop().unwrap();
        assert_eq!((request.prompt(), request.assistant_texts()), ("now", vec!["heron"]), "{family}");
        let shown = scene.run(&["sessions", "show", &session]).await.exits(0).stdout;
        let rows: Vec<&str> = shown.lines().filter(|line| line.contains("undone  ")).collect();
        assert_eq!(rows.len(), 2, "{family}: {shown}");
        assert!(shown.contains("(undone: the model does not know this any more)"), "{shown}");
        let exported = scene.run(&["sessions", "export", &session]).await.exits(0).stdout;
        assert!(exported.contains("## Turn 2 (undone)") && exported.contains("## Turn 4\n"), "{exported}");
        let lines = scene.run(&["sessions", "export", &session, "--format", "jsonl"]).await.exits(0).stdout;
        assert!(!lines.contains("stork") && lines.contains("crane"), "{lines}");
        for _ in 0..2 {
            scene.run(&["sessions", "undo", &session]).await.exits(0);
        }
        assert!(
            knows(&scene, &session, "fresh").await.is_empty(),
            "{family}: the head is left, and nothing else"
        );
        scene.close().await;
    }
}
