//! Problems of a configuration file, as text for a person.
//!
//! Owns the format (`line 3: key: message; hint`) and the conversion of a byte offset to line and column. The caller
//! that prints a problem adds the file name.

use std::fmt;
use std::ops::Range;

use toml_edit::Document;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something has no effect.
    Warning,
    /// A value cannot be used.
    Error,
}

/// One thing that is wrong in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The full name of the key; none when the file is not TOML.
    pub key: Option<String>,
    /// The message.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// How bad it is.
    pub severity: Severity,
}

/// Reads a text as TOML, with everything that is needed to change it or to say where something is.
pub fn read(text: &str) -> Result<Document<&str>, ConfigProblem> {
    Document::parse(text).map_err(|error| ConfigProblem::syntax(text, error.span(), error.message()))
}

impl ConfigProblem {
    /// Reports where and why a text is not TOML.
    pub fn syntax(text: &str, span: Option<Range<usize>>, message: &str) -> Self {
        let (line, column) = position(text, span.map(|span| span.start));
        let message = message.trim_end().replace('\n', ", ");
        Self { line, column, key: None, message, hint: None, severity: Severity::Error }
    }

    /// Returns whether the value cannot be used, as opposed to having no effect.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column, &self.key) {
            (Some(line), Some(column), None) => write!(f, "line {line}, column {column}: ")?,
            (Some(line), _, _) => write!(f, "line {line}: ")?,
            (None, _, _) => {}
        }
        if let Some(key) = &self.key {
            write!(f, "{}: ", key.escape_debug())?;
        }
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for ConfigProblem {}

/// Counts line and column of a byte offset, both from 1; an offset past the end means the end.
pub fn position(text: &str, offset: Option<usize>) -> (Option<usize>, Option<usize>) {
    let Some(offset) = offset else { return (None, None) };
    // A byte order mark is no character that a person sees.
    let before = text.get(..offset).unwrap_or(text).trim_start_matches('\u{feff}');
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    (Some(line), Some(column))
}

/// Adds the article to the name of a TOML type.
pub(crate) fn article(type_name: &str) -> String {
    let article = if type_name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {type_name}")
}
