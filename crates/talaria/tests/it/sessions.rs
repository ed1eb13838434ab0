//! What was said and done is kept: listed, shown, found, exported, thrown away.

use std::fs;

use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};

both_versions!(a_conversation_is_listed_shown_found_and_exported, what_is_pruned_is_shown_first,);

async fn a_conversation_is_listed_shown_found_and_exported(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("echo out-$((40+2))"));
    scene.model.push(Reply::say("Ausgabe: 构建成功 \u{1b}[2J"));
    let sandbox = ["--sandbox", "danger-full-access", "--approval", "never"];
    scene.run(&[&["exec"], &sandbox[..], &["print the number"]].concat()).await.exits(0);

    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0);
    let info = &listed.json()[0];
    assert_eq!((&info["title"], &info["running"]), (&"print the number".into(), &false.into()));
    let id = info["id"].as_str().unwrap();
    scene.run(&["sessions", "list"]).await.exits(0).prints(&[&id[28..], "print the number"]);
    let shown = scene.run(&["sessions", "show", &id[28..]]).await.exits(0);
    let shown = shown.prints(&["> print the number", "out-42", "构建成功", "completed", "--resume"]);
    assert!(!shown.stdout.contains('\u{1b}'), "{shown}");

    for words in ["out-42", "构建", "number"] {
        let found = scene.run(&["sessions", "search", "--json", words]).await.exits(0);
        assert!(
            found.json().iter().any(|hit| hit["session"] == id && hit["snippet"].is_string()),
            "{words}: {found}"
        );
    }
    for words in ["\"", "a AND (", "*", "-x OR NEAR(", "'; drop table"] {
        scene.run(&["sessions", "search", "--", words]).await.exits(0);
    }

    let file = scene.work().join("talk.md");
    scene.run(&["sessions", "export", id, "-o", file.to_str().unwrap()]).await.exits(0);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("# print the number") && text.contains("out-42") && text.contains("构建成功"),
        "{text}"
    );
    let lines = scene.run(&["sessions", "export", id, "--format", "jsonl"]).await.exits(0).json();
    assert_eq!(lines[0], serde_json::json!({ "role": "user", "content": "print the number" }));
    assert_eq!(lines.last().unwrap()["role"], "assistant");
    scene.close().await;
}

async fn what_is_pruned_is_shown_first(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for _ in 0..3 {
        scene.model.push(Reply::say("ok"));
        scene.run(&["exec", "--quiet", "hello"]).await.exits(0);
    }
    let preview = scene.run(&["sessions", "prune", "--keep", "1"]).await.exits(0);
    preview.prints(&["2 conversations", "would go", "say it again with --yes"]);
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.json().len(), 3);
    let mut terminal = scene.terminal(&["sessions", "prune", "--keep", "1"]);
    terminal.wait_for("Throw them away for good? [y/N]").await;
    terminal.type_keys("\n").await;
    terminal.wait_for("nothing was thrown away").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    let mut terminal = scene.terminal(&["sessions", "prune", "--keep", "1"]);
    terminal.wait_for("Throw them away for good? [y/N]").await;
    terminal.type_keys("y\n").await;
    terminal.wait_for("2 conversations").await;
    terminal.wait_for("are gone").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.json().len(), 1);
    scene
        .run(&["sessions", "prune", "--keep", "1", "--yes"])
        .await
        .exits(0)
        .prints(&["nothing is old enough"]);
    scene.close().await;
}

#[tokio::test]
async fn an_id_that_nobody_knows_is_told_with_the_way_to_the_list() {
    let scene = Scene::empty().await;
    for arguments in [
        &["sessions", "show", "zz"][..],
        &["sessions", "export", "zz"],
        &["exec", "--attach", "zz"],
        &["task", "show", "zz"],
    ] {
        let ended = scene.run(arguments).await.exits(2);
        assert_eq!(ended.stdout, "", "{arguments:?}");
        ended.complains(&["error: cannot ", "zz", "hint: ", "list"]);
    }
    scene.close().await;
}
