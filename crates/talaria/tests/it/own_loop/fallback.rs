//! Models that take over when the chosen one fails: which failures are passed on and which never, what people see and what is counted,
//! when the chosen model is asked again, and what a killed engine leaves.

use serde_json::{Value, json};
use talaria_scripted::{Gate, ModelRequest, Reply};
use talaria_testkit::{Key, Screen};

use crate::own_loop::{MODEL, answer, exec, scene, scene_configured};
use crate::scene::{Scene, of_type, only};
use crate::tasks::{rest, shown, start};

const CHAIN: &str = "[model]\nfallback = [\"own-messages/tiny\"]\n";

/// The families of the requests, in order.
fn families(requests: &[ModelRequest]) -> Vec<String> {
    requests.iter().map(|request| format!("{:?}", request.family).to_lowercase()).collect()
}

#[tokio::test]
async fn a_failure_that_another_model_can_answer_is_passed_on_and_everyone_sees_it() {
    for (status, code, words) in [
        (401, "invalid_api_key", "Incorrect API key provided"),
        (402, "billing_error", "Your credit balance is too low"),
        (429, "insufficient_quota", "You exceeded your current quota"),
        (404, "model_not_found", "The model tiny does not exist"),
        (403, "unsupported_country_region_territory", "Country, region, or territory not supported"),
    ] {
        let scene = scene_configured(CHAIN).await;
        scene.model.push(Reply::refuse(status, code, words));
        scene.model.push(Reply::say("I took over."));
        let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
        let events = ended.events();
        assert_eq!(answer(&events), json!("I took over."), "{ended}");
        let change = only(&events, "model_rerouted");
        assert_eq!(
            (&change["from"], &change["to"]),
            (&json!("own-chat/tiny"), &json!("own-messages/tiny")),
            "{ended}"
        );
        assert!(change["reason"].as_str().unwrap().contains(words), "{ended}");
        assert_eq!(families(&scene.model.requests()), ["chat", "messages"], "{ended}");
        let sums = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json();
        assert_eq!(sums[0]["requests"], 2, "{sums:?}");
        scene.close().await;
    }
    let scene = scene_configured(CHAIN).await;
    scene.model.push(Reply::refuse(402, "billing_error", "Your credit balance is too low"));
    scene.model.push(Reply::say("I took over."));
    let ended = exec(&scene, "responses", &["Go."]).await.exits(0);
    ended
        .complains(&["own-messages/tiny answers instead of own-responses/tiny", "credit balance is too low"]);
    scene.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_the_request_is_never_passed_on() {
    let scene = scene_configured(CHAIN).await;
    for (index, (code, words)) in [
        ("invalid_request_error", "messages: something is wrong"),
        ("context_length_exceeded", "This model's maximum context length is 8192 tokens"),
        ("content_policy_violation", "This is not permitted"),
    ]
    .into_iter()
    .enumerate()
    {
        scene.model.push(Reply::refuse(400, code, words));
        let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(1);
        assert!(of_type(&ended.events(), "model_rerouted").is_empty(), "{ended}");
        assert_eq!(scene.model.requests().len(), index + 1, "{ended}");
    }
    scene.close().await;
}

#[tokio::test]
async fn a_refusal_is_passed_on_if_the_user_wants_it_and_is_no_part_of_the_history() {
    let chain = "[model]\nfallback = [\"own-responses/tiny\"]\nfallback_on_refusal = true\n";
    let scene = scene_configured(chain).await;
    scene.model.push(Reply::refuse(400, "content_policy_violation", "This is not permitted"));
    scene.model.push(Reply::say("I do it."));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    assert_eq!(answer(&ended.events()), json!("I do it."), "{ended}");
    scene.model.push(Reply::new().refusal("I will not."));
    scene.model.push(Reply::say("I do that too."));
    let ended = exec(&scene, "messages", &["--json", "Go on."]).await.exits(0);
    let events = ended.events();
    assert_eq!(answer(&events), json!("I do that too."), "{ended}");
    only(&events, "attempt_void");
    assert!(!scene.model.requests()[3].text.contains("I will not."), "{ended}");
    scene.close().await;
}

#[tokio::test]
async fn what_passes_by_itself_is_tried_again_before_another_model_is_asked() {
    let scene = scene_configured(CHAIN).await;
    (0..6).for_each(|_| {
        let busy = Reply::refuse(503, "server_is_overloaded", "come back later");
        scene.model.push(busy.header("retry-after-ms", "1"));
    });
    scene.model.push(Reply::say("I took over."));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    let events = ended.events();
    assert_eq!(of_type(&events, "retrying").len(), 5, "{ended}");
    only(&events, "model_rerouted");
    let families = families(&scene.model.requests());
    assert_eq!((families.len(), families[6].as_str()), (7, "messages"), "{ended}");
    scene.close().await;
}

#[tokio::test]
async fn the_history_of_a_turn_goes_to_the_model_that_takes_over() {
    let scene = scene_configured(CHAIN).await;
    std::fs::write(scene.work().join("notes.txt"), "eins\n").unwrap();
    let call = Reply::new().reasoning("I think.").sealed("SEAL").text("I look.");
    scene.model.push(call.function("read", json!({ "path": "notes.txt" })));
    scene.model.push(Reply::refuse(402, "billing_error", "Your credit balance is too low"));
    scene.model.push(Reply::say("It says eins."));
    let ended = exec(&scene, "responses", &["--json", "Look."]).await.exits(0);
    let requests = scene.model.requests();
    assert_eq!(families(&requests), ["responses", "responses", "messages"], "{ended}");
    let last = &requests[2];
    assert!(last.tool_outputs()[0].contains("eins") && last.tool_outputs().len() == 1, "{ended}");
    assert_eq!((last.user_texts(), last.assistant_texts()), (vec!["Look."], vec!["I look."]), "{ended}");
    assert!(!last.text.contains("SEAL"), "sealed reasoning left its provider");
    scene.close().await;
}

#[tokio::test]
async fn the_chosen_model_rests_until_the_time_of_its_provider_and_is_asked_again_then() {
    let scene = scene_configured(CHAIN).await;
    let used_up = Reply::refuse(429, "insufficient_quota", "You exceeded your current quota");
    scene.model.push(used_up.header("retry-after", "25"));
    scene.model.push(Reply::say("One."));
    scene.model.push(Reply::say("Two."));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    assert!(only(&ended.events(), "model_rerouted")["until"].is_i64(), "{ended}");
    let session = ended.events()[0]["session"].as_str().unwrap().to_owned();
    let resume = ["exec", "--json", "--resume", &session, "Go on."];
    let ended = scene.run(&resume).await.exits(0);
    assert_eq!(families(&scene.model.requests()), ["chat", "messages", "messages"], "{ended}");
    only(&ended.events(), "model_rerouted");
    let rests = |status: &Value| status["notes"].to_string().contains("own-chat/tiny rests until");
    scene.wait_status(|status| !rests(status)).await;
    scene.model.push(Reply::say("Three."));
    let ended = scene.run(&resume).await.exits(0);
    assert!(of_type(&ended.events(), "model_rerouted").is_empty(), "{ended}");
    assert_eq!(families(&scene.model.requests())[3], "chat", "{ended}");
    scene.close().await;
}

#[tokio::test]
async fn a_model_of_the_chain_that_cannot_be_asked_is_named_once_and_left_out() {
    let chain = "[model]\nfallback = [\"nowhere/x\", \"groq/x\", \"own-messages/tiny\"]\n";
    let scene = scene_configured(chain).await;
    scene.model.push(Reply::refuse(402, "billing_error", "Your credit balance is too low"));
    scene.model.push(Reply::say("I took over."));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    let events = ended.events();
    let warnings: Vec<&str> =
        of_type(&events, "warning").iter().map(|event| event["message"].as_str().unwrap()).collect();
    assert!(
        warnings.iter().any(|text| text.contains("nowhere/x is left out: there is no provider")),
        "{ended}"
    );
    assert!(
        warnings.iter().any(|text| text.contains("groq/x is left out: GROQ_API_KEY is not set")),
        "{ended}"
    );
    assert_eq!(only(&events, "model_rerouted")["to"], "own-messages/tiny");
    scene.close().await;
}

#[tokio::test]
async fn an_engine_that_is_killed_is_continued_by_the_model_that_took_over() {
    let scene = scene().await;
    let base = scene.model.base_url();
    std::fs::write(scene.work().join("notes.txt"), "eins\n").unwrap();
    // Without keys, so that the next engine can continue at once.
    let free = |api: &str| format!("[providers.free-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\n");
    scene.configure(&format!(
        "[model]\nprovider = \"free-chat\"\ndefault = \"{MODEL}\"\nfallback = [\"free-messages/{MODEL}\"]\n{}{}",
        free("chat"),
        free("messages")
    ));
    let gate = Gate::new();
    scene.model.push(Reply::refuse(402, "billing_error", "Your credit balance is too low"));
    scene.model.push(Reply::new().function("read", json!({ "path": "notes.txt" })));
    scene.model.push(Reply::new().gate(&gate).text("never read"));
    let id = start(&scene, &["Look."]).await;
    scene.model.wait_for_requests(3).await;
    scene.kill_engine().await;
    scene.model.push(Reply::say("It says eins."));
    scene.run(&["task", "show", &id]).await.exits(0);
    rest(&scene).await;
    gate.open();
    let task = shown(&scene, &id).await;
    assert_eq!(
        (&task["outcome"]["outcome"], &task["outcome"]["text"]),
        (&json!("completed"), &json!("It says eins.")),
        "{task}"
    );
    let requests = scene.model.requests();
    assert_eq!(families(&requests), ["chat", "messages", "messages", "messages"]);
    assert_eq!(requests[2].text, requests[3].text, "the next engine asks the same, byte for byte");
    scene.close().await;
}

/// The bar at the bottom of the chat, and the line above it.
#[tokio::test]
async fn the_chat_shows_which_model_answers_instead() {
    let scene: Scene = scene_configured(CHAIN).await;
    scene.model.push(Reply::refuse(402, "billing_error", "Your credit balance is too low"));
    let gate = Gate::new();
    scene.model.push(Reply::new().text("I took").gate(&gate).text(" over."));
    let mut chat = scene.terminal(&["--provider", "own-chat", "--model", MODEL]);
    chat.wait_for("tiny").await;
    chat.type_keys("Go.").await;
    chat.key(Key::Enter).await;
    let shows_both = |screen: &Screen| {
        screen.contains("own-messages/tiny answers instead of")
            && screen.contains("own-messages/tiny (fallback)")
    };
    chat.wait_until("the change in the transcript and in the status line", shows_both).await;
    gate.open();
    chat.wait_until("the whole answer", |screen: &Screen| screen.contains("I took over.")).await;
    chat.type_keys("/quit").await;
    chat.key(Key::Enter).await;
    assert_eq!(chat.exit_code().await, Some(0), "{}", chat.screen());
    scene.close().await;
}
