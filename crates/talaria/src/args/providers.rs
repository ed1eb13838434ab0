//! `talaria providers`: which model providers are known, and where their keys are.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria providers list
  talaria providers list --json | jq 'select(.key.state == \"found\").name'";

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
}
