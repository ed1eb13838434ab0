//! Proof that a host belongs to this home. Without it a host and everything below it is left alone: a copy of a home
//! has the same records and the same files as the original whose Codex runs.
//!
//! Proof is the id of the home in the host's name (`identity`; a copy has another id), or a living process of that name
//! that works in our own directory of it, compared by inode. Names from before homes had an id prove nothing: there the
//! record must name the very directory that is ours.

use std::path::Path;

use super::directory::HostPaths;
use super::host_register::HostRecord;
use super::process::variable;
use crate::identity::{ID, OwnHosts};
use talaria_home::descendants;

/// Returns whether the host of this record belongs to the home around `hosts`.
pub(crate) fn is_own_record(hosts: &Path, record: &HostRecord) -> bool {
    let nonce = &record.intent.nonce;
    let pid = record.birth.as_ref().map(|birth| birth.pid);
    is_own(hosts, nonce, pid) || (is_unmarked(nonce) && is_same_directory(hosts, record))
}

/// Returns whether the host of this name belongs to the home around `hosts`. `pid` is its process, if it is known.
pub(crate) fn is_own(hosts: &Path, nonce: &str, pid: Option<i32>) -> bool {
    OwnHosts::around(hosts).has(nonce) || pid.is_some_and(|pid| works_here(hosts, nonce, pid))
}

/// Returns whether a text is a valid host name: other texts could form a path.
pub fn is_nonce(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns whether this process is the host of that name, working in our directory of it.
pub fn works_here(hosts: &Path, nonce: &str, pid: i32) -> bool {
    descendants::carries(pid, &variable(nonce))
        && descendants::works_in(pid, &HostPaths::find(hosts, nonce).working_directory())
}

/// A name from before homes had an id.
fn is_unmarked(nonce: &str) -> bool {
    nonce.len() <= ID
}

/// The record names a directory that is gone with its host, or the one that is ours.
fn is_same_directory(hosts: &Path, record: &HostRecord) -> bool {
    let recorded = &record.intent.directory;
    let place = HostPaths::find(hosts, &record.intent.nonce);
    match (recorded.canonicalize(), place.root.canonicalize()) {
        (Ok(recorded), Ok(ours)) => recorded == ours,
        _ => *recorded == place.root,
    }
}
