//! Secrets pass through a task and remain nowhere: neither in a file of the home, nor in output or
//! notifications.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use talaria_core::api::{AnswerRequest, NewTask, Say, TaskStarted, When};
use talaria_core::event::Event;
use talaria_core::request::Who;
use talaria_scripted::Reply;
use talaria_testkit::app_server::directive::{exit, expect, expect_answer, notify, on, reply, send, stderr};
use talaria_testkit::app_server::{THREAD, TURN, agent_delta, complete_turn, start_turn};
use talaria_testkit::{AppServer, Codex};

use super::accept;
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    keys_in_prompts_commands_outputs_and_answers_stay_nowhere,
);

/// A made-up key; each has its own middle.
fn key(middle: &str) -> String {
    format!("sk-proj-Uniq4{middle}7NotReal2KbTq9ZsLmXvN2cRwPhYd7GjEaU")
}

/// What every such key has.
const MARK: &str = "7NotReal2KbTq9";
/// A secret that looks like none.
const TYPED: &str = "the heron flies at dawn";

/// Every file below a directory that has one of the secrets in it.
pub(crate) fn found_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(found_in(&path));
        } else if let Ok(bytes) = fs::read(&path) {
            let has = |secret: &str| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            if has(MARK) || has(TYPED) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn is_clean(text: &str, what: &str) {
    assert!(!text.contains(MARK) && !text.contains(TYPED), "{what}: {text}");
}

/// Searches for secrets in all output and files, while the engine runs and after it has ended.
async fn look(home: &mut Home, task: &TaskStarted) {
    let engine = home.engine();
    let session = task.session.as_str();
    is_clean(&serde_json::to_string(&home.show(task).await).unwrap(), "the task");
    is_clean(&serde_json::to_string(&engine.tasks(Default::default()).await.unwrap()).unwrap(), "the list");
    is_clean(&serde_json::to_string(&engine.session(session).await.unwrap()).unwrap(), "the conversation");
    is_clean(&serde_json::to_string(&engine.status().await.unwrap()).unwrap(), "the status");
    for line in engine.events(session, 0, 1000).await.unwrap() {
        is_clean(&line.json, "an event");
    }
    for message in engine.messages(session, 0, 1000).await.unwrap() {
        is_clean(&serde_json::to_string(&message).unwrap(), "a message");
    }
    let hits = engine.search("Uniq4", 10).await.unwrap();
    is_clean(&serde_json::to_string(&hits).unwrap(), "what is found");
    let root = home.talaria().root().to_owned();
    assert_eq!(found_in(&root), Vec::<String>::new(), "while the engine runs");
    home.stop(false).await;
    assert_eq!(found_in(&root), Vec::<String>::new(), "when it has ended");
    let hosts = fs::read_dir(root.join("hosts")).map_or(0, Iterator::count);
    assert_eq!(hosts, 0, "nothing that Codex wrote is left");
}

async fn keys_in_prompts_commands_outputs_and_answers_stay_nowhere(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let listener = home.listener();
    home.open().await;
    // The file does not contain the command's text, and the output not the file's.
    fs::write(home.codex_home.work().join("key.txt"), key("file")).unwrap();
    let command = format!("touch x; cat key.txt; echo {}", key("command"));
    home.model.play([
        Reply::new().reasoning(format!("think of {}", key("thought"))).command(command),
        Reply::say(format!("It is {}.", key("answer"))),
    ]);
    let notify = vec![listener.target.clone()];
    let new = NewTask { notify, ..home.writing_task(&format!("use {}", key("prompt"))) };
    let task = home.start_task(new).await;
    let ticket = home.news(&task).await.request().await;
    listener.hears(1).await;
    accept(home.engine(), &ticket).await;
    home.ends(&task).await;
    home.told(&task, "outcome").await;
    let asked = home.model.requests();
    assert!(asked[0].prompt().contains(&key("prompt")), "Codex was told what the person said");
    assert!(asked[1].tool_outputs()[0].contains(&key("file")), "and the command ran");
    let heard = listener.heard();
    is_clean(&json!(heard).to_string(), "what was told");
    assert!(heard[1]["answer"].as_str().unwrap().contains("[redacted:"), "{heard:#?}");
    look(&mut home, &task).await;
}

/// Asks a question whose answer is secret, and one whose answer only turns out to be.
fn questions() -> Value {
    let secret = json!({ "id": "word", "header": "Word", "question": "Which word?", "isSecret": true, "options": null });
    let name = json!({ "id": "name", "header": "", "question": "Which name?", "options": null });
    let params = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "q", "questions": [secret, name] });
    send(json!({ "id": 0, "method": "item/tool/requestUserInput", "params": params }))
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_steering_complaints_and_targets_with_keys_stay_nowhere() {
    let item = json!({
        "type": "commandExecution", "id": "c1", "command": format!("curl -H {}", key("item")), "cwd": "/w",
        "processId": null, "source": "agent", "status": "completed", "commandActions": [],
        "aggregatedOutput": format!("token {}", key("output")), "exitCode": 0, "durationMs": 1,
    });
    let told = |item: Value| json!({ "threadId": THREAD, "turnId": TURN, "item": item });
    let script = [
        start_turn(),
        vec![
            stderr(&format!("ERROR refused with {}", key("stderr"))),
            notify("item/started", told(item.clone())),
            notify("item/completed", told(item)),
            send(agent_delta(&format!("so {}", key("delta")))),
            questions(),
            expect_answer(0),
            expect("turn/steer"),
            reply(json!({ "turnId": TURN })),
        ],
        complete_turn(&format!("all of {}", key("text"))),
    ];
    let (mut home, installed) = Home::scripted(AppServer::ready(script.concat())).await;
    let listener = home.listener();
    home.open().await;
    let notify = vec![format!("{} --key {}", listener.target, key("target"))];
    let task = home.start_task(NewTask { notify, ..home.task("go") }).await;
    let ticket = home.news(&task).await.request().await;
    let given = json!({ "word": [{ "secret": TYPED }], "name": [key("typed")] });
    let answer = json!({ "decision": "accept", "content": { "kind": "answers", "given": given } });
    let answer = AnswerRequest { answer, by: Who::User, digest: None };
    home.engine().answer(ticket.as_str(), answer).await.unwrap();
    let say = Say { text: format!("with {}", key("steer")), images: Vec::new(), when: When::Now };
    home.engine().say(&task.id, say).await.unwrap();
    home.news(&task).await.is(|event| matches!(event, Event::Steered { .. })).await;
    home.ends(&task).await;
    home.told(&task, "outcome").await;
    let received = json!(installed.received()).to_string();
    for secret in [TYPED.to_owned(), key("typed"), key("steer")] {
        assert!(received.contains(&secret), "Codex got it: {secret}");
    }
    is_clean(&json!(listener.heard()).to_string(), "what was told");
    look(&mut home, &task).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reason_that_came_from_codex_holds_no_key() {
    let last_words = [stderr(&format!("panic: bad key {}", key("stderr"))), exit(3)];
    let error = json!({ "message": format!("401 for {}", key("error")), "codexErrorInfo": null, "additionalDetails": null });
    let turn = json!({ "id": TURN, "items": [], "status": "failed", "error": error });
    let failed = notify("turn/completed", json!({ "threadId": THREAD, "turn": turn }));
    let plays = [
        vec![on("initialize", last_words.clone())],
        vec![on("thread/start", last_words.clone())],
        vec![on("turn/start", last_words)],
        start_turn().into_iter().chain([failed]).collect(),
    ];
    for play in plays {
        let (mut home, _) = Home::scripted(AppServer::ready(play)).await;
        let listener = home.listener();
        home.open().await;
        let notify = vec![listener.target.clone()];
        let task = home.start_task(NewTask { notify, ..home.task("go") }).await;
        assert!(home.ends(&task).await.status.is_terminal());
        home.told(&task, "outcome").await;
        is_clean(&json!(listener.heard()).to_string(), "what was told");
        look(&mut home, &task).await;
    }
}
