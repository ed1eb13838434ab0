//! Escape sequences exist where a terminal is written, where the output of others is made harmless, and in tests. Styled
//! text is a value everywhere else.

use std::fs;
use std::path::{Path, PathBuf};

/// The only sources of the product that may name the escape character, and why.
const ALLOWED: [(&str, &str); 5] = [
    ("talaria-codex/src/stderr.rs", "takes escape sequences out of what Codex prints"),
    ("talaria-guard/src/redact/bytes.rs", "finds secrets between escape sequences"),
    ("talaria-guard/src/redact/escape.rs", "finds secrets between escape sequences"),
    ("talaria-guard/src/shell/dollar.rs", "reads `\\e` of a shell's quoted word"),
    ("talaria-render/src/writer.rs", "writes styled text to a terminal"),
];

/// Files with test data and test terminals within the product's folders.
const FOR_TESTS: [&str; 4] = [
    "talaria-render/src/properties.rs",
    "talaria-render/src/sample.rs",
    "talaria-render/src/screen.rs",
    "talaria/src/tasks/sample.rs",
];

/// How Rust spells the escape character.
const SPELLINGS: [&str; 4] = ["\\x1b", "\\u{1b}", "\\u{001b}", "0x1b"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Is it a file of the product, named relative to the crates?
fn is_product(file: &str) -> bool {
    let is_test = file.contains("/tests/") || file.ends_with("/tests.rs") || file.contains("/benches/");
    !is_test && !file.starts_with("talaria-testkit/") && !FOR_TESTS.contains(&file)
}

/// Does the text name the escape character outside of its tests? They are the last module of a file.
fn names_escape(text: &str) -> bool {
    let product = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = product.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    code.map(str::to_lowercase).any(|line| SPELLINGS.iter().any(|spelling| line.contains(spelling)))
}

#[test]
fn escape_sequences_are_written_in_one_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    sources(crates, &mut all);
    assert!(all.len() > 500, "the sources were found: {}", all.len());
    let name = |file: &PathBuf| file.strip_prefix(crates).unwrap().display().to_string();
    let is_found = |file: &&PathBuf| names_escape(&fs::read_to_string(file).unwrap());
    let mut found: Vec<String> =
        all.iter().filter(|file| is_product(&name(file))).filter(is_found).map(name).collect();
    found.sort();
    assert_eq!(found, ALLOWED.map(|(file, _)| file), "styled text is `talaria_render::StyledText`");
}

#[test]
fn an_escape_sequence_in_the_product_is_seen_and_one_in_a_test_is_not() {
    for spelled in [r#"let x = "\x1b[1m";"#, r#"let x = '\u{1B}';"#, "let x = 0x1B;"] {
        assert!(names_escape(spelled), "{spelled}");
        let tested = format!("fn f() {{}}\n\n#[cfg(test)]\nmod tests {{\n    {spelled}\n}}\n");
        assert!(!names_escape(&tested), "{tested}");
    }
    assert!(!names_escape("// \\x1b[1m is bold\nlet x = 1;"));
}
