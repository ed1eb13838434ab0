//! `talaria login`: Codex's own login.

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  talaria login                                        # with ChatGPT, in a browser on this machine
  talaria login --device                               # with ChatGPT, with a code on another device
  printenv OPENAI_API_KEY | talaria login --api-key    # with an API key
  talaria login --api-key                              # the same, asked for on the terminal

Codex logs in and keeps the login; Talaria stores nothing of it. Ctrl-C cancels.
Exit codes: 0 logged in, 1 failed, 4 canceled, 6 Codex is missing";

/// Options of `talaria login`.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Login {
    /// With a code that you enter on any device
    #[arg(long, conflicts_with = "api_key")]
    pub(crate) device: bool,
    /// With an API key of OpenAI, read from standard input or asked for on the terminal
    #[arg(long)]
    pub(crate) api_key: bool,
}
