//! `talaria memory`: memory across conversations.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria memory list
  talaria memory add \"Prefers tabs over spaces\"
  talaria memory add --scope project \"Tests run with just test\"
  talaria memory edit tabs \"Prefers four spaces\"
  talaria memory remove tabs
  talaria memory history
  talaria memory undo 12
  talaria memory pending
  talaria memory approve prop-1a2b3c4d";

/// Options of `talaria memory`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Memory {
    #[command(subcommand)]
    pub(crate) action: MemoryAction,
}

/// Subcommands of `talaria memory`.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryAction {
    /// List what is remembered; * marks what a new conversation here starts with
    #[command(after_help = EXAMPLES)]
    List {
        /// Say what this conversation has of it, by its id
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Print one JSON object per entry
        #[arg(long)]
        json: bool,
    },
    /// Show an entry whole, with where it came from and how it changed
    #[command(after_help = EXAMPLES)]
    Show {
        /// The entry: its id, or a part of its text that only it has
        entry: String,
        /// Print one JSON object per change, the newest first
        #[arg(long)]
        json: bool,
    },
    /// Remember something
    #[command(after_help = EXAMPLES)]
    Add {
        /// The text; `-` reads it from standard input
        text: String,
        /// What it is about
        #[arg(long, value_enum, default_value_t = MemoryAbout::User)]
        scope: MemoryAbout,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Replace the text of an entry
    #[command(after_help = EXAMPLES)]
    Edit {
        /// The entry: its id, or a part of its text that only it has
        entry: String,
        /// The new text; `-` reads it from standard input
        text: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove an entry; `undo` restores it
    #[command(after_help = EXAMPLES)]
    Remove {
        /// The entry: its id, or a part of its text that only it has
        entry: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List changes with who made them, the newest first
    #[command(after_help = EXAMPLES)]
    History {
        /// Only changes of this entry, by its id
        entry: Option<String>,
        /// Show at most N changes
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Print one JSON object per change
        #[arg(long)]
        json: bool,
    },
    /// Undo a change; that is a change, too
    #[command(after_help = EXAMPLES)]
    Undo {
        /// The number of the change, from `history`
        revision: i64,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List changes of models that wait for you
    #[command(after_help = EXAMPLES)]
    Pending {
        /// Print one JSON object per proposal
        #[arg(long)]
        json: bool,
    },
    /// Make a change that waits
    #[command(after_help = EXAMPLES)]
    Approve {
        /// The proposal, from `pending`
        proposal: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Drop a change that waits
    #[command(after_help = EXAMPLES)]
    Reject {
        /// The proposal, from `pending`
        proposal: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Scope of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MemoryAbout {
    /// You: preferences, style
    User,
    /// The project in this directory
    Project,
    /// The machine, its tools, lessons
    Notes,
}

impl MemoryAbout {
    /// Its word in the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Notes => "notes",
        }
    }
}
