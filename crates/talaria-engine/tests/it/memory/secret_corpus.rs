//! Every secret that the redactor detects, saved by a person, by an editor, by a model, by an agent over MCP and by a review: none of
//! it is stored in clear text, in the memory, in skills and proposals, in the call ledger, in the answers of reviews, in the input of
//! the hook, or in any file of the home.

#[path = "../../../../talaria-guard/src/redact/tests/corpus.rs"]
mod corpus;

use std::fs;
use std::path::Path;

use serde_json::json;
use talaria_core::api::{MemoryHistoryQuery, MemoryQuery, MemoryWish, OutsideCall, Stop};
use talaria_core::event::Event;
use talaria_core::outcome::Outcome;
use talaria_engine::engine::Engine;
use talaria_home::home::TalariaHome;
use talaria_scripted::Reply;
use talaria_testkit::Codex;
use talaria_testkit::app_server::write_program;

use crate::home::{Home, options};
use crate::stage::both_versions;
use corpus::{Example, examples};

both_versions!(
    newest:
    no_secret_that_a_model_saves_is_kept_in_clear,
    no_secret_that_a_review_proposes_is_kept_in_clear,
);

/// Shorter secrets also occur by chance: in ids, in digests and in other words.
const TELLING: usize = 16;

/// Which of the secrets are in files below a folder.
fn found_in(folder: &Path, secrets: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(found_in(&path, secrets));
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            let has = secrets.iter().filter(|secret| text.contains(secret.as_str()));
            found.extend(has.map(|secret| format!("{secret} in {}", path.display())));
        }
    }
    found
}

/// The secrets that are nowhere in what may be kept: some texts have the same made-up material in places that are no secret.
fn telling_secrets(examples: &[Example]) -> Vec<String> {
    let is_kept = |secret: &str| examples.iter().any(|example| example.expected.contains(secret));
    let all = examples.iter().flat_map(|example| &example.secrets);
    let mut secrets: Vec<String> =
        all.filter(|secret| secret.len() >= TELLING && !is_kept(secret)).cloned().collect();
    secrets.sort();
    secrets.dedup();
    secrets
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_the_corpus_is_kept_in_clear() {
    let root = tempfile::tempdir_in(talaria_testkit::build_dir::homes()).unwrap();
    let home = TalariaHome::resolve(Some(root.path().join("talaria").into()), None).unwrap();
    home.ensure().unwrap();
    let engine = Engine::open(home.clone(), options(None)).await.unwrap();
    let (cwd, examples) = (root.path().display().to_string(), examples());
    let mut kept = 0;
    for example in &examples {
        let (scope, text) = ("notes".to_owned(), example.text.clone());
        // A text with the entry separator, or one that is too long, is refused; it is stored nowhere either.
        kept += usize::from(
            engine.change_memory(MemoryWish::Add { scope, text, cwd: cwd.clone() }).await.is_ok(),
        );
    }
    assert!(kept * 10 > examples.len() * 8, "{kept} of {}", examples.len());
    // An editor writes the same into another file.
    let typed: Vec<&str> = examples.iter().map(|example| example.text.as_str()).collect();
    fs::write(home.memories_dir().join("USER.md"), typed.join("\n§\n")).unwrap();
    let list = engine.memory(MemoryQuery::default()).await.unwrap();
    let query = MemoryHistoryQuery { limit: 1000, ..Default::default() };
    let history = engine.memory_history(query).await.unwrap();
    let secrets = telling_secrets(&examples);
    assert!(secrets.len() > 100, "{}", secrets.len());
    let texts = list.entries.iter().map(|entry| entry.text.as_str());
    let texts: Vec<&str> = texts.chain(history.iter().filter_map(|change| change.after.as_deref())).collect();
    for secret in &secrets {
        assert_eq!(texts.iter().find(|text| text.contains(secret.as_str())), None, "{secret}");
    }
    assert!(texts.iter().any(|text| text.contains("[redacted:")));
    assert_eq!(found_in(root.path(), &secrets), Vec::<String>::new(), "while the engine runs");
    engine.stop(Stop { keep_turns: false, stay_down: false }).await.unwrap();
    drop(engine);
    assert_eq!(found_in(root.path(), &secrets), Vec::<String>::new(), "when it has ended");
}

/// The longest text of several examples, in characters: masks are longer than some secrets.
const LONGEST_TEXT: usize = 2_500;

/// The examples in a few texts.
fn joined(examples: &[Example]) -> Vec<String> {
    let mut texts = vec![String::new()];
    for example in examples {
        if texts.last().is_some_and(|text| text.chars().count() > LONGEST_TEXT) {
            texts.push(String::new());
        }
        let text = texts.last_mut().unwrap();
        text.push_str(&example.text);
        text.push_str("\n\n");
    }
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_that_an_agent_saves_over_mcp_is_kept_in_clear() {
    let root = tempfile::tempdir_in(talaria_testkit::build_dir::homes()).unwrap();
    let home = TalariaHome::resolve(Some(root.path().join("talaria").into()), None).unwrap();
    home.ensure().unwrap();
    let engine = Engine::open(home.clone(), options(None)).await.unwrap();
    let (examples, mut kept) = (examples(), 0);
    let secrets = telling_secrets(&examples);
    let texts = joined(&examples);
    for text in &texts {
        let add = json!({ "op": "add", "scope": "notes", "text": text });
        let call = OutsideCall {
            tool: "talaria_memory".to_owned(),
            arguments: json!({ "operations": [add] }),
            thread: None,
        };
        let result = engine.call_tool(call).await.unwrap();
        kept += usize::from(!result.is_error);
        let returned = secrets.iter().find(|secret| result.text.contains(secret.as_str()));
        assert_eq!(returned, None, "in the result");
    }
    assert!(kept * 10 > texts.len() * 7, "{kept} of {}", texts.len());
    assert_eq!(found_in(root.path(), &secrets), Vec::<String>::new(), "while the engine runs");
    engine.stop(Stop { keep_turns: false, stay_down: false }).await.unwrap();
    drop(engine);
    assert_eq!(found_in(root.path(), &secrets), Vec::<String>::new(), "when it has ended");
}

/// How many calls the model makes at once.
const AT_ONCE: usize = 30;

async fn no_secret_that_a_model_saves_is_kept_in_clear(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let read = home.codex_home.root().join("hook.read");
    let program = home.codex_home.root().join("hook");
    write_program(&program, &format!("#!/bin/sh\ncat >> '{}'\n", read.display())).unwrap();
    // A review would ask the model more than the script has answers for.
    let hooks = format!(
        "[hooks]\ntool_call = {:?}\n[learning]\nmemory = \"off\"\nskills = \"off\"\n",
        program.to_str().unwrap()
    );
    // The user is not asked about each: what looks planted waits as a proposal, and that is kept too.
    home.configure(&hooks);
    home.open().await;
    let examples = examples();
    for part in examples.chunks(AT_ONCE) {
        let calls = part.iter().fold(Reply::new(), |reply, example| {
            let add = json!({ "op": "add", "scope": "notes", "text": example.text });
            reply.function("talaria_memory", json!({ "operations": [add] }))
        });
        home.model.push(calls);
    }
    for (number, part) in examples.chunks(AT_ONCE).enumerate() {
        let (name, body) = (format!("skill-{number}"), part.iter().map(|example| example.text.as_str()));
        let body = body.collect::<Vec<_>>().join("\n\n");
        let text = format!("---\nname: {name}\ndescription: d\n---\n{body}\n");
        let propose = json!({ "op": "propose", "name": name, "text": text });
        home.model.push(Reply::new().function("talaria_skill", propose));
    }
    home.model.push(Reply::say("saved"));
    let (started, report) = home.run("save them").await;
    assert_eq!(report.outcome, Outcome::Completed);
    let list = home.engine().memory(MemoryQuery::default()).await.unwrap();
    assert!(list.entries.len() * 10 > examples.len() * 7, "{} of {}", list.entries.len(), examples.len());
    let proposals = home.engine().skill_proposals(Default::default()).await.unwrap();
    assert!(!proposals.is_empty());
    let secrets = telling_secrets(&examples);
    let events = serde_json::to_string(&home.all(&started).await).unwrap();
    let shown: Vec<&String> = secrets.iter().filter(|secret| events.contains(secret.as_str())).collect();
    assert_eq!(shown, Vec::<&String>::new(), "in the events");
    let told = fs::read_to_string(&read).unwrap();
    let told: Vec<&String> = secrets.iter().filter(|secret| told.contains(secret.as_str())).collect();
    assert_eq!(told, Vec::<&String>::new(), "in what the hook read");
    let root = home.talaria().root().to_owned();
    assert_eq!(found_in(&root, &secrets), Vec::<String>::new(), "while the engine runs");
    home.stop(false).await;
    assert_eq!(found_in(&root, &secrets), Vec::<String>::new(), "when it has ended");
    home.open().await;
    home.close().await;
}

/// How many texts one review proposes, as entries and as skills: it proposes no more than three skills.
const A_REVIEW: usize = 3;

async fn no_secret_that_a_review_proposes_is_kept_in_clear(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.configure("[learning]\ncalls = 1\nturns = 1\n");
    home.open().await;
    let examples = examples();
    let texts = joined(&examples);
    let secrets = telling_secrets(&examples);
    let mut learned = 0;
    for (number, part) in texts.chunks(A_REVIEW).enumerate() {
        let entry = |text: &String| json!({ "op": "add", "scope": "notes", "text": text });
        let skill = |(at, text): (usize, &String)| {
            let name = format!("skill-{number}-{at}");
            let text = format!("---\nname: {name}\ndescription: {name}\n---\n{text}");
            let why = part[0].chars().take(200).collect::<String>();
            json!({ "op": "create", "name": name, "text": text, "why": why })
        };
        let answer = json!({
            "memory": part.iter().map(entry).collect::<Vec<_>>(),
            "skills": part.iter().enumerate().map(skill).collect::<Vec<_>>(),
        });
        home.model.play([
            Reply::new().command("echo one"),
            Reply::say("done"),
            Reply::say(answer.to_string()),
        ]);
        let (started, report) = home.run(&format!("work {number}")).await;
        assert_eq!(report.outcome, Outcome::Completed);
        let is_reviewed = |event: &Event| match event {
            Event::Reviewed(report) => Some(report.clone()),
            _ => None,
        };
        let review = home.events(&started, 0).await.until(is_reviewed).await;
        assert!(!review.not_done, "{review:?}");
        learned += review.changes.len() + usize::from(review.proposal.is_some());
        let events = serde_json::to_string(&home.all(&started).await).unwrap();
        let shown: Vec<&String> = secrets.iter().filter(|secret| events.contains(secret.as_str())).collect();
        assert_eq!(shown, Vec::<&String>::new(), "in the events");
    }
    let proposals = home.engine().skill_proposals(Default::default()).await.unwrap();
    assert!(
        learned > A_REVIEW && proposals.len() > A_REVIEW,
        "{learned} changes, {} skills",
        proposals.len()
    );
    let root = home.talaria().root().to_owned();
    assert_eq!(found_in(&root, &secrets), Vec::<String>::new(), "while the engine runs");
    home.stop(false).await;
    assert_eq!(found_in(&root, &secrets), Vec::<String>::new(), "when it has ended");
    home.open().await;
    home.close().await;
}
