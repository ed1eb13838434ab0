//! The name of a key with its sections, as people type it: `codex.bin`, `mcp_servers."my server".command`.

use std::fmt;
use std::str::FromStr;

use crate::toml_write::push_key;

/// A key and the sections that it lies in; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPath {
    parts: Vec<String>,
}

/// Why a text names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a key: {why}")]
pub struct BadKeyPath {
    given: String,
    why: String,
}

impl KeyPath {
    /// Takes the sections and the key, outermost first; none if there is no part.
    pub fn new<P: Into<String>>(parts: impl IntoIterator<Item = P>) -> Option<Self> {
        let parts: Vec<String> = parts.into_iter().map(Into::into).collect();
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// The sections and the key, outermost first, without quotes.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Returns whether a key with these parts is this one or lies in it.
    pub(super) fn contains<P: AsRef<str>>(&self, parts: &[P]) -> bool {
        parts.len() >= self.parts.len()
            && self.parts.iter().zip(parts).all(|(own, part)| own == part.as_ref())
    }

    /// The key `name` inside this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let mut parts = self.parts.clone();
        parts.push(name.to_owned());
        Self { parts }
    }
}

impl FromStr for KeyPath {
    type Err = BadKeyPath;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |why: String| BadKeyPath { given: text.to_owned(), why };
        let keys = toml_edit::Key::parse(text)
            .map_err(|error| bad(error.message().trim_end().replace('\n', ", ")))?;
        Self::new(keys.iter().map(toml_edit::Key::get)).ok_or_else(|| bad("it is empty".to_owned()))
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&dotted(&self.parts))
    }
}

/// Writes parts with dots between them, quoted where they must be.
pub(super) fn dotted(parts: &[String]) -> String {
    parts.iter().map(|part| name(part)).collect::<Vec<_>>().join(".")
}

/// Writes one part, quoted if it must be.
pub(super) fn name(part: &str) -> String {
    let mut out = String::new();
    push_key(&mut out, part);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_and_written_with_quotes_where_they_are_needed() {
        for (given, parts, written) in [
            ("codex.bin", vec!["codex", "bin"], "codex.bin"),
            (" a . b ", vec!["a", "b"], "a.b"),
            (
                "mcp_servers.\"my server\".command",
                vec!["mcp_servers", "my server", "command"],
                "mcp_servers.\"my server\".command",
            ),
            ("a.'x.y'.\"\"", vec!["a", "x.y", ""], "a.\"x.y\".\"\""),
            ("3.4", vec!["3", "4"], "3.4"),
        ] {
            let path: KeyPath = given.parse().unwrap();
            assert_eq!(path.parts(), parts);
            assert_eq!(path.to_string(), written);
            assert_eq!(path.to_string().parse(), Ok(path));
        }
        for wrong in ["", ".", "a.", ".a", "a b", "a..b", "ü", "a = 1", "[a]", "\"a"] {
            let error = wrong.parse::<KeyPath>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{wrong:?} is not a key: ")), "{error}");
        }
    }
}
