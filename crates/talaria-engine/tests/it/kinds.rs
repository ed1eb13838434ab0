//! Every kind of item that an installed Codex says it has is one that Talaria knows, word for word.
//!
//! Codex generates its own schema; from that, items are made with as little and with as much as it allows.

use std::fs;

use serde_json::{Map, Value, json};
use talaria_codex_proto::frame::{Decoded, Frame, decode_text};
use talaria_codex_proto::project;
use talaria_codex_proto::wire::notification::Notification;
use talaria_core::item::{Item, ItemBody, SearchAction};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::schema::{Schema, with_definitions};
use crate::stage::{Real, begin, both_versions};

both_versions!(
    every_kind_of_item_in_the_schema_is_known,
    every_word_for_the_state_of_an_item_is_known,
    a_search_and_a_look_at_an_image_have_their_own_kinds_on_the_real_codex,
);

/// How much of what the schema allows an item has.
#[derive(Clone, Copy, PartialEq)]
enum Amount {
    Least,
    Most,
}

/// Makes a value that fits a schema.
fn sample(schema: &Value, root: &Value, amount: Amount) -> Value {
    if *schema == json!(true) {
        return json!({ "any": ["thing", 1] });
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return sample(root.pointer(reference.trim_start_matches('#')).unwrap(), root, amount);
    }
    if let Some(word) = schema["enum"].get(0) {
        return word.clone();
    }
    let mut value = match word_of_type(schema) {
        Some("string") => json!("some text"),
        Some("integer") => json!(1),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        Some("array") => json!([sample(&schema["items"], root, amount)]),
        Some("object") => sample_object(schema, root, amount),
        _ => Value::Null,
    };
    for key in ["allOf", "anyOf", "oneOf"] {
        let Some(choice) = schema[key].get(0) else { continue };
        match (&mut value, sample(choice, root, amount)) {
            (Value::Object(fields), Value::Object(more)) => fields.extend(more),
            (value, chosen) => *value = chosen,
        }
    }
    value
}

fn word_of_type(schema: &Value) -> Option<&str> {
    let words = schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str);
    schema["type"].as_str().or_else(|| words.into_iter().find(|word| *word != "null"))
}

fn sample_object(schema: &Value, root: &Value, amount: Amount) -> Value {
    let mut fields = Map::new();
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if amount == Amount::Most || required(name) {
            fields.insert(name.clone(), sample(field, root, amount));
        }
    }
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        fields.insert("some key".to_owned(), sample(values, root, amount));
    }
    Value::Object(fields)
}

/// The kinds that a schema has, with what each is called there.
fn kinds(schema: &Schema) -> (Value, Vec<(String, Value)>) {
    let root = schema.file("ServerNotification");
    let variants = root["definitions"]["ThreadItem"]["oneOf"].as_array().unwrap();
    let name = |variant: &Value| variant["properties"]["type"]["enum"][0].as_str().unwrap().to_owned();
    let kinds = variants.iter().map(|variant| (name(variant), variant.clone())).collect();
    (root, kinds)
}

fn read(item: &Value) -> Item {
    let params = json!({ "threadId": "t", "turnId": "u", "item": item });
    let text = json!({ "method": "item/completed", "params": params }).to_string();
    match decode_text(&text) {
        Decoded::Known(Frame::Notification(Notification::ItemCompleted(params))) => {
            project::item(params.item)
        }
        other => panic!("{text}: {other:?}"),
    }
}

async fn every_kind_of_item_in_the_schema_is_known(codex: Codex) {
    let (root, kinds) = kinds(&Schema::generate(&codex));
    let whole = with_definitions(&root["definitions"]["ThreadItem"], &root);
    let fits = jsonschema::draft7::new(&whole).unwrap();
    assert!(kinds.len() >= 16, "{kinds:?}");
    for (name, variant) in kinds {
        for amount in [Amount::Least, Amount::Most] {
            let item = sample(&variant, &root, amount);
            let problems: Vec<String> = fits.iter_errors(&item).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "the sample is wrong: {item}: {problems:?}");
            let body = read(&item).body;
            assert!(!matches!(body, ItemBody::Other { .. }), "{} {name} is not known: {item}", codex.version);
        }
    }
}

async fn every_word_for_the_state_of_an_item_is_known(codex: Codex) {
    let (root, kinds) = kinds(&Schema::generate(&codex));
    let mut tried = 0;
    for (name, variant) in kinds {
        for field in ["status", "source"] {
            let shape = &variant["properties"][field];
            let reference = shape["$ref"].as_str().or_else(|| shape["allOf"][0]["$ref"].as_str());
            let Some(reference) = reference else { continue };
            let definition = root.pointer(reference.trim_start_matches('#')).unwrap();
            // A failed call of our own tools without a text is of unknown outcome: Codex stopped waiting for it.
            let amount = if name == "dynamicToolCall" { Amount::Most } else { Amount::Least };
            for word in definition["enum"].as_array().unwrap() {
                let mut item = sample(&variant, &root, amount);
                item[field] = word.clone();
                let shown = serde_json::to_value(read(&item)).unwrap();
                assert_ne!(shown[field], "unknown", "{} {name}: {word}", codex.version);
                tried += 1;
            }
        }
    }
    assert!(tried >= 15, "{tried} words");
}

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// A reply with an item of the Responses API that the model does by itself.
fn done(item: &Value) -> Reply {
    let event = |kind: &str| json!({ "type": kind, "output_index": 0, "item": item });
    Reply::new().event(event("response.output_item.added")).event(event("response.output_item.done"))
}

async fn a_search_and_a_look_at_an_image_have_their_own_kinds_on_the_real_codex(codex: Codex) {
    let real = Real::start(&codex).await;
    let picture = real.home.work().join("dot.png");
    fs::write(&picture, PNG).unwrap();
    let action = json!({ "type": "search", "query": "rust serde", "queries": ["rust serde", "sorted keys"] });
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "action": action });
    real.model.push(done(&search).function("view_image", json!({ "path": picture })));
    real.model.push(Reply::say("Done."));
    let ended = begin(real.session().await, "look around").end().await;
    let bodies: Vec<ItemBody> = ended.completed().into_iter().map(|item| item.body.clone()).collect();
    let [said, search, view, answer] = bodies.as_slice() else { panic!("{bodies:#?}") };
    assert!(matches!(said, ItemBody::UserMessage { text, .. } if text == "look around"), "{said:?}");
    let queries = ["rust serde".to_owned(), "sorted keys".to_owned()];
    assert!(
        matches!(search, ItemBody::WebSearch { query, action: Some(SearchAction::Search { queries: all }) }
            if query == "rust serde" && *all == queries),
        "{search:?}"
    );
    assert!(matches!(view, ItemBody::ImageView { path } if picture.ends_with(path)), "{view:?}");
    assert!(matches!(answer, ItemBody::AgentMessage { text, .. } if text == "Done."), "{answer:?}");
    real.close().await;
}
