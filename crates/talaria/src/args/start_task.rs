//! `talaria task start`: permissions and notifications of a new task.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use talaria_core::api::Dirty;
use talaria_core::duration::parse_duration;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::runtime::RuntimeChoice;

pub(super) const START_EXAMPLES: &str = "\
Examples:
  talaria task start \"find out why the build is slow\"
  talaria task start --worktree --sandbox workspace-write --notify local \"fix the flaky test\"
  talaria task start --sandbox workspace-write --network \"update the lock file\"
  talaria task start --provider anthropic --model claude-sonnet-4-5 \"explain this crate\"
  talaria task start --deadline 30m --wait - < prompt.txt
  talaria task start --json \"count the lines\" | jq -r .id

A task asks before it does what its sandbox does not allow, and waits for as long as it takes: see `talaria \
requests list`. With --worktree it works on a branch of its own; `talaria task apply` brings the work into your \
checkout, `talaria task discard` throws it away.

Exit codes with --wait: 0 completed, 1 failed, 3 completed, but something was declined, 4 cancelled (or you left), \
5 out of time, 6 not logged in, 7 lost, 129 ended by SIGHUP, 143 ended by SIGTERM (the task continues)";

/// Options of `talaria task start`.
#[derive(Debug, Args)]
pub(crate) struct StartTask {
    /// What to do; `-` reads it from standard input
    pub(crate) prompt: String,
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// With workspace-write: work in a git worktree on a branch of its own. Uncommitted changes in your checkout are a reason
    /// to refuse, unless you choose to leave them out (`leave`) or to copy them into the worktree (`copy`)
    #[arg(
        long,
        value_name = "CHANGES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "refuse",
        value_parser = dirty,
    )]
    pub(crate) worktree: Option<Dirty>,
    /// Ask this model provider, such as anthropic or ollama; `talaria providers list` shows them all. Every provider but
    /// OpenAI runs on Talaria's built-in loop
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Who runs it with OpenAI's models: auto, codex_app_server, or off for the built-in loop
    #[arg(long, value_name = "RUNTIME", value_parser = RuntimeChoice::typed)]
    pub(crate) runtime: Option<RuntimeChoice>,
    /// Use this model. A name that OpenAI's list in Codex does not have is refused, unless `model.allow_unlisted` in
    /// config.toml is true
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
    /// With workspace-write: let commands write here, too (may be given several times)
    #[arg(long, value_name = "DIR")]
    pub(crate) writable_root: Vec<PathBuf>,
    /// With workspace-write: let commands use the network
    #[arg(long)]
    pub(crate) network: bool,
    /// Stop it after this time, such as 90s or 2h; the time you take to answer does not count
    #[arg(long, value_name = "TIME", value_parser = deadline)]
    pub(crate) deadline: Option<Duration>,
    /// Send a notification when it ends or waits for an answer: local, command:…, webhook:…, ntfy:… or email:… (may be given
    /// several times)
    #[arg(long, value_name = "TARGET")]
    pub(crate) notify: Vec<String>,
    /// Wait until it has ended, and print its answer
    #[arg(long)]
    pub(crate) wait: bool,
    /// Print one JSON object; with --wait a second one when it has ended
    #[arg(long)]
    pub(crate) json: bool,
}

/// No one watches a task: it always has a sandbox.
fn sandbox(text: &str) -> Result<Sandbox, String> {
    match text.parse() {
        Ok(sandbox @ (Sandbox::ReadOnly | Sandbox::WorkspaceWrite)) => Ok(sandbox),
        _ => Err("a task takes read-only or workspace-write".to_owned()),
    }
}

/// No one watches a task: it always asks before it leaves its sandbox.
fn approval(text: &str) -> Result<ApprovalPolicy, String> {
    match text.parse() {
        Ok(policy @ (ApprovalPolicy::Untrusted | ApprovalPolicy::OnRequest)) => Ok(policy),
        _ => Err("a task takes untrusted or on-request".to_owned()),
    }
}

fn dirty(text: &str) -> Result<Dirty, String> {
    match text {
        "refuse" => Ok(Dirty::Refuse),
        "leave" => Ok(Dirty::Leave),
        "copy" => Ok(Dirty::Copy),
        _ => Err(
            "for uncommitted changes choose leave (leave them out), copy (copy them) or refuse (do not start)"
                .to_owned(),
        ),
    }
}

fn deadline(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}
