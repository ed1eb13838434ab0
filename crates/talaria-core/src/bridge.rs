//! The tool `codex_bridge`: background tasks of Codex for other agents, as data. Pure.
//!
//! Owns what a model may say to the tool and what it gets: names, limits and enums are defined once, in `parameter`, and
//! both the schema and the checks are made from them. Nothing here talks to anyone; `talaria_server::mcp` does, and
//! whether a caller may do what it asks is decided by the engine alone.
//!
//! | file | idea |
//! |---|---|
//! | `action` | what can be done |
//! | `parameter` | what can be said with it: the one table of names, values and limits |
//! | `schema` | the tool as models see it |
//! | `arguments` | reading and checking what a model wrote |
//! | `call` | one call, complete |
//! | `respond` | the answer to a request of Codex |
//! | `mistake` | why a call is not done, for a model to mend it |
//! | `step` | one event in one line |
//! | `snapshot` | a task as models see it |
//! | `reply` | what the tool returns |

mod action;
mod arguments;
mod call;
mod mistake;
mod parameter;
mod reply;
mod respond;
mod schema;
mod snapshot;
mod step;
#[cfg(test)]
mod tests;

pub use action::Action;
pub use call::{BridgeCall, Start};
pub use mistake::Mistake;
pub use parameter::{LONGEST_WAIT, USUAL_WAIT};
pub use reply::{BridgeReply, Waited};
pub use respond::Response;
pub use schema::{DESCRIPTION, INSTRUCTIONS, input_schema};
pub use snapshot::{TRANSCRIPT_TEMPLATE, transcript_of, transcript_uri};
pub use step::step;

/// The name of the tool.
pub const TOOL: &str = "codex_bridge";
