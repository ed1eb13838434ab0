//! Sandbox of a person's own command: the same as for commands of its conversation.
//!
//! Uses the settings that Codex reported for the conversation, or, if none is loaded, the requested options and the user's
//! configuration, by Codex's rules for a new conversation. The working directory is always among the writable roots of a
//! sandbox that can be written in. Never wider than that: an unknown policy becomes read-only, and is reported. Pure;
//! called by the engine's `shell`.

use crate::power::SandboxInForce;
use crate::wire::call::{EffectiveConfig, SandboxPolicy};
use talaria_core::policy::Sandbox;

/// Sandbox of a command, with a note for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// Its sandbox.
    pub policy: SandboxPolicy,
    /// Why it is not what one would think.
    pub note: Option<String>,
}

/// Whether the user has said that a directory is trusted, or that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Something was said: Codex then lets a conversation write there, unless it is configured otherwise.
    Recorded,
    /// Nothing was said.
    Unknown,
}

impl Confined {
    /// The sandbox of a loaded conversation.
    pub fn in_force(sandbox: &SandboxInForce, cwd: &str) -> Self {
        let policy = match sandbox {
            SandboxInForce::ReadOnly { network } => SandboxPolicy::ReadOnly { network_access: *network },
            SandboxInForce::WorkspaceWrite { roots, network, excludes_slash_tmp, excludes_tmpdir } => {
                SandboxPolicy::WorkspaceWrite {
                    writable_roots: with(cwd, roots),
                    network_access: *network,
                    exclude_tmpdir_env_var: *excludes_tmpdir,
                    exclude_slash_tmp: *excludes_slash_tmp,
                }
            }
            SandboxInForce::FullAccess => SandboxPolicy::DangerFullAccess,
            SandboxInForce::Unknown(word) => {
                return read_only(Some(format!(
                    "it ran read-only: Codex calls the sandbox of this conversation {word:?}, which is not known here"
                )));
            }
        };
        Self { policy, note: None }
    }

    /// The sandbox of a conversation that requests `sandbox` in a directory with this configuration.
    pub fn asked(sandbox: Option<Sandbox>, config: &EffectiveConfig, trust: Trust, cwd: &str) -> Self {
        let known = |word: &str| word.parse::<Sandbox>().ok();
        let sandbox = match (sandbox, config.sandbox_mode.as_deref(), config.default_permissions.as_deref()) {
            (Some(sandbox), ..) => Some(sandbox),
            (None, Some(mode), _) => known(mode),
            (None, None, Some(":workspace")) => Some(Sandbox::WorkspaceWrite),
            (None, None, Some(profile)) => profile.strip_prefix(':').and_then(known),
            (None, None, None) if trust == Trust::Recorded => Some(Sandbox::WorkspaceWrite),
            (None, None, None) => Some(Sandbox::ReadOnly),
        };
        match sandbox {
            Some(Sandbox::DangerFullAccess) => Self { policy: SandboxPolicy::DangerFullAccess, note: None },
            Some(Sandbox::ReadOnly) => read_only(None),
            Some(Sandbox::WorkspaceWrite) => {
                let like = config.sandbox_workspace_write.clone().unwrap_or_default();
                let policy = SandboxPolicy::WorkspaceWrite {
                    writable_roots: with(cwd, &like.writable_roots),
                    network_access: like.network_access,
                    exclude_tmpdir_env_var: like.exclude_tmpdir_env_var,
                    exclude_slash_tmp: like.exclude_slash_tmp,
                };
                Self { policy, note: None }
            }
            None => read_only(Some(
                "it ran read-only: Codex's configuration names a sandbox that holds only in a conversation"
                    .to_owned(),
            )),
        }
    }
}

fn read_only(note: Option<String>) -> Confined {
    Confined { policy: SandboxPolicy::ReadOnly { network_access: false }, note }
}

/// The working directory, then the others, each once.
fn with<'a>(cwd: &str, others: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut roots = vec![cwd.to_owned()];
    for root in others {
        if !roots.contains(root) {
            roots.push(root.clone());
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::call::WorkspaceConfig;

    fn asked(sandbox: Option<Sandbox>, config: &str, trust: Trust) -> Confined {
        let config: EffectiveConfig = serde_json::from_str(config).unwrap();
        Confined::asked(sandbox, &config, trust, "/w")
    }

    fn word(confined: &Confined) -> &'static str {
        match confined.policy {
            SandboxPolicy::ReadOnly { .. } => "read-only",
            SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
            SandboxPolicy::DangerFullAccess => "danger-full-access",
        }
    }

    #[test]
    fn what_is_asked_for_goes_before_the_configuration_and_that_before_what_codex_would_do() {
        let (mode, profile) =
            (r#"{"sandbox_mode":"workspace-write"}"#, r#"{"default_permissions":":workspace"}"#);
        for (sandbox, config, trust, expected) in [
            (Some(Sandbox::ReadOnly), mode, Trust::Recorded, "read-only"),
            (Some(Sandbox::DangerFullAccess), "{}", Trust::Unknown, "danger-full-access"),
            (None, mode, Trust::Unknown, "workspace-write"),
            (None, r#"{"sandbox_mode":"read-only"}"#, Trust::Recorded, "read-only"),
            (None, profile, Trust::Unknown, "workspace-write"),
            (None, r#"{"default_permissions":":read-only"}"#, Trust::Recorded, "read-only"),
            (None, "{}", Trust::Recorded, "workspace-write"),
            (None, "{}", Trust::Unknown, "read-only"),
        ] {
            let confined = asked(sandbox, config, trust);
            assert_eq!((word(&confined), confined.note), (expected, None), "{sandbox:?} {config} {trust:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_read_only_and_told() {
        for config in [r#"{"default_permissions":"of-the-users-own"}"#, r#"{"sandbox_mode":"brand-new"}"#] {
            let confined = asked(None, config, Trust::Recorded);
            assert!(word(&confined) == "read-only" && confined.note.is_some(), "{config}");
        }
        let confined = Confined::in_force(&SandboxInForce::Unknown("externalSandbox".to_owned()), "/w");
        assert!(
            word(&confined) == "read-only" && confined.note.is_some_and(|note| note.contains("external"))
        );
    }

    #[test]
    fn the_working_directory_is_among_the_roots_once_and_the_others_are_kept() {
        let like = WorkspaceConfig {
            writable_roots: vec!["/a".to_owned(), "/w".to_owned()],
            network_access: true,
            ..Default::default()
        };
        let config = EffectiveConfig { sandbox_workspace_write: Some(like), ..Default::default() };
        let confined = Confined::asked(Some(Sandbox::WorkspaceWrite), &config, Trust::Unknown, "/w").policy;
        let SandboxPolicy::WorkspaceWrite { writable_roots, network_access, .. } = confined else { panic!() };
        assert_eq!((writable_roots, network_access), (["/w", "/a"].map(str::to_owned).to_vec(), true));
        let held = SandboxInForce::WorkspaceWrite {
            roots: vec!["/r".to_owned()],
            network: false,
            excludes_slash_tmp: true,
            excludes_tmpdir: false,
        };
        let SandboxPolicy::WorkspaceWrite { writable_roots, exclude_slash_tmp, .. } =
            Confined::in_force(&held, "/w").policy
        else {
            panic!()
        };
        assert_eq!((writable_roots, exclude_slash_tmp), (["/w", "/r"].map(str::to_owned).to_vec(), true));
    }
}
