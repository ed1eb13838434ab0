//! The traceability tables list every row of the reference exactly once, with a status, and name tests that exist.
//!
//! `traceability_ids.txt` has the ids of those rows. It was generated once and is changed only when the specification is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The ids that must be listed, one per line.
const IDS: &str = include_str!("traceability_ids.txt");

/// Whether Talaria does what a row says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Status {
    Done,
    OtherWay,
    NotYet,
    NotApplicable,
}

impl Status {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "done" => Some(Self::Done),
            "other way" => Some(Self::OtherWay),
            "not yet" => Some(Self::NotYet),
            "not applicable" => Some(Self::NotApplicable),
            _ => None,
        }
    }

    /// Whether a row of this status describes an existing feature, which a test must prove.
    fn needs_test(self) -> bool {
        matches!(self, Self::Done | Self::OtherWay)
    }
}

struct Row {
    id: String,
    /// The evidence, or the reason.
    what: String,
    status: String,
    tests: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn pages() -> Vec<PathBuf> {
    let folder = root().join("docs/dev/traceability");
    let mut pages: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages
}

/// The lines of the tables of a page whose first cell is an id.
fn rows_of(page: &Path) -> Vec<Row> {
    std::fs::read_to_string(page).unwrap().lines().filter_map(parse_row).collect()
}

fn rows() -> Vec<Row> {
    pages().iter().flat_map(|page| rows_of(page)).collect()
}

fn parse_row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::trim).collect();
    let (topic, number) = cells.first()?.split_once('-')?;
    if !topic.bytes().all(|byte| byte.is_ascii_uppercase()) || number.parse::<u32>().is_err() {
        return None;
    }
    let [id, what, status, tests] = cells.as_slice() else { panic!("a row has four cells: {line}") };
    let tests = tests.split(", ").filter(|test| *test != "–").map(str::to_owned).collect();
    Some(Row { id: (*id).to_owned(), what: (*what).to_owned(), status: (*status).to_owned(), tests })
}

fn ids() -> Vec<&'static str> {
    IDS.lines().filter(|line| !line.starts_with('#')).collect()
}

/// The file that a test is in: `core turn::tests::scope::name` is in `crates/talaria-core/src/turn/tests/scope.rs`, or
/// in a module inside `turn/tests.rs` or `turn.rs`. Also returns the name of its function.
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

/// The functions that `both_versions!` and `both_transports!` turn into tests.
fn made_by_macro(source: &str) -> impl Iterator<Item = &str> {
    let lists = source.split("\nboth_").skip(1).filter_map(|rest| rest.split_once("!(")?.1.split_once(')'));
    lists.flat_map(|(names, _)| names.split([',', ';', ':']).map(str::trim))
}

/// Whether this function is a test, by its attribute or because a macro that generates tests names it.
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

/// Whether this function is a promise of the store, which `contract_tests!` turns into a test. The list is grouped by file name.
fn is_promise(file: &Path, function: &str) -> bool {
    if !file.parent().is_some_and(|folder| folder.ends_with("talaria-store/src/contract")) {
        return false;
    }
    let list = std::fs::read_to_string(file.with_file_name("mod.rs")).unwrap();
    let group = file.file_stem().unwrap().display();
    let promises = list.split_once(&format!(" {group}: [")).and_then(|(_, rest)| rest.split_once(']'));
    promises.is_some_and(|(names, _)| names.split(',').any(|name| name.trim() == function))
}

fn exists(test: &str) -> bool {
    place(test).is_some_and(|(file, function)| {
        is_promise(&file, function) || is_test(&std::fs::read_to_string(file).unwrap(), function)
    })
}

/// Problems of a row, except for its id.
fn problems(row: &Row) -> Vec<String> {
    let Some(status) = Status::parse(&row.status) else {
        return vec![format!("{}: no status: {:?}", row.id, row.status)];
    };
    let mut problems = Vec::new();
    if row.what.is_empty() {
        problems.push(format!("{}: neither what holds nor a reason", row.id));
    }
    if status.needs_test() && row.tests.is_empty() {
        problems.push(format!("{}: {} without a test", row.id, row.status));
    }
    let missing = row.tests.iter().filter(|test| !exists(test));
    problems.extend(missing.map(|test| format!("{}: no such test: {test}", row.id)));
    problems
}

#[test]
fn every_id_is_listed_exactly_once_and_no_other() {
    let ids = ids();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(known.len(), ids.len(), "an id is in the list twice");
    let mut listed: BTreeMap<String, u32> = BTreeMap::new();
    for row in rows() {
        *listed.entry(row.id).or_default() += 1;
    }
    let missing: Vec<&str> = ids.into_iter().filter(|id| !listed.contains_key(*id)).collect();
    let repeated: Vec<_> = listed.iter().filter(|(_, times)| **times > 1).collect();
    let unknown: Vec<_> = listed.keys().filter(|id| !known.contains(id.as_str())).collect();
    assert!(
        missing.is_empty() && repeated.is_empty() && unknown.is_empty(),
        "missing: {missing:?}\nrepeated: {repeated:?}\nunknown: {unknown:?}"
    );
}

#[test]
fn every_row_has_a_status_a_reason_and_tests_that_exist() {
    let rows = rows();
    let mut counts: BTreeMap<Option<Status>, usize> = BTreeMap::new();
    for row in &rows {
        *counts.entry(Status::parse(&row.status)).or_default() += 1;
    }
    println!("{counts:?}");
    let problems: Vec<String> = rows.iter().flat_map(problems).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_overview_names_every_page_with_its_topics() {
    let overview = std::fs::read_to_string(root().join("docs/dev/traceability.md")).unwrap();
    for page in pages() {
        let name = page.file_stem().unwrap().display();
        let start = format!("| [{name}](traceability/{name}.md) | ");
        let line = overview.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix(" |"));
        let named: BTreeSet<&str> =
            line.unwrap_or_else(|| panic!("no line for {name}")).split(", ").collect();
        let rows = rows_of(&page);
        let topics: BTreeSet<&str> = rows.iter().filter_map(|row| Some(row.id.split_once('-')?.0)).collect();
        assert_eq!(named, topics, "{name}");
    }
}

#[test]
fn a_row_that_claims_too_much_is_noticed() {
    let real = "testkit it traceability::a_row_that_claims_too_much_is_noticed";
    for (line, problem) in [
        (format!("| X-1 | it works | done | {real} |"), None),
        ("| X-1 | no such part | not yet | – |".to_owned(), None),
        ("| X-1 | it works | done | – |".to_owned(), Some("without a test")),
        ("| X-1 | by other means | other way | – |".to_owned(), Some("without a test")),
        (format!("| X-1 |  | not applicable | {real} |"), Some("nor a reason")),
        (format!("| X-1 | it works | mostly | {real} |"), Some("no status")),
        (format!("| X-1 | it works | done | {real}, core nowhere::nothing |"), Some("core nowhere::nothing")),
        (format!("| X-1 | it works | done | {real}_at_all |"), Some("no such test")),
    ] {
        let found = problems(&parse_row(&line).unwrap());
        let is_as_expected = match problem {
            None => found.is_empty(),
            Some(words) => found.len() == 1 && found[0].contains(words),
        };
        assert!(is_as_expected, "{line}: {found:?}");
    }
    assert!(
        parse_row("| id | what | status | tests |").is_none() && parse_row("|---|---|---|---|").is_none()
    );
}
