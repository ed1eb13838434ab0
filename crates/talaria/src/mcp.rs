//! `talaria mcp`: serves one MCP client on standard input and output, until it closes the input or a signal
//! arrives.
//!
//! Only MCP is written to standard output.

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream as Blocking;

use talaria_agent::transport::KeyState;
use talaria_server::client::launch::Launcher;
use talaria_server::mcp::{Door, TaskCheck, serve};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Mcp;
use crate::caller;
use crate::engine::this_build;
use crate::providers::keyed_providers;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// How much of the input is passed on at once.
const CHUNK: usize = 64 * 1024;

pub(crate) async fn run(options: &Mcp) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let cannot =
        |cause: &dyn std::fmt::Display| Trouble::new(exit::FAILED, "cannot serve MCP").because(cause);
    settings.home.ensure().map_err(|error| cannot(&error).try_this(error.next_step()))?;
    let here = std::env::current_dir().map_err(|error| cannot(&error))?;
    // Asked now: the file may be replaced by a newer one while this runs.
    let program = std::env::current_exe().map_err(|error| cannot(&error))?;
    let build = this_build().map_err(|error| cannot(&error))?;
    if io::stdin().is_terminal() {
        complain(
            "this command speaks MCP with a client program; `talaria mcp --help` shows how to register it\n",
        );
    }
    let launcher = Launcher::new(settings.home.root(), &program, build);
    let door = Door::new(launcher, caller::describe(), task_check(), here).called(options.name.clone());
    let input = input().map_err(|error| cannot(&error))?;
    let stop = stop().map_err(|error| cannot(&error))?;
    serve(door, input, tokio::io::stdout(), stop).await.map_err(|error| cannot(&error))?;
    Ok(0)
}

/// Looks at the configuration, for keys and for Codex whenever it is asked: each may change while a client runs.
fn task_check() -> TaskCheck {
    Box::new(|| {
        Box::pin(async {
            match Settings::load() {
                Ok(settings) => has_provider(&settings) || settings.locate().await.is_ok(),
                Err(_) => false,
            }
        })
    })
}

/// Is there a provider for the built-in loop? A server that is built in and needs no key may not be there: only one that the
/// user configured counts.
fn has_provider(settings: &Settings) -> bool {
    keyed_providers(settings).iter().any(|known| {
        let name = known.provider.profile.name.as_str();
        let is_configured = settings.config.providers.iter().any(|section| section.name == name);
        known.is_usable() && (is_configured || matches!(known.key, KeyState::Found { .. }))
    })
}

/// Standard input as something that can be waited for and left. A thread reads it, because reading it cannot be stopped;
/// it ends with the program.
fn input() -> io::Result<UnixStream> {
    let (mut theirs, ours) = Blocking::pair()?;
    ours.set_nonblocking(true)?;
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let (mut stdin, mut chunk) = (io::stdin().lock(), vec![0; CHUNK]);
        loop {
            let read = match stdin.read(&mut chunk) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            if read == 0 || theirs.write_all(&chunk[..read]).is_err() {
                return;
            }
        }
    })?;
    UnixStream::from_std(ours)
}

/// Becomes ready when the program is asked to end.
fn stop() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}
