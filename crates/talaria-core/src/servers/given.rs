//! A value of a variable or of a header: written out, or a reference to a variable of the environment.
//!
//! Owns the notation `${NAME}` (and `${env:NAME}`). Whether Codex supports a reference depends on the key; the
//! code that reads the key decides. A literal is not shown by `Debug`: it may be a secret.

use std::fmt;

use super::names::is_variable_name;

/// Source of a value.
#[derive(Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// The value itself.
    Literal(String),
    /// The value of this variable.
    Variable(String),
    /// The word `Bearer` and the value of this variable.
    Bearer(String),
}

impl ValueSource {
    /// Reads the notation; the error says what cannot be understood.
    pub fn read(text: &str) -> Result<Self, String> {
        let Some(start) = reference(text) else { return Ok(Self::Literal(text.to_owned())) };
        let (before, rest) = text.split_at(start);
        let (name, after) = rest[2..].split_once('}').unwrap_or((&rest[2..], ""));
        let name = name.trim().trim_start_matches("env:").trim();
        if !is_variable_name(name) {
            return Err(format!("{name:?} is not the name of a variable"));
        }
        match before {
            "" if after.is_empty() => Ok(Self::Variable(name.to_owned())),
            _ if after.is_empty() && before.trim().eq_ignore_ascii_case("bearer") => {
                Ok(Self::Bearer(name.to_owned()))
            }
            _ => Err(format!("Codex cannot put ${{{name}}} into the middle of a value")),
        }
    }

    /// The variable that is referred to.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Variable(name) | Self::Bearer(name) => Some(name),
        }
    }
}

impl fmt::Debug for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(_) => f.write_str("Literal(…)"),
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
            Self::Bearer(name) => f.debug_tuple("Bearer").field(name).finish(),
        }
    }
}

/// Where the first reference in `text` begins.
pub fn reference(text: &str) -> Option<usize> {
    let start = text.find("${")?;
    text[start..].contains('}').then_some(start)
}
