//! Makes the page of events from the type `Event` and every type that its fields have.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::types::{Body, Content, Declaration, Field, Types, Variant};
use super::{root, sources};

const OPENING: &str = "\
# Events

One JSON object for each thing that happens. `talaria exec --json` prints them, one per line, and the [API](api.md) streams them. Besides
the fields below every line has `type`, `session` and `seq`, the number of the event in its session. Later versions may add fields and
events; names and meanings do not change. The last event of a turn is [`outcome`](#outcome);
`--json` adds `exit` to it, the [exit code](exit-codes.md) of the command.

This page is generated from the comments of the source.

";

pub(super) fn page() -> String {
    let folders = ["crates/talaria-core/src", "crates/talaria-guard/src"];
    let files = folders.iter().flat_map(|folder| sources(&root().join(folder)));
    let types = Types::read(files.filter(|file| !file.to_str().unwrap().contains("tests")));
    let anywhere = PathBuf::from("crates/talaria-core/src/lib.rs");
    let event = types.find("Event", &root().join(anywhere)).unwrap();
    let mut writer =
        Writer { types: &types, page: OPENING.to_owned(), waiting: VecDeque::new(), seen: BTreeSet::new() };
    let Body::Enum(variants) = &event.body else { panic!("Event is an enum") };
    for variant in variants {
        writer.event(event, variant);
    }
    writer.page += "# Types\n\n";
    while let Some(found) = writer.waiting.pop_front() {
        writer.declaration(&found);
    }
    writer.page.truncate(writer.page.trim_end().len());
    writer.page + "\n"
}

struct Writer<'a> {
    types: &'a Types,
    page: String,
    waiting: VecDeque<Declaration>,
    seen: BTreeSet<(PathBuf, String)>,
}

impl Writer<'_> {
    fn event(&mut self, event: &Declaration, variant: &Variant) {
        write!(self.page, "## `{}`\n\n{}\n\n", word(variant, &event.attributes), cell(&variant.docs))
            .unwrap();
        match &variant.content {
            Content::Nothing => {}
            Content::Fields(fields) => self.fields(fields, &event.file),
            Content::Type(kind) => {
                let name = inner(kind);
                let found =
                    self.types.find(name, &event.file).unwrap_or_else(|| panic!("no type {name}")).clone();
                match &found.body {
                    Body::Struct(fields) => self.fields(fields, &found.file),
                    Body::Enum(_) => panic!("the event {name} has alternatives: say how they are shown"),
                }
            }
        }
    }

    /// Types of the same name in different modules are distinguished by the module.
    fn title(&self, found: &Declaration) -> String {
        match self.types.is_ambiguous(&found.name) {
            true => format!("{} ({})", found.name, module(&found.file)),
            false => found.name.clone(),
        }
    }

    fn link(&self, found: &Declaration) -> String {
        let title = self.title(found);
        let anchor = title.to_lowercase().replace(' ', "-").replace(['(', ')'], "");
        format!("[{title}](#{anchor})")
    }

    fn declaration(&mut self, found: &Declaration) {
        let title = self.title(found);
        write!(self.page, "## {title}\n\n{}\n\n", cell(&found.docs)).unwrap();
        match &found.body {
            Body::Struct(fields) => self.fields(fields, &found.file),
            Body::Enum(variants)
                if variants.iter().all(|variant| matches!(variant.content, Content::Nothing)) =>
            {
                self.page += "| word | meaning |\n|---|---|\n";
                for variant in variants {
                    let name = word(variant, &found.attributes);
                    writeln!(self.page, "| `{name}` | {} |", cell(&variant.docs)).unwrap();
                }
                self.page += "\n";
            }
            Body::Enum(variants) => {
                let tag = quoted(&found.attributes, "tag = ");
                for variant in variants {
                    let name = word(variant, &found.attributes);
                    let name = tag.map_or_else(|| format!("`{name}`"), |tag| format!("`{tag}`: `{name}`"));
                    write!(self.page, "**{name}** {}\n\n", cell(&variant.docs)).unwrap();
                    match &variant.content {
                        Content::Nothing => {}
                        Content::Fields(fields) => self.fields(fields, &found.file),
                        Content::Type(kind) => {
                            let kind = self.kind(kind, &found.file);
                            write!(self.page, "Has {kind}.\n\n").unwrap();
                        }
                    }
                }
            }
        }
    }

    fn fields(&mut self, fields: &[Field], file: &Path) {
        self.page += "| field | type | meaning |\n|---|---|---|\n";
        for field in fields.iter().filter(|field| !field.attributes.contains("serde(skip)")) {
            let name = quoted(&field.attributes, "rename = ").unwrap_or(&field.name);
            // The schema of a flattened field may have a substitute; the page names the type.
            let is_flat = field.attributes.contains("serde(flatten");
            let stand_in = quoted(&field.attributes, "schemars(with = ").filter(|_| !is_flat);
            let shown = stand_in.unwrap_or(&field.kind);
            let mut kind = self.kind(shown, file);
            if field.attributes.contains("skip_serializing_if") {
                kind += "; left out where it has no value";
            }
            let name = match is_flat {
                true => "(its fields)".to_owned(),
                false => format!("`{name}`"),
            };
            writeln!(self.page, "| {name} | {kind} | {} |", cell(&field.docs)).unwrap();
        }
        self.page += "\n";
    }

    /// A type as a reader of JSON sees it.
    fn kind(&mut self, kind: &str, file: &Path) -> String {
        let within = |name: &str| kind.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>');
        if let Some(boxed) = within("Box").or_else(|| within("Arc")) {
            return self.kind(boxed, file);
        }
        if let Some(optional) = within("Option") {
            return format!("{} or null", self.kind(optional, file));
        }
        if let Some(element) = within("Vec") {
            return format!("list of {}", self.kind(element, file));
        }
        let name = kind.rsplit("::").next().unwrap_or(kind);
        match name {
            "String" | "str" => return "text".to_owned(),
            "bool" => return "true or false".to_owned(),
            "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" | "f64" => return "number".to_owned(),
            "RawValue" | "Value" => return "any JSON".to_owned(),
            _ => {}
        }
        if kind.starts_with("BTreeMap<String, ") || kind.starts_with("Cow<'static, str") {
            return if kind.starts_with("Cow") { "text" } else { "object" }.to_owned();
        }
        if name.ends_with("Id") {
            return "id".to_owned();
        }
        let Some(found) = self.types.find(name, file).cloned() else { return format!("`{name}`") };
        if self.seen.insert((found.file.clone(), found.name.clone())) {
            self.waiting.push_back(found.clone());
        }
        self.link(&found)
    }
}

fn module(file: &Path) -> String {
    let file = file.to_str().unwrap();
    let inside = file.split("/src/").nth(1).unwrap_or(file).trim_end_matches(".rs");
    inside.split('/').next().unwrap_or(inside).to_owned()
}

fn inner(kind: &str) -> &str {
    kind.trim_start_matches("Box<").trim_end_matches('>')
}

/// What serde writes for a variant.
fn word(variant: &Variant, of_type: &str) -> String {
    if let Some(name) = quoted(&variant.attributes, "rename = ") {
        return name.to_owned();
    }
    if !["snake_case", "kebab-case", "lowercase"].iter().any(|case| of_type.contains(case)) {
        return variant.name.clone();
    }
    let between = if of_type.contains("kebab-case") { "-" } else { "_" };
    let mut word = String::new();
    for (at, letter) in variant.name.char_indices() {
        if at > 0 && letter.is_uppercase() && !of_type.contains("\"lowercase\"") {
            word += between;
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// The text in quotes after a word.
fn quoted<'a>(attributes: &'a str, after: &str) -> Option<&'a str> {
    attributes.split_once(after)?.1.strip_prefix('"')?.split('"').next()
}

/// Docs as the cell of a table.
fn cell(docs: &str) -> String {
    docs.replace('|', "\\|").replace("[`", "`").replace("`]", "`").replace("`None`", "null")
}
