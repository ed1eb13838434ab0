//! Conversations that outgrow the context of their model: shortened in time, on request and after a refusal; what stays, what
//! it cost, who summarises, and what a failure leaves.

use serde_json::{Value, json};
use talaria_scripted::{ModelRequest, ModelUsage, Reply};

use crate::own_loop::{FAMILIES, MODEL, exec, scene_configured};
use crate::scene::{Ended, Scene};

const SUMMARY: &str = "<summary>\n## Goal\nThe birds of the pond are counted, and WALRUS-17 is the name of the boat.\n## Next\n\
                       The herons.\n</summary>";

/// A scene in which the context of every model has 40,000 tokens: conversations are shortened at 23,616.
async fn small(more: &str) -> Scene {
    let scene = scene_configured(more).await;
    let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure(&config.replace("context = 200000", "context = 40000"));
    scene
}

fn usage(input: u64) -> ModelUsage {
    ModelUsage { input, cached: 0, output: 20, reasoning: 0 }
}

/// A conversation of six turns in which much was said; the last answer reports `input` tokens.
async fn talked(scene: &Scene, family: &str, input: u64) -> String {
    let mut session = String::new();
    for turn in 1..=6 {
        let said = format!("Answer {turn}. {}", "The pond is deep. ".repeat(120));
        scene.model.push(Reply::say(said).usage(usage(if turn == 6 { input } else { 900 })));
        let prompt = format!("Prompt {turn}");
        let ended = match turn {
            1 => exec(scene, family, &["--json", &prompt]).await.exits(0),
            _ => scene.run(&["exec", "--json", "--resume", &session, &prompt]).await.exits(0),
        };
        ended.events()[0]["session"].as_str().unwrap().clone_into(&mut session);
    }
    session
}

fn is_summary(request: &ModelRequest) -> bool {
    request.tool_names().is_empty() && request.text.contains("<conversation>")
}

/// The step of the compaction, if there is one.
fn compaction(ended: &Ended) -> Option<Value> {
    let steps = ended.events().into_iter().filter(|event| event["type"] == "item_completed");
    steps.map(|event| event["item"].clone()).find(|item| item["kind"] == "compaction")
}

async fn go_on(scene: &Scene, session: &str, prompt: &str) -> Ended {
    scene.run(&["exec", "--json", "--resume", session, prompt]).await
}

#[tokio::test]
async fn a_conversation_is_shortened_before_it_is_full_and_keeps_what_was_promised() {
    for family in FAMILIES {
        let scene = small("").await;
        let session = talked(&scene, family, 30_000).await;
        scene.model.play([Reply::say(SUMMARY).usage(usage(5_000)), Reply::say("Three.").usage(usage(2_000))]);
        let ended = go_on(&scene, &session, "How many herons?").await.exits(0);
        let requests = scene.model.requests();
        let [.., summary, asked] = requests.as_slice() else { panic!("{requests:?}") };
        assert!(is_summary(summary), "{family}: {}", summary.text);
        assert!(summary.text.contains("Answer 3"), "{family}: it reads what is replaced");
        assert_eq!(asked.prompt(), "How many herons?", "{family}");
        for kept in ["WALRUS-17", "Prompt 1", "Prompt 3", "Prompt 4", "Answer 6"] {
            assert!(asked.text.contains(kept), "{family}: {kept} is missing in {}", asked.text);
        }
        assert!(!asked.text.contains("Answer 3"), "{family}: it was replaced");
        let facts = compaction(&ended).unwrap_or_else(|| panic!("{family}: {ended}"));
        assert_eq!((&facts["by"], &facts["spent"]), (&json!("talaria"), &json!(5_020)), "{family}: {facts}");
        assert!(facts["before"].as_u64() > Some(30_000) && facts["after"].as_u64() < Some(20_000), "{facts}");
        // The turn has the sum, and the conversation every request.
        let sum = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json().remove(0);
        assert_eq!(sum["requests"], 8, "{family}: {sum}");
        assert_eq!(ended.events().pop().unwrap()["usage"]["total"], 5_020 + 2_020, "{family}");

        // The next engine sends the same beginning, and the tool finds what was replaced.
        scene.run(&["stop"]).await.exits(0);
        scene.model.push(Reply::new().function("talaria_recall", json!({ "query": "Answer 3" })));
        scene.model.push(Reply::say("It was deep."));
        go_on(&scene, &session, "What did you say third?").await.exits(0);
        let requests = scene.model.requests();
        let [.., next, found] = requests.as_slice() else { panic!("{requests:?}") };
        let start = |request: &ModelRequest| {
            let text = request.text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            text.trim_end_matches([']', '}']).to_owned()
        };
        assert!(start(next).starts_with(&start(asked)), "{family}: {}\n{}", start(asked), start(next));
        assert!(found.tool_outputs()[0].contains("Answer 3"), "{family}: {:?}", found.tool_outputs());
        scene.close().await;
    }
}

#[tokio::test]
async fn a_figure_of_another_model_shortens_nothing() {
    let scene = small("").await;
    let session = talked(&scene, "chat", 30_000).await;
    scene.model.push(Reply::say("Three.").usage(usage(2_000)));
    let arguments = [
        "exec",
        "--json",
        "--resume",
        &session,
        "--provider",
        "own-responses",
        "--model",
        MODEL,
        "How many?",
    ];
    let ended = scene.run(&arguments).await.exits(0);
    assert_eq!((compaction(&ended), scene.model.requests().len()), (None, 7), "{ended}");
    scene.close().await;
}

#[tokio::test]
async fn a_model_that_takes_over_shortens_the_conversation_itself_if_its_context_is_small() {
    let scene = scene_configured("[model]\nfallback = [\"own-messages/tiny\"]\n").await;
    let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
    let (others, small) = config.rsplit_once("context = 200000").unwrap();
    scene.configure(&format!("{others}context = 8000{small}"));
    let session = talked(&scene, "chat", 900).await;
    scene.model.push(Reply::refuse(402, "billing_error", "Your credit balance is too low"));
    scene.model.play([Reply::say(SUMMARY).usage(usage(5_000)), Reply::say("Three.").usage(usage(2_000))]);
    let ended = go_on(&scene, &session, "How many herons?").await.exits(0);
    let requests = scene.model.requests();
    let [.., refused, summary, asked] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(is_summary(summary) && !is_summary(asked), "{ended}");
    let families = [refused, summary, asked].map(|request| format!("{:?}", request.family).to_lowercase());
    assert_eq!(families, ["chat", "messages", "messages"], "{ended}");
    assert!(compaction(&ended).is_some(), "{ended}");
    scene.close().await;
}

#[tokio::test]
async fn a_person_shortens_a_conversation_and_reads_what_stays() {
    let scene = small("[compression]\nenabled = false\nprotect_first_n = 0\nprotect_last_n = 2\n").await;
    let session = talked(&scene, "chat", 900).await;
    scene.model.push(Reply::say(SUMMARY).usage(usage(5_000)));
    let ended = scene.run(&["sessions", "compact", &session]).await.exits(0);
    ended.complains(&[
        "you shortened the conversation with /compact",
        "kept as they are: 2 messages",
        "5.0k tokens",
    ]);
    let turns = scene.run(&["sessions", "show", &session, "--json"]).await.exits(0).json().remove(0);
    assert_eq!(turns["turns"][6]["prompt"], "/compact", "{turns}");
    scene.model.push(Reply::say("Yes."));
    go_on(&scene, &session, "Go on.").await.exits(0);
    let asked = scene.model.requests().pop().unwrap();
    assert!(asked.text.contains("WALRUS-17") && !asked.text.contains("/compact"), "{}", asked.text);
    assert!(!asked.text.contains("Answer 5") && asked.text.contains("Answer 6"), "{}", asked.text);
    assert!(asked.text.contains("Prompt 1"), "the person's words are never left to a model: {}", asked.text);

    let count = scene.model.requests().len();
    scene.model.push(Reply::say(SUMMARY));
    scene.run(&["sessions", "compact", &session]).await;
    scene.run(&["sessions", "compact", &session]).await.exits(1).complains(&["nothing to shorten"]);
    assert!(scene.model.requests().len() <= count + 1);
    scene.close().await;
}

#[tokio::test]
async fn a_compaction_that_fails_changes_nothing_and_says_so() {
    for family in FAMILIES {
        let scene = small("").await;
        let session = talked(&scene, family, 900).await;
        scene.model.push(Reply::say("I would rather tell you a joke about a heron."));
        let ended = scene.run(&["sessions", "compact", &session]).await.exits(1);
        ended.complains(&[
            "not shortened, and nothing of it was dropped",
            "no summary",
            "/compact tries again",
        ]);
        scene.model.push(Reply::say("Still here.").usage(usage(30_000)));
        go_on(&scene, &session, "Are you there?").await.exits(0);
        let whole = scene.model.requests().pop().unwrap();
        assert!((1..=6).all(|turn| whole.text.contains(&format!("Answer {turn}"))), "{family}");

        // By itself: the turn continues with the whole conversation, and it is not tried again at once.
        scene.model.play([Reply::say("No."), Reply::say("One.").usage(usage(30_500)), Reply::say("Two.")]);
        let ended = go_on(&scene, &session, "And now?").await.exits(0);
        let warned = ended.events().into_iter().any(|event| {
            event["type"] == "warning"
                && event["message"].as_str().unwrap().contains("nothing of it was dropped")
        });
        assert!(warned && compaction(&ended).is_none(), "{family}: {ended}");
        let before = scene.model.requests().len();
        go_on(&scene, &session, "Again?").await.exits(0);
        let requests = scene.model.requests();
        assert_eq!(requests.len(), before + 1, "{family}: it waits until the prompt has grown");
        assert!(!is_summary(&requests[before]), "{family}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_request_that_is_too_long_is_shortened_once() {
    for family in FAMILIES {
        let scene = small("").await;
        let session = talked(&scene, family, 900).await;
        let refused = || {
            Reply::refuse(
                400,
                "context_length_exceeded",
                "Your input exceeds the context window of this model.",
            )
        };
        scene.model.play([refused(), Reply::say(SUMMARY), Reply::say("It fits.")]);
        let ended = go_on(&scene, &session, "Does it fit?").await.exits(0);
        assert!(compaction(&ended).is_some(), "{family}: {ended}");
        assert_eq!(crate::own_loop::answer(&ended.events()), json!("It fits."), "{family}");

        scene.model.play([Reply::say(SUMMARY), refused(), refused()]);
        let before = scene.model.requests().len();
        let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
        scene.configure(&format!("{config}[compression]\nprotect_first_n = 0\nprotect_last_n = 0\n"));
        scene.run(&["sessions", "compact", &session]).await.exits(0);
        let ended = go_on(&scene, &session, "And now?").await.exits(1);
        assert_eq!(scene.model.requests().len(), before + 2, "{family}: nothing is left to shorten: {ended}");
        scene.close().await;
    }
}

#[tokio::test]
async fn another_configured_model_summarises_and_the_own_one_where_it_cannot() {
    let more = "[auxiliary]\ncompression = { provider = \"own-messages\", model = \"small\" }\n";
    let scene = small(more).await;
    let session = talked(&scene, "chat", 30_000).await;
    scene.model.play([Reply::say(SUMMARY), Reply::say("Three.").usage(usage(2_000))]);
    go_on(&scene, &session, "How many?").await.exits(0);
    let requests = scene.model.requests();
    let summary = &requests[6];
    assert!(is_summary(summary) && summary.body["model"] == "small", "{}", summary.text);
    assert_eq!(requests[7].body["model"], MODEL);
    let sums = scene.run(&["usage", "--by", "model", "--json"]).await.exits(0).json();
    assert!(sums.iter().any(|sum| sum["asked"] == json!(["small"]) || sum["key"] == "small"), "{sums:?}");

    scene.model.play([
        Reply::refuse(401, "invalid_api_key", "No such key."),
        Reply::say(SUMMARY.replace("WALRUS-17", "HERON-18")),
    ]);
    let ended = scene.run(&["sessions", "compact", &session, "--json"]).await.exits(0);
    let requests = scene.model.requests();
    let [.., first, second] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((&first.body["model"], &second.body["model"]), (&json!("small"), &json!(MODEL)), "{ended}");
    scene.model.push(Reply::say("Yes."));
    go_on(&scene, &session, "Go on.").await.exits(0);
    assert!(scene.model.requests().pop().unwrap().text.contains("HERON-18"));
    scene.close().await;
}

#[tokio::test]
async fn a_model_that_is_too_small_to_summarise_is_named_at_the_start() {
    for (context, words) in [(4_000, "has no effect"), (20_000, "is shortened at 23616")] {
        let more = "[auxiliary]\ncompression = \"small\"\n";
        let scene = small(more).await;
        let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
        scene.configure(&format!("{config}[providers.own-chat.models.small]\ncontext = {context}\n"));
        scene.model.push(Reply::say("Hello."));
        exec(&scene, "chat", &["Hello."]).await.exits(0).complains(&["auxiliary.compression", words]);
        scene.close().await;
    }
}

/// At every durable step of a compaction: what was not stored is done again, and what was is not.
#[tokio::test]
async fn an_engine_that_is_killed_while_it_shortens_loses_nothing_and_counts_nothing_twice() {
    let steps =
        ["before:summary-request", "after:summary-request", "before:summary-answer", "after:summary-answer"];
    for (at, step) in steps.into_iter().enumerate() {
        let family = FAMILIES[at % FAMILIES.len()];
        let mut scene = small("").await;
        let points = talaria_testkit::FaultPoints::listen(&scene.work().join("points"));
        scene.set(talaria_testkit::fault_points::VARIABLE, points.socket());
        let session = talked(&scene, family, 30_000).await;
        scene.model.route(move |request| {
            let reply = if is_summary(request) { SUMMARY } else { "Three." };
            Some(Reply::say(reply).usage(usage(5_000)))
        });
        let mut trap = points.trap(step, 0);
        let running = scene.start(&["exec", "--json", "--resume", &session, "How many herons?"]);
        let held = trap.reached().await.unwrap();
        scene.kill_engine().await;
        drop(held);
        drop(trap);
        let ended = running.end().await.exits(0);
        let requests = scene.model.requests();
        let (summaries, answers): (Vec<_>, Vec<_>) =
            requests[6..].iter().partition(|request| is_summary(request));
        // The step after the summary is stored with what follows it: the request that it was made for.
        let again = usize::from(step != "before:summary-request" && step != "after:summary-answer");
        assert!(summaries.len() <= 1 + again, "{step}: {}", summaries.len());
        assert_eq!(answers.len(), 1, "{step}");
        assert!(answers[0].text.contains("WALRUS-17") && answers[0].prompt() == "How many herons?", "{step}");
        let steps = ended.events();
        let done = steps
            .iter()
            .filter(|event| event["type"] == "item_completed" && event["item"]["kind"] == "compaction");
        assert_eq!(done.count(), 1, "{step}: {ended}");
        let sum = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json().remove(0);
        let total: u64 = 5 * 920 + 30_020 + 2 * 5_020;
        assert_eq!(sum["usage"]["total"], total, "{step}: {sum}");
        scene.close().await;
    }
}
