//! The pages that people read are short, their links lead somewhere, and the code map names what exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Every page below a directory, and those at the root.
fn pages() -> Vec<PathBuf> {
    let mut folders = vec![root().join("docs")];
    let at_root = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = at_root.filter(|path| path.is_file()).collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.retain(|path| path.extension().is_some_and(|end| end == "md"));
    found
}

/// The text without code blocks, in which a link is only an example.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Targets of the links of a page, without those to the web.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|link| !link.contains("://")).map(str::to_owned).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings =
        headings.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let mut broken = Vec::new();
    let mut followed = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            followed += 1;
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let is_there = file.exists()
                && (heading.is_empty() || anchors(&fs::read_to_string(&file).unwrap()).contains(heading));
            if !is_there {
                broken.push(format!("{}: {target}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(followed > 80, "only {followed} links were found");
    assert_eq!(targets("[a](b.md#c) ```x](y)```\n```\n[d](e)\n```\n[f](https://g)")[0], "b.md#c");
    assert!(anchors("# What a `sandbox` can, read?").contains("what-a-sandbox-can-read"));
}

#[test]
fn the_first_pages_are_short() {
    for (name, most) in [("README.md", 150), ("ARCHITECTURE.md", 150)] {
        let lines = fs::read_to_string(root().join(name)).unwrap().lines().count();
        assert!(lines <= most, "{name} has {lines} lines; move details to the guide or to docs/dev");
    }
}

/// The rows of a section's table, as cells without backticks.
fn rows(text: &str, section: &str) -> Vec<Vec<String>> {
    let section = text.split("\n## ").find(|found| found.starts_with(section)).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn the_code_map_names_files_and_what_is_in_them() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut missing = Vec::new();
    let mut look = |file: &str, name: &str| {
        let file = file.trim_matches('`');
        let source = fs::read_to_string(root().join("crates").join(file)).unwrap_or_default();
        let declares = |line: &str| {
            ["struct ", "enum ", "trait ", "fn "].iter().any(|word| {
                line.split_once(word).is_some_and(|(before, rest)| {
                    !before.contains("//")
                        && rest.strip_prefix(name).is_some_and(|rest| {
                            !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
                        })
                })
            })
        };
        if !source.lines().any(declares) {
            missing.push(format!("{file}: {name}"));
        }
    };
    let map = rows(&text, "Code map");
    for row in &map {
        look(&row[0], row[1].trim_matches('`'));
    }
    let first = rows(&text, "Read these five files first");
    for row in &first {
        match row[1].split('`').nth(1) {
            Some(name) => look(&row[0], name),
            None => assert!(root().join("crates").join(row[0].trim_matches('`')).is_file(), "{}", row[0]),
        }
    }
    assert!(missing.is_empty(), "not there: {missing:#?}");
    assert!(map.len() > 15 && first.len() == 5);
}

#[test]
fn the_book_has_every_page_of_guide_and_reference() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> =
        targets(&summary).iter().map(|target| root().join("docs").join(target)).collect();
    let is_chapter = |page: &&PathBuf| {
        ["guide", "reference"].iter().any(|part| page.starts_with(root().join("docs").join(part)))
    };
    let all = pages();
    let chapters: BTreeSet<PathBuf> = all.iter().filter(is_chapter).cloned().collect();
    assert_eq!(listed, chapters, "docs/SUMMARY.md and the pages");
}
