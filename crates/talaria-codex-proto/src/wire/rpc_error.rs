//! The error object of JSON-RPC.

use serde::Deserialize;
use serde_json::Value;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Deserialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    /// For programs.
    pub code: i64,
    /// For people.
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub data: Option<Value>,
}

impl RpcError {
    /// The server had too much to do; the request was not looked at.
    pub const OVERLOADED: i64 = -32001;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The request never left Talaria. Codex does not use this code.
    pub const NOT_WRITTEN: i64 = -32098;

    /// The refusal of a request that no one here knows.
    pub fn unknown_method(method: &str) -> Self {
        let message = format!("{method} is not supported by this client");
        Self { code: Self::METHOD_NOT_FOUND, message, data: None }
    }

    /// Was the request not looked at because the server had too much to do?
    pub fn is_overload(&self) -> bool {
        self.code == Self::OVERLOADED
    }
}
