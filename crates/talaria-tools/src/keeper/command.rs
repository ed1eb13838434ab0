//! One command, as an engine sees it: what is true of it, its output, input for it, and its end.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use talaria_guard::place::Place;
use talaria_home::descendants;

use super::directory::{CommandDirectory, CommandId};
use super::inbox::{Message, MessageState};
use super::record::Claim;
use super::spool::{SpoolLimits, SpoolReader};
use super::state::CommandState;

/// How long a keeper may take to answer before it is looked at again.
const LOOK: Duration = Duration::from_millis(3);
/// How long a keeper may take to end its command before this process does.
const STOPPING: Duration = Duration::from_secs(3);
/// How long leftovers are killed again.
const GOING: Duration = Duration::from_secs(2);

/// A command below a keeper. Dropping this changes nothing: the command continues.
#[derive(Clone, Debug)]
pub struct KeptCommand {
    directory: CommandDirectory,
    limits: SpoolLimits,
    place: Place,
}

/// Result of input for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputDelivery {
    /// The command has it.
    Delivered,
    /// The command has closed its input, or was started without one.
    Refused,
    /// The command ended first.
    Ended,
    /// The command has not read it yet. It is passed on when it does.
    Waiting,
    /// It was never sent.
    NotSent,
    /// It is not known whether the command got it: its keeper is gone.
    Unknown,
}

impl KeptCommand {
    pub(super) fn new(directory: CommandDirectory) -> io::Result<Self> {
        let spec = directory.spec()?.map(|stored| stored.spec);
        let place = spec.as_ref().map_or(Place::Undecidable, |spec| spec.place);
        let limits = spec.map(|spec| spec.limits).unwrap_or_default();
        Ok(Self { directory, limits, place })
    }

    /// Its name.
    pub fn id(&self) -> &CommandId {
        self.directory.id()
    }

    /// Where it runs; undecidable if there is no such command.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Its current state.
    pub fn state(&self) -> io::Result<CommandState> {
        Ok(self.directory.look()?.0)
    }

    /// Waits for its end, at most for `limit`, and returns what is true then. May be cancelled.
    pub async fn wait(&self, limit: Duration) -> io::Result<CommandState> {
        let until = Instant::now() + limit;
        loop {
            let (state, keeper) = self.directory.look()?;
            let left = until.saturating_duration_since(Instant::now());
            match (&state, keeper) {
                (CommandState::Running, Some(keeper)) if !left.is_zero() => {
                    let _ = tokio::time::timeout(left, keeper.wait()).await;
                }
                (CommandState::Starting, _) if !left.is_zero() => tokio::time::sleep(LOOK).await,
                _ => return Ok(state),
            }
        }
    }

    /// Makes sure that a command that did not begin never does. Returns false if a keeper was faster.
    pub fn abandon(&self) -> io::Result<bool> {
        Ok(self.directory.make_claim(&Claim::Abandoned)? || self.directory.claim()? == Some(Claim::Abandoned))
    }

    /// Its output from `position` on, also while it runs and after its end.
    pub fn output(&self, position: u64) -> SpoolReader {
        SpoolReader::new(self.directory.path(), self.limits, position)
    }

    /// Sends text to its standard input, once for each ticket, and waits at most `limit` until the command has it.
    pub async fn write(&self, ticket: &str, text: &str, limit: Duration) -> io::Result<InputDelivery> {
        self.send(ticket, &Message::Write(text.to_owned()), limit).await
    }

    /// Ends its standard input.
    pub async fn end_input(&self, ticket: &str, limit: Duration) -> io::Result<InputDelivery> {
        self.send(ticket, &Message::EndInput, limit).await
    }

    async fn send(&self, ticket: &str, message: &Message, limit: Duration) -> io::Result<InputDelivery> {
        self.directory.post(ticket, message)?;
        let until = Instant::now() + limit;
        loop {
            let delivery = self.delivery(ticket)?;
            if delivery != InputDelivery::Waiting || Instant::now() >= until {
                return Ok(delivery);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Result of the input with this ticket, also when an earlier engine sent it.
    pub fn delivery(&self, ticket: &str) -> io::Result<InputDelivery> {
        // Before the place of the message: a keeper that ends after that cannot make this answer untrue.
        let state = self.state()?;
        if state == CommandState::Missing {
            return Ok(InputDelivery::Unknown);
        }
        Ok(match (self.directory.message_state(ticket)?, state) {
            (MessageState::Absent, _) => InputDelivery::NotSent,
            (MessageState::PassedOn, _) => InputDelivery::Delivered,
            (MessageState::Refused, _) => InputDelivery::Refused,
            (MessageState::Waiting, CommandState::Ended(_)) => InputDelivery::Ended,
            (MessageState::Waiting, CommandState::Running | CommandState::Starting) => InputDelivery::Waiting,
            (MessageState::Waiting, CommandState::NotStarted) => InputDelivery::NotSent,
            (MessageState::Waiting, _) => InputDelivery::Unknown,
        })
    }

    /// Ends it and everything below it. Asks its keeper first; if that does not answer, kills what is proven to be its own.
    pub async fn stop(&self) -> io::Result<CommandState> {
        let mut state = self.state()?;
        // A keeper that comes late must not run what was stopped before it began.
        if state == CommandState::NotStarted && !self.abandon()? {
            state = self.state()?;
        }
        if matches!(state, CommandState::Running | CommandState::Starting) {
            self.directory.post("stop", &Message::Stop)?;
            state = self.wait(STOPPING).await?;
        }
        // Also when the keeper was killed meanwhile.
        if matches!(state, CommandState::Running | CommandState::Starting | CommandState::Lost) {
            self.kill().await?;
        }
        self.state()
    }

    /// Kills the keeper and everything that carries the mark of this command. Nothing of a copy is touched.
    async fn kill(&self) -> io::Result<()> {
        let (state, keeper) = self.directory.look()?;
        if matches!(state, CommandState::Copied | CommandState::Missing) {
            return Ok(());
        }
        // The keeper last: without it what is below has no parent to be found by.
        let below = keeper.as_ref().map(|keeper| descendants::below(keeper.pid().as_raw_nonzero().get()));
        let below = below.unwrap_or_default();
        let mark = self.id().mark();
        let until = Instant::now() + GOING;
        loop {
            if let Some(keeper) = &keeper {
                keeper.signal(Signal::KILL);
            }
            let left = descendants::kill_survivors(&below)
                + descendants::kill_survivors(&descendants::carrying(&mark));
            // A process that cannot be killed hangs in the kernel.
            if left == 0 || Instant::now() >= until {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Ends what still runs of it and removes its directory with its output.
    pub async fn remove(self) -> io::Result<()> {
        self.stop().await?;
        self.directory.remove();
        Ok(())
    }
}
