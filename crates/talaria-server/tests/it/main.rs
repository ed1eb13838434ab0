//! The server and its client on real sockets, and engines as real processes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a scene that cannot be played fails its test"
)]

mod bounds;
mod foreign;
mod garbage;
mod launch;
mod openapi;
mod resume;
mod routes;
mod scene;
mod shell;
mod sockets;
mod web;
