//! The hosts of an engine as shown to a person.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::HostPool;
use crate::host::Host;
use crate::memory;

/// The current state of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostStatus {
    /// Its name in the host register; `None` if it ends with us.
    pub nonce: Option<String>,
    /// Its pid.
    pub pid: i32,
    /// The version of Codex, as it says itself.
    pub version: String,
    /// Where it keeps its things.
    pub codex_home: Option<PathBuf>,
    /// How many conversations Codex has loaded there.
    pub threads: usize,
    /// How many turns run.
    pub turns: usize,
    /// How much memory it takes with everything below it, in KiB.
    pub memory_kib: u64,
    /// How long ago it was started.
    pub age: Duration,
    /// Why it takes no new conversation and ends between turns, if so.
    pub draining: Option<String>,
}

impl HostPool {
    /// The hosts that live, oldest first.
    pub async fn snapshot(&self) -> Vec<HostStatus> {
        let mut shown = Vec::new();
        for host in self.living() {
            let memory_kib = memory_of(&host).await;
            shown.push(HostStatus {
                nonce: host.nonce().map(str::to_owned),
                pid: host.pid(),
                version: host.version().to_string(),
                codex_home: host.codex_home().map(PathBuf::from),
                threads: host.loaded(),
                turns: host.turns(),
                memory_kib,
                age: host.age(),
                draining: host.draining(),
            });
        }
        shown.sort_by_key(|host| std::cmp::Reverse(host.age));
        shown
    }

    /// The processes of the hosts that live.
    pub fn pids(&self) -> Vec<i32> {
        self.living().iter().map(|host| host.pid()).collect()
    }

    /// The name of the host with this process.
    pub fn nonce_of(&self, pid: i32) -> Option<String> {
        let host = self.living().into_iter().find(|host| host.pid() == pid)?;
        host.nonce().map(str::to_owned)
    }

    pub(super) fn living(&self) -> Vec<Arc<Host>> {
        let state = self.0.lock();
        let living = state.members.iter().filter(|member| member.host.is_alive());
        living.map(|member| Arc::clone(&member.host)).collect()
    }
}

/// Many small files are read for it.
pub(super) async fn memory_of(host: &Host) -> u64 {
    let pid = host.pid();
    tokio::task::spawn_blocking(move || memory::of_tree(pid)).await.unwrap_or_default()
}
