//! Commands that survive the engine: each runs below a keeper, a detached process of our own program.
//!
//! A command has a private directory below `commands/` of the home (`directory`). The engine writes there what is to run
//! and starts a keeper (`room`, `command`); the keeper claims the directory, runs the command, spools what it prints
//! (`spool`), passes on input (`inbox`), ends what it leaves and writes its exit status (`process`). A new engine knows
//! nothing but the directory, and reads from it what is true (`state`). The exit status is a file; a keeper that is gone
//! without one leaves a command whose end is not known.

mod command;
mod directory;
mod inbox;
mod process;
mod record;
mod room;
mod spool;
mod state;

pub use command::{InputDelivery, KeptCommand};
pub use directory::CommandId;
pub use process::{KeepError, keep};
pub use record::{CommandEnd, CommandEnding, CommandInput, KeptCommandSpec};
pub use room::{CommandRoom, KeeperProgram};
pub use spool::{SpoolLimits, SpoolPiece, SpoolReader, SpoolWriter};
pub use state::CommandState;

/// Marks a keeper and everything below it in their environment; not a secret.
pub const COMMAND_MARK: &str = "TALARIA_COMMAND";
