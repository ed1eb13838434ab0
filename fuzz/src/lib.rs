//! What the fuzz targets check, one module each.
//!
//! Only cargo-fuzz compiles the targets themselves, and an ordinary test run does not use it. So each of them calls `check` of
//! its module here and nothing else; the tests of `talaria-codex-proto` (`tests/it/fuzz_targets.rs`) include this file, call the
//! same functions with generated inputs, and fail when a target calls anything else.

pub mod codex_config;
pub mod redact;
pub mod shell;
pub mod turn;
