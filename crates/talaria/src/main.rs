//! Talaria: an agent runtime for people who use Codex. This crate reads the command line and shows what happens; what
//! acts is the engine (`talaria-engine`), which every command asks through `talaria-server`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::trouble::{Trouble, exit};

mod advice;
mod amounts;
mod args;
mod audit;
mod bar;
mod caller;
mod chat;
mod config;
mod context;
mod conversation;
mod demo;
mod doctor;
mod engine;
mod engine_log;
mod exec;
mod face;
mod import;
mod input;
mod keep_command;
mod keeper;
mod keyboard;
mod last_open;
mod leftover_text;
mod line_loop;
mod line_reader;
mod lines_file;
mod login;
mod look;
mod mcp;
mod memory;
mod migrate;
mod output;
mod pdf;
mod progress;
mod providers;
mod ps;
mod questions;
mod requests;
mod retry;
mod runtime;
mod serve;
mod service;
mod sessions;
mod settings;
mod setup;
mod shell_help;
mod skills;
mod status;
mod stop;
mod stops;
mod tasks;
mod terminal_echo;
mod token;
mod trouble;
mod usage;

/// How long tasks may take to end after the command did. They wait for nothing, so this is only a net.
const LAST_TASKS: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(trouble) => {
            trouble.tell();
            ExitCode::from(trouble.exit)
        }
    }
}

fn run(cli: Cli) -> Result<u8, Trouble> {
    // Without a runtime: a command must start in a moment, and its keeper has threads of its own.
    if let Some(Command::KeepCommand(options)) = &cli.command {
        return keep_command::run(options);
    }
    if let Some(Command::KeepServer(options)) = &cli.command {
        return Ok(talaria_mcp::keep_server(&options.argv));
    }
    // No threads before its limits are set.
    #[cfg(feature = "pdf")]
    if let Some(Command::ReadPdf) = cli.command {
        return pdf::run();
    }
    // Two threads at least: one may wait for a slow terminal while the other reads what Codex says.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Trouble::new(exit::FAILED, "cannot start").because(error))?;
    let result = runtime.block_on(async {
        let Some(command) = cli.command else {
            let prompt = cli.chat.first_prompt().unwrap_or_else(|mistake| mistake.exit());
            return chat::run(cli.chat, prompt).await;
        };
        match command {
            Command::Resume(options) => {
                let (options, prompt) = options.into_chat();
                chat::run(options, prompt).await
            }
            Command::Exec(options) => exec::run(*options).await,
            Command::Task(options) => tasks::run(&options).await,
            Command::Requests(options) => requests::run(&options).await,
            Command::Ps(options) => ps::run(&options).await,
            Command::Sessions(options) => sessions::run(&options).await,
            Command::Memory(options) => memory::run(&options).await,
            Command::Skills(options) => skills::run(&options).await,
            Command::Context(options) => context::run(&options).await,
            Command::Import(options) => import::run(&options).await,
            Command::Migrate(options) => migrate::run(&options).await,
            Command::Mcp(options) => mcp::run(&options).await,
            Command::Usage(options) => usage::run(&options).await,
            Command::Token(options) => token::run(&options).await,
            Command::Audit(options) => audit::run(&options).await,
            Command::Status(options) => status::run(&options).await,
            Command::Stop(options) => stop::run(&options).await,
            Command::Serve(options) => serve::run(&options).await,
            Command::Service(options) => service::run(&options),
            Command::Config(options) => config::run(&options).await,
            Command::CodexRuntime(options) => runtime::run(&options).await,
            Command::Providers(options) => providers::run(&options).await,
            Command::Demo => demo::run().await,
            Command::Doctor(options) => doctor::run(&options).await,
            Command::Setup => setup::run().await,
            Command::Login(options) => login::run(&options).await,
            Command::Help(options) => help(&options),
            Command::Completions(options) => shell_help::completions(&options),
            Command::Man(options) => shell_help::man(&options),
            Command::KeepTerminal => keeper::run(),
            Command::KeepCommand(options) => keep_command::run(&options),
            Command::KeepServer(options) => Ok(talaria_mcp::keep_server(&options.argv)),
            #[cfg(feature = "pdf")]
            Command::ReadPdf => pdf::run(),
        }
    });
    // Running async tasks may hold a Codex and its directory: they are dropped before the program ends.
    runtime.shutdown_timeout(LAST_TASKS);
    result
}

/// Prints the help of a command. The number is the exit code.
fn help(options: &args::Help) -> Result<u8, Trouble> {
    let text = options.text().unwrap_or_else(|mistake| mistake.exit());
    output::print(&text)?;
    Ok(0)
}
