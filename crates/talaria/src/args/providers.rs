//! `talaria providers`: which model providers are known, where their keys are, and whether one answers.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria providers list
  talaria providers list --json | jq 'select(.key.state == \"found\").name'
  talaria providers test anthropic";

const TEST_EXAMPLES: &str = "\
Examples:
  talaria providers test anthropic
  talaria providers test ollama --model qwen3
  talaria providers test house --json | jq .first_byte_ms";

/// Options of `talaria providers`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Providers {
    #[command(subcommand)]
    pub(crate) action: ProvidersAction,
}

/// Actions on providers.
#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersAction {
    /// List providers with their address, where their key is, and the models that are known
    #[command(after_help = EXAMPLES)]
    List {
        /// Print one JSON object per provider
        #[arg(long)]
        json: bool,
    },
    /// Send one small request to a provider, with its key, and show what it answers; it costs a few tokens
    #[command(after_help = TEST_EXAMPLES)]
    Test(ProviderTest),
}

/// Options of `talaria providers test`.
#[derive(Debug, Args)]
pub(crate) struct ProviderTest {
    /// The provider, as `talaria providers list` names it
    pub(crate) name: String,
    /// Ask this model; else the configured one, else the first that is known
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
