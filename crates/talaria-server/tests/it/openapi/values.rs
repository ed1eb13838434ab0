//! Values match the document: the server's responses, and one sample of every event, step and question.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use talaria_core::api::{Kind, MemoryWish};
use talaria_core::event::Event;
use talaria_core::request::{Answer, Content, Decision, Given, Grant};
use talaria_server::route::{self, Route, Verb};
use talaria_testkit::ApiDocument;

use crate::scene::{Scene, asked};

/// One sample of every event, step and question; a test of `talaria-core` writes it and does not compile without a new one.
const SAMPLES: &str = include_str!("../../../../talaria-testkit/fixtures/events.jsonl");

fn samples() -> Vec<Value> {
    SAMPLES.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_event_step_and_question_fits_and_is_read_back() {
    let document = ApiDocument::committed();
    let (event, item, ask) = (document.schema("Event"), document.schema("Item"), document.schema("Ask"));
    let (mut types, mut steps, mut asks) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for sample in samples() {
        event.assert_fits(&sample);
        let read: Event = serde_json::from_value(sample.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), sample);
        types.insert(sample["type"].as_str().unwrap().to_owned());
        if let Some(kind) = sample["item"]["kind"].as_str() {
            item.assert_fits(&sample["item"]);
            steps.insert(kind.to_owned());
        }
        if sample["type"] == "request_opened" {
            ask.assert_fits(&sample);
            asks.insert(sample["kind"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(types, document.kinds("Event", "type"));
    assert_eq!(steps, document.kinds("Item", "kind"));
    assert_eq!(asks, document.kinds("Ask", "kind"));
}

/// A schema that accepts everything would pass every other test here.
#[test]
fn what_is_no_event_does_not_fit() {
    let event = ApiDocument::committed().schema("Event");
    for sample in samples() {
        let fields: Vec<String> = sample.as_object().unwrap().keys().cloned().collect();
        let mut other = sample.clone();
        other["type"] = json!("no_such_event");
        assert!(!event.fits(&other), "{other}");
        for field in fields.iter().filter(|field| sample[*field].is_string()) {
            let mut other = sample.clone();
            other[field] = json!({ "not": "a string" });
            assert!(!event.fits(&other), "{field} of {sample}");
        }
    }
}

#[test]
fn every_kind_of_answer_fits_as_it_is_sent() {
    let document = ApiDocument::committed();
    let (answer, request) = (document.schema("Answer"), document.schema("AnswerRequest"));
    let given = || [("q".to_owned(), vec![Given::secret("s"), Given::plain("p")])].into();
    let contents = [
        Content::Nothing,
        Content::Grant(Grant::Network),
        Content::Answers(given()),
        Content::Form([("f".to_owned(), Given::secret(1)), ("g".to_owned(), Given::plain(true))].into()),
    ];
    for content in contents {
        // A further kind does not compile before it has a sample above.
        match &content {
            Content::Nothing | Content::Grant(_) | Content::Answers(_) | Content::Form(_) => {}
        }
        let value = Answer { reason: Some("r".to_owned()), ..Answer::with(content) }.revealed();
        answer.assert_fits(&value);
        request.assert_fits(&json!({ "answer": value, "by": "user" }));
    }
    request.assert_fits(&json!({ "answer": { "decision": Decision::Decline }, "by": "user" }));
    let odd =
        json!({ "decision": "accept", "content": { "kind": "form", "given": { "f": { "other": 1 } } } });
    assert!(!answer.fits(&odd), "an object can only be a secret");
}

#[tokio::test]
async fn what_the_server_answers_fits_the_openapi_document() {
    let scene = Scene::asking().await;
    let client = scene.client().await;
    let started = client.start_task(&scene.new_task("ask")).await.unwrap();
    asked(&client, &started.session, started.after).await;
    let (scope, text, cwd) = ("user".to_owned(), "likes herons".to_owned(), "/".to_owned());
    client.change_memory(&MemoryWish::Add { scope, text, cwd }).await.unwrap();
    scene.add_skill("haiku");
    let document = super::document();
    let fits = |name: &str, schema: &Value, value: &Value| {
        let mut schema = schema.clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?} in {value}");
    };
    let schema_of = |path: &str, code: &str| {
        document["paths"][path]["get"]["responses"][code]["content"]["application/json"]["schema"].clone()
    };
    let schema_of_post = |path: &str| {
        document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"].clone()
    };
    let get = async |path: &str| -> (String, Value) {
        let call = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let answer = scene.raw_to_end(call.as_bytes()).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].to_owned(), serde_json::from_str(body).unwrap())
    };
    let token =
        json!({ "name": "ci", "scopes": ["view", "answer:command"], "roots": ["/"], "lasts_ms": 60_000 });
    let made = scene.engine().create_token(serde_json::from_value(token).unwrap()).await.unwrap();
    fits("token", &schema_of_post(route::CREATE_TOKEN.path), &json!(made));
    // A stream has no end, and this task no worktree.
    let read_at_once =
        |route: &&Route| route.verb == Verb::Get && ![route::FOLLOW, route::DIFF].contains(route);
    for route in route::ALL.iter().filter(read_at_once) {
        let id = if *route == route::REQUEST { "req-" } else { started.id.as_str() };
        let (code, value) = get(&(route.path.replace("{id}", id) + "?words=ask&name=haiku")).await;
        assert_eq!(code, "200", "{}", route.name);
        // Nothing runs in the background here, no model proposed anything, and no turn has ended; these shapes are tested with the
        // program.
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        let has_none =
            [route::BACKGROUND, route::MEMORY_PENDING, route::SKILL_PROPOSALS, route::USAGE].contains(route);
        assert_eq!(is_empty, has_none, "{} shows nothing", route.name);
        fits(route.name, &schema_of(route.path, "200"), &value);
    }
    let (code, problem) = get("/v1/sessions/none").await;
    assert_eq!(code, "404");
    let schema = &document["components"]["responses"]["404"]["content"]["application/json"]["schema"];
    fits("problem", schema, &problem);
    for (name, value) in
        [("TaskStarted", json!(started)), ("NewSession", json!(scene.new_session(Kind::Exec, "x")))]
    {
        fits(name, &json!({"$ref": format!("#/components/schemas/{name}")}), &value);
    }
}
