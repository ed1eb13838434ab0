//! Shutdown of an engine: on request, or because it is idle. It first refuses new work; then turns stop or are
//! left to the next engine, the tasks of sessions end, and the hosts are closed or released.

use std::sync::Arc;
use std::time::Duration;

use talaria_core::api::{Problem, ProblemCode, Stop, Stopped};
use talaria_core::request::Who;

use crate::engine::Engine;
use crate::engine::Inner;
use crate::engine::Phase;
use crate::engine::access::caller::Needs;
use crate::engine::lifecycle::loop_commands;
use crate::engine::lifecycle::stop_marker;
use talaria_codex::conversation::Command;

/// How long running turns may take to stop when the engine ends.
const STOPPING: Duration = Duration::from_secs(8);
/// How long MCP servers may take to end.
const SERVERS: Duration = Duration::from_secs(4);
/// How often an engine checks whether it is needed.
const LOOK: Duration = Duration::from_secs(5);

impl Engine {
    /// Ends the engine. Running turns are stopped and their hosts ended, or both are left to the next engine.
    pub async fn stop(&self, stop: Stop) -> Result<Stopped, Problem> {
        self.require(Needs::Admin, "stop", "end the engine").await?;
        // Also by a second one who says so: the next engine has not begun while this one answers.
        if stop.stay_down {
            stop_marker::begin(self.inner.home.root(), &[]);
        }
        let is_first = self.inner.phase.send_replace(Phase::Ending) == Phase::Open;
        if !is_first {
            self.stopped().await;
            return Ok(Stopped::default());
        }
        let running = self.inner.desk.running();
        let stopped = if stop.keep_turns {
            Stopped { interrupted: 0, unsettled: 0, kept: running }
        } else {
            self.inner.desk.tell_all(|| Command::Interrupt { by: Who::Stop });
            // A turn that does not stop in time is settled by the next engine, after its Codex has ended.
            let _ = tokio::time::timeout(STOPPING, self.inner.desk.until_none_runs()).await;
            let unsettled = self.inner.desk.running().min(running);
            Stopped { interrupted: running - unsettled, unsettled, kept: 0 }
        };
        self.inner.end(stop.keep_turns).await;
        Ok(stopped)
    }

    /// Waits until the engine has ended: its hosts are closed or released, and nothing more is written.
    pub async fn stopped(&self) {
        let _ = self.inner.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Ends the engine when nothing was to be done for a while. Runs until it has ended.
    pub(crate) async fn watch_idleness(self, idle: Duration) {
        let mut since = tokio::time::Instant::now();
        loop {
            tokio::select! {
                () = self.stopped() => return,
                () = tokio::time::sleep(LOOK.min(idle)) => {}
            }
            if self.inner.is_busy() {
                since = tokio::time::Instant::now();
            } else if since.elapsed() >= idle && self.inner.close_if_quiet() {
                tracing::info!("idle for {} s: the engine ends", idle.as_secs());
                return self.inner.end(false).await;
            }
        }
    }
}

impl Inner {
    pub(crate) fn check_open(&self) -> Result<(), Problem> {
        match *self.phase.borrow() {
            Phase::Open => Ok(()),
            Phase::Ending => {
                Err(Problem::new(ProblemCode::Stopping, "the engine is ending")
                    .try_this("try again in a moment"))
            }
        }
    }

    /// Keeps the engine from ending by itself until the returned guard is dropped.
    pub(crate) fn enter(&self) -> Result<Arc<()>, Problem> {
        let caller = Arc::clone(&self.callers);
        self.check_open().map(|()| caller)
    }

    fn is_busy(&self) -> bool {
        self.desk.is_busy() || !self.shelf.background.is_empty() || Arc::strong_count(&self.callers) > 1
    }

    /// Takes no more work, unless some has just come.
    fn close_if_quiet(&self) -> bool {
        self.phase.send_if_modified(|phase| {
            // A caller has a clone before the phase is read, so one of the two sees the other.
            let is_quiet = *phase == Phase::Open && !self.is_busy();
            if is_quiet {
                *phase = Phase::Ending;
            }
            is_quiet
        })
    }

    async fn end(&self, keep_turns: bool) {
        // The tasks of sessions end before their hosts do: what happens to a host from here on is not theirs to report.
        self.ended.send_replace(true);
        self.tasks.close();
        self.tasks.wait().await;
        if keep_turns {
            self.hosts.detach();
        } else {
            tokio::join!(self.hosts.close(), loop_commands::end_all(&self.loop_commands));
        }
        // Their keepers end what does not end by itself.
        let _ = tokio::time::timeout(SERVERS, self.server_room.close()).await;
        self.shelf.store.close().await;
        self.gone.send_replace(true);
    }
}
