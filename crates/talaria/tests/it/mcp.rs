//! `talaria mcp` as MCP clients use it: the official Python SDK, the MCP inspector, Codex itself, and peers that misbehave.

mod bare;
mod codex;
mod inspector;
mod python;
mod wire;
