//! Conversion of Codex's own messages: transcripts, redaction, MCP servers; what the fuzz targets check.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

// The same source as the package of the fuzz targets, which is a workspace of its own.
#[path = "../../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "the package of the fuzz targets is a library")]
mod fuzz;
mod fuzz_targets;
mod redaction;
mod servers;
mod transcript;
