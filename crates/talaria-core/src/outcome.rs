//! How a turn ended. Silence is not an outcome, and nothing here is guessed: each variant names its evidence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::next_step::NextStep;
use crate::request::Who;
use crate::usage::{RateLimits, Usage};

/// Codex's name for the provider that `codex login` is for.
const OPENAI: &str = "openai";

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Codex said that the turn completed.
    Completed,
    /// Codex said that it failed, or refused to start it.
    Failed {
        /// The class of the failure.
        code: FailureCode,
        /// Codex's words.
        message: String,
    },
    /// Codex said that it was interrupted.
    Interrupted {
        /// Who wanted that.
        by: Who,
    },
    /// The turn can no longer be followed, and its end is not known.
    Lost {
        /// What happened.
        why: String,
    },
}

impl Outcome {
    /// The word used in JSON and on screen.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Interrupted { .. } => "interrupted",
            Self::Lost { .. } => "lost",
        }
    }
}

/// Classes of failure, one for each thing that a person or program would do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// Log in again.
    Auth,
    /// Wait, then try again.
    RateLimit,
    /// The plan's allowance is used up: wait longer, or buy more.
    UsageLimit,
    /// Start again or compact.
    ContextWindow,
    /// The input does not fit; shorten it.
    InputTooLarge,
    /// The provider does not have the model for this account, or its address is wrong (status 404).
    ModelNotFound,
    /// The request was refused as malformed.
    BadRequest,
    /// The provider had an error; try again.
    Server,
    /// The connection to the provider broke; try again.
    Connection,
    /// The sandbox could not be set up.
    Sandbox,
    /// Codex never had the input: nothing was done.
    NotSent,
    /// Something else: read the message.
    Other,
}

impl FailureCode {
    /// What to do next.
    pub fn next_step(self) -> NextStep {
        match self {
            Self::Auth => NextStep::Login,
            Self::RateLimit => NextStep::RetryLater,
            Self::UsageLimit => NextStep::AwaitLimit,
            Self::ContextWindow => NextStep::ShortenConversation,
            Self::InputTooLarge => NextStep::ShortenPrompt,
            Self::ModelNotFound => NextStep::ChooseModel,
            Self::BadRequest => NextStep::CheckModel,
            Self::Server => NextStep::Retry,
            Self::Connection => NextStep::CheckNetwork,
            Self::Sandbox => NextStep::CheckSandbox,
            Self::NotSent => NextStep::SendAgain,
            Self::Other => NextStep::Doctor,
        }
    }
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::UsageLimit => "usage_limit",
            Self::ContextWindow => "context_window",
            Self::InputTooLarge => "input_too_large",
            Self::ModelNotFound => "model_not_found",
            Self::BadRequest => "bad_request",
            Self::Server => "server",
            Self::Connection => "connection",
            Self::Sandbox => "sandbox",
            Self::NotSent => "not_sent",
            Self::Other => "other",
        })
    }
}

/// The last line of a turn: what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Written")]
pub struct Report {
    /// `completed`, `failed`, `interrupted` or `lost`.
    #[serde(serialize_with = "outcome_word")]
    #[cfg_attr(feature = "schema", schemars(with = "OutcomeWord"))]
    pub outcome: Outcome,
    /// The class of a failure.
    pub code: Option<FailureCode>,
    /// Who interrupted it.
    pub by: Option<Who>,
    /// What went wrong, in words.
    pub message: Option<String>,
    /// The final answer.
    pub text: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// Requests declined because no one could be asked or this build could not put them.
    pub declined: u32,
    /// Sub-agents of this turn that had not ended when it was reported.
    pub children_running: usize,
    /// What to do next, if it did not complete, as it is typed in a shell.
    pub hint: Option<String>,
    /// The same as data, for a face that says it in its own words. Older builds did not write it, and some hints are text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<NextStep>,
    /// When the limit that stopped it resets, in seconds since 1970.
    pub retry_at: Option<i64>,
    /// The exit code that `talaria exec` ends with.
    pub exit: u8,
}

/// A report as JSON has it: the outcome is a word, and what belongs to it is beside it.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Written {
    outcome: OutcomeWord,
    code: Option<FailureCode>,
    by: Option<Who>,
    message: Option<String>,
    text: Option<String>,
    usage: Usage,
    declined: u32,
    children_running: usize,
    hint: Option<String>,
    #[serde(default)]
    next_step: Option<NextStep>,
    retry_at: Option<i64>,
    exit: u8,
}

#[derive(Clone, Copy, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum OutcomeWord {
    Completed,
    Failed,
    Interrupted,
    Lost,
}

impl From<Written> for Report {
    fn from(written: Written) -> Self {
        let Written { code, by, message, text, usage, declined, children_running, retry_at, exit, .. } =
            written;
        let words = || message.clone().unwrap_or_default();
        let outcome = match written.outcome {
            OutcomeWord::Completed => Outcome::Completed,
            OutcomeWord::Failed => {
                Outcome::Failed { code: code.unwrap_or(FailureCode::Other), message: words() }
            }
            OutcomeWord::Interrupted => Outcome::Interrupted { by: by.unwrap_or(Who::Codex) },
            OutcomeWord::Lost => Outcome::Lost { why: words() },
        };
        let (hint, next_step) = (written.hint, written.next_step);
        Self {
            outcome,
            code,
            by,
            message,
            text,
            usage,
            declined,
            children_running,
            hint,
            next_step,
            retry_at,
            exit,
        }
    }
}

fn outcome_word<S: serde::Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.word())
}

impl Report {
    /// Sums up a turn.
    pub fn new(outcome: Outcome, text: Option<String>, usage: Usage, declined: u32) -> Self {
        let (code, by, message) = match &outcome {
            Outcome::Completed => (None, None, None),
            Outcome::Failed { code, message } => (Some(*code), None, Some(message.clone())),
            Outcome::Interrupted { by } => (None, Some(*by), None),
            Outcome::Lost { why } => (None, None, Some(why.clone())),
        };
        let next_step = match &outcome {
            Outcome::Failed { code, .. } => Some(code.next_step()),
            Outcome::Lost { .. } => Some(NextStep::CheckEffects),
            Outcome::Completed | Outcome::Interrupted { .. } => None,
        };
        let hint = next_step.as_ref().map(NextStep::in_shell);
        let exit = exit_code(&outcome, declined);
        let (children_running, retry_at) = (0, None);
        Self {
            outcome,
            code,
            by,
            message,
            text,
            usage,
            declined,
            children_running,
            hint,
            next_step,
            retry_at,
            exit,
        }
    }

    /// Says what to do next; each face puts it into words.
    #[must_use]
    pub fn with_next(mut self, step: NextStep) -> Self {
        (self.hint, self.next_step) = (Some(step.in_shell()), Some(step));
        self
    }

    /// Says what to do next, in words that are the same in every face.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        (self.hint, self.next_step) = (Some(hint.into()), None);
        self
    }

    /// Says how many sub-agents had not ended.
    #[must_use]
    pub fn with_children(mut self, running: usize) -> Self {
        self.children_running = running;
        self
    }

    /// Says that the login has to be renewed, where Codex went and had complained of it.
    #[must_use]
    pub fn with_login_hint(self) -> Self {
        self.with_next(NextStep::Login)
    }

    /// Fits the hint to the provider: a login at OpenAI does not help with the key of another one.
    #[must_use]
    pub fn at_provider(self, provider: &str) -> Self {
        if self.next_step == Some(NextStep::Login) && provider != OPENAI {
            return self.with_next(NextStep::CheckProvider { provider: provider.to_owned() });
        }
        self
    }

    /// Says until when to wait, if a limit stopped the turn and the account's limits are known.
    #[must_use]
    pub fn with_limits(mut self, limits: Option<&RateLimits>) -> Self {
        if matches!(self.code, Some(FailureCode::RateLimit | FailureCode::UsageLimit)) {
            self.retry_at = limits.and_then(RateLimits::resets_at);
        }
        self
    }
}

/// The exit codes of the command line, as far as a turn decides them.
fn exit_code(outcome: &Outcome, declined: u32) -> u8 {
    match outcome {
        Outcome::Completed if declined > 0 => 3,
        Outcome::Completed => 0,
        Outcome::Failed { code: FailureCode::Auth, .. } => 6,
        Outcome::Failed { .. } => 1,
        Outcome::Interrupted { by: Who::Deadline } => 5,
        Outcome::Interrupted { .. } => 4,
        Outcome::Lost { .. } => 7,
    }
}

#[cfg(test)]
mod hints {
    use super::*;

    #[test]
    fn a_login_is_advised_only_where_the_provider_takes_one() {
        let failed = Outcome::Failed { code: FailureCode::Auth, message: "401".to_owned() };
        let failed = Report::new(failed, None, Usage::default(), 0);
        let lost = Outcome::Lost { why: "Codex ended".to_owned() };
        let lost = Report::new(lost, None, Usage::default(), 0);
        for report in [failed, lost.clone().with_login_hint()] {
            let hint = |provider: &str| report.clone().at_provider(provider).hint.unwrap_or_default();
            assert_eq!(hint("openai"), NextStep::Login.in_shell());
            assert!(hint("mock").starts_with("check the key of the provider mock"), "{}", hint("mock"));
        }
        assert_eq!(lost.clone().at_provider("mock").hint, lost.hint, "nothing spoke of a login");
    }
}
