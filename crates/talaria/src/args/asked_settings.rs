//! What a conversation is asked for, on the command line of `talaria` and of `talaria exec`.

use std::path::PathBuf;

use clap::Args;
use talaria_core::policy::{ApprovalPolicy, Mode, Sandbox};
use talaria_core::runtime::RuntimeChoice;

// A doc comment would become the description of the commands.
#[derive(Debug, Default, Args)]
pub(crate) struct AskedSettings {
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Ask this model provider, such as anthropic or ollama; `talaria providers list` shows them all. Every provider but
    /// OpenAI runs on Talaria's built-in loop
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Who runs a conversation with OpenAI's models: auto, codex_app_server, or off for the built-in loop; with
    /// `talaria exec --resume` it continues there, with a digest of what was said
    #[arg(long, value_name = "RUNTIME", value_parser = RuntimeChoice::typed)]
    pub(crate) runtime: Option<RuntimeChoice>,
    /// Use this model. A name that OpenAI's list in Codex does not have is refused, unless `model.allow_unlisted` in
    /// config.toml is true
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
}
