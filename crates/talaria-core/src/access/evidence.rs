//! Facts of the operating system about the process at the other end of a connection, and the conclusions from
//! them.
//!
//! A process in a sandbox, or below a Codex that Talaria started, acts for a model, whatever it says. So does a process
//! that cannot be examined. The facts are read by the server (`/proc` on Linux); this only compares them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The namespaces of a process, as `/proc/PID/ns` names them; `None` where the system has none or does not show them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// Process ids.
    pub pid: Option<String>,
    /// Users.
    pub user: Option<String>,
    /// Mounts.
    pub mount: Option<String>,
}

/// Facts about one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Its number, as the engine sees it.
    pub pid: i32,
    /// Its namespaces.
    pub namespaces: Namespaces,
    /// Can it gain no more privileges?
    pub no_new_privs: bool,
    /// Its system call filter: mode and number of filters.
    pub seccomp: (u32, u32),
    /// Its control group.
    pub cgroup: Option<String>,
    /// The nearest Codex that Talaria started, among itself and its parents.
    pub codex: Option<i32>,
    /// The outermost process of a command of the built-in loop, among itself and its parents: its keeper, as a rule.
    pub keeper: Option<i32>,
}

/// Why a process counts as sandboxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxSign {
    /// Another pid namespace than the engine's.
    PidNamespace,
    /// Another user namespace.
    UserNamespace,
    /// Another mount namespace.
    MountNamespace,
    /// It can gain no privileges, and the engine could.
    NoNewPrivileges,
    /// A stricter filter of system calls.
    SystemCallFilter,
}

impl fmt::Display for SandboxSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PidNamespace => "its process namespace is not the engine's",
            Self::UserNamespace => "its user namespace is not the engine's",
            Self::MountNamespace => "its mount namespace is not the engine's",
            Self::NoNewPrivileges => "it has NoNewPrivs set, which the engine has not",
            Self::SystemCallFilter => "its system call filter is stricter than the engine's",
        })
    }
}

/// Facts about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerClass {
    /// A process of the engine's user outside of any sandbox: the person, or a program that the person started.
    Person,
    /// It runs below this Codex, which Talaria started.
    BelowCodex {
        /// The process of that Codex.
        codex: i32,
    },
    /// It is, or runs below, a command that the built-in loop started outside of a sandbox.
    BelowKeeper {
        /// The keeper of that command, or the outermost process of it.
        keeper: i32,
    },
    /// It runs in a sandbox.
    Sandboxed {
        /// How that shows.
        sign: SandboxSign,
        /// The Codex above it, if that is one of ours.
        codex: Option<i32>,
        /// Its control group, if it is not the engine's: the configuration can admit it by that.
        cgroup: Option<String>,
    },
    /// The system does not show enough of it.
    Unknown {
        /// Why not.
        why: String,
    },
    /// It connected over the network. Its rights are those of its token, whatever its process is.
    Remote {
        /// Its address.
        from: String,
    },
}

impl PeerClass {
    /// The Codex of ours that it runs below.
    pub fn codex(&self) -> Option<i32> {
        match self {
            Self::BelowCodex { codex } => Some(*codex),
            Self::Sandboxed { codex, .. } => *codex,
            Self::Person | Self::BelowKeeper { .. } | Self::Unknown { .. } | Self::Remote { .. } => None,
        }
    }
}

impl fmt::Display for PeerClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => f.write_str("outside of any sandbox"),
            Self::BelowCodex { codex } => {
                write!(f, "it runs below Codex (process {codex}), which Talaria started")
            }
            Self::BelowKeeper { keeper } => {
                write!(f, "it runs in a command of the built-in loop (process {keeper})")
            }
            Self::Sandboxed { sign, .. } => write!(f, "it runs in a sandbox: {sign}"),
            Self::Unknown { why } => write!(f, "the system does not show what it is: {why}"),
            Self::Remote { from } => write!(f, "over TCP from {from}"),
        }
    }
}

/// Compares a peer with the engine. `admitted` are the patterns of `access.environments`: control groups of containers and
/// services that the person trusts. They never admit what runs below Codex or below a keeper, nor the engine's own control group, in which
/// the commands of Codex run.
pub fn classify(engine: &ProcessFacts, peer: &ProcessFacts, admitted: &[String]) -> PeerClass {
    let Some(sign) = sandbox_sign(engine, peer) else {
        return match (peer.codex, peer.keeper) {
            (Some(codex), _) => PeerClass::BelowCodex { codex },
            (None, Some(keeper)) => PeerClass::BelowKeeper { keeper },
            (None, None) => PeerClass::Person,
        };
    };
    let is_admitted = |cgroup: &String| {
        engine.cgroup.as_ref() != Some(cgroup) && admitted.iter().any(|pattern| matches(pattern, cgroup))
    };
    let is_started_by_talaria = peer.codex.is_some() || peer.keeper.is_some();
    if !is_started_by_talaria && peer.cgroup.as_ref().is_some_and(is_admitted) {
        return PeerClass::Person;
    }
    let other = peer.cgroup.clone().filter(|cgroup| engine.cgroup.as_ref() != Some(cgroup));
    PeerClass::Sandboxed { sign, codex: peer.codex, cgroup: other }
}

fn sandbox_sign(engine: &ProcessFacts, peer: &ProcessFacts) -> Option<SandboxSign> {
    if engine.namespaces.pid != peer.namespaces.pid {
        Some(SandboxSign::PidNamespace)
    } else if engine.namespaces.user != peer.namespaces.user {
        Some(SandboxSign::UserNamespace)
    } else if engine.namespaces.mount != peer.namespaces.mount {
        Some(SandboxSign::MountNamespace)
    } else if peer.no_new_privs && !engine.no_new_privs {
        Some(SandboxSign::NoNewPrivileges)
    } else if peer.seccomp.0 > engine.seccomp.0 || peer.seccomp.1 > engine.seccomp.1 {
        Some(SandboxSign::SystemCallFilter)
    } else {
        None
    }
}

/// Does a control group match a pattern? `*` matches any characters; leading slashes do not count.
fn matches(pattern: &str, cgroup: &str) -> bool {
    let (pattern, mut rest) = (pattern.trim_start_matches('/'), cgroup.trim_start_matches('/'));
    let mut parts = pattern.split('*');
    let Some(after) = parts.next().and_then(|first| rest.strip_prefix(first)) else { return false };
    rest = after;
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
