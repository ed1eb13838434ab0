//! An MCP server that does what the arguments of its tools say; see `src/bin/scripted-mcp-server`.

use std::path::PathBuf;

use crate::program;

/// Returns the program, to be named as `command` of an MCP server in Codex's configuration. It needs no arguments.
pub fn program() -> PathBuf {
    match program::path("scripted-mcp-server") {
        Ok(path) => path,
        Err(cause) => panic!("cannot build the scripted MCP server: {cause:#}"),
    }
}
