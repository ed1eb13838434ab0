//! `talaria` without a command: the conversation in the terminal.

use clap::Args;

use super::AskedSettings;

pub(super) const EXAMPLES: &str = "\
Examples:
  talaria                          # a conversation in this directory; /help lists commands
  talaria --last                   # continue where you left off
  talaria --resume 6171dafd
  talaria --plain                  # line by line, for screen readers and slow terminals
  echo \"what is this?\" | talaria   # every line is a turn
  talaria exec \"explain this repo\" # one turn, for scripts

Exit codes with input from a pipe, of the last turn or shell command: 0 done or no input, 1 failed,
2 usage, 3 declined, 4 interrupted or left while it was running, 5 timed out, 6 Codex missing or not logged
in, 7 lost; at a terminal 0. SIGTERM (143) and SIGHUP (129) end the chat; the turn continues.

New here? `talaria demo` runs a real Codex turn without an account.";

/// Options of the conversation in the terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the conversation")]
pub(crate) struct Chat {
    /// Resume this conversation: a session or task id, or a unique beginning or end of one
    #[arg(long, value_name = "ID", conflicts_with_all = ["last", "cwd", "sandbox", "approval", "mode"])]
    pub(crate) resume: Option<String>,
    /// Continue a conversation of this folder: the one that waits for your answer, else one with a running turn, else the
    /// most recently active one; without any, the last one anywhere
    #[arg(long, conflicts_with_all = ["cwd", "sandbox", "approval", "mode"])]
    pub(crate) last: bool,
    /// Line by line, without redrawing: for screen readers, pipes and slow terminals
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) asked: AskedSettings,
}
