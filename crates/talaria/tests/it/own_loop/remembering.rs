//! Talaria's own tools in turns of the built-in loop: memory, recall, skills and delegation, and what a person reads when a model
//! calls them wrongly.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use talaria_scripted::{Gate, Reply};

use crate::own_loop::{FAMILIES, MODEL, exec, scene};
use crate::scene::{Ended, Scene, of_type};
use crate::survival::database;

fn call(tool: &str, arguments: Value) -> Reply {
    Reply::new().function(tool, arguments)
}

fn memory(operations: Value) -> Reply {
    call("talaria_memory", json!({ "operations": operations }))
}

/// The last tool results.
fn returned(scene: &Scene) -> Vec<String> {
    scene.model.requests().last().unwrap().tool_outputs()
}

/// The whole of the last request.
fn last_request(scene: &Scene) -> String {
    scene.model.requests().last().unwrap().body.to_string()
}

fn session_of(ended: &Ended) -> String {
    ended.events()[0]["session"].as_str().unwrap().to_owned()
}

fn warnings(ended: &Ended) -> Vec<String> {
    let events = ended.events();
    of_type(&events, "warning").iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_memory_saved_in_one_conversation_is_used_in_the_next_and_an_undone_one_is_not() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.play([
            memory(json!([{ "op": "add", "scope": "user", "text": "Prefers pelicans" }])),
            Reply::say("Saved."),
        ]);
        exec(&scene, family, &["Remember that I prefer pelicans."]).await.exits(0);
        assert!(returned(&scene)[0].contains("complete"), "{family}: {:?}", returned(&scene));
        assert!(!scene.model.requests()[0].body.to_string().contains("Prefers pelicans"), "{family}");
        scene.model.push(Reply::say("Pelicans."));
        let first = exec(&scene, family, &["--json", "Which bird?"]).await.exits(0);
        assert!(last_request(&scene).contains("Prefers pelicans"), "{family}");
        scene.run(&["memory", "undo", "1"]).await.exits(0);
        scene.model.push(Reply::say("I do not know."));
        exec(&scene, family, &["Which bird now?"]).await.exits(0);
        assert!(!last_request(&scene).contains("Prefers pelicans"), "{family}");
        // A conversation keeps its beginning, so that its prefix stays in the provider's cache.
        scene.model.push(Reply::say("Pelicans still."));
        scene.run(&["exec", "--resume", &session_of(&first), "And here?"]).await.exits(0);
        assert!(last_request(&scene).contains("Prefers pelicans"), "{family}");
        scene.close().await;
    }
}

#[tokio::test]
async fn what_was_said_on_the_loop_is_found_in_the_next_conversation() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.push(Reply::say("We decided on a ring buffer of forty slots."));
        exec(&scene, family, &["Which structure has the cache?"]).await.exits(0);
        scene
            .model
            .play([call("talaria_recall", json!({ "query": "ring buffer" })), Reply::say("A ring buffer.")]);
        exec(&scene, family, &["What did we decide?"]).await.exits(0);
        assert!(returned(&scene)[0].contains("forty slots"), "{family}: {:?}", returned(&scene));
        scene.close().await;
    }
}

#[tokio::test]
async fn a_skill_is_read_and_a_new_one_waits_for_the_person() {
    let scene = scene().await;
    let folder = scene.user_home().join(".agents/skills/haiku");
    fs::create_dir_all(&folder).unwrap();
    let text = "---\nname: haiku\ndescription: Writes haiku\n---\nSeventeen syllables.\n";
    fs::write(folder.join("SKILL.md"), text).unwrap();
    let new = "---\nname: limerick\ndescription: Writes limericks\n---\nFive lines.\n";
    scene.model.play([
        call("talaria_skill", json!({ "op": "read", "name": "haiku" })),
        call("talaria_skill", json!({ "op": "propose", "name": "limerick", "text": new })),
        Reply::say("Proposed."),
    ]);
    exec(&scene, "chat", &["Write."]).await.exits(0);
    let returned = returned(&scene);
    assert!(returned[0].contains("Seventeen syllables."), "{returned:?}");
    let proposals = scene.run(&["skills", "proposals", "--json"]).await.exits(0).json();
    assert_eq!((proposals.len(), &proposals[0]["name"]), (1, &json!("limerick")));
    assert!(!scene.user_home().join(".agents/skills/limerick").exists(), "nothing without a yes");
    scene.close().await;
}

/// The id of the newest task that a tool named.
fn task_in(outputs: &[String]) -> String {
    let all = outputs.join("\n");
    let at = all.find("codex-").unwrap();
    all[at..].chars().take("codex-".len() + 12).collect()
}

#[tokio::test]
async fn a_delegated_task_has_the_provider_of_its_parent_and_its_result_arrives_once() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.route(|request| {
            let goal = request.user_texts().into_iter().find_map(|text| text.strip_prefix("look at "))?;
            Some(Reply::say(format!("Looked at {goal}.")))
        });
        scene.model.play([
            call("talaria_delegate", json!({ "op": "start", "goals": [{ "goal": "look at the heron" }] })),
            call("talaria_delegate", json!({ "op": "wait", "seconds": 60 })),
            call("talaria_delegate", json!({ "op": "wait", "seconds": 60 })),
            Reply::say("It was seen."),
        ]);
        let ended = exec(&scene, family, &["--json", "Have the heron looked at."]).await.exits(0);
        let outputs = returned(&scene);
        assert!(outputs[1].contains("Looked at the heron."), "{family}: {outputs:?}");
        assert!(outputs[2].contains("nothing is owed"), "{family}: {outputs:?}");
        let task = task_in(&outputs);
        let shown = scene.run(&["task", "show", &task, "--json"]).await.exits(0).json();
        assert!(
            shown[0]["usage"]["total"].as_u64().unwrap() > 0,
            "{family}: what it cost is shown: {shown:?}"
        );
        let child = scene
            .run(&["sessions", "show", shown[0]["session"].as_str().unwrap(), "--json"])
            .await
            .exits(0)
            .json();
        assert_eq!(child[0]["runtime"], "own_loop", "{family}: {child:?}");
        let requests = scene.model.requests();
        assert!(
            requests.iter().all(|request| request.family == requests[0].family),
            "{family}: the task asks the provider of its parent"
        );
        scene.model.push(Reply::say("Nothing is left."));
        scene.run(&["exec", "--resume", &session_of(&ended), "And now?"]).await.exits(0);
        let request = scene.model.requests().pop().unwrap();
        let prompts = request.user_texts();
        assert!(!prompts.iter().any(|text| text.contains("Looked at the heron")), "{family}: {prompts:?}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_result_that_was_not_collected_comes_with_the_next_turn_once() {
    let scene = scene().await;
    scene.model.route(|request| {
        let goal = request.user_texts().into_iter().find_map(|text| text.strip_prefix("look at "))?;
        Some(Reply::say(format!("Looked at {goal}.")))
    });
    scene.model.play([
        call("talaria_delegate", json!({ "op": "start", "goals": [{ "goal": "look at the owl" }] })),
        Reply::say("Started."),
    ]);
    let ended = exec(&scene, "messages", &["--json", "Have the owl looked at."]).await.exits(0);
    let tasks = scene.run(&["task", "list", "--json"]).await.exits(0).json();
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    let session = session_of(&ended);
    scene.wait_status(|status| status["turns"].as_array().is_some_and(Vec::is_empty)).await;
    for (prompt, count) in [("And now?", 1), ("And then?", 1)] {
        scene.model.push(Reply::say("Good."));
        scene.run(&["exec", "--resume", &session, prompt]).await.exits(0);
        let said = last_request(&scene);
        assert_eq!(said.matches("Looked at the owl.").count(), count, "it stays where it came: {said}");
    }
    scene.close().await;
}

#[tokio::test]
async fn each_wrong_call_is_answered_and_the_person_reads_one_line_about_it() {
    let scene = scene().await;
    scene.run(&["memory", "add", "--scope", "notes", "The heron stands"]).await.exits(0);
    scene.run(&["memory", "add", "--scope", "notes", "The heron flies"]).await.exits(0);
    let wrong = [
        (
            memory(json!("add")),
            "operations must be a list",
            "memory: a wrong call of the model was refused: operations must be",
        ),
        (
            memory(json!([{ "op": "burn", "scope": "notes" }])),
            "op must be add, replace, remove or read, not burn",
            "memory: a wrong call of the model was refused: nothing was changed: operation 1: op must be",
        ),
        (
            memory(json!([{ "op": "add", "scope": "notes", "text": "x".repeat(1 << 20) }])),
            "nothing was changed",
            "memory: the model's change of the memory was refused",
        ),
        (
            memory(json!([{ "op": "remove", "scope": "notes", "find": "The heron" }])),
            "nothing was changed",
            "memory: the model's change of the memory was refused",
        ),
        (
            call(
                "talaria_skill",
                json!({ "op": "propose", "name": "../../evil", "text": "---\nname: x\ndescription: y\n---\nz\n" }),
            ),
            "nothing was proposed",
            "skills: a proposal about ../../evil was refused",
        ),
        (
            call("talaria_skill", json!({ "op": "read", "name": "../../../etc" })),
            "there is no skill",
            "skills: reading ../../../etc was refused",
        ),
        (
            call("talaria_skill", json!({ "op": 7 })),
            "op must be a string",
            "skills: a wrong call of the model was refused: op must be",
        ),
        (
            call("talaria_delegate", json!({ "op": "start", "goals": "all" })),
            "goals",
            "delegation: a wrong call of the model was refused: goals",
        ),
        (
            call("talaria_delegate", json!({ "op": "stop", "id": "x".repeat(5_000) })),
            "this conversation delegated no task",
            "delegation: a call of the model was refused: this conversation delegated no task",
        ),
        (
            call("talaria_recall", json!({ "query": 7 })),
            "query must be a string",
            "recall: a wrong call of the model was refused: query must be",
        ),
        (
            call("talaria_web", json!({ "url": 7 })),
            "url must be a string",
            "web: a wrong call of the model was refused: url must be",
        ),
    ];
    for (reply, to_model, to_person) in wrong {
        scene.model.play([reply, Reply::say("I see.")]);
        let ended = exec(&scene, "responses", &["--json", "Go."]).await.exits(0);
        let outputs = returned(&scene);
        assert_eq!(outputs.len(), 1, "{outputs:?}");
        assert!(outputs[0].contains(to_model), "{to_model}: {outputs:?}");
        let lines = warnings(&ended);
        assert_eq!(lines.len(), 1, "{to_person}: {lines:?}");
        assert!(lines[0].starts_with(to_person) && !lines[0].contains('\n'), "{to_person}: {lines:?}");
        assert!(lines[0].chars().count() < 300, "{to_person}: {lines:?}");
    }
    let kept = scene.run(&["memory", "list", "--json"]).await.exits(0).json();
    assert_eq!(kept.len(), 2, "nothing is lost, nothing was added");
    assert_eq!(scene.run(&["skills", "proposals", "--json"]).await.exits(0).json().len(), 0);
    scene.close().await;
}

#[tokio::test]
async fn a_task_that_delegates_back_or_waits_for_its_parent_is_refused_and_the_parent_gets_its_result() {
    let scene = scene().await;
    let gate = Gate::new();
    let (begun, ids) = (gate.clone(), Arc::new(Mutex::new(Vec::<String>::new())));
    let known = Arc::clone(&ids);
    scene.model.route(move |request| {
        let is_child = request.user_texts().iter().any(|text| text.starts_with("look around"));
        let ids = known.lock().unwrap();
        let on = |op: &str, at: usize| call("talaria_delegate", json!({ "op": op, "id": ids[at] }));
        is_child.then(|| match request.tool_outputs().len() {
            // The same goal again would delegate without an end.
            0 => call("talaria_delegate", json!({ "op": "start", "goals": [{ "goal": "look around" }] }))
                .gate(&begun),
            // A task that waits for itself, or for the one that waits for it, would never end.
            1 => on("wait", 0),
            2 => on("stop", 0),
            3 => on("wait", 1),
            4 => on("stop", 1),
            _ => Reply::say("I may not."),
        })
    });
    scene.model.play([
        call("talaria_delegate", json!({ "op": "start", "goals": [{ "goal": "look around" }] })),
        call("talaria_delegate", json!({ "op": "wait", "seconds": 60 })),
        Reply::say("It may not."),
    ]);
    let arguments = ["exec", "--provider", "own-chat", "--model", MODEL, "Have someone look around."];
    let running = scene.start(&arguments);
    gate.reached().await;
    let tasks = scene.run(&["task", "list", "--json"]).await.exits(0).json();
    let [task] = &tasks[..] else { panic!("{tasks:?}") };
    let child = task["session"].as_str().unwrap();
    let sessions = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    let mut parents = sessions.iter().map(|row| row["id"].as_str().unwrap()).filter(|id| *id != child);
    let parent = parents.next().unwrap();
    ids.lock().unwrap().extend([task["id"].as_str().unwrap().to_owned(), parent.to_owned()]);
    gate.open();
    running.end().await.exits(0).prints(&["It may not."]);
    let outputs = returned(&scene);
    assert!(outputs[1].contains("I may not."), "{outputs:?}");
    let tasks = scene.run(&["task", "list", "--json"]).await.exits(0).json();
    assert_eq!(tasks.len(), 1, "nothing went round: {tasks:?}");
    let lines = database::warnings(&scene.home().join("talaria.db"), child).await;
    assert!(
        lines.iter().any(|line| line.contains("this conversation is itself a delegated task")),
        "{lines:?}"
    );
    let refused = lines.iter().filter(|line| line.contains("delegated no task")).count();
    assert_eq!(refused, 4, "{lines:?}");
    scene.close().await;
}
