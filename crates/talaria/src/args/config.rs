//! `talaria config`: Talaria's own configuration file.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria config get
  talaria config set codex.sandbox workspace-write
  talaria config set approvals.allow '[\"cargo test *\"]'
  talaria config set mcp_servers.docs.command docs-server
  talaria config unset codex.sandbox
  talaria config check
  EDITOR=nano talaria config edit

Comments, order and line endings of the file are kept.";

/// Options of `talaria config`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

/// Subcommands of `talaria config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Show a key, or everything that is set (secrets are masked); exit code 1 if the key is not set
    #[command(after_help = EXAMPLES)]
    Get {
        /// The key, for example codex.sandbox
        key: Option<String>,
        /// Print one JSON object per key
        #[arg(long)]
        json: bool,
    },
    /// Set a key; an invalid value is refused and nothing is written
    #[command(after_help = EXAMPLES)]
    Set {
        /// The key, for example codex.sandbox
        key: String,
        /// The value: a text needs no quotes, a list is written as in TOML
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Unset a key, or a section with everything in it
    #[command(after_help = EXAMPLES)]
    Unset {
        /// The key, for example codex.sandbox
        key: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show where the file is
    #[command(after_help = EXAMPLES)]
    Path {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List everything that is wrong in the file; exit code 1 if there is an error
    #[command(after_help = EXAMPLES)]
    Check {
        /// Print one JSON object per problem
        #[arg(long)]
        json: bool,
    },
    /// Edit a copy with $VISUAL or $EDITOR; it replaces the file only if it is valid
    #[command(after_help = EXAMPLES)]
    Edit,
}
