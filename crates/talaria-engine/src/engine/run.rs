//! Running turns: `start` records a turn, `resolve` decides its model and limits, `session_directory` tracks the
//! active sessions, `actor` is the task of one session, `runtime` its open conversation (Codex is one arm of it), `opening` describes how it was
//! opened. `budget` bounds what a turn may spend; `input`, `settings`, `providers`, `servers` and `rulebook` configure a
//! turn; `answers`, `compaction`, `renaming`, `forking`, `undoing`, `switching`, `shell` and `background`
//! are commands of people during and between turns; `catalog` lists models and efforts, `basis` says what a thread begins with.

pub(crate) mod actor;
pub(crate) mod answers;
pub(crate) mod background;
pub(crate) mod basis;
pub(crate) mod budget;
pub(crate) mod catalog;
pub(crate) mod compaction;
pub(crate) mod forking;
pub(crate) mod input;
pub(crate) mod opening;
mod permissions;
pub(crate) mod provider_health;
pub(crate) mod providers;
pub(crate) mod renaming;
pub(crate) mod resolve;
pub(crate) mod rulebook;
pub(crate) mod runtime;
pub(crate) mod servers;
pub(crate) mod session_directory;
pub(crate) mod settings;
pub(crate) mod shell;
pub(crate) mod start;
pub(crate) mod switching;
pub(crate) mod undoing;
