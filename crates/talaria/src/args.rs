//! The command line: arguments and help. Nothing is decided here.

use clap::{Args, Parser, Subcommand};

use crate::keeper;
#[cfg(feature = "pdf")]
use crate::pdf;

mod asked_settings;
mod audit;
mod chat;
mod codex_runtime;
mod config;
mod engine;
mod exec;
mod first_prompt;
mod help;
mod import;
mod login;
mod mcp;
mod measure;
mod memory;
mod migrate;
mod providers;
mod ps;
mod requests;
mod sessions;
mod shell_help;
mod skills;
mod start_task;
mod tasks;
mod token;

pub(crate) use asked_settings::AskedSettings;
pub(crate) use audit::Audit;
pub(crate) use chat::{Chat, PICK, Resume};
pub(crate) use codex_runtime::CodexRuntime;
pub(crate) use config::{Config, ConfigAction};
pub(crate) use engine::{Serve, Service, ServiceAction, Status, Stop};
pub(crate) use exec::{Approve, Exec};
pub(crate) use help::Help;
pub(crate) use import::{AgentImport, Hermes, Import, ImportSource};
pub(crate) use login::Login;
pub(crate) use mcp::Mcp;
pub(crate) use memory::{Memory, MemoryAction};
pub(crate) use migrate::Migrate;
pub(crate) use providers::{ProviderTest, Providers, ProvidersAction};
pub(crate) use ps::{Ps, PsAction};
pub(crate) use requests::{AnswerOptions, Requests, RequestsAction};
pub(crate) use sessions::{
    Compaction, Export, ForkOptions, Format, Limits, Prune, RetryOptions, Search, Sessions, SessionsAction,
};
pub(crate) use shell_help::{CompletedShell, Completions, Man};
pub(crate) use skills::{Skills, SkillsAction};
pub(crate) use start_task::StartTask;
pub(crate) use tasks::{NotifyTasks, One, SendTask, TaskAction, Tasks};
pub(crate) use token::{CreateToken, Expiry, Token, TokenAction};
pub(crate) use usage::{UsageByOption, UsageOptions};

const DEMO_EXAMPLES: &str = "\
Examples:
  talaria demo
  talaria demo | cat        # without a terminal the demo approves its own command, and says so";

const CONTEXT_EXAMPLES: &str = "\
Examples:
  talaria context 6171dafd
  talaria context 6171dafd --json";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  talaria doctor
  talaria doctor --json | jq 'select(.status != \"ok\")'

Exit codes: 0 no problem (warnings are allowed), 1 at least one problem";

const SETUP_EXAMPLES: &str = "\
Examples:
  talaria setup
  TALARIA_HOME=/opt/talaria talaria setup";

/// An agent runtime for people who use Codex. Without a command it opens a conversation.
#[derive(Debug, Parser)]
#[command(name = "talaria", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true, after_help = chat::EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) chat: Chat,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one turn of Codex and stream it
    Exec(Box<Exec>),
    /// Choose an earlier conversation from a list, or open the named one
    Resume(Resume),
    /// Work in the background: start, list, show, watch, steer, stop, continue
    Task(Tasks),
    /// List, show and answer open requests
    Requests(Requests),
    /// List, follow and stop background commands
    Ps(Ps),
    /// List, show, search, rename, export, compact, fork, undo and prune conversations
    Sessions(Sessions),
    /// List, change and undo what is remembered across conversations
    Memory(Memory),
    /// List and show skills; decide what models propose about them
    Skills(Skills),
    /// Show what every part of a conversation's prompt costs
    #[command(after_help = CONTEXT_EXAMPLES)]
    Context(Context),
    /// Import data of another program
    Import(Import),
    /// Write Talaria's MCP servers into Codex's own configuration, or remove them
    Migrate(Migrate),
    /// Offer background tasks to other agents: an MCP server on standard input and output
    Mcp(Mcp),
    /// Show what models cost, by day, model or conversation
    Usage(UsageOptions),
    /// Make, list and revoke tokens for the API over TCP
    Token(Token),
    /// Show the audit log: who answered, started or was refused something
    Audit(Audit),
    /// Show the engine, its Codex processes, running turns and open requests
    Status(Status),
    /// End the engine and everything that it runs
    Stop(Stop),
    /// Run the engine in the foreground (other commands start it by themselves)
    Serve(Serve),
    /// Let systemd or launchd keep the engine running
    Service(Service),
    /// Show, set and check Talaria's configuration
    Config(Config),
    /// Show or choose the runtime of turns
    CodexRuntime(CodexRuntime),
    /// List model providers, with where their keys are, and test one
    Providers(Providers),
    /// Run a real Codex turn on a scripted model: no account needed
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Check Codex, its login, the sandbox, the engine, the home and the configuration
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// Install or update the Codex that Talaria is tested with
    #[command(after_help = SETUP_EXAMPLES)]
    Setup,
    /// Log in to Codex: with ChatGPT or with an API key
    Login(Login),
    /// Print the help of Talaria or of a command
    Help(Help),
    /// Print a completion script for your shell
    Completions(Completions),
    /// Print the manual page, or write one for every command
    Man(Man),
    /// Restore the terminal when the chat cannot; only the chat starts it
    #[command(name = keeper::NAME, hide = true)]
    KeepTerminal,
    /// Run a command of a tool and keep what it prints; only the engine starts it
    #[command(hide = true)]
    KeepCommand(KeepCommand),
    /// Run an MCP server until the engine ends; only the engine starts it
    #[command(hide = true)]
    KeepServer(KeepServer),
    /// Read a PDF file from standard input; only the engine starts it
    #[cfg(feature = "pdf")]
    #[command(name = pdf::NAME, hide = true)]
    ReadPdf,
}

/// Options of `talaria keep-command`.
#[derive(Debug, Args)]
pub(crate) struct KeepCommand {
    /// The directory of the command
    pub(crate) directory: std::path::PathBuf,
}

/// Options of `talaria keep-server`.
#[derive(Debug, Args)]
pub(crate) struct KeepServer {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) argv: Vec<std::ffi::OsString>,
}

/// Options of `talaria context`.
#[derive(Debug, Args)]
pub(crate) struct Context {
    /// The conversation: its id, or the beginning of it
    pub(crate) id: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `talaria doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print one JSON object per check
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests;
mod usage;
