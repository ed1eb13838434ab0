//! One conversation with several providers: what was said and done stays, what belongs to one provider alone does not leave it.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{ModelRequest, Reply};
use talaria_testkit::Codex;

use crate::own_loop::{FAMILIES, KEY, exec, scene, scene_with};
use crate::scene::{Scene, both_versions};

both_versions!(
    a_conversation_moves_between_codex_and_the_loop_and_each_gets_what_it_missed_once;
    newest:
    a_turn_on_codex_makes_no_request_of_the_loop,
);

/// A turn that thinks, calls a tool and answers; what it seals is named after its family.
async fn turn(scene: &Scene, session: Option<&str>, family: &str, prompt: &str) -> String {
    let call =
        Reply::new().reasoning("I think.").sealed(format!("SEAL-{family}")).text(format!("{family} looks."));
    scene.model.push(call.function("read", json!({ "path": "notes.txt" })));
    scene.model.push(Reply::say(format!("{family} answers.")));
    let ended = match session {
        None => exec(scene, family, &["--json", prompt]).await,
        Some(session) => {
            let provider = format!("own-{family}");
            let arguments = [
                "exec",
                "--json",
                "--resume",
                session,
                "--provider",
                &provider,
                "--model",
                "other-model",
                prompt,
            ];
            scene.run(&arguments).await
        }
    };
    let events = ended.exits(0).events();
    events[0]["session"].as_str().unwrap().to_owned()
}

fn last(scene: &Scene) -> ModelRequest {
    scene.model.requests().pop().unwrap()
}

#[tokio::test]
async fn a_conversation_changes_its_provider_in_the_middle_and_its_history_stays_whole() {
    for first in 0..FAMILIES.len() {
        let scene = scene().await;
        fs::write(scene.work().join("notes.txt"), "eins\n").unwrap();
        let order: Vec<&str> = (0..4).map(|step| FAMILIES[(first + step) % FAMILIES.len()]).collect();
        let session = turn(&scene, None, order[0], "Prompt 0").await;
        for (step, family) in order.iter().enumerate().skip(1) {
            let prompt = format!("Prompt {step}");
            turn(&scene, Some(&session), family, &prompt).await;
            let request = last(&scene);
            assert_eq!(format!("{:?}", request.family).to_lowercase(), *family, "{order:?}");
            assert_eq!(request.body["model"], "other-model");
            let prompts: Vec<String> = (0..=step).map(|step| format!("Prompt {step}")).collect();
            assert_eq!(request.user_texts(), prompts, "{order:?} at {step}");
            assert_eq!(
                request.tool_outputs().len(),
                step + 1,
                "{order:?} at {step}: every call has one result"
            );
            let said: Vec<String> = order[..step]
                .iter()
                .flat_map(|family| [format!("{family} looks."), format!("{family} answers.")])
                .chain([format!("{family} looks.")])
                .collect();
            assert_eq!(request.assistant_texts(), said, "{order:?} at {step}");
            for other in FAMILIES.iter().filter(|other| *other != family) {
                let seal = format!("SEAL-{other}");
                assert!(!request.text.contains(&seal), "{order:?} at {step}: {seal} left its provider");
            }
        }
        scene.close().await;
    }
}

/// Codex and the loop have the same model here: only requests of the loop have the key of its providers and its prompt.
async fn a_turn_on_codex_makes_no_request_of_the_loop(codex: Codex) {
    let scene = scene_with(&codex).await;
    let is_of_loop = |request: &ModelRequest| {
        let has_key = request.headers.iter().any(|(_, value)| value.contains(KEY));
        has_key || request.text.contains("You are Talaria, a coding agent")
    };
    scene.model.play([
        Reply::new().function("talaria_recall", json!({ "query": "cache" })),
        Reply::say("Codex answers."),
    ]);
    scene.run(&["exec", "Is there a cache?"]).await.exits(0).prints(&["Codex answers."]);
    let of_codex = scene.model.requests();
    assert!(of_codex.iter().any(|request| !request.tool_outputs().is_empty()), "its tools are Talaria's too");
    assert_eq!(of_codex.iter().filter(|request| is_of_loop(request)).count(), 0, "{of_codex:#?}");
    for family in FAMILIES {
        scene.model.push(Reply::say("The loop answers."));
        exec(&scene, family, &["Is there a cache?"]).await.exits(0).prints(&["The loop answers."]);
        assert!(is_of_loop(&last(&scene)), "{family}");
    }
    scene.close().await;
}

/// The digests in a request.
fn digests(request: &ModelRequest) -> Vec<&str> {
    let texts = request.user_texts().into_iter();
    // A family may join the digest with the prompt.
    texts.filter_map(|text| text.split_once("</earlier_conversation>")).map(|(digest, _)| digest).collect()
}

/// Sends a prompt to a conversation, which the model answers with `answer to …`.
async fn said(scene: &Scene, session: &str, more: &[&str], prompt: &str) -> (ModelRequest, Vec<Value>) {
    scene.model.push(Reply::say(format!("answer to {prompt}")));
    let all = [&["exec", "--json", "--resume", session][..], more, &[prompt]].concat();
    let events = scene.run(&all).await.exits(0).events();
    (last(scene), events)
}

fn is_warned(events: &[Value]) -> bool {
    let words = |event: &Value| event["message"].as_str().unwrap_or_default().to_owned();
    events.iter().any(|event| {
        event["type"] == "warning" && words(event).contains("reasoning and images are not in it")
    })
}

async fn a_conversation_moves_between_codex_and_the_loop_and_each_gets_what_it_missed_once(codex: Codex) {
    let scene = scene_with(&codex).await;
    scene.model.push(Reply::say("answer to one"));
    let started = scene.run(&["exec", "--json", "one"]).await.exits(0).events();
    let session = started[0]["session"].as_str().unwrap().to_owned();
    let on_loop = ["--provider", "own-chat", "--model", "tiny"];
    let (asked, events) = said(&scene, &session, &on_loop, "two").await;
    assert_eq!(format!("{:?}", asked.family), "Chat");
    assert!(is_warned(&events), "{events:#?}");
    let [digest] = digests(&asked)[..] else { panic!("{}", asked.text) };
    assert!(
        digest.contains("one") && digest.contains("answer to one") && !digest.contains("two"),
        "{digest}"
    );
    let (asked, events) = said(&scene, &session, &[], "three").await;
    assert!(!is_warned(&events), "it is said once");
    assert_eq!((digests(&asked).len(), asked.assistant_texts()), (1, vec!["answer to two"]));

    let (asked, events) = said(&scene, &session, &["--provider", "openai-codex"], "four").await;
    assert_eq!(format!("{:?}", asked.family), "Responses");
    assert!(is_warned(&events), "{events:#?}");
    let [digest] = digests(&asked)[..] else { panic!("{}", asked.text) };
    assert!(digest.contains("answer to one") && digest.contains("answer to three"), "{digest}");
    assert!(!asked.text.contains("You are Talaria, a coding agent"), "Codex asks, not the loop");
    scene.run(&["stop"]).await.exits(0);
    let (asked, _) = said(&scene, &session, &[], "five").await;
    assert_eq!((digests(&asked).len(), asked.assistant_texts()), (1, vec!["answer to four"]));

    for _ in 0..2 {
        let (asked, events) = said(&scene, &session, &on_loop, "six").await;
        let [first, second] = digests(&asked)[..] else { panic!("{}", asked.text) };
        assert!(first.contains("answer to one"), "{first}");
        assert!(second.contains("answer to four") && second.contains("answer to five"), "{second}");
        assert!(!second.contains("answer to three"), "the loop has that itself: {second}");
        assert_eq!(asked.assistant_texts(), ["answer to two", "answer to three"]);
        assert!(is_warned(&events), "{events:#?}");
        // The digest of an undone turn is undone with it.
        scene.run(&["sessions", "undo", &session]).await.exits(0);
    }
    let shown = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    assert_eq!((shown.len(), &shown[0]["runtime"]), (1, &json!("own_loop")), "it is one conversation");
    scene.close().await;
}
