//! Code that only tests call is no part of the product: every public function, method, type and constant of the product
//! is named somewhere else in its code. A scan of words: a name that has a second meaning is not judged.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Public names that only tests use, and why.
const SEAMS: [(&str, &str); 1] =
    [("with_roots", "the tests of notifications trust a certificate of their own")];

/// Crates without product code.
const FOR_TESTS: [&str; 2] = ["talaria-scripted", "talaria-testkit"];

/// Files and folders that only tests compile.
const TEST_FILES: [&str; 6] = ["tests", "tests.rs", "contract", "sample.rs", "samples.rs", "properties.rs"];

fn product_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if TEST_FILES.contains(&name) {
            continue;
        } else if path.is_dir() {
            product_files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// The code of a file without its unit tests and comments.
fn code(source: &str) -> String {
    let product = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The public names that the code defines, without those that only tests compile.
fn defined(code: &str) -> Vec<&str> {
    let definition = Regex::new(
        r"^\s*pub(\([^)]*\))? (?:const |async )*(?:fn|struct|enum|trait|type|const|static) (?<name>\w+)",
    )
    .unwrap();
    let mut is_for_tests = false;
    let mut names = Vec::new();
    for line in code.lines() {
        let text = line.trim_start();
        if text.starts_with("#[cfg(") {
            is_for_tests |= text.contains("test") || text.contains("feature");
        } else if !text.starts_with("#[") {
            let name = definition.captures(line).and_then(|found| Some(found.name("name")?.as_str()));
            names.extend(name.filter(|_| !is_for_tests));
            is_for_tests = false;
        }
    }
    names
}

#[test]
fn what_is_public_is_used_by_the_product() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for package in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        if !FOR_TESTS.contains(&package.file_name().unwrap().to_str().unwrap()) {
            product_files(&package.join("src"), &mut files);
        }
    }
    assert!(files.len() > 500, "the sources were found: {}", files.len());
    let sources: Vec<String> = files.iter().map(|file| code(&fs::read_to_string(file).unwrap())).collect();
    let word = Regex::new(r"[A-Za-z_]\w*").unwrap();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for found in sources.iter().flat_map(|source| word.find_iter(source)) {
        *uses.entry(found.as_str()).or_default() += 1;
    }
    let mut unused: Vec<&str> = sources.iter().flat_map(|source| defined(source)).collect();
    unused.retain(|name| uses.get(name) == Some(&1));
    unused.sort_unstable();
    assert_eq!(unused, SEAMS.map(|(name, _)| name), "remove what only tests call, or add it with a reason");
}

#[test]
fn definitions_are_seen_and_those_of_tests_are_not() {
    let source = "// pub fn comment() {}\npub struct One;\nimpl One {\n    #[must_use]\n    pub(crate) async fn two(&self) {}\n    \
                  #[cfg(test)]\n    #[must_use]\n    pub fn three(&self) {}\n    pub const FOUR: u8 = 1;\n    fn five() {}\n}\n\
                  #[cfg(test)]\nmod tests {\n    pub fn six() {}\n}\n";
    assert_eq!(defined(&code(source)), ["One", "two", "FOUR"]);
}
