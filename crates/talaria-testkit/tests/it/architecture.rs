//! The dependencies of the crates are those that ARCHITECTURE.md draws.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

type Edges = BTreeMap<String, BTreeSet<String>>;

/// What every crate may use in its tests.
const FOR_TESTS: [&str; 2] = ["talaria-testkit", "talaria-scripted"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The table in the section about crates: name in the first column, permitted dependencies in the third.
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

/// The crates that decide, and what they may use: nothing that reads files, sockets, clocks or the environment.
const PURE: [(&str, &[&str]); 3] = [
    ("talaria-guard", &["memchr", "schemars", "serde", "serde_json", "thiserror"]),
    (
        "talaria-core",
        &[
            "hex",
            "jiff",
            "memchr",
            "schemars",
            "serde",
            "serde-saphyr",
            "serde_json",
            "sha2",
            "strsim",
            "talaria-guard",
            "thiserror",
            "toml_edit",
            "url",
        ],
    ),
    (
        "talaria-codex-proto",
        &[
            "base64",
            "hex",
            "memchr",
            "serde",
            "serde_json",
            "sha2",
            "talaria-core",
            "talaria-guard",
            "thiserror",
            "toml",
            "toml_edit",
        ],
    ),
];

#[test]
fn the_pure_crates_use_nothing_that_acts() {
    let packages = packages();
    for (pure, allowed) in PURE {
        let package = packages.iter().find(|package| name(package) == pure).unwrap();
        let dependencies = package["dependencies"].as_array().unwrap();
        for dependency in dependencies.iter().filter(|dependency| dependency["kind"].is_null()).map(name) {
            assert!(allowed.contains(&dependency), "{pure} must stay pure, but uses {dependency}");
        }
    }
}

/// The modules of a crate that name each other: the first folder or file below `src`, without tests.
fn module_edges(package: &str) -> Edges {
    let mut edges = folder_edges(&root().join("crates").join(package).join("src"), "crate::");
    edges.remove("lib");
    edges.remove("main");
    edges
}

/// The modules of the module `path` that name each other: the first folder or file below `folder`, without tests.
fn folder_edges(folder: &Path, path: &str) -> Edges {
    let mut edges = Edges::new();
    for file in sources(folder) {
        let inside = file.strip_prefix(folder).unwrap().to_str().unwrap();
        if inside.contains("tests") {
            continue;
        }
        let inside = inside.strip_suffix(".rs").unwrap();
        let module = inside.split('/').next().unwrap().to_owned();
        let is_module = |name: &str| {
            name != module && (folder.join(name).is_dir() || folder.join(name).with_extension("rs").is_file())
        };
        let roots = if inside == module { &[path, "super::"][..] } else { &[path] };
        let named = named_modules(&std::fs::read_to_string(&file).unwrap(), roots);
        edges.entry(module.clone()).or_default().extend(named.into_iter().filter(|name| is_module(name)));
    }
    edges
}

/// The names that follow one of `roots`, also in braces, outside of comments and unit tests.
fn named_modules(source: &str, roots: &[&str]) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let after = roots.iter().flat_map(|root| code.split(root).skip(1));
    after.flat_map(first_names).collect()
}

/// The first name of a path, or of each path of a list in braces.
fn first_names(path: &str) -> Vec<String> {
    let name = |path: &str| -> String {
        let is_name = |char: &char| char.is_ascii_lowercase() || "_0123456789".contains(*char);
        path.trim_start().chars().take_while(is_name).collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut names, mut start) = (1, Vec::new(), 0);
    for (at, char) in list.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && char == ',' {
            names.push(name(&list[start..at]));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Removes modules that depend on nothing that is left; what remains is in a circle, or leads into one.
fn circular(mut edges: Edges) -> Edges {
    loop {
        let left: BTreeSet<String> = edges.keys().cloned().collect();
        let is_free = |needs: &BTreeSet<String>| needs.is_disjoint(&left);
        let free: Vec<String> =
            edges.iter().filter(|(_, needs)| is_free(needs)).map(|(module, _)| module.clone()).collect();
        if free.is_empty() {
            return edges;
        }
        free.iter().for_each(|module| drop(edges.remove(module)));
    }
}

#[test]
fn modules_of_a_crate_do_not_depend_on_each_other_in_a_circle() {
    for package in &packages() {
        let name = name(package);
        let circle = circular(module_edges(name));
        assert!(circle.is_empty(), "{name}: {circle:#?}");
    }
}

#[test]
fn a_circle_of_modules_is_seen() {
    let edges = |list: &[(&str, &[&str])]| -> Edges {
        list.iter()
            .map(|(from, to)| ((*from).to_owned(), to.iter().map(|to| (*to).to_owned()).collect()))
            .collect()
    };
    assert!(circular(edges(&[("a", &["b"]), ("b", &["c"]), ("c", &[])])).is_empty());
    assert_eq!(circular(edges(&[("a", &["b"]), ("b", &["a"]), ("c", &[])])).len(), 2);
    let source = "//! crate::not\nuse crate::one::X;\nuse super::two;\nuse crate::{four::{self, X}, five,\n six::y};\n\
        #[cfg(test)]\nmod tests {\n use crate::three;\n}";
    assert_eq!(named_modules(source, &["crate::", "super::"]), ["one", "four", "five", "six", "two"]);
}

/// The modules of `talaria-engine/src/engine` that depend on each other in a circle, and why they may is in
/// docs/dev/STYLE.md. The list may only shrink.
const ENGINE_CIRCLE: [&str; 12] = [
    "access",
    "delegation",
    "journal",
    "learning",
    "lifecycle",
    "memory",
    "outbox",
    "queries",
    "run",
    "skills",
    "tasks",
    "tools",
];

#[test]
fn no_further_module_joins_the_circle_inside_the_engine() {
    let folder = root().join("crates/talaria-engine/src/engine");
    let circle = circular(folder_edges(&folder, "crate::engine::"));
    let modules: Vec<&str> = circle.keys().map(String::as_str).collect();
    assert_eq!(modules, ENGINE_CIRCLE, "{circle:#?}");
}

/// The modules that this `lib.rs` declares and its first comment does not name. Modules of tests need not be named.
fn unnamed_modules(source: &str) -> Vec<&str> {
    let map: Vec<&str> = source.lines().filter(|line| line.starts_with("//!")).collect();
    let map = map.join("\n");
    let is_named = |module: &str| map.contains(&format!("`{module}`"));
    let mut above = "";
    let mut unnamed = Vec::new();
    for line in source.lines() {
        let declared = line.trim_start_matches("pub ").strip_prefix("mod ");
        let module = declared.and_then(|module| module.strip_suffix(';'));
        unnamed.extend(module.filter(|module| above != "#[cfg(test)]" && !is_named(module)));
        above = line;
    }
    unnamed
}

#[test]
fn every_module_of_a_crate_is_named_in_the_map_of_its_lib() {
    for package in std::fs::read_dir(root().join("crates")).unwrap() {
        let lib = package.unwrap().path().join("src/lib.rs");
        if let Ok(source) = std::fs::read_to_string(&lib) {
            let unnamed = unnamed_modules(&source);
            assert!(unnamed.is_empty(), "{} does not name {unnamed:?}", lib.display());
        }
    }
    let source = "//! `one` and two.\nmod one;\npub mod two;\n#[cfg(test)]\nmod tests;\nmod inline {}\n";
    assert_eq!(unnamed_modules(source), ["two"]);
}

/// The Rust files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|ext| ext == "rs")).collect()
}

/// The lines that make an unbounded channel without a comment above them that says why.
fn unexplained_channels(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let makes = |line: &&str| line.contains("unbounded_channel()");
    let is_explained = |at: usize| {
        let above = lines[..at].iter().copied().rev().skip_while(makes);
        above.take_while(|line| line.starts_with("//")).any(|line| line.contains("Unbounded"))
    };
    let made = lines.iter().enumerate().filter(|(_, line)| makes(line));
    made.filter(|(at, _)| !is_explained(*at)).map(|(at, _)| at + 1).collect()
}

#[test]
fn every_queue_is_bounded_or_says_why_not() {
    let mut found = Vec::new();
    for package in std::fs::read_dir(root().join("crates")).unwrap() {
        let package = package.unwrap().path();
        // Tools for tests run for the length of a test.
        if ["talaria-testkit", "talaria-scripted"].iter().any(|tool| package.ends_with(tool)) {
            continue;
        }
        for file in sources(&package.join("src")) {
            let lines = unexplained_channels(&std::fs::read_to_string(&file).unwrap());
            found.extend(lines.into_iter().map(|line| format!("{}:{line}", file.display())));
        }
    }
    assert!(found.is_empty(), "unbounded without a reason: {found:#?}");
    let made =
        "// Unbounded in type, bounded by use.\nlet a = unbounded_channel();\nlet b = unbounded_channel();\n";
    assert_eq!(unexplained_channels(made), [] as [usize; 0]);
    assert_eq!(unexplained_channels("// So.\nlet a = unbounded_channel();\n"), [2]);
}

#[test]
fn every_file_opens_with_what_it_owns() {
    let all = sources(&root().join("crates"));
    let opens = |path: &PathBuf| std::fs::read_to_string(path).unwrap().starts_with("//!");
    let silent: Vec<_> = all.iter().filter(|path| !opens(path)).collect();
    assert!(silent.is_empty(), "without a first line that says what they own: {silent:#?}");
}
