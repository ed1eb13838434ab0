//! What went wrong with a model request, as data: its class, the provider's own words, what is known about waiting.
//!
//! A class exists for each thing that follows: a retry, a repair, another model, a word to the person. Nothing here decides
//! what follows; `retry` does. A status of 403 is never the class `Auth`: it does not say that a key is wrong.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use talaria_core::outcome::FailureCode;

mod advice;
mod body;
mod classify;
#[cfg(test)]
mod tests;
mod wait;

pub use classify::{classify_code, classify_frame, classify_response, refused_parameter};
pub(crate) use wait::LONGEST_WAIT;

/// Classes of failure of a model request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The credential is missing, wrong or expired.
    Auth,
    /// The credential is good, and the account, region or plan may not use this.
    Entitlement,
    /// Too many requests or tokens in a short time.
    RateLimit,
    /// Credit or allowance is used up.
    Quota,
    /// The provider is too busy.
    Overloaded,
    /// The provider had an error.
    Server,
    /// No connection, or it broke.
    Transport,
    /// The conversation does not fit the model's context.
    ContextTooLong,
    /// More output was asked for than the model allows.
    OutputLimit,
    /// An image is too large or cannot be read.
    Image,
    /// The request is malformed in the provider's eyes.
    InvalidRequest,
    /// Replayed reasoning was refused.
    ReasoningRefused,
    /// A policy of the provider stopped it.
    ContentFilter,
    /// The provider does not have this model.
    ModelGone,
    /// The certificate of the server is not trusted.
    Certificate,
}

impl FailureClass {
    /// Every class.
    pub const ALL: [Self; 15] = [
        Self::Auth,
        Self::Entitlement,
        Self::RateLimit,
        Self::Quota,
        Self::Overloaded,
        Self::Server,
        Self::Transport,
        Self::ContextTooLong,
        Self::OutputLimit,
        Self::Image,
        Self::InvalidRequest,
        Self::ReasoningRefused,
        Self::ContentFilter,
        Self::ModelGone,
        Self::Certificate,
    ];

    /// The word for it in rows and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Entitlement => "entitlement",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Transport => "transport",
            Self::ContextTooLong => "context_too_long",
            Self::OutputLimit => "output_limit",
            Self::Image => "image",
            Self::InvalidRequest => "invalid_request",
            Self::ReasoningRefused => "reasoning_refused",
            Self::ContentFilter => "content_filter",
            Self::ModelGone => "model_gone",
            Self::Certificate => "certificate",
        }
    }

    /// The class of the turn's outcome, if the turn fails with this.
    pub fn outcome_code(self) -> FailureCode {
        match self {
            Self::Auth => FailureCode::Auth,
            Self::RateLimit | Self::Overloaded => FailureCode::RateLimit,
            Self::Quota => FailureCode::UsageLimit,
            Self::Server => FailureCode::Server,
            Self::Transport | Self::Certificate => FailureCode::Connection,
            Self::ContextTooLong => FailureCode::ContextWindow,
            Self::Image => FailureCode::InputTooLarge,
            Self::OutputLimit | Self::InvalidRequest | Self::ReasoningRefused => FailureCode::BadRequest,
            Self::ModelGone => FailureCode::ModelNotFound,
            Self::Entitlement => FailureCode::NotPermitted,
            Self::ContentFilter => FailureCode::Other,
        }
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a failure concerns: everything else may still work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureScope {
    /// The key.
    Key,
    /// The account.
    Account,
    /// The model.
    Model,
    /// The endpoint.
    Endpoint,
    /// This request.
    Request,
}

/// What a class was concluded from, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureEvidence {
    /// A typed code or type of the provider.
    Code,
    /// The HTTP status.
    Status,
    /// The text alone.
    Text,
    /// The transport of this program.
    Transport,
}

/// When a request may be sent again, in the provider's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitHint {
    /// After this time.
    After(Duration),
    /// At this time, in seconds since 1970.
    Until(i64),
}

impl WaitHint {
    /// The time, in seconds since 1970.
    pub fn at(self, now: i64) -> i64 {
        match self {
            Self::Until(at) => at,
            Self::After(wait) => now.saturating_add(i64::try_from(wait.as_secs()).unwrap_or(i64::MAX)),
        }
    }
}

/// A failed model request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// Its class.
    pub class: FailureClass,
    /// The HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The provider's type of error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The parameter that the provider names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The provider's own words, bounded; or the transport's.
    pub text: String,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Who failed, where a relay names the provider that it asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// When it may be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitHint>,
    /// What it concerns.
    pub scope: FailureScope,
    /// What the class was concluded from.
    pub evidence: FailureEvidence,
}

impl ModelFailure {
    /// A failure of the connection or of TLS, in the transport's words.
    pub fn transport(class: FailureClass, text: impl Into<String>) -> Self {
        Self {
            class,
            status: None,
            code: None,
            kind: None,
            param: None,
            text: text.into(),
            request_id: None,
            upstream: None,
            wait: None,
            scope: FailureScope::Endpoint,
            evidence: FailureEvidence::Transport,
        }
    }
}
