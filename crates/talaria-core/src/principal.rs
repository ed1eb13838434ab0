//! The principal of a call to the engine: a person, the holder of a token, a chat user, or a model that calls a tool.
//!
//! Owns how that is written: `person:ada`, `model:claude-code`. What each may do is decided by the engine. A model is not
//! believed to be a person: its door (`talaria mcp`) says what it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;

/// The longest name.
const LONGEST: usize = 64;
/// Begins the name of a model that delegates tasks in a conversation.
const DELEGATING: &str = "session/";

/// What kind of caller it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// The person whose home it is, at a terminal.
    Person,
    /// The holder of a token of the API.
    Token,
    /// A person in a chat.
    Chat,
    /// A model, through a tool.
    Model,
}

impl PrincipalKind {
    const ALL: [Self; 4] = [Self::Person, Self::Token, Self::Chat, Self::Model];

    const fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Token => "token",
            Self::Chat => "chat",
            Self::Model => "model",
        }
    }
}

/// The principal of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Principal {
    kind: PrincipalKind,
    name: String,
}

impl Principal {
    /// A principal of this kind. The name is reduced to the characters of one printable word, at most 64.
    pub fn new(kind: PrincipalKind, name: &str) -> Self {
        let fits = |letter: &char| letter.is_alphanumeric() || "-_.@/+".contains(*letter);
        let name: String = name.trim().replace(' ', "-").chars().filter(fits).take(LONGEST).collect();
        Self { kind, name: if name.is_empty() { "unknown".to_owned() } else { name } }
    }

    /// A person.
    pub fn person(name: &str) -> Self {
        Self::new(PrincipalKind::Person, name)
    }

    /// A model.
    pub fn model(name: &str) -> Self {
        Self::new(PrincipalKind::Model, name)
    }

    /// The model of a conversation, which delegates tasks. No other caller has such a name (`Identity::claiming`).
    pub fn delegating(session: &SessionId) -> Self {
        Self::model(&format!("{DELEGATING}{session}"))
    }

    /// The conversation that delegated a task with this owner, if one did.
    pub fn delegator(&self) -> Option<&str> {
        (self.kind == PrincipalKind::Model).then(|| self.name.strip_prefix(DELEGATING)).flatten()
    }

    /// What kind of caller it is.
    pub fn kind(&self) -> PrincipalKind {
        self.kind
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Are hints for it written in the words of the MCP tool, not of the command line? For the choice of words alone: rights
    /// are `Access`.
    pub fn reads_tool_hints(&self) -> bool {
        self.kind == PrincipalKind::Model
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.word(), self.name)
    }
}

/// A text that names no one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a principal: write person:NAME, token:NAME, chat:NAME or model:NAME")]
pub struct BadPrincipal(String);

impl FromStr for Principal {
    type Err = BadPrincipal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadPrincipal(text.to_owned());
        let (word, name) = text.split_once(':').ok_or_else(bad)?;
        let kind = PrincipalKind::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(bad)?;
        let read = Self::new(kind, name);
        // A name that would be changed could become someone else's.
        if read.name == name { Ok(read) } else { Err(bad()) }
    }
}

impl TryFrom<String> for Principal {
    type Error = BadPrincipal;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_read_as_it_is_written() {
        for principal in [
            Principal::person("ada"),
            Principal::model("Claude Code"),
            Principal::new(PrincipalKind::Chat, "telegram/42"),
            Principal::new(PrincipalKind::Token, "ci"),
        ] {
            assert_eq!(principal.to_string().parse(), Ok(principal));
        }
        assert_eq!(Principal::model("Claude Code").to_string(), "model:Claude-Code");
    }

    #[test]
    fn a_name_cannot_break_out_of_its_word_or_become_another() {
        assert_eq!(Principal::model("a\u{1b}[1m:b\nc").to_string(), "model:a1mbc");
        assert_eq!(Principal::model(" \n").to_string(), "model:unknown");
        assert_eq!(Principal::model(&"x".repeat(1000)).name().len(), LONGEST);
        for bad in ["", "ada", "root:ada", "person:", "model:a b", "model:a:b", "Model:a"] {
            assert!(bad.parse::<Principal>().is_err(), "{bad}");
        }
    }
}
