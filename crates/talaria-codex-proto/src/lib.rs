//! Codex's app-server protocol as pure code: values in, values out. No I/O, no clock, no environment, no async.
//!
//! Map: `line` and `frame` turn bytes into messages, `wire` holds Codex's own shapes, `project` and `failure` convert
//! them into the vocabulary of `talaria-core`, and `turn` decides what a turn does next. `drift` lists the methods that
//! older versions lack, `tool_failure` recognises a failed call by its text. `choice` is the model and the effort of a turn,
//! `moment` the time that all of this is given. `settle` determines what happened to input that was never acknowledged, `missed` which steps
//! were not observed (`rollout` reads them from Codex's own file). `thread_gate` decides what needs no person, with the
//! gate of `talaria-core`: `project` converts requests into its subjects, `thread_bounds` reads the settings in force,
//! `wishes` the permissions that the model requested for its calls. `power` compares the permissions asked of a thread
//! with those in force, `hiding` keeps Talaria's own files out of the sandbox, `confine` restricts a person's own
//! commands. `codex_config` plans edits of Codex's own configuration file and reverts them.

pub mod choice;
pub mod codex_config;
pub mod confine;
pub mod drift;
pub mod failure;
pub mod frame;
pub mod hiding;
pub mod line;
pub mod missed;
pub mod moment;
pub mod power;
pub mod project;
pub mod rollout;
pub mod settle;
pub mod thread_bounds;
pub mod thread_gate;
pub mod tool_failure;
pub mod turn;
pub mod wire;
pub mod wishes;
