//! Waiting before a turn can be sent: for a person to grant power, for a slot, for a Codex. A stop is accepted
//! meanwhile, and input for the next turn is recorded.

use talaria_core::event::{Event, QueuedInput};
use talaria_core::outcome::Report;
use talaria_core::request::Who;
use talaria_store::{SessionRow, StoreError};
use tokio::sync::mpsc;

use super::{Actor, interrupted};
use crate::engine::Inner;
use crate::engine::journal::Journal;
use crate::engine::run::session_directory::SessionHandle;
use crate::engine::run::settings::Wanted;
use crate::engine::tasks::power::Decided;
use talaria_codex::conversation::{Command, Watcher as _, When};

impl Actor {
    /// Waits until a person has decided whether the task may have what was asked for beyond its sandbox. `Err` is why it
    /// does not begin.
    pub(super) async fn wait_for_power(
        &self,
        row: SessionRow,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        journal: &mut Journal,
    ) -> Result<Result<SessionRow, Report>, StoreError> {
        if Wanted::of_row(&row).as_ref().and_then(Wanted::widening).is_none() {
            return Ok(Ok(row));
        }
        self.engine.put_power_request(&row, journal).await?;
        let mut others = Others { commands: Vec::new(), handle: &self.handle };
        loop {
            match self.engine.settle_power(&row, journal).await? {
                Decided::Granted(row) => return Ok(Ok(*row)),
                Decided::Refused(report) => return Ok(Err(*report)),
                Decided::Nothing => {}
            }
            // An answer is in the store before it is sent here.
            let Some(command) = commands.recv().await else { return Err(StoreError::Closed) };
            if let Command::Answer { .. } = command {
                continue;
            }
            if let Some(by) = hold(command, journal, &mut others).await? {
                Inner::withdraw_power_request(&row, by, journal);
                return Ok(Err(interrupted(by)));
            }
        }
    }
}

/// Waits for what a turn needs before it can be sent, or for a wish to stop it: then it returns whose. Input for
/// the next turn is recorded meanwhile; other commands are sent again, for the turn to take.
pub(super) async fn unless_stopped<T>(
    ready: impl Future<Output = T>,
    commands: &mut mpsc::UnboundedReceiver<Command>,
    journal: &mut Journal,
    handle: &SessionHandle,
) -> Result<Result<T, Who>, StoreError> {
    let mut others = Others { commands: Vec::new(), handle };
    tokio::pin!(ready);
    loop {
        let command = tokio::select! {
            ready = &mut ready => return Ok(Ok(ready)),
            Some(command) = commands.recv() => command,
        };
        if let Some(by) = hold(command, journal, &mut others).await? {
            return Ok(Err(by));
        }
    }
}

/// Handles a command for a turn that has not begun; returns who asked to stop it.
pub(super) async fn hold(
    command: Command,
    journal: &mut Journal,
    others: &mut Others<'_>,
) -> Result<Option<Who>, StoreError> {
    match command {
        Command::Interrupt { by } => return Ok(Some(by)),
        // No turn can accept it yet, so it is queued, even if it was meant for this turn.
        Command::Say { input, when, limit, kept } => match journal.queue(&input, limit) {
            Some(waiting) => {
                journal.event(Event::Queued { waiting, input: QueuedInput::of(&input) });
                journal.keep().await.map_err(|_| StoreError::Closed)?;
                // The caller may have left.
                kept.map(|kept| kept.send(When::Next));
            }
            None => others.commands.push(Command::Say { input, when, limit, kept }),
        },
        other => others.commands.push(other),
    }
    Ok(None)
}

/// Commands that arrived too early; resent when this is dropped.
pub(super) struct Others<'a> {
    pub(super) commands: Vec<Command>,
    pub(super) handle: &'a SessionHandle,
}

impl Drop for Others<'_> {
    fn drop(&mut self) {
        for command in self.commands.drain(..) {
            self.handle.tell(command);
        }
    }
}
