//! `talaria skills`: the skills that agents share, and what models propose about them.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  talaria skills list
  talaria skills list --stale
  talaria skills show release-notes
  talaria skills proposals
  talaria skills diff skp-1a2b3c4d
  talaria skills accept skp-1a2b3c4d
  talaria skills reject skp-1a2b3c4d
  talaria skills archive release-notes
  talaria skills restore release-notes";

/// Options of `talaria skills`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Skills {
    #[command(subcommand)]
    pub(crate) action: SkillsAction,
}

/// Subcommands of `talaria skills`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsAction {
    /// List the skills for this directory, with where they are and how often they are read
    #[command(after_help = EXAMPLES)]
    List {
        /// Only those that were neither read nor changed for 30 days
        #[arg(long)]
        stale: bool,
        /// Print one JSON object per skill
        #[arg(long)]
        json: bool,
    },
    /// Show a skill whole, with where it came from and what was proposed about it
    #[command(after_help = EXAMPLES)]
    Show {
        /// The name of the skill
        name: String,
        /// A file of it instead of SKILL.md, such as references/api.md
        #[arg(long)]
        file: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List what models propose and waits for you
    #[command(after_help = EXAMPLES)]
    Proposals {
        /// List those that were decided, too
        #[arg(long)]
        all: bool,
        /// Print one JSON object per proposal
        #[arg(long)]
        json: bool,
    },
    /// Show what a proposal would change
    #[command(after_help = EXAMPLES)]
    Diff {
        /// The proposal, from `proposals`
        proposal: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Make the change of a proposal; refused if the file changed since
    #[command(after_help = EXAMPLES)]
    Accept {
        /// The proposal, from `proposals`
        proposal: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Drop a proposal; no file changes
    #[command(after_help = EXAMPLES)]
    Reject {
        /// The proposal, from `proposals`
        proposal: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Move a skill out of the way; `restore` moves it back
    #[command(after_help = EXAMPLES)]
    Archive {
        /// The name of the skill
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Move an archived skill back
    #[command(after_help = EXAMPLES)]
    Restore {
        /// The name of the skill, or its id from `list`
        archived: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
