//! `talaria sessions`: stored conversations.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::measure::{age, size};

const EXAMPLES: &str = "\
Examples:
  talaria sessions list --limit 50
  talaria sessions show 6171dafd
  talaria sessions search cargo test failed
  talaria sessions rename 6171dafd the flaky parser test
  talaria sessions export 6171dafd -o talk.md
  talaria sessions export 6171dafd --format html -o talk.html
  talaria sessions compact 6171dafd
  talaria sessions fork 6171dafd --at 3
  talaria sessions undo 6171dafd
  talaria sessions retry 6171dafd
  talaria sessions prune --older-than 30d --keep 100
  talaria exec --resume 6171dafd \"continue\"";

/// Options of `talaria sessions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) action: SessionsAction,
}

/// Subcommands of `talaria sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsAction {
    /// List conversations, the newest first
    #[command(after_help = EXAMPLES)]
    List {
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
        /// Print one JSON object per conversation
        #[arg(long)]
        json: bool,
    },
    /// Show one conversation: its turns, messages and steps
    #[command(after_help = EXAMPLES)]
    Show {
        /// The conversation: a session or task id, or a unique beginning or end of one
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Search the messages and steps of all conversations
    #[command(after_help = EXAMPLES)]
    Search(Search),
    /// Change the title of a conversation
    #[command(after_help = EXAMPLES)]
    Rename {
        /// The conversation: a session or task id, or a unique beginning or end of one
        id: String,
        /// The title; several words need no quotes
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Write one conversation to a file or to standard output
    #[command(after_help = EXAMPLES)]
    Export(Export),
    /// Shorten one conversation: a summary takes the place of its beginning in the model's context
    #[command(after_help = EXAMPLES)]
    Compact(Compaction),
    /// Begin another conversation with the turns of this one, which stays as it is
    #[command(after_help = EXAMPLES)]
    Fork(ForkOptions),
    /// Undo the last turn: the conversation continues as if it had not happened; its changes to files stay
    #[command(after_help = EXAMPLES)]
    Undo {
        /// The conversation: a session id, or a unique beginning or end of one
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Undo the last turn and send its input again
    #[command(after_help = EXAMPLES)]
    Retry(RetryOptions),
    /// Delete old conversations
    #[command(after_help = EXAMPLES)]
    Prune(Prune),
}

/// Options of `talaria sessions search`.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The words, all of which must occur
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// At most this many matches
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,
    /// Print one JSON object per match
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `talaria sessions export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The conversation: a session or task id, or a unique beginning or end of one
    pub(crate) id: String,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    pub(crate) format: Format,
    /// Write to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Options of `talaria sessions compact`.
#[derive(Debug, Args)]
pub(crate) struct Compaction {
    /// The conversation: a session or task id, or a unique beginning or end of one
    pub(crate) id: String,
    /// Print one JSON object per event
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `talaria sessions fork`.
#[derive(Debug, Args)]
pub(crate) struct ForkOptions {
    /// The conversation: a session id, or a unique beginning or end of one
    pub(crate) id: String,
    /// The last turn that the fork has; without it, the last one that ended
    #[arg(long, value_name = "TURN", conflicts_with = "before_compaction")]
    pub(crate) at: Option<i64>,
    /// Only the turns before the conversation was last shortened
    #[arg(long)]
    pub(crate) before_compaction: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `talaria sessions retry`.
#[derive(Debug, Args)]
pub(crate) struct RetryOptions {
    /// The conversation: a session id, or a unique beginning or end of one
    pub(crate) id: String,
    /// Print one JSON object per event
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a conversation is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Markdown for people: words, commands with their output, changes of files as diffs.
    #[value(name = "md", alias = "markdown")]
    Markdown,
    /// One message per line, in the shape that chat models read.
    Jsonl,
    /// One page for a browser, which loads and runs nothing.
    Html,
    /// One JSON object in ShareGPT form, for training: conversations, timestamp, model, completed.
    Trajectory,
}

/// Options of `talaria sessions prune`.
#[derive(Debug, Args)]
pub(crate) struct Prune {
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Delete without asking; otherwise the selection is shown, and at a terminal you are asked
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Selects conversations to delete; one matching option is enough.
#[derive(Clone, Copy, Debug, Args)]
#[command(group(ArgGroup::new("limits").required(true).multiple(true).args(["older_than", "keep", "max_size"])))]
pub(crate) struct Limits {
    /// Conversations without activity for this time, such as 30d or 12w
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Option<Duration>,
    /// All but this many of the newest
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<u64>,
    /// The oldest, until the rest takes at most this size, such as 500MB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: Option<u64>,
}
