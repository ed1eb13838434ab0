//! The engine itself: `serve`, `stop`, `status`, `service`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const SERVE_EXAMPLES: &str = "\
Examples:
  talaria serve             # Ctrl-C ends the engine; the next engine resumes its turns
  talaria serve --debug-requests ~/requests   # what the built-in loop sends and gets
  talaria service install   # let the system start it";

const STOP_EXAMPLES: &str = "\
Examples:
  talaria stop                # without an engine: ends the processes of the last one
  talaria stop --keep-turns   # only the engine: Codex continues, the next command resumes its turns";

const STATUS_EXAMPLES: &str = "\
Examples:
  talaria status
  talaria status --json | jq '.requests[]?.id'";

const SERVICE_EXAMPLES: &str = "\
Examples:
  talaria service install --dry-run
  talaria service install --now
  talaria service uninstall";

/// Options of `talaria serve`.
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    /// Started by another command: nothing is printed, the log goes to a file
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
    /// Write every request of the built-in loop and its answer to files in this directory, readable by you alone and without
    /// keys; they contain the conversations
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_requests: Option<PathBuf>,
}

/// Options of `talaria stop`.
#[derive(Debug, Args)]
#[command(after_help = STOP_EXAMPLES)]
pub(crate) struct Stop {
    /// End only the engine: Codex and its turns continue, and the next engine resumes them
    #[arg(long)]
    pub(crate) keep_turns: bool,
}

/// Options of `talaria status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLES)]
pub(crate) struct Status {
    /// Print one JSON object; without an engine, `left` lists the processes that the last one left, and all else is null
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `talaria service`.
#[derive(Debug, Args)]
#[command(after_help = SERVICE_EXAMPLES)]
pub(crate) struct Service {
    #[command(subcommand)]
    pub(crate) action: ServiceAction,
}

/// Subcommands of `talaria service`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ServiceAction {
    /// Write the service file
    #[command(after_help = SERVICE_EXAMPLES)]
    Install {
        /// Only show what would be written
        #[arg(long)]
        dry_run: bool,
        /// Also start it, and at every login
        #[arg(long, conflicts_with = "dry_run")]
        now: bool,
        /// Replace the file even if it was changed by hand
        #[arg(long)]
        force: bool,
    },
    /// Remove the service file
    #[command(after_help = SERVICE_EXAMPLES)]
    Uninstall {
        /// Only show what would be removed
        #[arg(long)]
        dry_run: bool,
        /// Also stop the service
        #[arg(long, conflicts_with = "dry_run")]
        now: bool,
        /// Remove the file even if it was changed by hand
        #[arg(long)]
        force: bool,
    },
    /// Show the service file, and whether it is installed
    #[command(after_help = SERVICE_EXAMPLES)]
    Show,
}
