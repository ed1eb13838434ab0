//! How a turn is run: `start` writes it down, `resolve` decides with what it runs, `desk` knows which sessions are active,
//! `actor` is the task of one, `runtime` its open conversation (Codex is one arm of it), and `opening` what is known when it is
//! opened. `input`, `settings`, `servers` and `rulebook`
//! are what it is run with; `answers`, `compaction`, `shell` and `background` are what people do beside it; `catalog` lists
//! what can be chosen.

pub(crate) mod actor;
pub(crate) mod answers;
pub(crate) mod background;
pub(crate) mod catalog;
pub(crate) mod compaction;
pub(crate) mod desk;
pub(crate) mod input;
pub(crate) mod opening;
pub(crate) mod resolve;
pub(crate) mod rulebook;
pub(crate) mod runtime;
pub(crate) mod servers;
pub(crate) mod settings;
pub(crate) mod shell;
pub(crate) mod start;
