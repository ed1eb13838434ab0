//! The importers from outside: databases of other programs, as their own code wrote them, into a real store.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what tests call is not seen as a test by the lints")]

mod codex_bridge;
mod hermes;

use std::path::Path;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use talaria_store::{OpenOptions, Store};

/// Opens with the ordinary options.
async fn open(path: &Path) -> Store {
    Store::open(path, 0, &OpenOptions::default()).await.unwrap()
}

/// Another program's connection to the same file.
async fn foreign(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}
