//! What goes with `thread/start` so that Codex does not write the user's `config.toml`.
//!
//! Given a directory and a writable sandbox, Codex adds `[projects."<directory>"] trust_level = "trusted"` to its
//! configuration unless a trust level is known. An override for this thread alone keeps it from doing so. Observed on
//! 0.130.0 and 0.166.0: any trust level also turns the default sandbox from `read-only` into `workspace-write`, and
//! `untrusted` turns the default approval policy from `on-request` into `untrusted`. So the override is sent only where
//! Codex would write, and then what it would have used by default is sent with it. A level that the user recorded stays.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::wire::call::{EffectiveConfig, ThreadStart};

/// Would Codex write its configuration for this?
pub(crate) fn is_needed(start: &ThreadStart) -> bool {
    matches!(start.sandbox, Some(Sandbox::WorkspaceWrite | Sandbox::DangerFullAccess))
}

/// Adds the override to a start that needs it.
pub(crate) fn add(start: &mut ThreadStart, config: &EffectiveConfig, git_root: Option<&Path>) {
    let recorded = recorded_level(config, &start.cwd, git_root);
    if recorded.is_none() && start.approval_policy.is_none() && config.approval_policy.is_none() {
        start.approval_policy = Some(ApprovalPolicy::OnRequest);
    }
    let level = recorded.unwrap_or_else(|| "untrusted".to_owned());
    let project = Map::from_iter([(start.cwd.clone(), json!({ "trust_level": level }))]);
    start.config.insert("projects".to_owned(), Value::Object(project));
}

fn recorded_level(config: &EffectiveConfig, cwd: &str, git_root: Option<&Path>) -> Option<String> {
    let projects = config.projects.as_ref()?;
    let level = |key: &str| projects.get(key)?.get("trust_level")?.as_str().map(str::to_owned);
    level(cwd).or_else(|| level(git_root?.to_str()?))
}

/// The directory that holds the repository around `cwd`, which is what Codex records.
pub(crate) fn git_root(cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors().find(|directory| directory.join(".git").exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(sandbox: Option<Sandbox>) -> ThreadStart {
        ThreadStart { cwd: "/w/sub".to_owned(), sandbox, ..ThreadStart::default() }
    }

    fn config(text: &str) -> EffectiveConfig {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn nothing_is_sent_where_codex_writes_nothing_because_it_would_widen_the_sandbox() {
        assert!(!is_needed(&start(None)));
        assert!(!is_needed(&start(Some(Sandbox::ReadOnly))));
        assert!(is_needed(&start(Some(Sandbox::WorkspaceWrite))));
    }

    #[test]
    fn a_level_that_the_user_recorded_stays_and_nothing_else_is_decided() {
        let mut start = start(Some(Sandbox::WorkspaceWrite));
        let config = config(r#"{"projects":{"/w":{"trust_level":"trusted"}}}"#);
        add(&mut start, &config, Some(Path::new("/w")));
        assert_eq!(start.config["projects"]["/w/sub"]["trust_level"], "trusted");
        assert_eq!(start.approval_policy, None);
    }

    #[test]
    fn an_unknown_directory_is_not_trusted_and_keeps_the_default_policy() {
        let mut unknown = start(Some(Sandbox::WorkspaceWrite));
        add(&mut unknown, &config("{}"), None);
        assert_eq!(unknown.config["projects"]["/w/sub"]["trust_level"], "untrusted");
        assert_eq!(unknown.approval_policy, Some(ApprovalPolicy::OnRequest));

        let mut decided = start(Some(Sandbox::WorkspaceWrite));
        add(&mut decided, &config(r#"{"approval_policy":"never"}"#), None);
        assert_eq!(decided.approval_policy, None, "the user's own configuration decides");
    }
}
