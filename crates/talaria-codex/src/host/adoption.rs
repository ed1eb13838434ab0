//! Adopts the hosts of an earlier engine from their records, or ends them with their descendants.
//!
//! A host is adopted only if everything proves that it is ours: the boot, a living process with the recorded start
//! time, our nonce in its environment, an unchanged private directory, the same process at its socket, and that it
//! belongs to this home (`ownership`). A host of ours that cannot be adopted is ended, but no process is ever ended
//! by its pid alone: only one that carries the nonce, and its descendants. A process that is not proven to be ours is
//! left alone. Called by the pool when an engine starts; one engine per home, so this never runs twice at once.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Host, Keeping};
use crate::client::CallError;
use crate::connection::Connection;
use crate::directory::{self, BUILDING, Doubt, HostDirectory, HostPaths};
use crate::host_register::{HostRecord, HostRegister, StartedProcess};
use crate::ownership::{self, is_nonce};
use crate::process::{CodexProcess, variable};
use crate::spec::HostSpec;
use crate::stderr::HostStderr;
use crate::transport;
use talaria_home::boot;
use talaria_home::descendants::{self, ProcessEntry};
use talaria_home::foreign_process::ForeignProcess;

/// How long a host may take to let us in and to greet back. It runs already; one that takes longer is wedged.
const LIMIT: Duration = Duration::from_secs(10);
/// How often an owned directory is tried.
const TRIES: u32 = 20;
/// How long is waited in between.
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// How long what was killed may take to go.
const GONE_LIMIT: Duration = Duration::from_secs(5);

/// Why a host was not adopted. If it belongs to this home and has no other owner, it was ended.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// Another engine that lives owns it. It was left alone.
    #[error("another engine owns this Codex")]
    Owned,
    /// Its process has ended; so do the threads that were loaded there.
    #[error("its process has ended")]
    Ended,
    /// It cannot be proven to be ours.
    #[error("it cannot be proven to be ours: {why}")]
    Unproven {
        /// The mismatch.
        why: String,
    },
    /// It runs, but does not let us in or greet back.
    #[error("it does not answer: {why}")]
    Silent {
        /// What happened.
        why: String,
    },
}

impl Host {
    /// Attaches to a kept host of an engine that is gone. `spec` says how to start another like it. One of this home
    /// that cannot be adopted is ended with everything below it, and its directory removed, before this returns; one
    /// that is not proven to be of this home is left alone. Both are recorded. Dropped half-way, it leaves the host as
    /// it was.
    pub async fn attach(
        record: &HostRecord,
        spec: HostSpec,
        register: Arc<dyn HostRegister>,
    ) -> Result<Self, AttachError> {
        let hosts = spec.hosts.clone();
        let adopted = adopt(record, spec, Arc::clone(&register)).await;
        if let Err(error) = &adopted
            && !matches!(error, AttachError::Owned)
        {
            if is_nonce(&record.intent.nonce) && ownership::is_own_record(&hosts, record) {
                reap(&hosts, &record.intent.nonce).await;
            }
            register.ended(&record.intent.nonce, &format!("not adopted: {error}")).await;
        }
        adopted
    }
}

/// Ends the kept hosts below `hosts` of which there is no record, and removes their directories: the leftovers of a
/// lost store. `known` are the names of those that are recorded. One whose processes live and are not proven to be of
/// this home is left alone. Returns how many were ended or had ended.
pub async fn reap_strays(hosts: &Path, known: &HashSet<String>) -> usize {
    let Ok(entries) = std::fs::read_dir(hosts) else { return 0 };
    let mut ended = 0;
    for entry in entries.flatten().filter(|entry| directory::is_kept(&entry.path())) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let nonce = name.trim_start_matches(BUILDING);
        if !is_nonce(nonce) || known.contains(nonce) || directory::is_owned(&entry.path()) {
            continue;
        }
        let pid = HostPaths::find(hosts, nonce).recorded().map(|(pid, _)| pid);
        if ownership::is_own(hosts, nonce, pid) || descendants::carrying(&variable(nonce)).is_empty() {
            reap(hosts, nonce).await;
            ended += 1;
        } else {
            tracing::warn!("the host {nonce} is left alone: it cannot be proven to be of this home");
        }
    }
    ended
}

async fn adopt(
    record: &HostRecord,
    spec: HostSpec,
    register: Arc<dyn HostRegister>,
) -> Result<Host, AttachError> {
    let intent = &record.intent;
    let unproven = |why: &str| AttachError::Unproven { why: why.to_owned() };
    if !is_nonce(&intent.nonce) {
        return Err(unproven("its name is none of ours"));
    }
    let directory = match take_over(&spec.hosts, &intent.nonce).await {
        Err(Doubt::Owned) => return Err(AttachError::Owned),
        found => found,
    };
    let recorded = record.birth.as_ref().map(|birth| prove(birth, &intent.nonce)).transpose()?;
    if !ownership::is_own_record(&spec.hosts, record) {
        return Err(unproven("it belongs to another home"));
    }
    let directory = directory.map_err(|doubt| match doubt {
        Doubt::Owned => AttachError::Owned,
        Doubt::Odd(why) => AttachError::Unproven { why },
    })?;
    let connected = tokio::time::timeout(LIMIT, transport::connect_to_peer(&directory.socket())).await;
    let (stream, listener) =
        connected.map_err(|_| silent("it does not take a connection"))?.map_err(silent)?;
    let foreign = match (recorded, listener) {
        (Some(foreign), Some(pid)) if pid != number(&foreign) => {
            return Err(unproven("another process listens at its socket"));
        }
        (Some(foreign), _) => foreign,
        // The engine died between the spawn and recording the process.
        (None, Some(pid)) => {
            let birth = started_process(pid).ok_or(AttachError::Ended)?;
            let foreign = prove(&birth, &intent.nonce)?;
            let completed = register.complete(&intent.nonce, &birth).await;
            completed.map_err(|error| AttachError::Unproven { why: error.to_string() })?;
            foreign
        }
        (None, None) => return Err(unproven("its process is not known")),
    };
    let stderr = HostStderr::of_process(number(&foreign));
    let upgraded = tokio::time::timeout(LIMIT, transport::upgrade(stream)).await;
    let (incoming, outgoing) =
        upgraded.map_err(|_| silent("it does not take a connection"))?.map_err(silent)?;
    let process = CodexProcess::adopt(foreign, &intent.nonce, stderr);
    let opened = Connection::open(process, incoming, outgoing, LIMIT).await;
    let (connection, greeting) = opened.map_err(|error: CallError| silent(error))?;
    let keeping = Keeping { nonce: intent.nonce.clone(), register };
    Ok(Host::new(connection, greeting, spec, directory, Some(keeping)))
}

/// Takes over a directory. A process that a dying owner was about to start may hold the lock for a moment.
async fn take_over(hosts: &Path, nonce: &str) -> Result<HostDirectory, Doubt> {
    let mut tries = 1;
    loop {
        match HostDirectory::adopt(hosts, nonce) {
            Err(Doubt::Owned) if tries < TRIES => {
                tokio::time::sleep(TRY_AGAIN).await;
                tries += 1;
            }
            result => return result,
        }
    }
}

fn silent(why: impl ToString) -> AttachError {
    AttachError::Silent { why: why.to_string() }
}

fn started_process(pid: i32) -> Option<StartedProcess> {
    Some(StartedProcess { pid, started: descendants::start_time(pid)?, boot: boot::id() })
}

/// Proves that a process is the one that was started, and pins it.
fn prove(birth: &StartedProcess, nonce: &str) -> Result<ForeignProcess, AttachError> {
    if birth.boot != boot::id() {
        return Err(AttachError::Ended);
    }
    let foreign = ForeignProcess::pin(birth.pid, &birth.started).ok_or(AttachError::Ended)?;
    if !descendants::carries(birth.pid, &variable(nonce)) {
        return Err(AttachError::Unproven { why: "its process does not carry its name".to_owned() });
    }
    Ok(foreign)
}

fn number(foreign: &ForeignProcess) -> i32 {
    foreign.pid().as_raw_nonzero().get()
}

/// Ends everything that carries the nonce, and everything below it, until nothing is left; then removes its directory.
async fn reap(hosts: &Path, nonce: &str) {
    let variable = variable(nonce);
    let carriers = descendants::carrying(&variable);
    let below: Vec<ProcessEntry> = carriers.iter().flat_map(|entry| descendants::below(entry.pid)).collect();
    let gone = async {
        while descendants::kill_survivors(&descendants::carrying(&variable))
            + descendants::kill_survivors(&below)
            > 0
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    // A process that cannot be killed hangs in the kernel: nothing more can be done about it.
    let _ = tokio::time::timeout(GONE_LIMIT, gone).await;
    directory::remove_leftovers(hosts, nonce);
}
