//! What people see and type: void text in every front end, the choice of provider and runtime, and a turn that waits for a key.

use talaria_scripted::{Gate, Reply, StreamCut};

use crate::own_loop::{FAMILIES, MODEL, exec, prefer, scene};
use crate::tasks::{shown, start};

/// An answer that is cut after some of its text, and then the whole one.
fn cut_then_whole(scene: &crate::scene::Scene) {
    let wrong = Reply::new().text("A zebra beginning").cut_after(2_000, StreamCut::Dropped).drop_stream();
    scene.model.push(wrong);
    scene.model.push(Reply::say("The whole answer."));
}

#[tokio::test]
async fn void_text_reaches_standard_output_nowhere_and_is_neither_exported_nor_found() {
    let scene = scene().await;
    for arguments in [&["Say it."][..], &["--quiet", "Say it."]] {
        cut_then_whole(&scene);
        let ended = exec(&scene, "chat", arguments).await.exits(0);
        assert_eq!(ended.stdout, "The whole answer.\n", "{ended}");
    }
    let sessions = scene.run(&["sessions", "list", "--json"]).await.exits(0);
    let line: serde_json::Value = serde_json::from_str(sessions.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(line["provider"], "own-chat", "{sessions}");
    assert_eq!(line["runtime"], "own_loop", "{sessions}");
    let id = line["id"].as_str().unwrap();
    for arguments in [
        &["sessions", "show", id][..],
        &["sessions", "export", id],
        &["sessions", "search", "zebra", "--json"],
    ] {
        let ended = scene.run(arguments).await;
        assert!(!ended.stdout.contains("zebra"), "{arguments:?}: {ended}");
    }
    let found = scene.run(&["sessions", "search", "whole", "--json"]).await.exits(0);
    assert!(found.stdout.contains("whole"), "{found}");
    scene.close().await;
}

#[tokio::test]
async fn a_task_chooses_provider_and_model_and_prints_its_answer_alone() {
    let scene = scene().await;
    cut_then_whole(&scene);
    let start = ["task", "start", "--wait", "--provider", "own-messages", "--model", MODEL, "Say it."];
    let ended = scene.run(&start).await.exits(0);
    assert_eq!(ended.stdout, "The whole answer.\n", "{ended}");
    let id = ended.stderr.split_whitespace().find(|word| word.starts_with("codex-")).unwrap().to_owned();
    let id = id.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let shown = scene.run(&["task", "show", id]).await.exits(0);
    assert!(!shown.stdout.contains("zebra"), "{shown}");
    scene.close().await;
}

#[tokio::test]
async fn the_provider_changes_in_the_middle_of_a_conversation() {
    let scene = scene().await;
    scene.model.push(Reply::say("One."));
    let ended = exec(&scene, "chat", &["--json", "Count."]).await.exits(0);
    let session = ended.events()[0]["session"].as_str().unwrap().to_owned();
    scene.model.push(Reply::say("Two."));
    let resume = ["exec", "--resume", &session, "--provider", "own-messages", "--model", MODEL, "Next."];
    let ended = scene.run(&resume).await.exits(0);
    assert_eq!(ended.stdout, "Two.\n", "{ended}");
    let requests = scene.model.requests();
    assert_eq!(requests[1].user_texts(), ["Count.", "Next."]);
    assert_eq!(requests[1].assistant_texts(), ["One."]);
    scene.close().await;
}

#[tokio::test]
async fn a_choice_that_cannot_be_made_says_what_to_do() {
    let scene = scene().await;
    let refused = [
        (&["--provider", "nowhere", "--model", MODEL][..], "there is no provider \"nowhere\""),
        (&["--provider", "anthropic"], "no model of anthropic is named"),
        (
            &["--provider", "anthropic", "--model", MODEL, "--runtime", "codex_app_server"],
            "Codex cannot ask anthropic",
        ),
        (&["--provider", "openai-codex", "--runtime", "off"], "always runs on Codex"),
    ];
    for (options, why) in refused {
        let mut arguments = vec!["exec"];
        arguments.extend(options);
        arguments.push("Hello.");
        let ended = scene.run(&arguments).await.exits(2);
        assert!(ended.stderr.contains(why), "{options:?}: {ended}");
        assert!(ended.stderr.contains("hint: "), "{options:?}: {ended}");
    }
    assert_eq!(scene.model.requests().len(), 0, "nothing was asked");
    scene.close().await;
}

#[tokio::test]
async fn without_a_key_no_request_is_sent_and_the_variable_is_named() {
    let mut scene = scene().await;
    scene.set("OWN_KEY", "");
    let ended = exec(&scene, "chat", &["Hello."]).await.exits(6);
    assert!(ended.stderr.contains("OWN_KEY"), "{ended}");
    assert_eq!(ended.stdout, "", "{ended}");
    assert_eq!(scene.model.requests().len(), 0, "nothing was asked");
    scene.close().await;
}

#[tokio::test]
async fn a_message_that_waits_for_the_end_of_a_turn_starts_the_next_one() {
    for family in FAMILIES {
        let scene = scene().await;
        prefer(&scene, &format!("own-{family}"), MODEL);
        let gate = Gate::new();
        scene.model.push(Reply::new().gate(&gate).text("One."));
        scene.model.push(Reply::say("Two."));
        let id = start(&scene, &["count"]).await;
        gate.reached().await;
        scene.run(&["task", "send", &id, "and again"]).await.exits(0);
        assert_eq!(shown(&scene, &id).await["queued"], serde_json::json!(["and again"]), "{family}");
        assert_eq!(scene.model.requests().len(), 1, "{family}: it waits");
        gate.open();
        scene.run(&["task", "watch", &id]).await.exits(0).prints(&["Two."]);
        let requests = scene.model.requests();
        assert_eq!((requests.len(), requests[1].prompt()), (2, "and again"), "{family}");
        assert!(requests[1].text.contains("One."), "{family}: it follows the answer");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_chat_without_a_terminal_shows_each_answer_once() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.push(Reply::new().text("The answer ").text("is 42."));
        let provider = format!("own-{family}");
        let arguments = ["--plain", "--provider", &provider, "--model", MODEL];
        let ended = scene.run_with_input(&arguments, b"Say it.\n").await.exits(0);
        assert_eq!(ended.stdout.matches("is 42.").count(), 1, "{family}: {ended}");
        assert_eq!(ended.stderr.matches("is 42.").count(), 0, "{family}: {ended}");
        scene.close().await;
    }
}

#[tokio::test]
async fn an_effort_that_has_no_effect_at_the_provider_is_said_to_have_none_once() {
    let scene = scene().await;
    let warning = "the effort high has no effect: own-chat has no setting for it that Talaria knows";
    for family in FAMILIES {
        scene.model.push(Reply::say("One."));
        scene.model.push(Reply::say("Two."));
        let provider = format!("own-{family}");
        let arguments = ["--plain", "--effort", "high", "--provider", &provider, "--model", MODEL];
        let ended = scene.run_with_input(&arguments, b"Say it.\nAgain.\n").await.exits(0);
        assert!(ended.stdout.contains("Two."), "{family}: {ended}");
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(shown.matches(warning).count(), usize::from(family == "chat"), "{family}: {ended}");
    }
    scene.close().await;
}
