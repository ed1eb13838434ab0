//! Overrides for `thread/start` that prevent Codex from writing the user's `config.toml`.
//!
//! Given a directory and a writable sandbox, Codex adds `[projects."<directory>"] trust_level = "trusted"` to its
//! configuration unless a trust level is known; 0.130.0 does so also when the sandbox comes from the configuration, and
//! both do so when `default_permissions` there names a profile that can write. An override for this thread alone
//! prevents that. Observed on 0.130.0 and 0.166.0: any trust level also turns the default sandbox from `read-only` into
//! `workspace-write`, and `untrusted` turns the default approval policy from `on-request` into `untrusted`. So the
//! override is sent only where Codex would write, and then together with the values that it would have used by default.
//! A level that the user recorded is kept.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use talaria_codex_proto::confine::Trust;
use talaria_codex_proto::wire::call::{EffectiveConfig, ThreadStart};
use talaria_core::policy::{ApprovalPolicy, Sandbox};

/// The one profile of Codex's own that lets nothing be written.
const READ_ONLY_PROFILE: &str = ":read-only";

/// Adds the override to a start for which Codex would write.
pub(crate) fn add_where_needed(start: &mut ThreadStart, config: &EffectiveConfig, git_roots: &[PathBuf]) {
    if !is_writable(start, config) {
        return;
    }
    let recorded = recorded_level(config, &start.cwd, git_roots);
    if recorded.is_none() && start.approval_policy.is_none() && config.approval_policy.is_none() {
        start.approval_policy = Some(ApprovalPolicy::OnRequest);
    }
    let level = recorded.unwrap_or_else(|| "untrusted".to_owned());
    let project = Map::from_iter([(start.cwd.clone(), json!({ "trust_level": level }))]);
    start.config.insert("projects".to_owned(), Value::Object(project));
}

/// Returns whether the sandbox is writable, by our request or by the user's configuration.
fn is_writable(start: &ThreadStart, config: &EffectiveConfig) -> bool {
    match start.sandbox {
        Some(sandbox) => sandbox != Sandbox::ReadOnly,
        None => {
            let mode = config.sandbox_mode.as_deref();
            // A profile of the user's own may be writable; one that is not, is not widened by a trust level.
            let profile = config.default_permissions.as_deref();
            mode.is_some_and(|mode| mode != Sandbox::ReadOnly.as_str())
                || profile.is_some_and(|profile| profile != READ_ONLY_PROFILE)
        }
    }
}

/// The sandbox and the approval policy of a conversation in a directory about which nothing is said: neither by us nor
/// by the user's configuration. Recorded levels decide, as described above.
pub fn defaults(config: &EffectiveConfig, cwd: &str) -> (Sandbox, ApprovalPolicy) {
    match recorded_level(config, cwd, &git_roots(Path::new(cwd))).as_deref() {
        None => (Sandbox::ReadOnly, ApprovalPolicy::OnRequest),
        Some("untrusted") => (Sandbox::WorkspaceWrite, ApprovalPolicy::Untrusted),
        Some(_) => (Sandbox::WorkspaceWrite, ApprovalPolicy::OnRequest),
    }
}

/// Returns whether the user recorded a trust level for a directory.
pub fn of(config: &EffectiveConfig, cwd: &str) -> Trust {
    match recorded_level(config, cwd, &git_roots(Path::new(cwd))) {
        Some(_) => Trust::Recorded,
        None => Trust::Unknown,
    }
}

fn recorded_level(config: &EffectiveConfig, cwd: &str, git_roots: &[PathBuf]) -> Option<String> {
    let projects = config.projects.as_ref()?;
    let level = |key: &str| projects.get(key)?.get("trust_level")?.as_str().map(str::to_owned);
    level(cwd).or_else(|| git_roots.iter().find_map(|root| level(root.to_str()?)))
}

/// The directories under which Codex may have recorded the repository around `cwd`: its root, and for a linked worktree
/// the root of the main one.
pub(crate) fn git_roots(cwd: &Path) -> Vec<PathBuf> {
    let Some(root) = cwd.ancestors().find(|directory| directory.join(".git").exists()) else {
        return Vec::new();
    };
    let mut roots = vec![root.to_owned()];
    // A linked worktree has a file there: `gitdir: <main>/.git/worktrees/<name>`.
    let link = std::fs::read_to_string(root.join(".git")).unwrap_or_default();
    let git_directory = link.trim().strip_prefix("gitdir: ").map(Path::new);
    let main = git_directory.and_then(|path| path.ancestors().find(|path| path.ends_with(".git"))?.parent());
    roots.extend(main.map(Path::to_owned));
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(sandbox: Option<Sandbox>) -> ThreadStart {
        ThreadStart { cwd: "/w/sub".to_owned(), sandbox, ..ThreadStart::default() }
    }

    fn added(start: &ThreadStart, config: &str) -> ThreadStart {
        let mut start = start.clone();
        let config = serde_json::from_str(config).unwrap();
        add_where_needed(&mut start, &config, &[PathBuf::from("/w")]);
        start
    }

    fn level(start: &ThreadStart) -> Option<&str> {
        start.config.get("projects")?.get("/w/sub")?.get("trust_level")?.as_str()
    }

    #[test]
    fn nothing_is_sent_where_codex_writes_nothing_because_it_would_widen_the_sandbox() {
        for (sandbox, config) in [
            (None, "{}"),
            (None, r#"{"sandbox_mode":"read-only"}"#),
            (None, r#"{"default_permissions":":read-only"}"#),
            (Some(Sandbox::ReadOnly), r#"{"default_permissions":":workspace"}"#),
            (Some(Sandbox::ReadOnly), r#"{"sandbox_mode":"workspace-write"}"#),
        ] {
            let added = added(&start(sandbox), config);
            assert_eq!((level(&added), added.approval_policy), (None, None), "{sandbox:?} {config}");
        }
    }

    #[test]
    fn a_sandbox_that_the_users_configuration_makes_writable_counts() {
        let added = added(&start(None), r#"{"sandbox_mode":"workspace-write","approval_policy":"never"}"#);
        assert_eq!((level(&added), added.sandbox), (Some("untrusted"), None));
    }

    #[test]
    fn a_permission_profile_that_can_write_counts_too() {
        for profile in [":workspace", ":danger-full-access", "of-the-users-own"] {
            let config = format!(r#"{{"default_permissions":"{profile}"}}"#);
            let added = added(&start(None), &config);
            assert_eq!((level(&added), added.sandbox), (Some("untrusted"), None), "{profile}");
        }
    }

    #[test]
    fn a_level_that_the_user_recorded_stays_and_nothing_else_is_decided() {
        let recorded = r#"{"projects":{"/w":{"trust_level":"trusted"}}}"#;
        let added = added(&start(Some(Sandbox::WorkspaceWrite)), recorded);
        assert_eq!((level(&added), added.approval_policy), (Some("trusted"), None));
    }

    #[test]
    fn an_unknown_directory_is_not_trusted_and_keeps_the_default_policy() {
        let writable = start(Some(Sandbox::WorkspaceWrite));
        let unknown = added(&writable, "{}");
        assert_eq!(
            (level(&unknown), unknown.approval_policy),
            (Some("untrusted"), Some(ApprovalPolicy::OnRequest))
        );
        let decided = added(&writable, r#"{"approval_policy":"never"}"#);
        assert_eq!(decided.approval_policy, None, "the user's own configuration decides");
    }

    #[test]
    fn a_linked_worktree_belongs_to_its_main_repository() {
        let place = tempfile::tempdir().unwrap();
        let (main, linked) = (place.path().join("main"), place.path().join("linked"));
        std::fs::create_dir_all(main.join(".git/worktrees/linked")).unwrap();
        std::fs::create_dir_all(linked.join("sub")).unwrap();
        let link = format!("gitdir: {}\n", main.join(".git/worktrees/linked").display());
        std::fs::write(linked.join(".git"), link).unwrap();
        assert_eq!(git_roots(&linked.join("sub")), [linked, main.clone()]);
        assert_eq!(git_roots(&main), [main]);
    }
}
