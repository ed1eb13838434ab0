//! Conversion of Codex's own messages: transcripts, redaction, MCP servers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod redaction;
mod servers;
mod transcript;
