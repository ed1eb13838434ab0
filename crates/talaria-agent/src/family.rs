//! The three wire families, which every provider of the loop speaks one of.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFamily {
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, and what is compatible with it.
    Chat,
    /// Anthropic Messages.
    Messages,
}

impl ModelFamily {
    /// Every family.
    pub const ALL: [Self; 3] = [Self::Responses, Self::Chat, Self::Messages];

    /// The word for it in configuration, rows and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Messages => "messages",
        }
    }

    /// The path of a model request below the base URL, which ends in the version (`…/v1`).
    pub fn path(self) -> &'static str {
        match self {
            Self::Responses => "/responses",
            Self::Chat => "/chat/completions",
            Self::Messages => "/messages",
        }
    }
}

impl fmt::Display for ModelFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no family.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not an API that Talaria speaks; use \"responses\", \"chat\" or \"messages\"")]
pub struct UnknownFamily {
    /// The word.
    pub given: String,
}

impl FromStr for ModelFamily {
    type Err = UnknownFamily;

    fn from_str(text: &str) -> Result<Self, UnknownFamily> {
        let family = Self::ALL.into_iter().find(|family| family.as_str() == text);
        family.ok_or_else(|| UnknownFamily { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_read_as_it_is_written() {
        for family in ModelFamily::ALL {
            assert_eq!(family.to_string().parse(), Ok(family));
            assert_eq!(serde_json::to_value(family).unwrap(), family.as_str());
        }
        let error = "grpc".parse::<ModelFamily>().unwrap_err().to_string();
        assert!(error.contains("\"grpc\"") && error.contains("\"messages\""), "{error}");
    }
}
