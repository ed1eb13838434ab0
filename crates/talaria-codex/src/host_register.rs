//! The durable record of a host that outlives this process, and the interface through which it is written.
//!
//! A kept host belongs to the engine of a home, not to a process of it: it survives the `Host` that started it. So that
//! none is ever lost, the intent is written before the spawn, and pid, start time and boot after it. `adoption`
//! attaches to a host from its record. The engine's store implements `HostRegister`; nothing here touches a file or a
//! process.

use std::fmt;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::key::HostKey;

/// A host that is about to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIntent {
    /// The name of the host; the host and its descendants have it in their environment. Not a secret.
    pub nonce: String,
    /// Its private directory.
    pub directory: PathBuf,
    /// Where it will listen.
    pub socket: PathBuf,
    /// Hosts with equal keys are interchangeable.
    pub key: HostKey,
}

/// The process that a host became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedProcess {
    /// Its pid.
    pub pid: i32,
    /// Start time in the unit of the system: pids are reused.
    pub started: String,
    /// Under which boot of the machine: start times are counted from it.
    pub boot: String,
}

/// All that is known about a host of an engine that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// The intent.
    pub intent: HostIntent,
    /// The started process; `None` if the engine died in between.
    pub birth: Option<StartedProcess>,
}

/// Why the register could not be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(pub String);

/// Durably records the life of kept hosts, before each step is taken.
pub trait HostRegister: fmt::Debug + Send + Sync {
    /// A host is about to be started. If this fails, it is not started.
    fn intend<'a>(&'a self, intent: &'a HostIntent) -> BoxFuture<'a, Result<(), RegisterError>>;

    /// It was started. If this fails, it is ended.
    fn complete<'a>(
        &'a self,
        nonce: &'a str,
        birth: &'a StartedProcess,
    ) -> BoxFuture<'a, Result<(), RegisterError>>;

    /// It has ended with its descendants, and its directory is removed. May be called twice. If this cannot be written,
    /// the next engine finds a record without a host and reports its end again.
    fn ended<'a>(&'a self, nonce: &'a str, why: &'a str) -> BoxFuture<'a, ()>;
}
