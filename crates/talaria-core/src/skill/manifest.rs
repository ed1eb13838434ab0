//! The front matter of a `SKILL.md`: its name and what it is for. Everything else in it belongs to other programs.
//!
//! People write YAML that no parser accepts (`description: Use when: …`), so such front matter is read line by line. Whatever
//! the bytes are, reading them ends quickly with a manifest or a reason. `plain` reads what needs no parser.

mod plain;

use serde::Deserialize;

/// The longest front matter, in bytes: the rest of the file is not looked at.
pub const LONGEST_FRONT_MATTER: usize = 16 * 1024;

/// Front matter of a `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillManifest {
    /// Its name; the folder's if there is none.
    pub name: Option<String>,
    /// The whole description, in one line.
    pub description: String,
}

/// Why a file is no skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is missing.
    #[error("it does not begin with front matter between two lines of `---`")]
    Missing,
    /// It has no end, or is too long.
    #[error("its front matter does not end within 16 KB")]
    Unclosed,
    /// It does not say what the skill is for.
    #[error("its front matter has no description")]
    NoDescription,
    /// It cannot be read.
    #[error("its front matter is neither YAML nor lines of `key: text`")]
    Unreadable,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct FrontMatter {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

/// Reads the beginning of a `SKILL.md`.
pub fn parse(text: &str) -> Result<SkillManifest, ManifestError> {
    let yaml = front_matter(text)?;
    let read = plain::read(yaml).or_else(|| read_yaml(yaml)).or_else(|| read_lines(yaml));
    let FrontMatter { name, description } = read.ok_or(ManifestError::Unreadable)?;
    let description = one_line(&description.unwrap_or_default());
    if description.is_empty() {
        return Err(ManifestError::NoDescription);
    }
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    Ok(SkillManifest { name, description })
}

/// The text between the two lines.
fn front_matter(text: &str) -> Result<&str, ManifestError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.trim_end() != "---" || !first.ends_with('\n') {
        return Err(ManifestError::Missing);
    }
    let rest = &text[first.len()..];
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok(&rest[..at]);
        }
        at += line.len();
        if at > LONGEST_FRONT_MATTER {
            return Err(ManifestError::Unclosed);
        }
    }
    Err(ManifestError::Unclosed)
}

fn read_yaml(yaml: &str) -> Option<FrontMatter> {
    serde_saphyr::from_str(yaml).ok()
}

/// Reads `key: rest of the line`; indented lines belong to the line before them.
fn read_lines(yaml: &str) -> Option<FrontMatter> {
    let (mut name, mut description) = (None::<String>, None::<String>);
    let mut current: Option<&mut Option<String>> = None;
    for line in yaml.lines() {
        let is_continued = line.starts_with([' ', '\t']);
        match (is_continued, line.split_once(':')) {
            (true, _) => {
                if let Some(Some(text)) = current.as_deref_mut() {
                    text.push(' ');
                    text.push_str(line.trim());
                }
            }
            (false, Some((key, value))) => {
                let slot = match key.trim() {
                    "name" => Some(&mut name),
                    "description" => Some(&mut description),
                    _ => None,
                };
                current = slot.map(|slot| {
                    *slot = Some(unquoted(value.trim()).to_owned());
                    slot
                });
            }
            (false, None) => current = None,
        }
    }
    description.is_some().then_some(FrontMatter { name, description })
}

fn unquoted(text: &str) -> &str {
    let inside = |sign: char| text.strip_prefix(sign).and_then(|rest| rest.strip_suffix(sign));
    match text {
        ">" | "|" | ">-" | "|-" | ">+" | "|+" => "",
        text => inside('"').or_else(|| inside('\'')).unwrap_or(text),
    }
}

fn one_line(text: &str) -> String {
    text.split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn front_matter_is_read_as_people_write_it() {
        let texts = [
            "---\nname: haiku\ndescription: Writes haiku\n---\nbody",
            "\u{feff}---\r\nname: haiku\r\ndescription: 'CRLF'\r\n---\r\n",
            "---\ndescription: >-\n  folded\n  text\nversion: 1.2\nmetadata:\n  hermes: {tags: [a]}\n---\n",
            "---\nname: x\ndescription: Use when: a colon\n  goes on\n---\n",
            "---\nname: 7\ndescription: \"\\ud83d\\ude00\"\n---\n",
            "---\nname: ''\ndescription: a\u{1b}[2Jb\n---\n",
            "---\nname: x\n---\n",
            "---\ndescription: ~\n---\n",
            "---\ndescription: x\n",
            "# no front matter\n",
            "---",
            "",
            "---\n[unclosed\n---\n",
            "---\ndescription: a\ndescription: b\n---\n",
        ];
        let lines = texts.map(|text| match parse(text) {
            Ok(manifest) => format!("{:?} {:?}", manifest.name, manifest.description),
            Err(why) => why.to_string(),
        });
        expect![[r#"
            Some("haiku") "Writes haiku"
            Some("haiku") "CRLF"
            None "folded text"
            Some("x") "Use when: a colon goes on"
            Some("7") "😀"
            None "a [2Jb"
            its front matter has no description
            its front matter has no description
            its front matter does not end within 16 KB
            it does not begin with front matter between two lines of `---`
            it does not begin with front matter between two lines of `---`
            it does not begin with front matter between two lines of `---`
            its front matter is neither YAML nor lines of `key: text`
            None "b"
        "#]]
        .assert_eq(&format!("{}\n", lines.join("\n")));
    }

    #[test]
    fn hostile_front_matter_ends_quickly() {
        let long = format!("---\ndescription: {}\n---\n", "x".repeat(1024 * 1024));
        assert_eq!(parse(&long), Err(ManifestError::Unclosed));
        let many = format!("---\n{}---\n", "a: b\n".repeat(100_000));
        assert_eq!(parse(&many), Err(ManifestError::Unclosed));
        let deep = format!("---\ndescription: x\nother: {}{}\n---\n", "[".repeat(3000), "]".repeat(3000));
        assert_eq!(parse(&deep).unwrap().description, "x", "read line by line");
        let mut bomb = "---\ndescription: x\na: &a [x, x, x, x]\n".to_owned();
        for (before, name) in
            ["a", "b", "c", "d", "e", "f", "g"].iter().zip(["b", "c", "d", "e", "f", "g", "h"])
        {
            bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 20].join(", ")));
        }
        bomb.push_str("---\n");
        assert_eq!(parse(&bomb).unwrap().description, "x");
    }

    /// Pieces of front matter: what is plain, and what only looks so.
    const PIECES: [&str; 44] = [
        "name: ",
        "description: ",
        "license: ",
        "x-1: ",
        "null: ",
        "on: ",
        "name:",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "word",
        "Use when",
        "null",
        "Null",
        "true",
        "yes",
        "y",
        "NaN",
        ".inf",
        "7",
        "1.5",
        "0x10",
        "2026-01-01",
        "~",
        " ",
        " ",
        ": ",
        " #",
        "#",
        ":",
        "\"",
        "'",
        "\\",
        "- ",
        "[a]",
        "{a: b}",
        "&a ",
        "*a",
        "!!str ",
        ">-",
        "|",
        "日本語",
        "\t",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn what_is_read_without_the_parser_is_what_the_parser_reads(
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..14),
            is_plain in any::<bool>(),
        ) {
            let mut yaml = pieces.concat();
            if is_plain {
                yaml = format!("name: {}\n", yaml.replace(['\n', '\r'], " "));
            }
            if let Some(plain) = plain::read(&yaml) {
                prop_assert_eq!(Some(plain), read_yaml(&yaml), "{:?}", yaml);
            }
        }
    }

    #[test]
    fn ordinary_front_matter_needs_no_parser() {
        for yaml in [
            "name: haiku\ndescription: Use when release notes are written, changed or reviewed – for people\n",
            "name: \"haiku\"\r\ndescription: 'Use when: a colon #1'\r\nlicense: MIT\r\n",
        ] {
            assert!(plain::read(yaml).is_some_and(|read| read.name.as_deref() == Some("haiku")), "{yaml}");
        }
        assert_eq!(plain::read("name: x\ndescription: >-\n  folded\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_has_a_manifest_or_a_reason(text in "(---\n)?[\\PC\n:'\"\\[\\]{}&*|> -]{0,300}(\n---\n)?") {
            if let Ok(manifest) = parse(&text) {
                let is_one_line = !manifest.description.chars().any(char::is_control);
                prop_assert!(is_one_line);
                prop_assert!(!manifest.description.is_empty());
            }
        }
    }
}
