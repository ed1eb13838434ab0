//! Why the engine cannot be reached over TCP, for the log, `talaria status` and `talaria doctor`.

use std::net::SocketAddr;
use std::path::PathBuf;

use talaria_core::next_step::NextStep;

/// Why the engine cannot be reached over TCP.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Certificate or key cannot be used.
    #[error("cannot use {}: {why}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The system refused the address.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

impl WebError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        NextStep::from(match self {
            Self::Tls { .. } => {
                "correct web.tls_cert and web.tls_key in config.toml (the key needs mode 600), then run `talaria stop`"
            }
            Self::Address { .. } => "set another web.listen in config.toml, then run `talaria stop`",
        })
    }
}
