//! Every secret that the redactor detects, saved by a person and by an editor: none of it is stored in clear
//! text.

#[path = "../../../../talaria-guard/src/redact/tests/corpus.rs"]
mod corpus;

use std::fs;
use std::path::Path;

use talaria_core::api::{MemoryHistoryQuery, MemoryQuery, MemoryWish, Stop};
use talaria_engine::engine::Engine;
use talaria_home::home::TalariaHome;

use crate::home::options;
use corpus::{Example, examples};

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
