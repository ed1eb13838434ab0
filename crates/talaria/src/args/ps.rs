//! `talaria ps`: commands that outlived their turns.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria ps
  talaria ps follow bg-1a2b3c
  talaria ps stop bg-1a2b3c

A command that still runs when its turn ends (a server, a watcher) continues in the background. It
ends with its Codex process, so also with `talaria stop`.";

/// Options of `talaria ps`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Ps {
    /// Print one JSON object per command
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) action: Option<PsAction>,
}

/// Subcommands of `talaria ps`.
#[derive(Debug, Subcommand)]
pub(crate) enum PsAction {
    /// Print the output of a command until it ends; Ctrl-C leaves it running
    #[command(after_help = EXAMPLES)]
    Follow {
        /// The command: its id, or a unique beginning or end of it
        id: String,
    },
    /// Stop a command
    #[command(after_help = EXAMPLES)]
    Stop {
        /// The command: its id, or a unique beginning or end of it
        id: String,
        /// Stop every background command of the same conversation (Codex before 0.166 cannot stop one alone)
        #[arg(long)]
        all: bool,
    },
}
