//! `talaria migrate`: Talaria's MCP servers in Codex's own configuration.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  talaria migrate --dry-run                     # the diff and the report, nothing else
  talaria migrate                               # the same, then a question
  talaria migrate --yes --permissions :workspace
  talaria migrate --undo                        # remove everything that was added
  talaria migrate --dry-run --json | jq 'select(.type == \"server\")'

Conversations in Talaria have these servers without any change of Codex's
files; this is for people who also use `codex` directly. Your own
entries always win. Values that look like secrets are written as references to
environment variables. To list its plugins Codex is started once on its own
directory, where it keeps logs as at every start.

Exit codes: 0 done or nothing to do, 1 failed (also: a server was left out),
2 not confirmed or not valid, 3 forbidden by Talaria's configuration,
6 Codex is missing";

/// Options of `talaria migrate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Migrate {
    /// Show the diff and the report, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Remove what was added: byte for byte if the file was not changed since, else entry by entry
    #[arg(long, conflicts_with_all = ["permissions", "include_secrets", "no_plugins", "no_tools"])]
    pub(crate) undo: bool,
    /// Codex's directory [default: codex.home of Talaria's configuration, or CODEX_HOME, or ~/.codex]
    #[arg(long, value_name = "DIR")]
    pub(crate) codex_home: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write this permission profile as Codex's default, for example :workspace; it applies to every use of Codex
    #[arg(long, value_name = "PROFILE")]
    pub(crate) permissions: Option<String>,
    /// Write values that look like secrets as they are, instead of references to environment variables
    #[arg(long)]
    pub(crate) include_secrets: bool,
    /// Do not look for plugins
    #[arg(long)]
    pub(crate) no_plugins: bool,
    /// Leave out talaria-tools, the server that offers Talaria's own tools
    #[arg(long)]
    pub(crate) no_tools: bool,
}
