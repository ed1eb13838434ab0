//! `talaria requests`: what waits for a person.

use clap::{Args, Subcommand};
use talaria_core::request::Decision;

const EXAMPLES: &str = "\
Examples:
  talaria requests list
  talaria requests show req-1a2b
  talaria requests answer req-1a2b accept
  talaria requests answer req-1a2b decline --reason \"use the staging database\"
  talaria requests answer req-1a2b accept --answers '{\"colour\": \"blue\"}'";

/// Options of `talaria requests`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Requests {
    #[command(subcommand)]
    pub(crate) action: RequestsAction,
}

/// Subcommands of `talaria requests`.
#[derive(Debug, Subcommand)]
pub(crate) enum RequestsAction {
    /// List open requests
    #[command(after_help = EXAMPLES)]
    List {
        /// Print one JSON object per request
        #[arg(long)]
        json: bool,
    },
    /// Show a whole request: the command or the diff, where it would run, and how it was answered
    #[command(after_help = EXAMPLES)]
    Show {
        /// The request: its id, or a unique beginning or end of it
        request: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Answer a request; the request is shown on standard error
    #[command(after_help = EXAMPLES)]
    Answer(AnswerOptions),
}

/// Options of `talaria requests answer`.
#[derive(Debug, Args)]
pub(crate) struct AnswerOptions {
    /// The request: its id, or a unique beginning or end of it
    pub(crate) request: String,
    /// Your decision
    #[arg(value_enum)]
    pub(crate) verdict: Verdict,
    /// The reason, which is passed on to the model
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Answers to the model's questions or values of a form, by id or name; `-` reads them from standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) answers: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Decisions of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Verdict {
    /// Yes, once
    Accept,
    /// Yes, and do not ask again for the same in this conversation
    AcceptForSession,
    /// Yes, and always allow what the rule proposed by Codex covers, in every conversation
    AcceptAlways,
    /// No; the turn continues
    Decline,
    /// No; the turn is stopped
    Cancel,
}

impl From<Verdict> for Decision {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Accept => Self::Accept,
            Verdict::AcceptForSession => Self::AcceptForSession,
            Verdict::AcceptAlways => Self::AcceptAlways,
            Verdict::Decline => Self::Decline,
            Verdict::Cancel => Self::Cancel,
        }
    }
}
