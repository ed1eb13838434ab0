//! Pretends to be `codex`: answers `--version`, and as `app-server` plays the transcript named by `SCRIPTED_TRANSCRIPT`.
//!
//! | variable | meaning |
//! |---|---|
//! | `SCRIPTED_TRANSCRIPT` | the transcript, JSON lines (see `transcript.rs`) |
//! | `SCRIPTED_VERSION` | what `--version` prints after `codex-cli` |
//! | `SCRIPTED_LOG` | a file to which every received message is appended, one JSON line each |

#![allow(clippy::print_stdout, reason = "the program it imitates prints its version there")]

mod link;
mod player;
mod transcript;

use std::env;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use link::Link;
use player::Player;

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--version" || argument == "-V") {
        let version = env::var("SCRIPTED_VERSION").unwrap_or_else(|_| "0.166.0".to_owned());
        println!("codex-cli {version}");
        return Ok(ExitCode::SUCCESS);
    }
    let Some(command) = arguments.iter().position(|argument| argument == "app-server") else {
        bail!("scripted codex understands --version and app-server, not {arguments:?}");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(play(&arguments[command..]))?;
    // The thread that reads stdin cannot be cancelled: do not wait for it.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

async fn play(arguments: &[String]) -> Result<()> {
    let path = env::var("SCRIPTED_TRANSCRIPT").context("SCRIPTED_TRANSCRIPT is not set")?;
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let directives = transcript::parse(&text).with_context(|| format!("understand {path}"))?;
    let listen = arguments.iter().position(|argument| argument == "--listen");
    let address = listen.and_then(|at| arguments.get(at + 1)).map_or("stdio://", String::as_str);
    let link = match address.strip_prefix("unix://") {
        Some(socket) => Link::listen(socket)?,
        None if address == "stdio://" => Link::stdio(),
        None => bail!("cannot listen on {address}"),
    };
    let mut player = Player::new(link, env::var_os("SCRIPTED_LOG"))?;
    player.play(&directives).await?;
    player.serve().await
}
