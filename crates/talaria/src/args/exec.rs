//! `talaria exec`: a turn on a new conversation, a further one on an old one, or a look at one that runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use talaria_core::duration::parse_duration;

use super::AskedSettings;

const EXAMPLES: &str = "\
Examples:
  talaria exec \"explain this repo\"
  talaria exec --sandbox workspace-write \"fix the failing test\"
  git diff | talaria exec \"review this\"
  talaria exec - < prompt.txt
  talaria exec --resume 6171dafd \"now the tests, too\"
  talaria exec --attach 6171dafd      # follow a running turn from here
  answer=$(talaria exec \"name this repo in one word\")
  talaria exec --json \"list the open problems\" | jq -r 'select(.type == \"outcome\").text'

On a terminal everything is shown as it happens. If standard output is a pipe or a file, it gets the final answer \
alone, as the model wrote it; the log of the turn goes to standard error. A turn that does not complete has no \
answer.

The turn runs in Talaria's engine. Ctrl-C (SIGINT) stops it. SIGTERM, SIGHUP and closing the terminal end this \
command only: the turn continues, its requests stay open, and one line says how to return. To limit a turn, use \
--timeout, not timeout(1).

Exit codes: 0 done, 1 failed, 2 usage, 3 declined, 4 interrupted, 5 timed out, 6 Codex missing or not logged in, \
7 lost, 129 ended by SIGHUP, 143 ended by SIGTERM";

/// Options of `talaria exec`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Exec {
    /// What to say to Codex; without it, or as `-`, it is read from standard input. With a prompt, piped input is sent too,
    /// marked as standard input
    #[arg(conflicts_with = "attach")]
    pub(crate) prompt: Option<String>,
    /// Resume this conversation: a session or task id, or a unique beginning or end of one
    #[arg(long, value_name = "ID", conflicts_with_all = ["attach", "cwd", "sandbox", "approval", "mode"])]
    pub(crate) resume: Option<String>,
    /// Follow the running turn of this conversation, from its beginning
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["cwd", "model", "sandbox", "approval", "mode", "effort", "image", "timeout"],
    )]
    pub(crate) attach: Option<String>,
    #[command(flatten)]
    pub(crate) asked: AskedSettings,
    /// What happens when Codex asks: `ask` you (if standard output is a terminal, without --json and --quiet), `decline`,
    /// accept `all` that stays inside the sandbox and that neither the hard floor nor your deny rules forbid, or `wait` for
    /// `talaria requests answer`. Without a terminal `ask` declines; with --attach it waits
    #[arg(long, value_enum, default_value_t = Approve::Ask)]
    pub(crate) approve: Approve,
    /// Send an image file along (may be given several times)
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Stop the turn after this time, such as 90s or 15m; the time you take to answer does not count
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Wait for standard input without a limit, instead of continuing when a pipe stays silent for 3 seconds
    #[arg(long, conflicts_with = "attach")]
    pub(crate) stdin: bool,
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
    /// Leave it open for `talaria requests answer`.
    Wait,
}
