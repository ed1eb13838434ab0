//! What a search finds, what it leaves out, and that its first line says so.

use std::fs;

use talaria_core::bounds::Confinement;

use super::*;
use crate::files::resolve_path;

struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Self { folder }
    }

    fn search(&self, pattern: &str, glob: Option<&str>, mode: SearchMode, limits: SearchLimits) -> String {
        let base = self.folder.path().canonicalize().unwrap();
        let mut root = resolve_path(&base, None, ".").unwrap();
        root.named = "here".into();
        let glob = glob.map(str::to_owned);
        let wish = SearchWish { pattern: pattern.to_owned(), root, glob, mode };
        let talaria = base.join("talaria");
        let bounds = FileBounds { confinement: Confinement::ReadOnly, talaria, workplaces: Vec::new() };
        search_files(&wish, &bounds, limits).unwrap_or_else(|refusal| refusal.to_string())
    }

    fn lines(&self, pattern: &str) -> String {
        self.search(pattern, None, SearchMode::Content, SearchLimits::default())
    }
}

#[test]
fn lines_are_found_with_their_numbers_and_ignored_files_are_not() {
    let tree = Tree::new(&[
        ("b.rs", b"fn one() {}\r\nlet x = 1;\r\nfn two() {}\r\n"),
        ("a/deep.rs", b"fn three() {}\n"),
        ("target/out.rs", b"fn four() {}\n"),
        (".gitignore", b"target/\n"),
        (".github/ci.yml", b"fn five\n"),
        (".git/config", b"fn six\n"),
    ]);
    assert_eq!(
        tree.lines(r"^fn \w+"),
        "4 matches in 3 files below here, complete.\n\
         .github/ci.yml\n1: fn five\na/deep.rs\n1: fn three() {}\nb.rs\n1: fn one() {}\n3: fn two() {}\n"
    );
    assert_eq!(tree.lines("nothing like it"), "0 matches in 0 files below here, complete.\n");
    assert_eq!(
        tree.search(r"\}$", Some("*.rs"), SearchMode::Content, SearchLimits::default()).lines().next(),
        Some("3 matches in 2 files below here, complete.")
    );
    assert_eq!(tree.lines("^$"), "0 matches in 0 files below here, complete.\n", "no line after the last");
}

#[test]
fn files_are_found_by_name() {
    let tree = Tree::new(&[("src/a.rs", b""), ("src/b.txt", b""), ("c.rs", b"")]);
    let names = |glob: &str| tree.search(glob, None, SearchMode::Files, SearchLimits::default());
    assert_eq!(names("*.rs"), "2 files below here, complete.\nc.rs\nsrc/a.rs\n");
    assert_eq!(names("src/**"), "2 files below here, complete.\nsrc/a.rs\nsrc/b.txt\n");
    assert_eq!(names(""), "3 files below here, complete.\nc.rs\nsrc/a.rs\nsrc/b.txt\n");
    assert!(names("[").starts_with("the glob cannot be read"), "{}", names("["));
}

#[test]
fn what_is_left_out_is_counted() {
    let tree = Tree::new(&[
        ("binary", b"key\0"),
        ("long", &[b'k'; 2000]),
        ("id_rsa", b"key\n"),
        ("talaria/key", b"key\n"),
        ("plain", b"key\n"),
    ]);
    let limits = SearchLimits { file_bytes: 1000, ..SearchLimits::default() };
    assert_eq!(
        tree.search("k", None, SearchMode::Content, limits),
        "1 match in 1 file below here, complete. Skipped: 1 too long, 1 binary, 2 with keys or passwords.\n\
         plain\n1: key\n"
    );
}

#[test]
fn every_limit_is_said() {
    let many = "match\n".repeat(50_000);
    let tree = Tree::new(&[("many", many.as_bytes())]);
    let first = |limits| {
        let found = tree.search("match", None, SearchMode::Content, limits);
        assert!(found.chars().count() <= LONGEST_RESULT, "{}", found.chars().count());
        found.lines().next().unwrap().to_owned()
    };
    let more = "incomplete: there are more; use a narrower pattern, path or glob.";
    assert_eq!(first(SearchLimits::default()), format!("200 matches in 1 file below here, {more}"));
    let limits = SearchLimits { matches: 100_000, ..SearchLimits::default() };
    assert!(first(limits).ends_with(more));
    let limits = SearchLimits { time: Duration::ZERO, ..SearchLimits::default() };
    assert_eq!(
        first(limits),
        "0 matches in 0 files below here, incomplete: stopped after 0 s; use a narrower path."
    );
    let refused = tree.lines("(");
    assert!(refused.starts_with("the pattern is no regular expression: "), "{refused}");
}

#[test]
fn a_glob_selects_nothing_that_is_ignored() {
    let tree =
        Tree::new(&[("kept.txt", b"a wren\n"), ("left.txt", b"a wren\n"), (".gitignore", b"left.txt\n")]);
    let found = |pattern: &str, glob, mode| tree.search(pattern, glob, mode, SearchLimits::default());
    assert_eq!(found("*.txt", None, SearchMode::Files), "1 file below here, complete.\nkept.txt\n");
    assert_eq!(
        found("wren", Some("*.txt"), SearchMode::Content),
        "1 match in 1 file below here, complete.\nkept.txt\n1: a wren\n"
    );
    assert_eq!(
        found("wren", Some("!kept.*"), SearchMode::Content),
        "0 matches in 0 files below here, complete.\n"
    );
}
