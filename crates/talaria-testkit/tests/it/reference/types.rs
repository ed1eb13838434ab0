//! Reads the declarations of types out of source files as rustfmt writes them: names, fields, variants, docs, serde's words.
//!
//! Not a parser of Rust: it relies on the indentation of rustfmt, which `./test` checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A struct or an enum.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) file: PathBuf,
    pub(super) name: String,
    pub(super) docs: String,
    pub(super) attributes: String,
    pub(super) body: Body,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) docs: String,
    pub(super) attributes: String,
}

#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) docs: String,
    pub(super) attributes: String,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Nothing,
    Type(String),
    Fields(Vec<Field>),
}

/// Every struct and enum with named parts in these files.
#[derive(Debug, Default)]
pub(super) struct Types(BTreeMap<String, Vec<Declaration>>);

impl Types {
    pub(super) fn read(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut types = Self::default();
        for file in files {
            let source = std::fs::read_to_string(&file).unwrap();
            for found in declarations(&file, &source) {
                types.0.entry(found.name.clone()).or_default().push(found);
            }
        }
        types
    }

    /// Whether several types have this name.
    pub(super) fn is_ambiguous(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|all| all.len() > 1)
    }

    /// The type of this name as the file `from` means it: its own, one of its folder, one whose file or folder it imports, the
    /// only one there is.
    pub(super) fn find(&self, name: &str, from: &Path) -> Option<&Declaration> {
        let all = self.0.get(name)?;
        let folder = from.with_extension("");
        let source = std::fs::read_to_string(from).unwrap();
        let is_imported = |found: &&Declaration| {
            let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
            let modules = [stem(&found.file), stem(found.file.parent().unwrap())];
            source
                .lines()
                .filter(|line| line.contains("use ") && line.contains(name))
                .any(|line| modules.iter().any(|module| line.contains(&format!("::{module}::"))))
        };
        let nearest = all.iter().find(|found| found.file == from);
        let nearest = nearest.or_else(|| all.iter().find(|found| found.file.starts_with(&folder)));
        let nearest = nearest.or_else(|| all.iter().find(is_imported));
        nearest.or_else(|| (all.len() == 1).then(|| &all[0]))
    }
}

fn declarations(file: &Path, source: &str) -> Vec<Declaration> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(header) = line.strip_suffix(" {") else { continue };
        let header = header.strip_prefix("pub(crate) ").or(header.strip_prefix("pub ")).unwrap_or(header);
        let (word, name) = header.split_once(' ').unwrap_or_default();
        if !matches!(word, "struct" | "enum") || name.contains(' ') || name.contains('<') {
            continue;
        }
        let above: Vec<&str> = {
            let starts = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
            let mut above: Vec<&str> = lines[..at].iter().rev().take_while(starts).copied().collect();
            above.reverse();
            above
        };
        let (docs, attributes) = notes(&above);
        let end = at + lines[at..].iter().position(|line| *line == "}").unwrap();
        let body = &lines[at + 1..end];
        let body = match word {
            "struct" => Body::Struct(fields(body, 4)),
            _ => Body::Enum(variants(body)),
        };
        found.push(Declaration { file: file.to_owned(), name: name.to_owned(), docs, attributes, body });
    }
    found
}

/// Docs and attributes of the lines above something.
fn notes(lines: &[&str]) -> (String, String) {
    let docs: Vec<&str> =
        lines.iter().filter_map(|line| line.trim().strip_prefix("///")).map(str::trim).collect();
    let attributes: Vec<&str> =
        lines.iter().filter(|line| !line.trim().starts_with("///")).map(|line| line.trim()).collect();
    (docs.join(" "), attributes.join(" "))
}

/// The parts of a body at one depth: the lines above each part, its first line, and the lines inside of it.
fn parts<'a>(lines: &[&'a str], indent: usize) -> Vec<(Vec<&'a str>, &'a str, Vec<&'a str>)> {
    let mut found = Vec::new();
    let mut above = Vec::new();
    let mut rest = lines.iter().copied();
    while let Some(line) = rest.next() {
        let text = line.trim();
        if text.is_empty() || text.starts_with("// ") {
            continue;
        }
        if text.starts_with("///") {
            above.push(line);
        } else if text.starts_with("#[") {
            above.push(line);
            if !text.ends_with(")]") && !text.ends_with("]") {
                above.extend(rest.by_ref().take_while(|line| line.trim() != ")]"));
            }
        } else {
            let closing = format!("{}}}", " ".repeat(indent));
            let inside = match text.ends_with('{') {
                true => rest.by_ref().take_while(|line| !line.starts_with(&closing)).collect(),
                false => Vec::new(),
            };
            found.push((std::mem::take(&mut above), text, inside));
        }
    }
    found
}

fn fields(lines: &[&str], indent: usize) -> Vec<Field> {
    let read = |(above, line, _): (Vec<&str>, &str, Vec<&str>)| {
        let (docs, attributes) = notes(&above);
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ").trim_end_matches(',');
        let (name, kind) = line.split_once(": ").unwrap();
        Field { name: name.to_owned(), kind: kind.to_owned(), docs, attributes }
    };
    parts(lines, indent).into_iter().map(read).collect()
}

fn variants(lines: &[&str]) -> Vec<Variant> {
    let read = |(above, line, inside): (Vec<&str>, &str, Vec<&str>)| {
        let (docs, attributes) = notes(&above);
        let line = line.trim_end_matches(',');
        let (name, content) = if let Some(name) = line.strip_suffix(" {") {
            (name, Content::Fields(fields(&inside, 8)))
        } else if let Some((name, kind)) = line.split_once('(') {
            (name, Content::Type(kind.trim_end_matches(')').to_owned()))
        } else {
            (line, Content::Nothing)
        };
        Variant { name: name.to_owned(), docs, attributes, content }
    };
    parts(lines, 4).into_iter().map(read).collect()
}
