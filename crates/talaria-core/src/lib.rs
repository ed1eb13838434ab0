//! The pure centre of Talaria: values in, values out. No I/O, no clock, no environment, no async.
//!
//! Map: `line` and `frame` turn bytes into messages, `wire` holds Codex's own shapes, `project` and `failure` convert
//! them into our vocabulary (`event`, `item`, `request`, `outcome`), and `turn` decides what a turn does next.
//! `config`, `policy`, `duration` and `version` are what users and Codex say about themselves, as data.

pub mod config;
pub mod drift;
pub mod duration;
pub mod event;
pub mod failure;
pub mod frame;
pub mod ids;
pub mod item;
pub mod line;
mod nearest;
pub mod outcome;
pub mod policy;
pub mod project;
pub mod request;
pub mod turn;
pub mod version;
pub mod wire;
