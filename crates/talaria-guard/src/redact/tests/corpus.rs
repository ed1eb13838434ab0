//! The corpus of secrets, read. Tests of other crates use this file, too: they must store none of it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// One line of the corpus of secrets.
pub(crate) struct Example {
    /// The text with its secrets.
    pub(crate) text: String,
    pub(crate) secrets: Vec<String>,
    /// The expected text.
    pub(crate) expected: String,
}

/// Every line of the corpus.
pub(crate) fn examples() -> Vec<Example> {
    let lines = include_str!("../corpus/secrets.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let line_ends = |line: &str| line.replace('⏎', "\n").replace('␛', "\x1b");
    lines.map(|line| Example::read(&encode(&expand(&line_ends(line))))).collect()
}

impl Example {
    fn read(line: &str) -> Self {
        let (kinds, marked) = line.split_once(" | ").unwrap();
        let kinds: Vec<&str> = kinds.split(", ").collect();
        let mut example = Self { text: String::new(), secrets: Vec::new(), expected: String::new() };
        for (index, part) in marked.split(['«', '»']).enumerate() {
            example.text += part;
            if index % 2 == 1 {
                let kind = if kinds.len() == 1 { kinds[0] } else { kinds[example.secrets.len()] };
                example.secrets.push(part.to_owned());
                example.expected += &format!("[redacted:{kind}:{}]", part.len());
            } else {
                example.expected += part;
            }
        }
        assert!(!example.secrets.is_empty(), "no secret in {line}");
        assert!(
            kinds.len() == 1 || kinds.len() == example.secrets.len(),
            "another number of kinds in {line}"
        );
        example
    }
}

/// Fills in `{a36}` and the like with made-up material.
fn expand(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((plain, hole)) = rest.split_once('{') {
        out += plain;
        let filled = hole.split_once('}').and_then(|(hole, behind)| {
            let material = match hole.as_bytes().first()? {
                b'a' => "Fake4Material7NotReal2",
                b'h' => "fa4e0dead1beef2",
                b'c' => "FAKE7NEVER2REAL",
                b'd' => "1020304050",
                b'b' => "Fake/Material4+NotReal7",
                _ => return None,
            };
            let count = hole.get(1..)?.parse().ok()?;
            Some((material.chars().cycle().take(count).collect::<String>(), behind))
        });
        match filled {
            Some((filled, behind)) => {
                out += &filled;
                rest = behind;
            }
            None => {
                out += "{";
                rest = hole;
            }
        }
    }
    out + rest
}

/// Replaces the text between ⟦ and ⟧ by base64, and between ⟪ and ⟫ by base64 in lines of 76 letters.
fn encode(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((plain, hole)) = rest.split_once(['⟦', '⟪']) {
        let (inner, behind) = hole.split_once(['⟧', '⟫']).unwrap();
        let encoded = BASE64_STANDARD.encode(inner);
        let width = if hole[inner.len()..].starts_with('⟧') { encoded.len() } else { 76 };
        let lines: Vec<&[u8]> = encoded.as_bytes().chunks(width).collect();
        out = out + plain + &String::from_utf8(lines.join(&b"\n"[..])).unwrap();
        rest = behind;
    }
    out + rest
}
