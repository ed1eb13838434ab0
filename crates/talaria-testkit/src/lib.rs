//! Shared by the tests of every crate: real Codex, a scripted replacement for it, and tools to observe processes and
//! terminals.
//!
//! Used by tests and benches only. Where a test cannot continue, these functions panic with a message for the person who
//! reads the failure; they return errors only where a test may want to look at one.
//!
//! | module | idea |
//! |---|---|
//! | [`codex`] | the pinned real Codex versions, installed once into the build directory |
//! | `install` | installing a program once, although several tests ask for it |
//! | `program` | where the programs of the test kit are |
//! | [`home`] | a private `CODEX_HOME` wired to a scripted model, and a work directory |
//! | [`client`] | a bare client of Codex, for what Codex itself does |
//! | [`api_document`] | the committed OpenAPI document: do values and statuses fit it |
//! | [`engine`] | the engine that a test's commands started: stopped at the end, and no process is left |
//! | [`fault_points`] | where a test holds the engine while it kills a process |
//! | [`app_server`] | a `codex` that plays a transcript, for faults the real one will not produce |
//! | [`stand_in`] | a detached `codex` with threads and a built-in model, started in milliseconds |
//! | [`guide`] | the README and the guide as data, so that their commands can be run |
//! | [`mcp_server`] | an MCP server with scripted questions |
//! | [`mcp_clients`] | MCP clients of others, installed once into the build directory |
//! | [`model_peers`] | clients and servers of others for the model loop, installed once into the build directory |
//! | [`processes`] | who is still alive of what a test started |
//! | [`screen`] | what a terminal shows at one moment: text, colours, modes, a snapshot, a picture |
//! | [`terminal`] | a program in a pseudo-terminal: type, wait, look at the screen |
//! | [`timing`] | how long tests take, summed up |
//! | [`both_versions!`] (`versions`) | one test of each scenario and version of Codex |
//! | [`wait`] | waiting for a state that nothing announces |
//! | [`wire`] | the captured frames of both versions |
//! | [`build_dir`] | where all this lives |

#![allow(clippy::panic, reason = "a harness that cannot work must fail the test that uses it, loudly")]

pub mod api_document;
pub mod app_server;
pub mod build_dir;
pub mod client;
pub mod codex;
pub mod engine;
pub mod fault_points;
pub mod guide;
pub mod home;
mod install;
pub mod mcp_clients;
pub mod mcp_server;
pub mod model_peers;
pub mod processes;
mod program;
pub mod screen;
pub mod stand_in;
pub mod terminal;
pub mod timing;
mod versions;
pub mod wait;
pub mod wire;

pub use api_document::ApiDocument;
pub use app_server::AppServer;
pub use client::RawCodex;
pub use codex::Codex;
pub use engine::EngineGuard;
pub use fault_points::FaultPoints;
pub use home::CodexHome;
pub use processes::Marker;
pub use screen::Screen;
pub use terminal::{Key, Terminal};
pub use wait::{eventually, until};
