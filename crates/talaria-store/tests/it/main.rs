//! The store from outside: the contract on SQLite, and what only a file can do.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what tests call is not seen as a test by the lints; the child that is killed speaks to its parent"
)]

mod contract;
mod faults;
mod files;
mod killed;
mod lines;
mod properties;

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
