//! Token cost of a conversation's prompt, compared with the request that the real Codex sends.

use std::fs;

use serde_json::Value;
use talaria_core::api::{ContextReport, MemoryWish};
use talaria_core::outcome::Outcome;
use talaria_scripted::{ModelUsage, Reply};
use talaria_testkit::Codex;

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(every_part_of_ours_is_as_long_as_what_the_model_was_sent);

/// The texts of developer messages in a request.
fn developer_texts(body: &Value) -> Vec<&str> {
    let messages = body["input"].as_array().unwrap().iter().filter(|item| item["role"] == "developer");
    let contents = messages.filter_map(|message| message["content"].as_array()).flatten();
    contents.filter_map(|content| content["text"].as_str()).collect()
}

fn bytes(report: &ContextReport, name: &str) -> usize {
    let part =
        report.parts.iter().find(|part| part.name == name).unwrap_or_else(|| panic!("{name}: {report:?}"));
    usize::try_from(part.bytes.unwrap()).unwrap()
}

async fn every_part_of_ours_is_as_long_as_what_the_model_was_sent(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let unreported = ModelUsage { input: 0, cached: 0, output: 0, reasoning: 0 };
    home.model.push(Reply::say("ok").usage(unreported));
    let (bare, _) = home.run("hello").await;
    let bare = home.engine().context(bare.id.as_str()).await.unwrap();
    assert!(bare.parts.iter().all(|part| part.name.starts_with("talaria_")), "{bare:?}");
    assert_eq!((bare.reported, bare.rest), (None, None), "the model reported nothing");
    let ours = bare.ours.unwrap();
    println!("prompt overhead of contract 1 and an empty memory: {ours} of 2000 tokens");
    assert!(ours < 2000, "{ours}");

    fs::write(home.talaria().persona_file(), "You are as brief as a kestrel.\n").unwrap();
    let wish = MemoryWish::Add {
        scope: "user".to_owned(),
        text: "Prefers pelicans over herons, and grüne Störche".to_owned(),
        cwd: "/".to_owned(),
    };
    home.on(|engine| async move { engine.change_memory(wish).await }).await.unwrap();
    let usage = ModelUsage { input: 9000, cached: 10, output: 20, reasoning: 0 };
    home.model.push(Reply::say("ok").usage(usage));
    let (started, ended) = home.run("hello").await;
    assert_eq!(ended.outcome, Outcome::Completed);
    let report = home.engine().context(started.id.as_str()).await.unwrap();
    let body = home.model.requests().pop().unwrap().body;
    let [sent] = developer_texts(&body)
        .into_iter()
        .filter(|text| text.contains("kestrel"))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|texts| panic!("{texts:?}"));
    let ours: &str = &sent[sent.find("You are").unwrap()..];
    assert_eq!(bytes(&report, "persona") + bytes(&report, "memory"), ours.len(), "{ours:?}");
    let tools: Vec<&Value> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("talaria_")))
        .collect();
    assert_eq!(tools.len() + 2, report.parts.len(), "{report:?}");
    for tool in tools {
        let (name, text) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
        assert_eq!(
            bytes(&report, name),
            name.len() + text.len() + tool["parameters"].to_string().len(),
            "{tool}"
        );
    }
    assert_eq!(report.reported, Some(9000));
    assert_eq!(report.rest, Some(9000 - report.ours.unwrap()));
    home.close().await;
}
