//! The user's MCP servers as tools of the built-in loop.
//!
//! | module | what |
//! |---|---|
//! | `launch` | pure: an entry of the configuration and an environment become what is started or addressed |
//! | `offer` | pure: the tools that servers list become tools of a conversation, within a budget |
//! | `answer` | pure: the result of a call becomes text and images for a model |
//! | `keeper` | the process below which a server runs; it ends with the engine |
//! | `http` | rmcp's HTTP, over the transport of the model loop |
//! | `connection` | one server that is connected |
//! | `room` | all of an engine: started on demand, shared, closed when idle |
//!
//! Nothing here decides about consent, and nothing is stored.

mod answer;
mod connection;
mod http;
mod keeper;
mod launch;
mod offer;
mod room;

pub use answer::{ServerAnswer, ServerImage};
pub use connection::{CallFailure, ServerFailure};
pub use keeper::keep_server;
pub use launch::{ServerKeeper, ServerLaunch, ServerLaunchError, server_launch};
pub use offer::{LeftOutTool, ListedTools, OfferedServerTool, ServerOffer, ToolAccess, offer_tools};
pub use room::ServerRoom;
