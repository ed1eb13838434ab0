//! How a turn ended. Silence is not an outcome, and nothing here is guessed: each variant names its evidence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::next_step::NextStep;
use crate::request::Who;
use crate::usage::{RateLimits, Usage};

/// Codex's name for the provider that `codex login` is for.
const OPENAI: &str = "openai";
/// The exit code of a turn for which Codex is missing or not logged in.
const CODEX_UNUSABLE: u8 = 6;

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
    /// The account may not use this; choose something else.
    NotPermitted,
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
    /// Codex cannot be started: install it.
    Codex,
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
            Self::NotPermitted => NextStep::ChooseModel,
            Self::ContextWindow => NextStep::ShortenConversation,
            Self::InputTooLarge => NextStep::ShortenPrompt,
            Self::ModelNotFound => NextStep::ChooseModel,
            Self::BadRequest => NextStep::CheckModel,
            Self::Server => NextStep::Retry,
            Self::Connection => NextStep::CheckNetwork,
            Self::Sandbox => NextStep::CheckSandbox,
            Self::Codex => NextStep::InstallCodex,
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
            Self::NotPermitted => "not_permitted",
            Self::ContextWindow => "context_window",
            Self::InputTooLarge => "input_too_large",
            Self::ModelNotFound => "model_not_found",
            Self::BadRequest => "bad_request",
            Self::Server => "server",
            Self::Connection => "connection",
            Self::Sandbox => "sandbox",
            Self::Codex => "codex",
            Self::NotSent => "not_sent",
            Self::Other => "other",
        })
    }
}

/// The final report of a turn.
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
    /// The error text.
    pub message: Option<String>,
    /// The final answer.
    pub text: Option<String>,
    /// Tokens used.
    pub usage: Usage,
    /// Requests declined because no one could be asked or this build could not show them.
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
}

/// The JSON form of a report: the outcome is a word, and its details are sibling fields.
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
    /// Builds before the code `codex` wrote the exit code, which alone distinguished a Codex that is missing.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    exit: Option<u8>,
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
        let Written { by, message, text, usage, declined, children_running, retry_at, .. } = written;
        let code = match (written.code, written.exit) {
            (Some(FailureCode::NotSent), Some(CODEX_UNUSABLE)) => Some(FailureCode::Codex),
            (code, _) => code,
        };
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
        }
    }

    /// The next step for the user; each client renders it.
    #[must_use]
    pub fn with_next(mut self, step: impl Into<NextStep>) -> Self {
        let step = step.into();
        (self.hint, self.next_step) = (Some(step.in_shell()), step.as_data());
        self
    }

    /// Says what to do next, in words that are the same in every face.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        self.with_next(hint.into())
    }

    /// The exit code of a command that shows how the turn ended. Only a command line has exit codes: neither a stored
    /// outcome nor the API contains one, and `--json` adds it where it prints.
    pub fn exit_code(&self) -> u8 {
        match &self.outcome {
            Outcome::Completed if self.declined > 0 => 3,
            Outcome::Completed => 0,
            Outcome::Failed { code: FailureCode::Auth | FailureCode::Codex, .. } => CODEX_UNUSABLE,
            Outcome::Failed { .. } => 1,
            Outcome::Interrupted { by: Who::Deadline } => 5,
            Outcome::Interrupted { .. } => 4,
            Outcome::Lost { .. } => 7,
        }
    }

    /// Says how many sub-agents had not ended.
    #[must_use]
    pub fn with_children(mut self, running: usize) -> Self {
        self.children_running = running;
        self
    }

    /// Advises to renew the login, if Codex ended with a complaint about it.
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

    #[test]
    fn rows_of_older_builds_are_read_and_none_of_ours_has_an_exit_code() {
        let report = |outcome| Report::new(outcome, None, Usage::default(), 0);
        let failed = |code| report(Outcome::Failed { code, message: "no".to_owned() });
        let stored = |report: &Report| serde_json::to_value(report).unwrap();
        let read = |mut row: serde_json::Value, exit: u8| {
            row["exit"] = exit.into();
            serde_json::from_value::<Report>(row).unwrap()
        };
        for written in [report(Outcome::Completed), failed(FailureCode::NotSent), failed(FailureCode::Codex)]
        {
            let row = stored(&written);
            assert_eq!(row.get("exit"), None, "{row}");
            assert_eq!(serde_json::from_value::<Report>(row).unwrap(), written);
        }
        // A missing Codex had the code of any unsent input, and its own exit code.
        let missing = read(stored(&failed(FailureCode::NotSent)), 6);
        assert_eq!((missing.code, missing.exit_code()), (Some(FailureCode::Codex), 6));
        let not_sent = read(stored(&failed(FailureCode::NotSent)), 1);
        assert_eq!((not_sent.code, not_sent.exit_code()), (Some(FailureCode::NotSent), 1));
    }

    #[test]
    fn advice_that_is_the_same_everywhere_is_stored_as_text_alone() {
        let lost = Report::new(Outcome::Lost { why: "gone".to_owned() }, None, Usage::default(), 0);
        assert_eq!(lost.next_step, Some(NextStep::CheckEffects));
        let advised = lost.with_next("make room");
        assert_eq!((advised.hint.as_deref(), advised.next_step), (Some("make room"), None));
    }
}
