//! Replaces a detached `codex app-server`, with a built-in model: it listens on a unix socket, outlives its clients,
//! stores its threads in files, and repeats open requests. Starting it costs milliseconds.
//!
//! The prompt determines the turn: one that begins with `ask-` runs `echo ran >> <prompt>` after asking, `call-TOOL N
//! ARGUMENTS` calls a client-provided tool, any other only answers. SIGUSR1 closes every connection. `STAND_IN_VERSION` is
//! the output of `--version`; threads are stored below `CODEX_HOME/sessions` in the few lines of Codex's own format that
//! an audit needs.

#![allow(clippy::print_stdout, reason = "the program it imitates prints its version there")]

mod server;
mod shape;
mod thread;

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::tungstenite::Message;

use server::Server;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let version = env::var("STAND_IN_VERSION").unwrap_or_else(|_| "0.166.0".to_owned());
    if arguments.iter().any(|argument| argument == "--version" || argument == "-V") {
        println!("codex-cli {version}");
        return Ok(());
    }
    let listen = arguments.iter().position(|argument| argument == "--listen");
    let address = listen.and_then(|at| arguments.get(at + 1)).and_then(|at| at.strip_prefix("unix://"));
    let Some(socket) = address else {
        bail!("the stand-in listens on a unix socket only, not {arguments:?}")
    };
    let sessions =
        PathBuf::from(env::var_os("CODEX_HOME").context("CODEX_HOME is not set")?).join("sessions");
    fs::create_dir_all(&sessions).context("create the directory of threads")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(socket, Server::new(sessions, version)))
}

async fn serve(socket: &str, server: Server) -> Result<()> {
    let listener = UnixListener::bind(socket).with_context(|| format!("listen on {socket}"))?;
    fs::set_permissions(socket, Permissions::from_mode(0o600)).context("protect the socket")?;
    let server = Arc::new(Mutex::new(server));
    let cut = watch::Sender::new(0_u32);
    let mut signals = signal(SignalKind::user_defined1()).context("listen for a signal")?;
    let mut connection = 0;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                connection += 1;
                tokio::spawn(talk(accepted?.0, connection, Arc::clone(&server), cut.subscribe()));
            }
            _ = signals.recv() => cut.send_modify(|count| *count += 1),
        }
    }
}

/// Serves one client until it disconnects or is cut off.
async fn talk(stream: UnixStream, id: u64, server: Arc<Mutex<Server>>, mut cut: watch::Receiver<u32>) {
    // A client that leaves during the handshake only probed the socket.
    let Ok(socket) = tokio_tungstenite::accept_async(stream).await else { return };
    let (mut outgoing, mut incoming) = socket.split();
    let (sender, mut queue) = mpsc::unbounded_channel::<String>();
    let lock = || server.lock().unwrap_or_else(PoisonError::into_inner);
    lock().join(id, sender);
    loop {
        tokio::select! {
            message = incoming.next() => match message {
                Some(Ok(Message::Text(text))) => lock().take(id, &text),
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
            Some(text) = queue.recv() => if outgoing.send(Message::text(text)).await.is_err() {
                break;
            },
            _ = cut.changed() => break,
        }
    }
    lock().leave(id);
}
