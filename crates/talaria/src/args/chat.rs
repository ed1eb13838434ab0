//! `talaria` without a command: the conversation in the terminal.

use std::path::PathBuf;

use clap::Args;

use super::AskedSettings;

pub(super) const EXAMPLES: &str = "\
Examples:
  talaria                          # a conversation in this directory; /help lists commands
  talaria \"fix the test\"           # the same, beginning with this prompt
  talaria --image shot.png \"why is it cut off?\"
  talaria -- explain               # a prompt of one word
  talaria --last                   # continue where you left off
  talaria resume                   # choose a conversation from a list
  talaria --resume 6171dafd
  talaria --plain                  # line by line, for screen readers and slow terminals
  echo \"what is this?\" | talaria   # every line is a turn
  talaria exec \"explain this repo\" # one turn, for scripts

Exit codes with input from a pipe, of the last turn or shell command: 0 done or no input, 1 failed,
2 usage, 3 declined, 4 interrupted or left while it was running, 5 timed out, 6 Codex missing or not logged
in, 7 lost; at a terminal 0. SIGTERM (143) and SIGHUP (129) end the chat; the turn continues.

New here? `talaria demo` runs a real Codex turn without an account.";

/// What `--resume` means without an id.
pub(crate) const PICK: &str = "";

/// Options of the conversation in the terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the conversation")]
pub(crate) struct Chat {
    /// Begin with this prompt, as if you had typed it; of a single word, or of words without quotes, only after `--`
    #[arg(value_name = "PROMPT", help_heading = "Arguments")]
    pub(crate) prompt: Vec<String>,
    #[arg(last = true, hide = true)]
    pub(crate) words: Vec<String>,
    /// Resume this conversation: a session or task id, or a unique beginning or end of one; without an id, choose it from a
    /// list
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = PICK, conflicts_with_all = ["last", "cwd", "sandbox", "approval", "mode"])]
    pub(crate) resume: Option<String>,
    /// Continue a conversation of this folder: the one that waits for your answer, else one with a running turn, else the
    /// most recently active one; without any, the last one anywhere
    #[arg(long, conflicts_with_all = ["cwd", "sandbox", "approval", "mode"])]
    pub(crate) last: bool,
    /// Send an image file with the prompt, or with your first message (may be given several times)
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Line by line, without redrawing: for screen readers, pipes and slow terminals
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) asked: AskedSettings,
}

const RESUME_EXAMPLES: &str = "\
Examples:
  talaria resume                        # a list: type to search, Enter opens
  talaria resume 6171dafd
  talaria resume 6171dafd \"continue\"";

/// Options of `talaria resume`.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct Resume {
    /// The conversation: a session or task id, or a unique beginning or end of one; without it, choose from a list
    pub(crate) id: Option<String>,
    /// Send this prompt to it
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Line by line, without redrawing: for screen readers, pipes and slow terminals
    #[arg(long)]
    pub(crate) plain: bool,
}

impl Resume {
    /// The chat with the same meaning, and its first prompt.
    pub(crate) fn into_chat(self) -> (Chat, Option<String>) {
        let chat = Chat {
            prompt: Vec::new(),
            words: Vec::new(),
            resume: Some(self.id.unwrap_or_else(|| PICK.to_owned())),
            last: false,
            image: Vec::new(),
            plain: self.plain,
            asked: AskedSettings::default(),
        };
        (chat, self.prompt)
    }
}
