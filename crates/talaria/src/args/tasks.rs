//! `talaria task`: work in the background.

use clap::{Args, Subcommand};

use super::start_task::{START_EXAMPLES, StartTask};

const EXAMPLES: &str = "\
Examples:
  talaria task start \"find out why the build is slow\"
  talaria task start --worktree --sandbox workspace-write --notify local \"fix the flaky test\"
  talaria task list --active
  talaria task show codex-1a2b
  talaria task watch codex-1a2b
  talaria requests list";

const LIST_EXAMPLES: &str = "\
Examples:
  talaria task list
  talaria task list --active
  talaria task list --limit 1000 --json | jq -r 'select(.status == \"failed\").id'";

const SHOW_EXAMPLES: &str = "\
Examples:
  talaria task show codex-1a2b
  talaria task show codex-1a2b --diff
  talaria task show codex-1a2b --json | jq -r .answer";

const WATCH_EXAMPLES: &str = "\
Examples:
  talaria task watch codex-1a2b
  talaria task watch codex-1a2b --json | jq -r 'select(.type == \"outcome\").text'

Ctrl-C, SIGTERM and SIGHUP end this command; the task continues. If standard output is a pipe or a file, it gets \
the final answers alone, and the log of the task goes to standard error.

Exit codes: those of the task, as with `talaria task start --wait`; 4 also if you left before it ended, \
129 ended by SIGHUP, 143 ended by SIGTERM";

const STEER_EXAMPLES: &str = "\
Examples:
  talaria task steer codex-1a2b \"leave the tests alone\"
  talaria task steer codex-1a2b - < notes.txt";

const INTERRUPT_EXAMPLES: &str = "\
Examples:
  talaria task interrupt codex-1a2b
  talaria task cancel codex-1a2b      # the same";

const SEND_EXAMPLES: &str = "\
Examples:
  talaria task send codex-1a2b \"now the documentation, too\"
  talaria task send codex-1a2b --wait \"what did you change?\"
  git diff | talaria task send codex-1a2b -";

const NOTIFY_EXAMPLES: &str = "\
Examples:
  talaria task notify --dry-run
  talaria task notify --limit 50

The engine sends notifications by itself; this retries pending ones at once.";

const APPLY_EXAMPLES: &str = "\
Examples:
  talaria task show codex-1a2b --diff
  talaria task apply codex-1a2b";

const DISCARD_EXAMPLES: &str = "\
Examples:
  talaria task discard codex-1a2b
  talaria task discard codex-1a2b --force      # also work that is nowhere else";

/// Options of `talaria task`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    pub(crate) action: TaskAction,
}

/// Subcommands of `talaria task`.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskAction {
    /// Start a task; the command returns at once, the task continues
    #[command(after_help = START_EXAMPLES)]
    Start(Box<StartTask>),
    /// List tasks, latest activity first
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Only those that have not ended
        #[arg(long)]
        active: bool,
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
        /// Print one JSON object per task
        #[arg(long)]
        json: bool,
    },
    /// Show a task: its status, answer, changes and open requests
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[command(flatten)]
        task: One,
        /// Show only what it changed in its worktree, as a diff
        #[arg(long)]
        diff: bool,
    },
    /// Follow a task as it works, and answer what it asks
    #[command(after_help = WATCH_EXAMPLES)]
    Watch {
        /// The task: its id, or a unique beginning or end of it
        id: String,
        /// Print one JSON object per event
        #[arg(long)]
        json: bool,
    },
    /// Send a message to the running turn
    #[command(after_help = STEER_EXAMPLES)]
    Steer {
        #[command(flatten)]
        task: One,
        /// What to say; `-` reads it from standard input
        text: String,
    },
    /// Stop a task; messages queued for it are withdrawn and listed
    #[command(visible_alias = "cancel", after_help = INTERRUPT_EXAMPLES)]
    Interrupt {
        #[command(flatten)]
        task: One,
    },
    /// Start the next turn of a task; queued while a turn is running
    #[command(after_help = SEND_EXAMPLES)]
    Send(SendTask),
    /// Send pending notifications
    #[command(after_help = NOTIFY_EXAMPLES)]
    Notify(NotifyTasks),
    /// Apply the changes of a task's worktree to your checkout, uncommitted
    #[command(after_help = APPLY_EXAMPLES)]
    Apply {
        #[command(flatten)]
        task: One,
    },
    /// Delete the worktree and the branch of a task
    #[command(after_help = DISCARD_EXAMPLES)]
    Discard {
        #[command(flatten)]
        task: One,
        /// Even if it has work that is nowhere else
        #[arg(long)]
        force: bool,
    },
}

/// One task, and its notifications.
#[derive(Debug, Args)]
pub(crate) struct One {
    /// The task: its id, or a unique beginning or end of it
    pub(crate) id: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `talaria task send`.
#[derive(Debug, Args)]
pub(crate) struct SendTask {
    #[command(flatten)]
    pub(crate) task: One,
    /// What to say; `-` reads it from standard input
    pub(crate) text: String,
    /// Wait until the task has ended again, and print its answer
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Options of `talaria task notify`.
#[derive(Debug, Args)]
pub(crate) struct NotifyTasks {
    /// Only show what would be sent
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,
    /// Print one JSON object per notification
    #[arg(long)]
    pub(crate) json: bool,
}
