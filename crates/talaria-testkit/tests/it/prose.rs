//! Comments and documents are written in plain English: the words of `DIALECT`, in which an earlier version was written, fail
//! here. docs/dev/STYLE.md has the rules and examples. A pure scan of text: comments of all Rust files below `crates`, and all
//! Markdown pages. Names of code (`…`, paths with `::`) and code blocks do not count.
//!
//! Messages and help have their own list (`messages`), because a user reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Words that hide what happens, as regular expressions of lower-case text, and what to write instead.
const DIALECT: &[(&str, &str)] = &[
    (r"\bwho(m)?ever\b", "name the role: the caller, the client, the user"),
    (r"\b(some|no|any|every)body\b", "name the role, or: no one, each"),
    (r"\bgives ([^u]|u[^p])", "returns, produces, grants"),
    (r"\bgiv(e|es|en|ing) back\b", "returns, restores, releases"),
    (r"\b(tells|told)\b", "reports, notifies, returns, sends, distinguishes"),
    (r"\bt(ake|akes|aken|aking|ook) up\b", "resumes"),
    (r"\b(go|goes|going|went) on\b", "continues"),
    (r"\b(stands|stood)\b", "is"),
    (r"\bbehind (it|them|the|its|each)\b", "after"),
    (r"\bputs\b", "sets, inserts, writes, adds"),
    (r"\b(hears?|heard)\b", "receives"),
    (r"\bso many\b", "this many"),
    (r"\bunder way\b", "in progress, running"),
    (r"\bfor ever\b", "indefinitely, permanently"),
    (r"\bfor good\b", "permanently"),
    (r"\banew\b", "again"),
    (r"\blet(s|ting)? go\b", "releases"),
    (r"\blooks? on\b", "watches; passive client"),
    (r"\bputs? aside\b", "suspends"),
    (r"\btidies up\b", "git's garbage collection"),
    (r"\b(is|are|was|were) not there\b", "does not exist, is missing"),
    (r"(^|[.!?] )what (is|was|are|were|came|comes|became|becomes) [^?]*$", "name the thing"),
];

/// Words of the dialect that no function is named with; a test is named after its promise.
const NAMES: &[(&str, &str)] = &[("whoever", "name the role")];

/// Files in which these words are quoted.
const QUOTES: &[(&str, &str)] = &[
    ("docs/dev/STYLE.md", "its examples"),
    ("crates/talaria-testkit/tests/it/messages.rs", "the phrases that are banned in messages"),
    ("crates/talaria-testkit/tests/it/prose.rs", "this list"),
];

static PHRASES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    DIALECT.iter().map(|(phrase, instead)| (Regex::new(phrase).unwrap(), *instead)).collect()
});

static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`[^`]*`|\S*::\S*").unwrap());

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap()
}

/// All files below a directory with this extension, without build directories and captured frames.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["target", "fixtures"].contains(&name) {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}

/// A piece of prose, and the line at which it begins. A phrase that is wrapped is found, too.
type Paragraph = (usize, String);

/// What a line contributes to the prose of its file.
enum Line<'a> {
    /// Nothing: it ends a paragraph. Headings are questions.
    Other,
    /// A paragraph begins: an entry of a list, a row of a table.
    First(&'a str),
    /// A paragraph begins or continues.
    Next(&'a str),
}

fn paragraphs<'a>(lines: impl Iterator<Item = Line<'a>>) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut is_open = false;
    for (number, line) in lines.enumerate() {
        match (line, found.last_mut()) {
            (Line::Next(line), Some((_, text))) if is_open => *text = format!("{text} {line}"),
            (Line::First(line) | Line::Next(line), _) => {
                found.push((number + 1, line.to_owned()));
                is_open = true;
            }
            (Line::Other, _) => is_open = false,
        }
    }
    found
}

/// The comments of Rust code, on lines of their own or after a statement.
fn comments(code: &str) -> Vec<Paragraph> {
    paragraphs(code.lines().map(|line| {
        match (line.trim_start().strip_prefix("//"), line.split_once("; // ")) {
            (Some(comment), _) => match comment.trim_start_matches(['/', '!']).trim() {
                "" => Line::Other,
                text => Line::Next(text),
            },
            (None, Some((_, comment))) => Line::First(comment),
            (None, None) => Line::Other,
        }
    }))
}

/// The prose of a Markdown page.
fn prose(page: &str) -> Vec<Paragraph> {
    let mut is_code = false;
    paragraphs(page.lines().map(|line| {
        let text = line.trim();
        let is_fence = text.starts_with("```");
        is_code ^= is_fence;
        match text.chars().next() {
            _ if is_code || is_fence => Line::Other,
            None | Some('#') => Line::Other,
            Some('-' | '*' | '|') => Line::First(text.trim_start_matches(['-', '*', '|', ' '])),
            Some(_) => Line::Next(text),
        }
    }))
}

/// Each dialect word in a paragraph, with the words that replace it.
fn dialect(text: &str) -> Vec<String> {
    let lower = CODE.replace_all(&text.to_lowercase(), "").into_owned();
    let hits = PHRASES.iter().filter_map(|(phrase, instead)| Some((phrase.find(&lower)?.as_str(), instead)));
    hits.map(|(phrase, instead)| format!("{:?}; write: {instead}", phrase.trim())).collect()
}

fn assert_plain(files: Vec<PathBuf>, read: fn(&str) -> Vec<Paragraph>) {
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if QUOTES.iter().any(|(quoting, _)| *quoting == name) {
            continue;
        }
        for (line, text) in read(&fs::read_to_string(&file).unwrap()) {
            wrong.extend(dialect(&text).into_iter().map(|hit| format!("{name}:{line}: {hit}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comments_are_plain_english() {
    assert_plain(files(&root().join("crates"), "rs"), comments);
}

#[test]
fn documents_are_plain_english() {
    let mut pages = files(&root().join("docs"), "md");
    let of_root = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    pages.extend(of_root.filter(|path| path.extension().is_some_and(|found| found == "md")));
    assert_plain(pages, prose);
}

/// The words of `NAMES` in the name of a function that a line begins.
fn names(line: &str) -> impl Iterator<Item = &'static str> {
    let name = line.split_once("fn ").map_or("", |(_, rest)| rest.split(['(', '<']).next().unwrap_or(rest));
    NAMES
        .iter()
        .filter(move |(word, _)| name.split('_').any(|part| part == *word))
        .map(|(_, instead)| *instead)
}

#[test]
fn functions_have_plain_names() {
    let mut wrong = Vec::new();
    for file in files(&root().join("crates"), "rs") {
        let code = fs::read_to_string(&file).unwrap();
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.contains('"')) {
            let place = file.strip_prefix(root()).unwrap().display();
            wrong.extend(names(line).map(|instead| format!("{place}:{}: {line}; {instead}", number + 1)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(names("    async fn whoever_leaves_is_told() {").count(), 1);
    assert_eq!(names("    fn leaves(whoever: u8) {").count(), 0);
}

#[test]
fn the_files_with_quotations_exist() {
    assert!(QUOTES.iter().all(|(file, _)| root().join(file).is_file()));
}

#[test]
fn dialect_is_found_in_comments_and_pages_and_not_in_code() {
    let hits = |found: Vec<Paragraph>| -> Vec<(usize, usize)> {
        found.iter().map(|(line, text)| (*line, dialect(text).len())).collect()
    };
    let code = "/// Gives the rows that\n/// nobody asked for.\nlet told = 1; // goes on\nlet x;\n// Gives up after `told`.\n";
    assert_eq!(hits(comments(code)), [(1, 2), (3, 1), (5, 0)]);
    let page = "A turn goes\non.\n\n- What is kept is shown.\n- fine\n\n```sh\nwhoever\n```\n";
    assert_eq!(hits(prose(page)), [(1, 1), (4, 1), (5, 0)]);
}
