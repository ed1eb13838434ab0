//! Public type names are unique in the workspace, so that a name in a message, a signature or a search means one thing.
//!
//! Checked are `pub struct`, `enum`, `trait`, `type` and `union` items in `crates/*/src`, with two exceptions: unit tests
//! (`tests` modules and what follows `#[cfg(test)]`) and programs (`main.rs`, `src/bin`), whose types no other crate can
//! use. `pub` is taken at its word: an item counts even if its module is private. `pub(crate)` and `pub(super)` items are
//! not checked: they are seen where their module is read. The types of `codex-proto/src/wire` keep Codex's names, so the
//! other side of such a pair is the one to rename.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name that a line defines, if it defines a public type.
fn public_type(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let keyword = words.find(|word| *word != "unsafe" && *word != "auto")?;
    let name = words.next()?;
    let end = name.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(name.len());
    ["struct", "enum", "trait", "type", "union"]
        .contains(&keyword)
        .then(|| &name[..end])
        .filter(|name| !name.is_empty())
}

/// The public types of a source text outside of its unit tests. Types inside an `impl` or a `trait` belong to it and have
/// no name of their own, so associated types are not among them.
fn public_types(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter_map(public_type)
}

/// The Rust files below a directory that other crates can use: no unit tests, no programs.
fn library_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if ["tests", "tests.rs", "bin", "main.rs"].contains(&name) {
            continue;
        } else if path.is_dir() {
            files.extend(library_files(&path));
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    files
}

/// Every repeated name, with the crates that define it in the order of their names.
fn repeated() -> BTreeMap<String, Vec<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut defined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        let folder = package.file_name().unwrap().to_str().unwrap();
        let short = folder.strip_prefix("talaria-").unwrap_or(folder);
        // A program alone: nothing in it is used by another crate.
        if !package.join("src/lib.rs").is_file() {
            continue;
        }
        for file in library_files(&package.join("src")) {
            let source = std::fs::read_to_string(&file).unwrap();
            for name in public_types(&source) {
                defined.entry(name.to_owned()).or_default().push(short.to_owned());
            }
        }
    }
    defined.retain(|_, places| places.len() > 1);
    defined.values_mut().for_each(|places| places.sort());
    defined
}

#[test]
fn a_public_type_name_is_used_once_in_the_workspace() {
    let wrong: Vec<String> = repeated()
        .into_iter()
        .map(|(name, places)| format!("{name} is used more than once: {places:?}; rename one after its role"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_form_of_a_public_type_is_seen_and_nothing_else() {
    let source = "pub struct One;\npub enum Two<'a> {\n    Variant,\n}\npub trait Three: Send {\n    type Hidden;\n}\n\
                  pub type Four<T> = Vec<T>;\n    pub struct Five(u8);\npub unsafe trait Six {}\npub(crate) struct No;\n\
                  struct Private;\n// pub struct Comment;\npub fn function() {}\npub const TYPE: u8 = 1;\n\
                  #[cfg(test)]\nmod tests {\n    pub struct InTests;\n}\n";
    assert_eq!(public_types(source).collect::<Vec<_>>(), ["One", "Two", "Three", "Four", "Five", "Six"]);
}
