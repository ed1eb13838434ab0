//! Why a call is rejected, worded so that a model can correct it. Free text is never repeated, because it may contain
//! secrets; wrong keywords are.

use std::fmt;

/// A mistake in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The message: the parameter, its value, the allowed values.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Mistake {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(super) fn try_this(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}
