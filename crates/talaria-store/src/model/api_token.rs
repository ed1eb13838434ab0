//! Tokens of the API. The token itself never reaches the store: only a digest of it does.

/// A token to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApiToken {
    /// The public part of the token.
    pub id: String,
    pub name: String,
    /// SHA-256 of its secret part.
    pub hash: Vec<u8>,
    /// The rights, as JSON.
    pub scopes: String,
    /// The directories, as JSON.
    pub roots: String,
    pub created_at: i64,
    pub created_by: String,
    pub expires_at: Option<i64>,
}

/// A stored token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiTokenRow {
    pub token: NewApiToken,
    /// When it was last used.
    pub used_at: Option<i64>,
    /// From which address that was.
    pub used_from: Option<String>,
    pub revoked_at: Option<i64>,
}
