//! The directions of dependencies that ARCHITECTURE.md draws are those that hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

type Edges = BTreeMap<String, BTreeSet<String>>;

/// What every crate may use in its tests.
const FOR_TESTS: [&str; 2] = ["talaria-testkit", "talaria-scripted"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The table in the section about crates: name in the first column, what it may use in the third.
fn drawn() -> Edges {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with("Crates\n")).unwrap();
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows = section.lines().filter(|line| line.starts_with("| `talaria"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        (names(cells[0]).remove(0), names(cells[2]).into_iter().collect())
    })
    .collect()
}

fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap()
}

#[test]
fn every_dependency_between_our_crates_is_drawn_in_the_architecture() {
    let drawn = drawn();
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(name).collect();
    assert_eq!(ours, drawn.keys().map(String::as_str).collect(), "the crates and the table");
    for package in &packages {
        let allowed = &drawn[name(package)];
        for dependency in package["dependencies"].as_array().unwrap() {
            let (target, kind) = (name(dependency), dependency["kind"].as_str());
            let is_for_tests = kind == Some("dev") && FOR_TESTS.contains(&target);
            // A crate that is its own dependency switches a feature on for its tests.
            let is_itself = kind == Some("dev") && target == name(package);
            if ours.contains(target) && !is_for_tests && !is_itself {
                assert!(allowed.contains(target), "{} must not use {target} ({kind:?})", name(package));
            }
        }
    }
}

#[test]
fn the_pure_centre_uses_nothing_that_acts() {
    let packages = packages();
    let core = packages.iter().find(|package| name(package) == "talaria-core").unwrap();
    let dependencies = core["dependencies"].as_array().unwrap();
    let ordinary = dependencies.iter().filter(|dependency| dependency["kind"].is_null()).map(name);
    let allowed = BTreeSet::from([
        "base64",
        "jiff",
        "memchr",
        "schemars",
        "serde",
        "serde-saphyr",
        "serde_json",
        "sha2",
        "thiserror",
        "toml",
        "toml_edit",
        "url",
    ]);
    for dependency in ordinary {
        assert!(allowed.contains(dependency), "talaria-core must stay pure, but uses {dependency}");
    }
}
