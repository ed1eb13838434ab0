//! Which tests an ordinary run leaves out: no test is switched off by a change that does not say so here.

use std::fs;
use std::path::{Path, PathBuf};

/// The files with an ignored test, and why they have one.
const IGNORED: [(&str, &str); 3] = [
    ("talaria-server/tests/it/launch.rs", "the program that the other tests start"),
    ("talaria-store/tests/it/killed.rs", "the child that the other test kills"),
    ("talaria-testkit/src/versions.rs", "0.130.0, where the version makes no difference"),
];

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

#[test]
fn only_known_tests_are_ignored() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    sources(crates, &mut all);
    assert!(all.len() > 500, "the sources were found: {}", all.len());
    let is_ignore = |line: &str| line.trim_start().starts_with("#[ignore");
    let with_ignored = all.into_iter().flat_map(|file| {
        let count = fs::read_to_string(&file).unwrap().lines().filter(|line| is_ignore(line)).count();
        std::iter::repeat_n(file.strip_prefix(crates).unwrap().display().to_string(), count)
    });
    let mut found: Vec<String> = with_ignored.collect();
    found.sort();
    assert_eq!(found, IGNORED.map(|(file, _)| file));
}
