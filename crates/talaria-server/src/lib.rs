//! The engine's API on a unix socket, for every face of Talaria: the server, the client, and starting an engine on demand.
//!
//! Map: `route` is the table of what can be asked, `bind` makes the socket safely, `peer` says who may use it, `serve`
//! accepts connections within limits, `taken` reads what is asked, `handlers` call the engine, `reply` writes what it says,
//! `stream` sends events as they come, `notice` is for the log. On the other side
//! `client` asks (`client::launch` finds or starts the engine), `sse` reads the event stream; `socket_path` is where both meet.
//! `mcp` is the engine for other agents, and a client like any other.
//! `web` serves the same over TCP, for holders of tokens.
//! The data itself is `talaria_core::api`. Nothing here decides anything about sessions.

pub mod client;
pub mod mcp;
pub mod route;
pub mod sse;
pub mod web;

mod bind;
mod handlers;
mod notice;
mod peer;
mod reply;
mod serve;
mod stream;
mod taken;

pub use bind::{BindError, bind};
pub use notice::ServerNotice;
pub use serve::serve;
pub use talaria_home::socket_path::socket_path;
