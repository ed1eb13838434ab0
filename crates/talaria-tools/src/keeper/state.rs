//! State of a command, read from its directory and the process table. Nothing here changes anything.
//!
//! A command has ended if its keeper wrote so. It runs if its keeper does, proven by boot, pid, start time and the mark in
//! its environment. Everything else is not known, or provably never began.

use std::io;

use talaria_home::foreign_process::ForeignProcess;
use talaria_home::{boot, descendants};

use super::directory::CommandDirectory;
use super::record::{Claim, CommandEnd, StoredSpec};

/// State of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandState {
    /// It did not begin. Whether a keeper still claims it is decided by `KeptCommand::abandon`.
    NotStarted,
    /// Its keeper has been started and has not claimed it yet.
    Starting,
    /// It runs.
    Running,
    /// It ended like this.
    Ended(CommandEnd),
    /// Its keeper is gone and left no status: how it ended, and whether it did, is not known.
    Lost,
    /// The directory is a copy, as of a copied home: what runs belongs to the original.
    Copied,
    /// There is no such command: it was removed, or never existed.
    Missing,
}

impl CommandDirectory {
    /// State of this command, and its keeper if it runs.
    pub(super) fn look(&self) -> io::Result<(CommandState, Option<ForeignProcess>)> {
        if !self.exists() {
            return Ok((CommandState::Missing, None));
        }
        if let Some(end) = self.end()? {
            return Ok((CommandState::Ended(end), None));
        }
        let Some(spec) = self.spec()? else { return Ok((CommandState::NotStarted, None)) };
        if !self.is_own(&spec) {
            return Ok((CommandState::Copied, None));
        }
        match self.claim()? {
            None => match self.unclaimed(&spec) {
                // A keeper may have claimed it, and even ended, while the processes were listed. A claim stays.
                CommandState::NotStarted if self.claim()?.is_some() => self.look(),
                state => Ok((state, None)),
            },
            Some(Claim::Abandoned) => Ok((CommandState::NotStarted, None)),
            Some(Claim::Keeper { pid, started, boot }) => {
                if boot == boot::id()
                    && let Some(keeper) = ForeignProcess::pin(pid, &started)
                    && descendants::carries(pid, &self.id().mark())
                {
                    return Ok((CommandState::Running, Some(keeper)));
                }
                // It may have written its status and ended since the first look.
                let end = self.end()?;
                Ok((end.map_or(CommandState::Lost, CommandState::Ended), None))
            }
        }
    }

    fn unclaimed(&self, spec: &StoredSpec) -> CommandState {
        if spec.boot != boot::id() {
            // Files of the last boot may have been lost with it.
            return CommandState::Lost;
        }
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        match descendants::carrying(&self.id().mark()).iter().any(|entry| entry.pid != own) {
            true => CommandState::Starting,
            false => CommandState::NotStarted,
        }
    }
}
