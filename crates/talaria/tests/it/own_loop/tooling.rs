//! Tools of the loop through the whole program: leaving the sandbox with a reason, questions, plans, pictures, searches, what the
//! hard floor refuses, and what all of them take of a prompt.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::own_loop::{FAMILIES, MODEL, exec, scene, scene_with};
use crate::scene::{Scene, both_versions, of_type, only};

both_versions!(
    newest:
    a_command_leaves_the_sandbox_with_a_reason_and_a_yes_alone,
);

/// The open request, once there is one.
async fn open_request(scene: &Scene) -> Value {
    let is_asked = |status: &Value| status["requests"].as_array().is_some_and(|all| !all.is_empty());
    scene.wait_status(is_asked).await["requests"][0].clone()
}

async fn a_command_leaves_the_sandbox_with_a_reason_and_a_yes_alone(codex: Codex) {
    for (family, verdict) in FAMILIES.into_iter().zip(["accept", "decline", "accept"]) {
        let scene = scene_with(&codex).await;
        let outside = scene.user_home().join("outside");
        let command = format!("echo out > {}", outside.display());
        let reason = "The report belongs into your home.";
        let call = |escalate: Value| {
            Reply::new().function("run", json!({ "command": command, "escalate": escalate }))
        };
        scene.model.play([call(Value::Null), call(json!(reason)), Reply::say("Done.")]);
        let provider = format!("own-{family}");
        let options = ["--provider", &provider, "--model", MODEL, "--sandbox", "workspace-write"];
        let wait = ["--approval", "on-request", "--approve", "wait", "Write it."];
        let running = scene.start(&[&["exec", "--json"][..], &options, &wait].concat());
        let request = open_request(&scene).await;
        assert!(!outside.exists(), "{family}: the sandbox let it out");
        let id = request["id"].as_str().unwrap();
        let shown = scene.run(&["requests", "show", id]).await.exits(0);
        assert!(shown.stdout.contains(reason) && shown.stdout.contains("outside"), "{family}: {shown}");
        scene.run(&["requests", "answer", id, verdict]).await.exits(0);
        let ended = running.end().await;
        assert_eq!(outside.exists(), verdict == "accept", "{family}: {ended}");
        let results = scene.model.requests()[2].tool_outputs();
        assert_eq!(results[1].contains("declined"), verdict == "decline", "{family}: {results:?}");
        assert!(!results[0].starts_with("Exit code 0"), "{family}: {results:?}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_question_waits_for_its_person_and_survives_the_engine() {
    for family in FAMILIES {
        let scene = scene().await;
        let options = json!([{ "label": "red" }, { "label": "blue", "description": "like the sky" }]);
        let question = json!({ "question": "Which colour?", "options": options });
        scene.model.push(Reply::new().function("ask", json!({ "questions": [question] })));
        scene.model.push(Reply::say("Blue it is."));
        let provider = format!("own-{family}");
        let arguments =
            ["exec", "--json", "--provider", &provider, "--model", MODEL, "--approve", "wait", "Paint."];
        let running = scene.start(&arguments);
        let before = open_request(&scene).await;
        scene.kill_engine().await;
        let request = open_request(&scene).await;
        assert_eq!(before["id"], request["id"], "{family}: the same question");
        let id = request["id"].as_str().unwrap();
        let detail = scene.run(&["requests", "show", id, "--json"]).await.exits(0).json().remove(0);
        let name = detail["ask"]["questions"][0]["id"].as_str().unwrap_or_else(|| panic!("{detail}"));
        let answers = json!({ name: "blue" }).to_string();
        scene.run(&["requests", "answer", id, "accept", "--answers", &answers]).await.exits(0);
        let ended = running.end().await.exits(0);
        assert_eq!(of_type(&ended.events(), "request_opened").len(), 1, "{family}: {ended}");
        let results = scene.model.requests()[1].tool_outputs();
        assert!(results.len() == 1 && results[0].contains("blue"), "{family}: {results:?}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_question_that_no_one_can_answer_is_declined_and_the_model_reads_it() {
    let scene = scene().await;
    scene.model.push(Reply::new().function("ask", json!({ "questions": [{ "question": "Which colour?" }] })));
    scene.model.push(Reply::say("I chose red."));
    let ended = exec(&scene, "chat", &["--json", "Paint."]).await.exits(3);
    let closed = only(&ended.events(), "request_closed").clone();
    assert_ne!(closed["decision"], "accept", "{ended}");
    let results = scene.model.requests()[1].tool_outputs();
    assert!(results.len() == 1 && !results[0].contains("red"), "{results:?}");
    scene.close().await;
}

#[tokio::test]
async fn a_plan_is_shown_as_it_is_on_codex_and_a_wrong_one_is_refused() {
    for family in FAMILIES {
        let scene = scene().await;
        let steps =
            json!([{ "step": "look", "status": "completed" }, { "step": "mend", "status": "in_progress" }]);
        let wrong = json!([{ "step": "look", "status": "done" }]);
        let plan =
            |steps: &Value| Reply::new().function("plan", json!({ "explanation": "Why.", "steps": steps }));
        scene.model.play([plan(&steps), plan(&wrong), Reply::say("Done.")]);
        let ended = exec(&scene, family, &["--json", "Mend it."]).await.exits(0);
        let shown = only(&ended.events(), "plan_updated").clone();
        assert_eq!((&shown["explanation"], &shown["steps"]), (&json!("Why."), &steps), "{family}: {shown}");
        let results = scene.model.requests()[2].tool_outputs();
        assert!(results[1].contains("status"), "{family}: {results:?}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_picture_that_the_model_looks_at_is_in_its_next_request() {
    for family in FAMILIES {
        let scene = scene().await;
        fs::write(scene.work().join("dot.png"), super::refusals::PICTURE).unwrap();
        scene.model.push(Reply::new().function("view_image", json!({ "path": "dot.png" })));
        scene.model.push(Reply::say("A dot."));
        exec(&scene, family, &["Look."]).await.exits(0);
        let requests = scene.model.requests();
        assert!(!requests[0].text.contains("image/png"), "{family}");
        assert!(requests[1].text.contains("image/png"), "{family}: {}", requests[1].text);
        assert_eq!(requests[1].tool_outputs().len(), 1, "{family}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_search_finds_lines_and_files_and_respects_what_is_ignored() {
    let scene = scene().await;
    fs::create_dir_all(scene.work().join(".git")).unwrap();
    fs::write(scene.work().join(".gitignore"), "ignored.txt\n").unwrap();
    fs::write(scene.work().join("ignored.txt"), "a wren\n").unwrap();
    fs::write(scene.work().join("birds.txt"), "an owl\na wren\n").unwrap();
    let search = |arguments: Value| Reply::new().function("search", arguments);
    scene.model.play([
        search(json!({ "pattern": "wr.n", "glob": "*.txt" })),
        search(json!({ "pattern": "*.txt", "mode": "files" })),
        Reply::say("Found."),
    ]);
    exec(&scene, "responses", &["Find it."]).await.exits(0);
    let results = scene.model.requests()[2].tool_outputs();
    assert!(results[0].contains("birds.txt") && results[0].contains("a wren"), "{results:?}");
    assert!(results[1].contains("birds.txt"), "{results:?}");
    assert!(results.iter().all(|result| !result.contains("ignored.txt")), "{results:?}");
    scene.close().await;
}

/// Without any sandbox and without any question.
#[tokio::test]
async fn the_hard_floor_holds_on_the_loop_in_every_mode() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.push(Reply::new().function("run", json!({ "command": "rm -rf / --no-preserve-root-x" })));
        scene.model.push(Reply::new().function("run", json!({ "command": "echo fine > fine" })));
        scene.model.push(Reply::say("I could not."));
        let free = ["--sandbox", "danger-full-access", "--approval", "never", "--json", "Clean up."];
        let ended = exec(&scene, family, &free).await.exits(3);
        assert_eq!(only(&ended.events(), "request_closed")["by"], "floor", "{family}: {ended}");
        let results = scene.model.requests()[2].tool_outputs();
        assert!(!results[0].contains("Exit code"), "{family}: it ran: {results:?}");
        assert!(scene.work().join("fine").exists(), "{family}: everything else runs: {results:?}");
        scene.close().await;
    }
}

/// The parts of a request that every request has, as the provider gets them.
fn head(body: &Value) -> (usize, usize) {
    let system = match (&body["instructions"], &body["system"]) {
        (Value::String(text), _) => text.len(),
        (_, Value::Array(blocks)) => blocks.iter().map(|block| block["text"].as_str().unwrap().len()).sum(),
        _ => body["messages"].as_array().map_or_else(
            || body["input"][0]["content"].to_string().len(),
            |messages| messages[0]["content"].as_str().map_or(0, str::len),
        ),
    };
    let tools = body["tools"].as_array().unwrap();
    let schema = |tool: &Value| {
        let function = if tool["function"].is_object() { &tool["function"] } else { tool };
        let schema = if function["parameters"].is_object() {
            &function["parameters"]
        } else {
            &function["input_schema"]
        };
        schema.to_string().len()
    };
    (system, tools.iter().map(schema).sum())
}

#[tokio::test]
async fn the_head_of_a_request_is_small_in_every_family_with_every_tool() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.push(Reply::say("Done."));
        exec(&scene, family, &["--sandbox", "workspace-write", "Go."]).await.exits(0);
        let request = scene.model.requests().remove(0);
        let (system, schemas) = head(&request.body);
        let names = request.tool_names().len();
        println!("{family}: system prompt {system} bytes, {names} tools with {schemas} bytes of schemas");
        assert!(names >= 14, "{family}: {names} tools");
        assert!(system > 500 && system / 4 < 1_500, "{family}: {system} bytes");
        assert!(schemas > 1_000 && schemas < 8_192, "{family}: {schemas} bytes");
        scene.close().await;
    }
}
