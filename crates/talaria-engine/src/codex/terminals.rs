//! Ends the commands that an interrupted turn left running: an interrupt alone does not.
//!
//! A newer Codex lists what runs in the background, and only what this turn began is ended. An older one can only end
//! everything of the thread, older commands included; that is told, and not done when the turn left nothing.

use std::fmt;

use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::wire::call::{TerminalsClean, TerminalsList, TerminalsTerminate, WireTerminal};

use super::client::CallError;
use super::host::Host;

/// How many answers are read of a list that goes on and on.
const PAGES: usize = 32;

/// What was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalsEnded {
    /// The turn had left nothing running.
    Nothing,
    /// These, and no others.
    Own {
        /// Their command lines.
        commands: Vec<String>,
    },
    /// Everything of the thread that ran in the background: this Codex cannot tell whose it was.
    All,
}

impl Host {
    /// Ends what runs in the background because of these items, the commands that a turn began and that did not end.
    /// Call it when the turn has ended; before that, Codex counts them as the turn's own.
    pub async fn end_terminals(
        &self,
        thread: &ThreadId,
        opened: &[ItemId],
    ) -> Result<TerminalsEnded, CallError> {
        if opened.is_empty() {
            return Ok(TerminalsEnded::Nothing);
        }
        if !self.version().lists_terminals() {
            self.call(&TerminalsClean { thread_id: thread.clone() }).await?;
            return Ok(TerminalsEnded::All);
        }
        let mut commands = Vec::new();
        for terminal in self.terminals(thread).await? {
            if !opened.contains(&terminal.item_id) {
                continue;
            }
            let end = TerminalsTerminate { thread_id: thread.clone(), process_id: terminal.process_id };
            if self.call(&end).await?.terminated {
                commands.push(terminal.command);
            }
        }
        Ok(if commands.is_empty() { TerminalsEnded::Nothing } else { TerminalsEnded::Own { commands } })
    }

    async fn terminals(&self, thread: &ThreadId) -> Result<Vec<WireTerminal>, CallError> {
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let reply = self.call(&TerminalsList { thread_id: thread.clone(), cursor }).await?;
            all.extend(reply.data);
            cursor = reply.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(all)
    }
}

impl fmt::Display for TerminalsEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no command was left running"),
            Self::Own { commands } => write!(f, "ended what the turn left running: {}", commands.join("; ")),
            Self::All => f.write_str(
                "ended every command of the conversation that ran in the background; \
                 this Codex cannot tell those of the turn from older ones",
            ),
        }
    }
}
