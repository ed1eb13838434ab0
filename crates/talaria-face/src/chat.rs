//! The conversation in the terminal, without I/O: inputs and news go in, rows and wishes come out.
//!
//! Whoever drives it reads keys, asks the engine and draws; it decides nothing.

pub mod commands;
pub mod contract;
pub mod line;
