//! The sandbox that Codex would use for a start, so that a profile can say the same.
//!
//! Talaria's requested options decide; without them the user's configuration does, by Codex's own rules. A
//! configuration that is not explicit enough is not changed: a profile must neither widen nor narrow it.

use serde_json::Value;

use super::Openness;
use crate::confine::Trust;
use crate::wire::call::{EffectiveConfig, SandboxPolicy, ThreadStart, WorkspaceConfig};
use talaria_core::policy::{ApprovalPolicy, Sandbox};

/// The sandbox that a start would get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedSandbox {
    /// This one.
    Policy(SandboxPolicy),
    /// That of a permission profile of the user's own.
    Profile {
        /// The name of the profile.
        name: String,
        /// Whether it opens the network.
        network: bool,
    },
    /// Not known before Codex has decided.
    Unknown {
        /// Why.
        why: &'static str,
    },
}

impl ExpectedSandbox {
    /// Predicts the sandbox of a start in a directory that the user trusts, or not, with this configuration.
    pub fn of(start: &ThreadStart, config: &EffectiveConfig, trust: Trust) -> Self {
        let overridden = start.config_override("sandbox_mode").and_then(Value::as_str);
        let asked = start.sandbox.or_else(|| overridden?.parse().ok());
        if let Some(sandbox) = asked {
            return Self::Policy(policy(sandbox, start, config));
        }
        match (
            config.profile.as_deref(),
            config.sandbox_mode.as_deref(),
            config.default_permissions.as_deref(),
        ) {
            (Some(_), ..) => {
                Self::Unknown { why: "a configuration profile of Codex may decide about the sandbox" }
            }
            (None, Some(_), Some(_)) => {
                Self::Unknown { why: "Codex's configuration has both sandbox_mode and default_permissions" }
            }
            (None, Some(mode), None) => match mode.parse() {
                Ok(sandbox) => Self::Policy(policy(sandbox, start, config)),
                Err(_) => {
                    Self::Unknown { why: "Codex's configuration names a sandbox that is not known here" }
                }
            },
            (None, None, Some(name)) => Self::named(name, config),
            (None, None, None) => {
                let is_recorded = trust == Trust::Recorded;
                let sandbox = if is_recorded { Sandbox::WorkspaceWrite } else { Sandbox::ReadOnly };
                Self::Policy(policy(sandbox, start, config))
            }
        }
    }

    fn named(name: &str, config: &EffectiveConfig) -> Self {
        match name {
            // Codex does not look at `sandbox_workspace_write` for these.
            ":workspace" => Self::Policy(workspace(WorkspaceConfig::default())),
            ":read-only" => Self::Policy(SandboxPolicy::ReadOnly { network_access: false }),
            ":danger-full-access" | ":danger-no-sandbox" => Self::Policy(SandboxPolicy::DangerFullAccess),
            _ if name.starts_with(':') => Self::Unknown {
                why: "Codex's configuration names a permission profile that is not known here",
            },
            name => {
                let profile = config.permissions.as_ref().and_then(|profiles| profiles.get(name));
                let network = profile.and_then(|profile| profile.pointer("/network/enabled")?.as_bool());
                Self::Profile { name: name.to_owned(), network: network.unwrap_or_default() }
            }
        }
    }

    /// Its mode; `None` if that is for Codex to say.
    pub fn mode(&self) -> Option<Sandbox> {
        match self {
            Self::Policy(SandboxPolicy::DangerFullAccess) => Some(Sandbox::DangerFullAccess),
            Self::Policy(SandboxPolicy::ReadOnly { .. }) => Some(Sandbox::ReadOnly),
            Self::Policy(SandboxPolicy::WorkspaceWrite { .. }) => Some(Sandbox::WorkspaceWrite),
            Self::Profile { .. } | Self::Unknown { .. } => None,
        }
    }

    /// What a command could do with a secret there; `None` if unknown.
    pub fn openness(&self, approval: Option<ApprovalPolicy>) -> Option<Openness> {
        match self {
            Self::Policy(policy) => Some(Openness::of(policy, approval)),
            Self::Profile { network, .. } => {
                Some(Openness::of(&SandboxPolicy::ReadOnly { network_access: *network }, approval))
            }
            Self::Unknown { .. } => None,
        }
    }
}

fn policy(sandbox: Sandbox, start: &ThreadStart, config: &EffectiveConfig) -> SandboxPolicy {
    match sandbox {
        Sandbox::DangerFullAccess => SandboxPolicy::DangerFullAccess,
        Sandbox::ReadOnly => SandboxPolicy::ReadOnly { network_access: false },
        Sandbox::WorkspaceWrite => {
            let mut like = config.sandbox_workspace_write.clone().unwrap_or_default();
            let flag = |name: &str, value: &mut bool| {
                let wish = start.config_override(&format!("sandbox_workspace_write.{name}"));
                *value = wish.and_then(Value::as_bool).unwrap_or(*value);
            };
            flag("network_access", &mut like.network_access);
            flag("exclude_tmpdir_env_var", &mut like.exclude_tmpdir_env_var);
            flag("exclude_slash_tmp", &mut like.exclude_slash_tmp);
            let roots = start.config_override("sandbox_workspace_write.writable_roots");
            if let Some(roots) = roots.and_then(Value::as_array) {
                like.writable_roots = roots.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            }
            workspace(like)
        }
    }
}

fn workspace(like: WorkspaceConfig) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: like.writable_roots,
        network_access: like.network_access,
        exclude_tmpdir_env_var: like.exclude_tmpdir_env_var,
        exclude_slash_tmp: like.exclude_slash_tmp,
    }
}
