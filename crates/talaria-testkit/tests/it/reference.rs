//! The pages of `docs/reference` that are made from source files: events, environment variables and routes.
//!
//! After a wanted change: `UPDATE_EXPECT=1 cargo test -p talaria-testkit --test it reference`. The other pages are checked where
//! their data is: the command line and exit codes in `talaria`, the configuration in `talaria-core`.

mod events;
mod types;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The Rust files below a directory, sorted.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(sources(&entry)),
            false if entry.extension().is_some_and(|end| end == "rs") => found.push(entry),
            false => {}
        }
    }
    found.sort();
    found
}

#[test]
fn the_page_of_events_lists_every_event() {
    expect_file!["../../../../docs/reference/events.md"].assert_eq(&events::page());
}

#[test]
fn the_page_of_the_api_lists_every_route() {
    let document: Value =
        serde_json::from_str(&fs::read_to_string(root().join("docs/openapi.json")).unwrap()).unwrap();
    let mut page = String::from(
        "# API\n\n\
         The engine serves HTTP on a Unix socket below `~/.talaria/run`. Only processes of your user can connect, and the engine\n\
         decides from the connecting process what it may do ([who counts as you](../guide/mcp-server.md#who-counts-as-you)).\n\
         Every command of Talaria is a client of this API. [Over TCP](../guide/api.md) a token with the named scope is needed.\n\n\
         [openapi.json](../openapi.json) is the whole description: parameters, bodies, responses. This page is made from it.\n\n\
         | route | scope of a token | what it does |\n|---|---|---|\n",
    );
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, route) in methods.as_object().unwrap() {
            let summary = route["summary"].as_str().unwrap();
            let scope = match &route["security"][1]["token"] {
                Value::Null => "not over TCP".to_owned(),
                scopes => scopes[0].as_str().map_or("any".to_owned(), |scope| format!("`{scope}`")),
            };
            writeln!(page, "| `{} {path}` | {scope} | {summary} |", method.to_uppercase()).unwrap();
        }
    }
    expect_file!["../../../../docs/reference/api.md"].assert_eq(&page);
}

/// Variables that only builds for tests read, or that are examples in tests.
const FOR_TESTS: [&str; 8] = [
    "TALARIA_CLOCK",
    "TALARIA_FAULTS",
    "TALARIA_FULL_DISK",
    "TALARIA_MAX_PAGES",
    "TALARIA_PANIC",
    "TALARIA_PANIC_WORDS",
    "TALARIA_SOAK_SECONDS",
    "TALARIA_TOKEN",
];

/// The source of the program, without tests.
fn program_sources() -> Vec<String> {
    let packages = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let is_shipped = |package: &PathBuf| {
        !["talaria-testkit", "talaria-scripted"].iter().any(|tool| package.ends_with(tool))
    };
    let files = packages.filter(is_shipped).flat_map(|package| sources(&package.join("src")));
    let files = files.filter(|file| !file.to_str().unwrap().contains("/tests"));
    let without_tests =
        |source: String| source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    files.map(|file| without_tests(fs::read_to_string(file).unwrap())).collect()
}

fn is_name(text: &str) -> bool {
    text.len() > 1
        && text.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        && !text.ends_with('_')
}

/// The variables that a source file names: those of Talaria by their prefix, others where they are read.
fn named_variables(source: &str) -> impl Iterator<Item = &str> {
    let reads = ["env::var(", "env::var_os(", " set(", "!set(", "variable(", "sandbox("];
    let pieces: Vec<&str> = source.split('"').collect();
    let named = pieces.windows(2).filter(move |pair| {
        is_name(pair[1])
            && (pair[1].starts_with("TALARIA_") || reads.iter().any(|read| pair[0].ends_with(read)))
    });
    named.map(|pair| pair[1]).collect::<Vec<_>>().into_iter()
}

#[test]
fn the_page_of_environment_variables_lists_those_that_are_read() {
    let page = fs::read_to_string(root().join("docs/reference/environment.md")).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let listed: BTreeSet<&str> =
        cells.flat_map(|cell| cell.split('`').step_by(2)).filter(|name| is_name(name)).collect();
    let all = program_sources();
    let named: BTreeSet<&str> = all.iter().flat_map(|source| named_variables(source)).collect();
    let missing: Vec<_> =
        named.iter().filter(|name| !listed.contains(*name) && !FOR_TESTS.contains(name)).collect();
    assert!(missing.is_empty(), "not in docs/reference/environment.md: {missing:?}");
    let is_in_source = |name: &&&str| all.iter().any(|source| source.contains(&format!("\"{name}\"")));
    let stale: Vec<_> = listed.iter().filter(|name| !is_in_source(name)).collect();
    assert!(stale.is_empty(), "in docs/reference/environment.md, and in no source file: {stale:?}");
}

#[test]
fn a_variable_that_is_read_is_seen() {
    let source =
        "std::env::var(\"EDITOR\"); let x = set(\"VISUAL\"); const A: &str = \"TALARIA_HOME\"; say(\"HTTP\")";
    assert_eq!(named_variables(source).collect::<Vec<_>>(), ["EDITOR", "VISUAL", "TALARIA_HOME"]);
}
