//! Importers: Hermes (`hermes`), the memories of other agents (`agents`), and the tasks of the old bridge (`codex_bridge`).
//!
//! The other program's files are only read (`database` opens its SQLite file, `plain_file` reads others), and nothing in them
//! is trusted. `convert` makes turns and messages for the store, `error` says why something was not imported. Imported
//! texts are redacted here and written through `talaria_store::Store`. `request` carries out the API's import request;
//! the server calls it with the engine's permission. `talaria import hermes` uses `hermes` itself for settings and files.
//! The engine does not depend on this crate.

pub mod agents;
pub mod codex_bridge;
mod convert;
mod database;
mod error;
pub mod hermes;
mod plain_file;
mod request;

pub use error::{DatabaseError, ImportError, SourceProgram};
pub use request::{Destination, import, preview_conversations};
