//! The limits of a Codex thread, derived from the settings in force and the observed behaviour of its version.
//!
//! `Inside` requires that the real Codex was observed to keep such an operation inside: the tables in the engine's tests
//! (`places`) contain every case. A result: under `untrusted`, and `on-failure`, an accepted command that fails in the
//! sandbox is run again outside it, without another request. Under `on-request` it is not.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use talaria_core::bounds::{Bounds, Confinement, SandboxWish};
use talaria_core::policy::ApprovalPolicy;
use talaria_core::subject::Subject;
use talaria_core::tool::ToolConfinement;
use talaria_core::version::{self, Support, Version};
use talaria_guard::place::Place;

/// The bounds of a thread, and what they were read from.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadBounds {
    bounds: Bounds,
    version: Version,
    /// Sandbox and policy as Codex said them: there is more in them than is needed here.
    said: [Value; 2],
}

impl ThreadBounds {
    /// Reads the values in force from Codex's answer to `thread/start` or `thread/resume`.
    ///
    /// Values that a later `turn/start` changes make new bounds. Permissions granted on the way widen the sandbox itself;
    /// what then happens within them is inside.
    pub fn new(sandbox: &Value, policy: &Value, cwd: &str, version: Version) -> Self {
        let [_, last] = &version::TESTED;
        let bounds = Bounds {
            sandbox: confinement(sandbox, cwd),
            policy: ApprovalPolicy::deserialize(policy).ok(),
            keeps_failures_inside: version::support(&version) == Support::Tested,
            // 0.130 follows a link out of the workspace, in a second try outside the sandbox; 0.166 refuses to.
            follows_no_links: version == *last,
        };
        Self { bounds, version, said: [sandbox.clone(), policy.clone()] }
    }

    /// The same Codex with another sandbox and policy in force.
    pub fn renewed(&self, sandbox: &Value, policy: &Value, cwd: &str) -> Self {
        Self::new(sandbox, policy, cwd, self.version.clone())
    }

    /// Where it would happen. `wish` is from the raw call that preceded the request and had its item id; without raw
    /// events, as on a resumed thread, there is none.
    pub fn place(&self, subject: &Subject<'_>, wish: Option<SandboxWish>) -> Option<Place> {
        self.bounds.place(subject, wish)
    }

    /// Limits of Talaria's own tools. An unknown sandbox has no network.
    pub fn tool_confinement(&self) -> ToolConfinement {
        let [sandbox, _] = &self.said;
        let has_network = match self.bounds.sandbox {
            Confinement::Missing => true,
            Confinement::ReadOnly | Confinement::Workspace { .. } => {
                sandbox.get("networkAccess").and_then(Value::as_bool).unwrap_or(false)
            }
            Confinement::Unknown => false,
        };
        ToolConfinement { has_network, asks: self.bounds.policy != Some(ApprovalPolicy::Never) }
    }
}

fn confinement(value: &Value, cwd: &str) -> Confinement {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
    enum Wire {
        DangerFullAccess,
        ReadOnly,
        WorkspaceWrite {
            #[serde(default)]
            writable_roots: Vec<PathBuf>,
            #[serde(default)]
            exclude_slash_tmp: bool,
        },
        #[serde(other)]
        Other,
    }
    match Wire::deserialize(value) {
        Ok(Wire::DangerFullAccess) => Confinement::Missing,
        Ok(Wire::ReadOnly) => Confinement::ReadOnly,
        Ok(Wire::WorkspaceWrite { mut writable_roots, exclude_slash_tmp }) => {
            writable_roots.push(PathBuf::from(cwd));
            if !exclude_slash_tmp {
                writable_roots.push(PathBuf::from("/tmp"));
            }
            Confinement::Workspace { roots: writable_roots }
        }
        Ok(Wire::Other) | Err(_) => Confinement::Unknown,
    }
}

#[cfg(test)]
mod tests;
