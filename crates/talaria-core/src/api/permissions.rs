//! The permissions of a conversation: those requested for its next turn, and those in force, as the runtime reported them.

use serde::{Deserialize, Serialize};

use crate::policy::{ApprovalPolicy, Mode, Sandbox};

/// A change from the next turn on. A field without a value stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionsChange {
    /// Sandbox, approval policy and who answers, in one word. A sandbox or policy in the same change precedes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The sandbox. Without a mode in the same change a person answers requests from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// The approval policy, with the same effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,
    /// Whether commands may use the network; only with the sandbox `workspace-write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Directories that may be written besides the working directory, absolute; only with the sandbox `workspace-write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable_roots: Option<Vec<String>>,
}

/// Permissions of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionPermissions {
    /// Requested for the next turn. A field without a value is decided by the configuration of the runtime.
    pub requested: PermissionsChange,
    /// The settings in force, as the runtime reported them last; none before the first turn.
    pub in_force: Option<PermissionsInForce>,
}

/// Permissions in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionsInForce {
    /// The sandbox: `read-only`, `workspace-write`, `danger-full-access` or what the runtime calls it.
    pub sandbox: String,
    /// The approval policy, as the runtime calls it.
    pub approval: String,
    /// Whether commands may use the network, if that was reported.
    pub network: Option<bool>,
    /// Directories that may be written besides the working directory, if that was reported.
    pub writable_roots: Option<Vec<String>>,
}

impl SessionPermissions {
    /// Is everything requested in force?
    pub fn is_in_force(&self) -> bool {
        let Some(real) = &self.in_force else { return false };
        let PermissionsChange { sandbox, approval, network, writable_roots, .. } = &self.requested;
        sandbox.is_none_or(|sandbox| sandbox.as_str() == real.sandbox)
            && approval.is_none_or(|approval| approval.as_str() == real.approval)
            && network.is_none_or(|network| real.network == Some(network))
            && writable_roots.as_ref().is_none_or(|roots| real.writable_roots.as_ref() == Some(roots))
    }
}
