//! `talaria serve`: the engine of this home, until it is stopped or has nothing to do for long.
//!
//! Signals end only the engine: Codex and its turns go on, and the next engine takes them up.

use std::sync::Arc;

use talaria_core::api::Stop;
use talaria_engine::engine::Engine;
use talaria_server::{Notice, bind, serve, socket_path};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Serve;
use crate::engine::this_build;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// Runs the command.
pub(crate) async fn run(options: &Serve) -> Result<u8, Trouble> {
    let settings = Settings::load()?;
    // An engine that was started by a command lives on with what is right in the file.
    let settings = if options.detached { settings } else { settings.accept()? };
    let cannot =
        |cause: &dyn std::fmt::Display| Trouble::new(exit::FAILED, "cannot start the engine").because(cause);
    settings.home.ensure().map_err(|error| cannot(&error).try_this(error.hint()))?;
    let build = this_build().map_err(|error| cannot(&error))?;
    let engine = Engine::in_memory(settings.home.root(), &build.version, build.build);
    let listener = bind(&socket_path(settings.home.root()))
        .map_err(|error| cannot(&error).try_this(error.next_step()))?;
    if !options.detached {
        let home = settings.home.root().display();
        complain(&format!(
            "the engine of {home} runs (process {}); Ctrl-C ends it, its turns go on\n",
            std::process::id()
        ));
    }
    let ender = tokio::spawn(end_on_signal(Arc::new(engine.clone())));
    serve(engine, listener, tell).await;
    ender.abort();
    Ok(0)
}

/// A line for the log.
fn tell(notice: Notice) {
    complain(&format!("{} {notice}\n", jiff::Timestamp::now()));
}

/// Ends the engine on the first signal, and leaves what it runs running.
async fn end_on_signal(engine: Arc<Engine>) {
    let mut waits = tokio::task::JoinSet::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // A signal that cannot be listened for ends the engine by itself: turns survive that, too.
        if let Ok(mut signal) = signal(kind) {
            waits.spawn(async move { signal.recv().await });
        }
    }
    if waits.join_next().await.is_some()
        && let Err(problem) = engine.stop(Stop { keep_turns: true }).await
    {
        complain(&format!("{} the engine did not end: {problem}\n", jiff::Timestamp::now()));
    }
}
