//! The command line: what can be typed, and its help. Nothing is decided here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use talaria_core::duration::parse_duration;
use talaria_core::policy::{ApprovalPolicy, Mode, Sandbox};

const EXEC_EXAMPLES: &str = "\
Examples:
  talaria exec \"explain this repo\"
  talaria exec --sandbox workspace-write \"fix the failing test\"
  git diff | talaria exec --quiet -
  talaria exec --json \"list the open problems\" | jq -r 'select(.type == \"outcome\").text'

Exit codes: 0 done, 1 failed, 2 usage, 3 declined, 4 interrupted, 5 timed out, 6 Codex missing or not logged in, 7 lost";

const DEMO_EXAMPLES: &str = "\
Examples:
  talaria demo
  talaria demo | cat        # nobody to ask: the demo approves its own command, and says so";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  talaria doctor
  talaria doctor --json | jq 'select(.status != \"ok\")'

Exit codes: 0 no problem (warnings are allowed), 1 at least one problem";

const SETUP_EXAMPLES: &str = "\
Examples:
  talaria setup
  TALARIA_HOME=/opt/talaria talaria setup";

/// An agent runtime for people who use Codex.
#[derive(Debug, Parser)]
#[command(name = "talaria", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "New here? `talaria demo` runs a real Codex turn without an account.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one turn of Codex and stream it
    Exec(Box<Exec>),
    /// Run a real Codex turn on a scripted model: no account needed
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Check Codex, its login, the sandbox and the configuration
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// Install or update the Codex that Talaria is tested with
    #[command(after_help = SETUP_EXAMPLES)]
    Setup,
}

/// Options of `talaria exec`.
#[derive(Debug, Args)]
#[command(after_help = EXEC_EXAMPLES)]
pub(crate) struct Exec {
    /// What to say to Codex; `-` reads it from standard input
    pub(crate) prompt: String,
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Use this model
    #[arg(long, short)]
    pub(crate) model: Option<String>,
    /// How much the model thinks: minimal, low, medium, high, … as the model offers
    #[arg(long)]
    pub(crate) effort: Option<String>,
    /// What commands may touch: read-only, workspace-write or danger-full-access
    #[arg(long)]
    pub(crate) sandbox: Option<Sandbox>,
    /// When Codex asks: untrusted, on-request or never (on-failure with old versions of Codex)
    #[arg(long, value_name = "POLICY")]
    pub(crate) approval: Option<ApprovalPolicy>,
    /// How much is done without you: auto, approval-required or unrestricted (also: yolo)
    #[arg(long)]
    pub(crate) mode: Option<Mode>,
    /// What happens when Codex asks: `ask` you (on a terminal, without --json and --quiet), `decline`, or accept `all`
    /// that stays inside the sandbox and that neither the hard floor nor your deny rules forbid
    #[arg(long, value_enum, default_value_t = Approve::Ask)]
    pub(crate) approve: Approve,
    /// Send an image file along (may be given several times)
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Stop the turn after this time, such as 90s or 15m; the time you take to answer does not count
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print only the final answer
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn timeout(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// What happens when Codex asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Approve {
    /// Ask at the terminal; without one, decline.
    Ask,
    /// Decline.
    Decline,
    /// Accept what stays inside the sandbox; decline the rest.
    All,
}

/// Options of `talaria doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print one JSON object per check
    #[arg(long)]
    pub(crate) json: bool,
}
