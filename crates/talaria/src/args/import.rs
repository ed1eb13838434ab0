//! `talaria import`: what other programs left behind.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria import codex-bridge ~/.hermes/codex_bridge.db
  talaria task list --limit 1000";

/// Options of `talaria import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) source: ImportSource,
}

/// From where something is taken over.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportSource {
    /// Take over the tasks of a codex_bridge.db; the file stays as it is, and doing it twice changes nothing
    #[command(after_help = EXAMPLES)]
    CodexBridge {
        /// The file
        path: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
