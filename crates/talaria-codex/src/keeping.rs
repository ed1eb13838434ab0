//! What is written down about a host that outlives this process, and who writes it down.
//!
//! A kept host belongs to the engine of a home, not to a process of it: it survives the `Host` that started it. So that
//! none is ever lost, the intent is written before the spawn, and pid, start time and boot after it. `adoption` takes
//! one up from its record. The engine's store implements `Register`; nothing here touches a file or a process.

use std::fmt;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::key::HostKey;

/// A host that is about to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Names the host; it and everything below it carry this in their environment. Not a secret.
    pub nonce: String,
    /// Its private directory.
    pub directory: PathBuf,
    /// Where it will listen.
    pub socket: PathBuf,
    /// What makes two hosts the same for whoever needs one.
    pub key: HostKey,
}

/// The process that a host became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// Its pid.
    pub pid: i32,
    /// When it started, in whatever unit the system has: pids are used again.
    pub started: String,
    /// Under which boot of the machine: start times are counted from it.
    pub boot: String,
}

/// All that is known about a host of an engine that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What was going to be started.
    pub intent: Intent,
    /// What it became; `None` if the engine died in between.
    pub birth: Option<Birth>,
}

/// Why something could not be written down.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(pub String);

/// Writes down the life of kept hosts, durably, before each step is taken.
pub trait Register: fmt::Debug + Send + Sync {
    /// A host will be started now. If this fails, it is not.
    fn intend<'a>(&'a self, intent: &'a Intent) -> BoxFuture<'a, Result<(), RegisterError>>;

    /// It was started. If this fails, it is ended.
    fn complete<'a>(&'a self, nonce: &'a str, birth: &'a Birth) -> BoxFuture<'a, Result<(), RegisterError>>;

    /// It has ended, with everything below it, and its directory is gone. May be told twice. If this cannot be written
    /// down, the next engine finds a record of nothing and says so again.
    fn ended<'a>(&'a self, nonce: &'a str, why: &'a str) -> BoxFuture<'a, ()>;
}
