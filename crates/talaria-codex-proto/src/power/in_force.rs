//! The settings in force on a thread, in a form that can be compared and stored.

use std::fmt;

use serde_json::Value;

use crate::wire::call::ThreadStartReply;

/// The settings in force on a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct InForce {
    /// What commands may touch.
    pub sandbox: SandboxInForce,
    /// When Codex asks, in its own word.
    pub approval: String,
    /// Whom it asks; `None` if it did not say.
    pub reviewer: Option<String>,
    /// The name of the permission profile that says what commands may touch, if it is one.
    pub profile: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// The model.
    pub model: String,
    /// The provider's id.
    pub provider: String,
    /// The effort, if one is set.
    pub effort: Option<String>,
}

/// What commands may touch.
#[derive(Clone, Debug, PartialEq)]
pub enum SandboxInForce {
    /// Reading anywhere, writing nowhere.
    ReadOnly {
        /// Whether they may use the network.
        network: bool,
    },
    /// Writing in the working directory and the named ones.
    WorkspaceWrite {
        /// The named ones.
        roots: Vec<String>,
        /// Whether they may use the network.
        network: bool,
        /// Whether `/tmp` is left out.
        excludes_slash_tmp: bool,
        /// Whether `$TMPDIR` is left out.
        excludes_tmpdir: bool,
    },
    /// No sandbox.
    FullAccess,
    /// Something that this build does not know, or that was not reported.
    Unknown(String),
}

impl InForce {
    /// The settings in force according to a response.
    pub fn of(reply: &ThreadStartReply) -> Self {
        Self {
            sandbox: SandboxInForce::of(reply),
            approval: word(&reply.approval_policy),
            reviewer: reply.approvals_reviewer.clone(),
            profile: reply.active_permission_profile.clone(),
            cwd: reply.cwd.clone(),
            model: reply.model.clone(),
            provider: reply.model_provider.clone(),
            effort: reply.reasoning_effort.clone(),
        }
    }
}

/// A policy is a word, or an object with one key.
fn word(policy: &Value) -> String {
    let key = policy.as_object().and_then(|object| object.keys().next()).map(String::as_str);
    match policy {
        Value::Null => "not reported".to_owned(),
        _ => policy.as_str().or(key).map_or_else(|| policy.to_string(), str::to_owned),
    }
}

impl SandboxInForce {
    fn of(reply: &ThreadStartReply) -> Self {
        let sandbox = &reply.sandbox;
        let flag = |name: &str| sandbox.get(name).and_then(Value::as_bool).unwrap_or_default();
        match sandbox.get("type").and_then(Value::as_str) {
            Some("readOnly") => Self::ReadOnly { network: flag("networkAccess") },
            Some("workspaceWrite") => {
                let (mut roots, mut excludes_slash_tmp) = (roots(reply), flag("excludeSlashTmp"));
                // A permission profile that opens it is reported as a root.
                if excludes_slash_tmp && roots.iter().any(|root| root == "/tmp") {
                    excludes_slash_tmp = false;
                    roots.retain(|root| root != "/tmp");
                }
                Self::WorkspaceWrite {
                    roots,
                    network: flag("networkAccess"),
                    excludes_slash_tmp,
                    excludes_tmpdir: flag("excludeTmpdirEnvVar"),
                }
            }
            Some("dangerFullAccess") => Self::FullAccess,
            Some(other) => Self::Unknown(other.to_owned()),
            None => Self::Unknown("not reported".to_owned()),
        }
    }

    /// How much it lets through; `None` if that is not known.
    pub(super) fn rank(&self) -> Option<u8> {
        match self {
            Self::ReadOnly { .. } => Some(0),
            Self::WorkspaceWrite { .. } => Some(1),
            Self::FullAccess => Some(2),
            Self::Unknown(_) => None,
        }
    }

    /// May commands use the network? Nothing is said about a sandbox that this build does not know.
    pub fn known_network(&self) -> Option<bool> {
        match self {
            Self::Unknown(_) => None,
            known => Some(known.has_network()),
        }
    }

    /// The directories that may be written besides `cwd`; none are named where all or an unknown set may be.
    pub fn known_roots(&self, cwd: &str) -> Option<Vec<String>> {
        match self {
            Self::ReadOnly { .. } => Some(Vec::new()),
            Self::WorkspaceWrite { roots, .. } => {
                Some(roots.iter().filter(|root| root.as_str() != cwd).cloned().collect())
            }
            Self::FullAccess | Self::Unknown(_) => None,
        }
    }

    /// May commands use the network, as far as is known?
    pub fn has_network(&self) -> bool {
        match self {
            Self::ReadOnly { network } | Self::WorkspaceWrite { network, .. } => *network,
            Self::FullAccess | Self::Unknown(_) => true,
        }
    }
}

/// The writable directories besides the working directory. Newer versions have a list of workspace directories in
/// addition to the list of writable ones; both are writable.
fn roots(reply: &ThreadStartReply) -> Vec<String> {
    let named = reply.sandbox.get("writableRoots").and_then(Value::as_array);
    let mut roots: Vec<String> =
        named.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    for root in &reply.runtime_workspace_roots {
        if *root != reply.cwd && !roots.contains(root) {
            roots.push(root.clone());
        }
    }
    roots
}

impl fmt::Display for SandboxInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly { .. } => "read-only",
            Self::WorkspaceWrite { .. } => "workspace-write",
            Self::FullAccess => "danger-full-access",
            Self::Unknown(word) => word,
        })
    }
}
