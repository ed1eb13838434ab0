//! No former text is lost, whatever a person, a model's tool, a broken file and the next engine do in which order.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use talaria_core::api::{MemoryHistoryQuery, MemoryQuery, MemoryWish, OutsideCall, Stop};
use talaria_engine::engine::{Engine, OpenOptions};
use talaria_home::home::TalariaHome;
use talaria_store::Store;

use crate::home::options;

/// Something that happens to the memory.
#[derive(Clone, Debug)]
enum Step {
    Add(String),
    /// A model's call of the tool.
    Tool(String),
    /// A model's call of the tool while a person saves the file.
    ToolAndHand(String, String),
    Replace(usize, String),
    Remove(usize),
    UndoLast,
    /// A person appends to the file, with their own line ends.
    HandAppend(String),
    /// A person rewrites the file.
    HandRewrite(String),
    /// The file becomes bytes that are no text.
    Garble,
    /// A directory is where the file was: it can be neither read nor written.
    Block,
    Unblock,
    /// The file is deleted.
    Lose,
    /// Another engine takes over.
    Replaced,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let text = || "[a-z]{3,6}( [a-z]{2,4}){0,2}";
    prop_oneof![
        3 => text().prop_map(Step::Add),
        3 => text().prop_map(Step::Tool),
        3 => (text(), text()).prop_map(|(text, typed)| Step::ToolAndHand(text, typed)),
        3 => (0..6_usize, text()).prop_map(|(at, text)| Step::Replace(at, text)),
        2 => (0..6_usize).prop_map(Step::Remove),
        2 => Just(Step::UndoLast),
        3 => text().prop_map(Step::HandAppend),
        2 => text().prop_map(Step::HandRewrite),
        1 => Just(Step::Garble),
        1 => Just(Step::Block),
        2 => Just(Step::Unblock),
        1 => Just(Step::Lose),
        2 => Just(Step::Replaced),
        2 => Just(Step::Look),
    ]
}

struct Stage {
    home: TalariaHome,
    engine: Option<Engine>,
    file: PathBuf,
    /// Path of the file while a directory replaces it.
    blocked: Option<PathBuf>,
    /// Every text that ever was an entry or was typed.
    texts: BTreeSet<String>,
    garbled: usize,
}

impl Stage {
    async fn open(&mut self) {
        // The previous one may take a moment to release the lock.
        let opened = async || Engine::open(self.home.clone(), options(None)).await.ok();
        self.engine = Some(talaria_testkit::eventually("an engine is open", opened).await);
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    async fn close(&mut self) {
        let engine = self.engine.take().unwrap();
        engine.stop(Stop { keep_turns: false, stay_down: false }).await.unwrap();
        drop(engine);
    }

    async fn entries(&self) -> Vec<(String, String)> {
        let list = self.engine().memory(MemoryQuery::default()).await.unwrap();
        list.entries.into_iter().map(|entry| (entry.id, entry.text)).collect()
    }

    async fn call_tool(&mut self, text: String) {
        let add = serde_json::json!({ "op": "add", "scope": "notes", "text": text });
        let arguments = serde_json::json!({ "operations": [add] });
        let call = OutsideCall { tool: "talaria_memory".to_owned(), arguments, thread: None };
        let result = self.engine().call_tool(call).await.unwrap();
        assert!(!result.is_error, "{}", result.text);
        self.texts.insert(text);
    }

    /// Writes as an editor does.
    fn type_into_file(&mut self, change: impl FnOnce(&str) -> String, typed: &str) {
        if self.blocked.is_some() {
            return;
        }
        fs::create_dir_all(self.file.parent().unwrap()).unwrap();
        if let Ok(text) = fs::read_to_string(&self.file).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(String::new()),
            _ => Err(error),
        }) {
            fs::write(&self.file, change(&text)).unwrap();
            self.texts.insert(typed.to_owned());
        }
    }

    async fn play(&mut self, step: Step) {
        match step {
            Step::Add(text) => {
                let cwd = self.home.root().display().to_string();
                self.texts.insert(text.clone());
                self.engine()
                    .change_memory(MemoryWish::Add { scope: "notes".to_owned(), text, cwd })
                    .await
                    .unwrap();
            }
            Step::Tool(text) => self.call_tool(text).await,
            Step::ToolAndHand(text, typed) => {
                // Text that was never read back is overwritten by the person, not by us.
                self.entries().await;
                let file = self.file.clone();
                let is_open = self.blocked.is_none();
                let saved = typed.clone();
                let hand = tokio::task::spawn_blocking(move || {
                    let text = fs::read_to_string(&file).unwrap_or_default();
                    is_open && fs::write(&file, format!("{text}§\n{saved}\n")).is_ok()
                });
                let (is_saved, ()) = tokio::join!(hand, self.call_tool(text));
                if is_saved.unwrap() {
                    self.texts.insert(typed);
                }
                // The next save of the person is of what they see now.
                self.entries().await;
            }
            Step::Replace(at, text) => {
                if let Some((id, _)) = self.entries().await.get(at).cloned() {
                    self.texts.insert(text.clone());
                    // A hand edit may have removed it between the list and this.
                    let _ = self.engine().change_memory(MemoryWish::Replace { entry: id, text }).await;
                }
            }
            Step::Remove(at) => {
                if let Some((id, _)) = self.entries().await.get(at).cloned() {
                    let _ = self.engine().change_memory(MemoryWish::Remove { entry: id }).await;
                }
            }
            Step::UndoLast => {
                let history = self.engine().memory_history(MemoryHistoryQuery::default()).await.unwrap();
                if let Some(last) = history.first() {
                    let _ = self.engine().change_memory(MemoryWish::Undo { revision: last.id }).await;
                }
            }
            Step::HandAppend(typed) => {
                self.type_into_file(|text| format!("{text}\r\n§ \r\n\r\n  {typed}\r\n"), &typed);
            }
            Step::HandRewrite(typed) => {
                // Text that was never read back is overwritten by the person, not by us.
                self.entries().await;
                self.type_into_file(|_| format!("{typed}\n§\n{typed}\n"), &typed);
            }
            Step::Garble if self.blocked.is_none() && self.file.exists() => {
                self.entries().await;
                self.garbled += 1;
                fs::write(&self.file, [b"caf\xe9 ".as_slice(), &[0xff; 3]].concat()).unwrap();
            }
            Step::Block if self.blocked.is_none() => {
                fs::create_dir_all(self.file.parent().unwrap()).unwrap();
                let aside = self.file.with_file_name("aside");
                let _ = fs::rename(&self.file, &aside);
                fs::create_dir(&self.file).unwrap();
                self.blocked = Some(aside);
            }
            Step::Unblock => {
                if let Some(aside) = self.blocked.take() {
                    fs::remove_dir(&self.file).unwrap();
                    let _ = fs::rename(aside, &self.file);
                }
            }
            Step::Lose if self.blocked.is_none() => {
                self.entries().await;
                let _ = fs::remove_file(&self.file);
            }
            Step::Replaced => {
                self.close().await;
                self.open().await;
            }
            Step::Look => {
                self.entries().await;
            }
            Step::Garble | Step::Block | Step::Lose => {}
        }
    }

    /// Every text can be found in the history or in a text of the file that was stored, and the file says what the rows say.
    async fn check(&mut self) {
        self.play(Step::Unblock).await;
        let entries = self.entries().await;
        let history = MemoryHistoryQuery { limit: 1000, ..MemoryHistoryQuery::default() };
        let history = self.engine().memory_history(history).await.unwrap();
        let mirrored = fs::read_to_string(&self.file).unwrap_or_default();
        let texts: Vec<&str> = entries.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(talaria_core::memory::file::parse(&mirrored), texts, "{mirrored}");
        self.close().await;
        let store = Store::open(&self.home.store_file(), 0, &OpenOptions::default()).await.unwrap();
        let typed = store.memory_file_texts("notes").await.unwrap();
        store.close().await;
        for text in &self.texts {
            let is_in_history = history
                .iter()
                .any(|row| [&row.before, &row.after].into_iter().flatten().any(|one| one == text));
            assert!(is_in_history || typed.iter().any(|file| file.contains(text)), "{text} is lost");
        }
        assert_eq!(kept_aside(self.file.parent().unwrap()), self.garbled, "bytes that are no text are kept");
    }
}

fn kept_aside(folder: &Path) -> usize {
    let Ok(files) = fs::read_dir(folder) else { return 0 };
    let is_kept = |name: &str| name.contains(".kept-");
    files.filter(|file| is_kept(&file.as_ref().unwrap().file_name().to_string_lossy())).count()
}

#[test]
fn no_former_text_is_lost() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // Each case opens engines: an ordinary run has fewer of them than the default, and `PROPTEST_CASES` decides where it is set.
    let default = Config::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(24, |_| default.cases);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..default });
    let steps = prop::collection::vec(step(), 1..30);
    let played = runner.run(&steps, |steps| {
        runtime.block_on(async {
            let place = tempfile::tempdir_in(talaria_testkit::build_dir::homes()).unwrap();
            let home = TalariaHome::resolve(Some(place.path().join("talaria").into()), None).unwrap();
            home.ensure().unwrap();
            let file = home.memories_dir().join("MEMORY.md");
            let mut stage =
                Stage { home, engine: None, file, blocked: None, texts: BTreeSet::new(), garbled: 0 };
            stage.open().await;
            for step in steps {
                stage.play(step).await;
            }
            stage.check().await;
        });
        Ok(())
    });
    played.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_is_not_an_empty_one_and_the_person_reads_it_once() {
    let place = tempfile::tempdir_in(talaria_testkit::build_dir::homes()).unwrap();
    let home = TalariaHome::resolve(Some(place.path().join("talaria").into()), None).unwrap();
    home.ensure().unwrap();
    let engine = Engine::open(home.clone(), options(None)).await.unwrap();
    let add =
        |text: &str| MemoryWish::Add { scope: "user".to_owned(), text: text.to_owned(), cwd: "/".to_owned() };
    engine.change_memory(add("first")).await.unwrap();
    let file = home.memories_dir().join("USER.md");
    fs::rename(&file, home.memories_dir().join("aside")).unwrap();
    fs::create_dir(&file).unwrap();
    let done = engine.change_memory(add("second")).await.unwrap();
    assert_eq!(done.notes.len(), 1, "{done:?}");
    assert!(done.notes[0].contains("the entries are kept: cannot read"), "{done:?}");
    let list = engine.memory(MemoryQuery::default()).await.unwrap();
    assert_eq!((list.entries.len(), list.notes), (2, Vec::new()), "it was said");
    fs::remove_dir(&file).unwrap();
    engine.memory(MemoryQuery::default()).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "first\n§\nsecond\n");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    engine.stop(Stop { keep_turns: false, stay_down: false }).await.unwrap();
}
