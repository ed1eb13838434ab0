//! Tokens of the API: how they are made, listed and revoked. The token itself is in one response and nowhere else.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::TokenScope;

/// A token is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewToken {
    /// Its name: one word.
    pub name: String,
    /// Its rights.
    pub scopes: Vec<TokenScope>,
    /// The directories to which they are limited; absolute.
    #[serde(default)]
    pub roots: Vec<String>,
    /// After how many milliseconds it ends; without it, never.
    #[serde(default)]
    pub lasts_ms: Option<u64>,
}

/// A token was made. This response is the only place where it can be read.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenMade {
    /// What `Authorization: Bearer` takes.
    pub token: String,
    /// Its stored properties.
    pub info: TokenInfo,
}

impl std::fmt::Debug for TokenMade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenMade").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The stored properties of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenInfo {
    /// Its id.
    pub id: String,
    /// Its name; callers with it are `token:NAME`.
    pub name: String,
    /// Its rights.
    pub scopes: Vec<TokenScope>,
    /// The directories to which they are limited.
    pub roots: Vec<String>,
    /// Its state.
    pub state: TokenState,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// From which address that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_from: Option<String>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// The state of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokenState {
    /// It is accepted.
    Valid,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
}
