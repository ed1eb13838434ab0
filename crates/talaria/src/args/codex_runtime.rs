//! `talaria codex-runtime`: who runs the turns.

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  talaria codex-runtime
  talaria codex-runtime codex_app_server
  talaria codex-runtime off
  talaria codex-runtime --json | jq .verdict

It changes model.openai_runtime in Talaria's configuration, and nothing in Codex's files.
Exit codes: 0 done, 3 turns are running, 6 Codex is missing";

/// Options of `talaria codex-runtime`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CodexRuntime {
    /// Who runs conversations with OpenAI's models: auto, codex_app_server, on (the same as codex_app_server) or off (the
    /// built-in loop)
    #[arg(value_parser = talaria_core::runtime::RuntimeChoice::typed)]
    pub(crate) wanted: Option<talaria_core::runtime::RuntimeChoice>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
