//! Every message of the product, in one place where its wording is reviewed: `crates/*/messages.txt`, grouped by file in
//! source order. A changed message fails here until `UPDATE_EXPECT=1 cargo test -p talaria-testkit --test it messages`
//! rewrites the list, and then it is in the diff. See docs/dev/STYLE.md for the wording.
//!
//! A message is a string literal with two consecutive words, in `#[error("…")]` or in code, also inside of macros such
//! as `format!`. Not listed: test code, documentation and clap attributes (docs/reference/command-line.md has the
//! help), literals in patterns (input that is recognised), SQL, and the files of `NOT_MESSAGES`. talaria-testkit is not
//! listed: only developers read its texts.
//!
//! `BANNED` has phrases of the dialect that an earlier version was written in. They fail in every message, in the help and in
//! the document of the API.
//!
//! Who may write to standard output and standard error is checked as well (`messages/printing.rs`).

mod collect;
mod printing;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use collect::{FileTexts, texts_of};
use expect_test::expect_file;
use regex::Regex;
use serde_json::Value;

/// Phrases that are not natural English here, as regular expressions of lower-case text, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    (r"\bgo(es|ing)? on\b", "continue"),
    (r"\bwent on\b", "continued"),
    (r"\bwhoever\b", "name the role"),
    (r"\bsomebody\b", "name the role"),
    (r"\bnobody can\b", "cannot"),
    (r"\b(is|are|was|were) told\b", "is reported, is notified, is shown"),
    (r"\btold (the|it|that|to)\b", "reported, sent"),
    (r"\bso many\b", "this many"),
    (r"\bbehind (it|them|a|an|this|that|the (name|word|cursor|command|line))\b", "after"),
    (r"\btak(e|es|en|ing) up\b", "resume"),
    (r"\btook up\b", "resumed"),
    (r"\bcom(e|es) back with\b", "return with"),
    (r"\bbrings? (it|them|the work) back\b", "restores it"),
    (r"\bas (you|the deadline|talaria stop) wanted\b", "name the cause"),
    (r"\bfor good\b", "always, permanently"),
    (r"\(usual\)", "(default)"),
    (r"\bstands?\b", "is"),
    (r"(^|[:;,.(] )what (is|was|are|were|still|you) [^?]*$", "name the thing"),
    (r"\bnothing was said or done\b", "no match for"),
    (r"\bunder way\b", "running"),
    (r"\bnone runs\b", "idle, none running"),
    (r"\bsettings hold\b", "settings apply"),
    (r"\bgit tidies up\b", "git gc"),
    (r"\bput(s|ting)? aside\b", "suspend, set aside"),
    (r"\bof its own stays\b", "keep their own"),
    (r"\bas they come\b", "unchanged"),
    (r"\btak(e|es|en|ing) .{0,30}\baway\b", "remove, unset"),
    (r"\bwhy not, in a line\b", "why"),
    (r"\bno, and stop\b", "no, stop"),
    (r"\bin a line for\b", "name what to type"),
];

/// Files whose literals are not messages, and why.
const NOT_MESSAGES: &[(&str, &str)] = &[
    ("talaria-guard/src/redact/foreign.rs", "words for a password in other languages"),
    ("talaria-scripted/src/http.rs", "HTTP, as programs read it"),
];

/// Crates whose literals may be SQL.
const WITH_SQL: [&str; 2] = ["talaria-import", "talaria-store"];

/// Crates whose messages are not reviewed: only developers see them.
const FOR_DEVELOPERS: [&str; 1] = ["talaria-testkit"];

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The crates of the product, by name.
fn packages() -> BTreeMap<String, PathBuf> {
    fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .filter(|(name, _)| !FOR_DEVELOPERS.contains(&name.as_str()))
        .collect()
}

/// The literals of every crate that could be messages; read once, because parsing takes seconds.
static CANDIDATES: LazyLock<BTreeMap<String, Vec<FileTexts>>> = LazyLock::new(|| {
    packages().into_iter().map(|(name, package)| (name.clone(), candidates(&name, &package))).collect()
});

fn candidates(name: &str, package: &Path) -> Vec<FileTexts> {
    let mut files = texts_of(package);
    files.retain(|found| !NOT_MESSAGES.iter().any(|(file, _)| *file == format!("{name}/src/{}", found.file)));
    if WITH_SQL.contains(&name) {
        files.iter_mut().for_each(|found| found.texts.retain(|text| !is_sql(text)));
    }
    files
}

/// Two words of letters, separated by a space.
fn is_message(text: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_matches(|char: char| ",;:.!?()\"'`…".contains(char));
        !word.is_empty() && word.chars().all(|char| char.is_alphabetic() || "'’-".contains(char))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
}

/// A statement, or a part of one. The store and the importers have them; elsewhere these words begin sentences.
fn is_sql(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let begins =
        ["select", "insert", "update", "delete", "with", "create", "pragma", "begin", "alter", "drop"];
    let continues =
        [" from ", " into ", " set", " values", " table ", " index ", " as ", "immediate", ";", "=", "("];
    begins.contains(&first) && continues.iter().any(|word| text.contains(word))
}

/// The list of a crate's messages, as its `messages.txt` has it.
fn list(files: &[FileTexts]) -> String {
    let mut list = String::new();
    for found in files {
        let messages: Vec<&String> = found.texts.iter().filter(|text| is_message(text)).collect();
        if !messages.is_empty() {
            let gap = if list.is_empty() { "" } else { "\n" };
            writeln!(list, "{gap}# {}", found.file).unwrap();
        }
        for text in messages {
            let text = text.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'");
            writeln!(list, "{text}").unwrap();
        }
    }
    list
}

/// Each banned phrase in the text, with the phrase that replaces it.
fn banned(text: &str, phrases: &[(Regex, &str)]) -> Vec<String> {
    let lower = text.to_lowercase();
    let found = phrases
        .iter()
        .filter_map(|(phrase, instead)| Some((phrase.find(&lower)?.as_str().to_owned(), instead)));
    found.map(|(phrase, instead)| format!("{text:?} has {phrase:?}; write: {instead}")).collect()
}

fn phrases() -> Vec<(Regex, &'static str)> {
    BANNED.iter().map(|(phrase, instead)| (Regex::new(phrase).unwrap(), *instead)).collect()
}

#[test]
fn every_message_is_listed_for_review() {
    for (name, files) in &*CANDIDATES {
        expect_file![crates().join(name).join("messages.txt")].assert_eq(&list(files));
    }
}

#[test]
fn no_message_has_a_banned_phrase() {
    let phrases = phrases();
    let mut wrong = Vec::new();
    for (name, files) in &*CANDIDATES {
        for FileTexts { file, texts } in files {
            let here = texts.iter().flat_map(|text| banned(text, &phrases));
            wrong.extend(here.map(|line| format!("{name}/src/{file}: {line}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_help_text_has_a_banned_phrase() {
    let page = fs::read_to_string(crates().parent().unwrap().join("docs/reference/command-line.md")).unwrap();
    let phrases = phrases();
    let wrong: Vec<String> = page.lines().flat_map(|line| banned(line, &phrases)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The texts for people in a JSON document, wherever they are in it.
fn descriptions(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(text) if ["description", "summary", "title"].contains(&name.as_str()) => {
                    vec![text.as_str()]
                }
                _ => descriptions(value),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(descriptions).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn no_description_of_the_api_has_a_banned_phrase() {
    let text = fs::read_to_string(crates().parent().unwrap().join("docs/openapi.json")).unwrap();
    let document = serde_json::from_str(&text).unwrap();
    let texts = descriptions(&document);
    assert!(texts.len() > 500, "{} descriptions", texts.len());
    let phrases = phrases();
    let wrong: Vec<String> = texts.into_iter().flat_map(|text| banned(text, &phrases)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_are_told_from_names_and_patterns() {
    assert!(
        ["cannot read it", "no, continue", "turn idle; try again", "{name}: file not found"]
            .iter()
            .all(|text| is_message(text))
    );
    assert!(!["waiting", "x-talaria-principal", "{} {}", "a/b c=d", ""].iter().any(|text| is_message(text)));
    let phrases = phrases();
    assert_eq!(banned("What is typed here is seen", &phrases).len(), 1);
    assert_eq!(banned("The turn continues; return with X", &phrases), Vec::<String>::new());
}
