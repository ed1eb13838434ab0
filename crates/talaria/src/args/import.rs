//! `talaria import`: data of other programs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria import hermes --dry-run
  talaria import claude-code --dry-run
  talaria import codex-bridge ~/.hermes/codex_bridge.db";

const CLAUDE_CODE_EXAMPLES: &str = "\
Read are your own CLAUDE.md and what Claude Code noted about each project. Each section becomes
an entry of the memory, with the file that it came from. Claude Code is not changed. Secrets are
masked, and what looks like planted instructions waits for you. Running it again imports only
new entries.

Examples:
  talaria import claude-code --dry-run
  talaria import claude-code
  talaria memory pending
  talaria import claude-code --undo";

const CODEX_EXAMPLES: &str = "\
Read is what Codex's own memory feature wrote (memories/MEMORY.md and memory_summary.md). Each
section becomes an entry of the memory, with the file that it came from. AGENTS.md stays where
it is: Codex reads it in every conversation. Secrets are masked, and what looks like planted
instructions waits for you. Running it again imports only new entries.

Examples:
  talaria import codex --dry-run
  talaria import codex
  talaria memory list
  talaria import codex --undo";

const BRIDGE_EXAMPLES: &str = "\
Examples:
  talaria import codex-bridge ~/.hermes/codex_bridge.db
  talaria task list --limit 1000";

const HERMES_EXAMPLES: &str = "\
Hermes is not changed, and nothing of yours is overwritten. Imported are the settings that
Talaria knows, memories, which new conversations start with, skills (unchanged), and
conversations, which can be read, searched and continued. Secrets in its settings are
named, not copied. Running it again imports only new entries.

Examples:
  talaria import hermes --dry-run
  talaria import hermes --home ~/.hermes/profiles/work
  talaria sessions search words that you remember
  talaria import hermes --undo";

/// Options of `talaria import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) source: ImportSource,
}

/// From where something is taken over.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportSource {
    /// Import the tasks of a codex_bridge.db; the file is not changed, and a second import changes nothing
    #[command(after_help = BRIDGE_EXAMPLES)]
    CodexBridge {
        /// The file
        path: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Import settings, memories, skills and conversations of Hermes
    #[command(after_help = HERMES_EXAMPLES)]
    Hermes(Hermes),
    /// Import what Claude Code remembers: your CLAUDE.md and its notes about projects
    #[command(after_help = CLAUDE_CODE_EXAMPLES)]
    ClaudeCode(AgentImport),
    /// Import what Codex's own memory feature remembers
    #[command(after_help = CODEX_EXAMPLES)]
    Codex(AgentImport),
}

/// Options of `talaria import claude-code` and `talaria import codex`.
#[derive(Debug, Args)]
pub(crate) struct AgentImport {
    /// The agent's home [default: its own variable, or ~/.claude or ~/.codex]
    #[arg(long, value_name = "DIR", conflicts_with = "undo")]
    pub(crate) home: Option<PathBuf>,
    /// Show what would happen, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Undo every import from this agent, as far as its entries are unchanged
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `talaria import hermes`.
#[derive(Debug, Args)]
pub(crate) struct Hermes {
    /// Hermes's home [default: HERMES_HOME, or ~/.hermes]
    #[arg(long, value_name = "DIR", conflicts_with = "undo")]
    pub(crate) home: Option<PathBuf>,
    /// Show what would happen, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Undo the last import, as far as its data is unchanged
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
