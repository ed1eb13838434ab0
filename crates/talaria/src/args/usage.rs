//! `talaria usage`: what models cost.

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  talaria usage
  talaria usage --by model --days 7
  talaria usage --by session --json | jq -s 'map(.usage.total) | add'";

/// Options of `talaria usage`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UsageOptions {
    /// Add up by day (UTC), by model or by conversation
    #[arg(long, value_enum, default_value_t = UsageByOption::Day)]
    pub(crate) by: UsageByOption,
    /// Only the last N days, today included
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: u32,
    /// Print one JSON object per row
    #[arg(long)]
    pub(crate) json: bool,
}

/// What costs are added up by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UsageByOption {
    Day,
    Model,
    Session,
}
