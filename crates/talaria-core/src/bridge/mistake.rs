//! Why a call is not done, said so that a model can mend it. Nothing that was written as text is repeated, because it may
//! hold secrets; words that must be one of a few are.

use std::fmt;

/// What is wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong: the parameter, what was given, what is allowed.
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
