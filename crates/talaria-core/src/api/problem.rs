//! Why the engine did not do what it was asked.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::next_step::NextStep;

/// Why something was not done: what happened, why, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Code for programs.
    pub code: ProblemCode,
    /// What happened, in words.
    pub message: String,
    /// What to do next, as it is typed in a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The same as data, for a face that says it in its own words. Some hints are text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<NextStep>,
}

/// Classes of problems, one for each thing that a caller would do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// There is no such session, task or request.
    Unknown,
    /// More than one has an id that begins so.
    Ambiguous,
    /// Someone was first, or it is over already.
    Conflict,
    /// The question does not take this answer.
    Misfit,
    /// The message is not understood.
    BadRequest,
    /// This caller may not do this.
    Forbidden,
    /// There is no valid token. Only over TCP.
    Unauthenticated,
    /// The request is for another host. Only over TCP.
    Misdirected,
    /// Too many requests, streams or wrong tokens: try again later. Only over TCP.
    TooMany,
    /// A turn runs on this session already.
    Busy,
    /// The engine has as many connections as it takes.
    Overloaded,
    /// The engine is ending.
    Stopping,
    /// Codex cannot be used.
    Codex,
    /// The database could not be read or written.
    Store,
    /// Something that should not happen.
    Internal,
}

impl Problem {
    /// Says what happened.
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, next_step: None }
    }

    /// Says what to do next, in words that are the same in every face.
    #[must_use]
    pub fn try_this(self, hint: impl Into<String>) -> Self {
        self.next(hint.into())
    }

    /// The next step for the user; each client renders it.
    #[must_use]
    pub fn next(mut self, step: impl Into<NextStep>) -> Self {
        let step = step.into();
        (self.hint, self.next_step) = (Some(step.in_shell()), step.as_data());
        self
    }

    /// What to do next, as data: the step, or the text where it is the same in every face.
    pub fn advice(&self) -> Option<NextStep> {
        self.next_step.clone().or_else(|| self.hint.clone().map(NextStep::from))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}
