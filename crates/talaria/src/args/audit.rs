//! `talaria audit`: who answered, started or was refused something.

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  talaria audit
  talaria audit --refused
  talaria audit --limit 1000 --json | jq 'select(.action == \"answer\")'";

/// Options of `talaria audit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Audit {
    /// Show at most this many rows, the newest
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Show only what was refused
    #[arg(long)]
    pub(crate) refused: bool,
    /// Print one JSON object per row
    #[arg(long)]
    pub(crate) json: bool,
}
