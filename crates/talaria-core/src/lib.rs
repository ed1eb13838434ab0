//! The pure centre of Talaria: values in, values out. No I/O, no clock, no environment, no async.
//!
//! Map: `line` and `frame` turn bytes into messages, `wire` holds Codex's own shapes, `project` and `failure` convert
//! them into our vocabulary (`event`, `item`, `request`, `outcome`), and `turn` decides what a turn does next.
//! `power` compares what was asked of a thread with what is in force on it; `settle` says what became of input whose
//! answer never came, `gap` what happened while nobody listened (`rollout` helps it), `escrow` whether an answer that
//! Codex never got still serves.
//! `place` says whether what is accepted stays in the sandbox; `hiding` keeps Talaria's own files out of it.
//! `transcript` turns the steps of a turn into the messages that are kept.
//! `notice` is what a person is told who is not looking, and where that may go.
//! `background` is what is known of commands that outlive their turn.
//! `api` is what commands and the engine tell each other; `bridge` is the tool through which other agents ask for it.
//! `plain` makes text of others harmless.
//! `confine` says what a command of the person's own may do, `printed` turns what it prints into text.
//! `json_line` is JSON that stays on one line.
//! `plain` makes text of others harmless; `nearest` finds the name that was probably meant.
//! `edit` changes one key of a TOML text, `toml_text` knows its lines.
//! `servers` turns the MCP servers of the configuration into Codex's.
//! `codex_config` plans what is added to Codex's own configuration, and takes it out again.
//! `hermes` is what a person brings along from there.
//! `config`, `policy`, `duration` and `version` are what users and Codex say about themselves, as data.
//! `config`, `policy`, `runtime`, `duration` and `version` are what users and Codex say about themselves, as data.

pub mod access;
pub mod admission;
pub mod api;
pub mod background;
pub mod bridge;
pub mod codex_config;
pub mod config;
pub mod confine;
pub mod drift;
pub mod duration;
pub mod edit;
pub mod escrow;
pub mod event;
pub mod failure;
pub mod frame;
pub mod gap;
pub mod gate;
pub mod hermes;
pub mod hiding;
pub mod ids;
pub mod item;
pub mod json_line;
pub mod line;
pub mod nearest;
pub mod notice;
pub mod outcome;
pub mod place;
pub mod plain;
pub mod policy;
pub mod power;
pub mod principal;
pub mod printed;
pub mod project;
mod raw;
pub mod redact;
pub mod request;
pub mod rollout;
pub mod rules;
pub mod runtime;
pub mod servers;
pub mod settle;
pub mod shell;
pub mod toml_text;
pub mod transcript;
pub mod turn;
pub mod veil;
pub mod version;
pub mod wire;
