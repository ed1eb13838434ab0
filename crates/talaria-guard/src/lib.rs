//! Protects people from text that others wrote: commands, output, names. Values in, values out; no other crate of ours.
//!
//! Map: `shell` parses a command line as far as it can be known without running it; `rules` judges it (hard floor, deny
//! rules, allow rules) given the `place` where it would run. `redact` masks secrets in text, JSON and streams, `printed`
//! does so for the raw output of a process. `plain` makes control characters and look-alikes visible, `shorten`
//! cuts what is too long.

pub mod place;
pub mod plain;
pub mod printed;
pub mod redact;
pub mod rules;
pub mod shell;
pub mod shorten;
