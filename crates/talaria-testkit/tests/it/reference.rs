//! docs/reference.md has one line for each behaviour and fault of the reference, and each names tests that exist.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The numbers of the rows that each topic has.
const ROWS: [(&str, RangeInclusive<u32>); 22] = [
    ("RPC", 1..=16),
    ("HSK", 1..=14),
    ("SES", 1..=12),
    ("TRN", 1..=21),
    ("WDG", 1..=10),
    ("AUT", 1..=6),
    ("ERR", 1..=7),
    ("INT", 1..=7),
    ("APR", 1..=22),
    ("PFC", 1..=6),
    ("PRJ", 1..=16),
    ("RED", 1..=5),
    ("BST", 1..=15),
    ("BRC", 1..=9),
    ("BTK", 1..=26),
    ("BNT", 1..=9),
    ("BTL", 1..=9),
    ("SWC", 1..=11),
    ("MIG", 1..=20),
    ("ENV", 1..=6),
    ("BUG", 1..=32),
    ("BUG", 55..=93),
];

/// What a row may say about how Talaria stands to the reference.
const WORDS: [&str; 4] = ["same", "repaired", "other way", "not wanted"];

struct Row {
    id: String,
    what: String,
    how: String,
    tests: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The lines of the tables whose first cell is an id.
fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("docs/reference.md")).unwrap();
    let is_id = |cell: &str| cell.split_once('-').is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let lines = text.lines().filter(|line| line.starts_with("| ")).map(cells);
    lines
        .filter(|cells| is_id(&cells[0]))
        .map(|cells| match cells.as_slice() {
            [id, what, how, tests] => Row {
                id: id.clone(),
                what: what.clone(),
                how: how.clone(),
                tests: tests.split(", ").map(str::to_owned).collect(),
            },
            other => panic!("a row has four cells: {other:?}"),
        })
        .collect()
}

/// The file that a test is in: `core turn::tests::scope::name` is in `crates/talaria-core/src/turn/tests/scope.rs`, or
/// in a module inside `turn/tests.rs` or `turn.rs`. Gives the name of its function too.
fn place(test: &str) -> Option<(PathBuf, &str)> {
    let (package, path) = test.split_once(' ')?;
    let package = if package == "talaria" { package.to_owned() } else { format!("talaria-{package}") };
    let folder = root().join("crates").join(package);
    let (folder, path) = match path.strip_prefix("it ") {
        Some(path) => (folder.join("tests/it"), path),
        None => (folder.join("src"), path),
    };
    let mut modules: Vec<&str> = path.split("::").collect();
    let function = modules.pop()?;
    while !modules.is_empty() {
        let file = folder.join(modules.join("/")).with_extension("rs");
        if file.is_file() {
            return Some((file, function));
        }
        // Only the tests of a file are a module inside it.
        if modules.pop() != Some("tests") {
            return None;
        }
    }
    None
}

/// The functions that `both_versions!` and `both_transports!` make tests of.
fn made_by_macro(source: &str) -> impl Iterator<Item = &str> {
    let lists = source.split("\nboth_").skip(1).filter_map(|rest| rest.split_once("!(")?.1.split_once(')'));
    lists.flat_map(|(names, _)| names.split(',').map(str::trim))
}

/// Is this function a test: by its attribute, or because a macro that makes tests names it?
fn is_test(source: &str, function: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let begins = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(function))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let Some(at) = lines.iter().position(|line| begins(line)) else { return false };
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let has_attribute =
        above.into_iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    has_attribute || made_by_macro(source).any(|name| name == function)
}

/// Is this function a promise of the store, which `contract_tests!` makes a test of? Its list is by the names of the files.
fn is_promise(file: &Path, function: &str) -> bool {
    if !file.parent().is_some_and(|folder| folder.ends_with("talaria-store/src/contract")) {
        return false;
    }
    let list = std::fs::read_to_string(file.with_file_name("mod.rs")).unwrap();
    let group = file.file_stem().unwrap().display();
    let promises = list.split_once(&format!(" {group}: [")).and_then(|(_, rest)| rest.split_once(']'));
    promises.is_some_and(|(names, _)| names.split(',').any(|name| name.trim() == function))
}

#[test]
fn every_row_of_the_reference_is_in_the_table_once_and_says_how_it_stands() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for row in rows() {
        assert!(
            !row.what.is_empty() && WORDS.contains(&row.how.as_str()),
            "{}: {} ({})",
            row.id,
            row.what,
            row.how
        );
        *seen.entry(row.id).or_default() += 1;
    }
    let wanted =
        ROWS.into_iter().flat_map(|(topic, rows)| rows.map(move |number| format!("{topic}-{number:02}")));
    let wanted: BTreeMap<String, u32> = wanted.map(|id| (id, 1)).collect();
    let wrong: Vec<_> = wanted
        .keys()
        .chain(seen.keys())
        .filter(|id| wanted.get(*id) != seen.get(*id))
        .map(|id| format!("{id}: {} times", seen.get(id).copied().unwrap_or(0)))
        .collect();
    assert_eq!(wrong, [""; 0], "rows that are missing, doubled or of no topic");
}

#[test]
fn every_test_that_the_table_names_exists() {
    let mut wrong = Vec::new();
    for row in rows() {
        for test in &row.tests {
            let is_there = place(test).is_some_and(|(file, function)| {
                is_promise(&file, function) || is_test(&std::fs::read_to_string(file).unwrap(), function)
            });
            if !is_there {
                wrong.push(format!("{}: {test}", row.id));
            }
        }
    }
    assert!(wrong.is_empty(), "no such test:\n{}", wrong.join("\n"));
}
