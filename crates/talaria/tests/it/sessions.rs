//! Stored conversations: listed, shown, found, exported, deleted.

use std::fs;

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};

both_versions!(
    newest:
    a_conversation_is_listed_shown_found_and_exported,
    what_is_pruned_is_shown_first,
    people_see_the_end_of_an_id_and_can_type_it,
);

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

async fn people_see_the_end_of_an_id_and_can_type_it(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch it"));
    let asking = ["--sandbox", "danger-full-access", "--approval", "untrusted", "--approve", "wait"];
    let mut turn = scene.start(&[&["exec", "--json"], &asking[..], &["print the number"]].concat());
    turn.wait_for("request_opened").await;
    let id = scene.status().await["turns"][0]["session"].as_str().unwrap().to_owned();
    let (whole, short) = (id.as_str(), &id[28..]);
    let request = scene.status().await["requests"][0]["id"].as_str().unwrap().to_owned();
    let mut shown = Vec::new();
    for arguments in [&["status"][..], &["requests", "list"], &["requests", "show", &request]] {
        shown.push(in_terminal(&scene, arguments).await);
    }
    scene.model.push(Reply::say("It is 42."));
    scene.run(&["requests", "answer", &request, "accept"]).await.exits(0);
    turn.end().await.exits(0);
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "show", short],
        &["sessions", "search", "number"],
        &["sessions", "list", "--json"],
        &["exec", "--attach", short],
        &["audit"],
        &["usage", "--by", "session"],
        &["task", "show", short],
        &["task", "steer", short, "go on"],
    ] {
        let is_json = arguments.contains(&"--json");
        let text = in_terminal(&scene, arguments).await;
        assert_eq!(text.contains(whole), is_json, "{arguments:?}: {text}");
        shown.push(text);
    }
    for text in shown {
        assert!(text.contains(short), "{text}");
    }
    let mut chat = scene.command(&["--plain", "--resume", short]);
    let chat = crate::scene::Running::from(chat.spawn().unwrap()).end().await.exits(0);
    assert!(chat.stdout.contains(short) && !chat.stdout.contains(whole), "{chat}");
    assert!(!chat.stderr.contains(whole), "{chat}");
    let status = scene.run_with_input(&["--plain", "--resume", short], b"/status\n").await.exits(0);
    assert!(status.stdout.contains(short) && !status.stdout.contains(whole), "{status}");
    scene.run(&["sessions", "list"]).await.exits(0).prints(&[whole]);
    scene.run(&["sessions", "export", short]).await.exits(0).prints(&[whole]);

    scene.model.push(Reply::say("Again."));
    scene.run(&["exec", "--resume", short, "again"]).await.exits(0).prints(&["Again."]);
    scene.close().await;
}

/// Output of a command in a terminal.
async fn in_terminal(scene: &Scene, arguments: &[&str]) -> String {
    let mut terminal = scene.terminal(arguments);
    terminal.exit_code().await;
    terminal.transcript()
}

async fn what_is_pruned_is_shown_first(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for _ in 0..3 {
        scene.model.push(Reply::say("ok"));
        scene.run(&["exec", "--quiet", "hello"]).await.exits(0);
    }
    let preview = scene.run(&["sessions", "prune", "--keep", "1"]).await.exits(0);
    preview.prints(&["2 conversations", "would be deleted", "run it again with --yes"]);
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.json().len(), 3);
    let mut terminal = scene.terminal(&["sessions", "prune", "--keep", "1"]);
    terminal.wait_for("Delete them permanently? [y/N]").await;
    terminal.type_keys("\n").await;
    terminal.wait_for("nothing was deleted").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    let mut terminal = scene.terminal(&["sessions", "prune", "--keep", "1"]);
    terminal.wait_for("Delete them permanently? [y/N]").await;
    terminal.type_keys("y\n").await;
    terminal.wait_for("2 conversations").await;
    terminal.wait_for("were deleted").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.json().len(), 1);
    scene
        .run(&["sessions", "prune", "--keep", "1", "--yes"])
        .await
        .exits(0)
        .prints(&["no conversation is selected"]);
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

#[tokio::test]
async fn a_conversation_with_a_patch_is_exported_with_its_diff_in_every_format_for_people_and_training() {
    let scene = crate::own_loop::scene().await;
    scene.model.push(
        Reply::say("I write it.")
            .function("write", json!({ "path": "note.txt", "text": "one\n<b>two</b>\n" })),
    );
    scene.model.push(Reply::say("It is **written**: <script>alert(1)</script>"));
    let free = ["--sandbox", "danger-full-access", "--approval", "never", "write a note"];
    crate::own_loop::exec(&scene, "chat", &free).await.exits(0);
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    let id = listed[0]["id"].as_str().unwrap();
    let export = |format: &'static str| {
        let scene = &scene;
        async move { scene.run(&["sessions", "export", id, "--format", format]).await.exits(0).stdout }
    };
    let diff = "@@ -0,0 +1,2 @@\n+one\n+<b>two</b>";
    for name in ["md", "markdown"] {
        let text = export(name).await;
        assert!(text.contains("```diff\n--- /dev/null\n+++ b/") && text.contains(diff), "{text}");
        assert!(text.contains("### tiny\n") && !text.contains("### Codex"), "the model speaks: {text}");
    }
    let page = export("html").await;
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("<span class=\"add\">+&lt;b&gt;two&lt;/b&gt;</span>"), "{page}");
    assert!(page.contains("<strong>written</strong>: &lt;script&gt;") && !page.contains("<script"), "{page}");
    let lines = export("trajectory").await;
    let row: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert_eq!((lines.lines().count(), &row["completed"], &row["model"]), (1, &true.into(), &"tiny".into()));
    let spoken: Vec<&str> =
        row["conversations"].as_array().unwrap().iter().map(|one| one["from"].as_str().unwrap()).collect();
    assert_eq!((spoken[0], &spoken[spoken.len() - 3..]), ("human", &["gpt", "tool", "gpt"][..]), "{row}");
    let called = row["conversations"][spoken.len() - 3]["value"].as_str().unwrap();
    assert!(called.starts_with("<think>\n</think>\nI write it.\n<tool_call>"), "{called}");
    assert!(called.contains("+<b>two</b>"), "{called}");
    scene.close().await;
}
