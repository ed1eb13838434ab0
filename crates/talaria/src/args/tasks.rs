//! `talaria task`: work in the background.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use talaria_core::policy::{ApprovalPolicy, Sandbox};

const EXAMPLES: &str = "\
Examples:
  talaria task start \"find out why the build is slow\"
  talaria task start --sandbox workspace-write --approval on-request \"fix the typo in README.md\"
  talaria task list
  talaria task show codex-1a2b
  talaria exec --attach codex-1a2b";

/// Options of `talaria task`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    pub(crate) action: TaskAction,
}

/// What is done with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskAction {
    /// Start a task; the command ends at once, the task goes on
    #[command(after_help = EXAMPLES)]
    Start(StartTask),
    /// Show a task: how it stands, what it did, what it waits for
    #[command(after_help = EXAMPLES)]
    Show {
        /// The task: its id, or the beginning of it
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List tasks, the newest first
    #[command(after_help = EXAMPLES)]
    List {
        /// Print one JSON object per task
        #[arg(long)]
        json: bool,
    },
}

/// Options of `talaria task start`.
#[derive(Debug, Args)]
pub(crate) struct StartTask {
    /// What to do; `-` reads it from standard input
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
    /// What commands may touch: read-only or workspace-write
    #[arg(long, default_value_t = Sandbox::ReadOnly, value_parser = sandbox)]
    pub(crate) sandbox: Sandbox,
    /// When Codex asks: untrusted or on-request
    #[arg(long, value_name = "POLICY", default_value_t = ApprovalPolicy::Untrusted, value_parser = approval)]
    pub(crate) approval: ApprovalPolicy,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Nobody watches a task: it always has a sandbox.
fn sandbox(text: &str) -> Result<Sandbox, String> {
    match text.parse() {
        Ok(sandbox @ (Sandbox::ReadOnly | Sandbox::WorkspaceWrite)) => Ok(sandbox),
        _ => Err("a task takes read-only or workspace-write".to_owned()),
    }
}

/// Nobody watches a task: what it wants to do beyond its sandbox is always asked.
fn approval(text: &str) -> Result<ApprovalPolicy, String> {
    match text.parse() {
        Ok(policy @ (ApprovalPolicy::Untrusted | ApprovalPolicy::OnRequest)) => Ok(policy),
        _ => Err("a task takes untrusted or on-request".to_owned()),
    }
}
