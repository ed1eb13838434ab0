//! The writable directories: those that were asked for against those in force, as text.

use serde_json::Value;

use super::{Findings, InForce, SandboxInForce, Setting, Weight};
use crate::wire::call::ThreadStart;

pub(super) fn compare(
    found: &mut Findings,
    asked: &ThreadStart,
    in_force: &InForce,
    codex_home: Option<&str>,
) {
    let wish = |name: &str| asked.config_override(&format!("sandbox_workspace_write.{name}"));
    let roots = wish("writable_roots").and_then(Value::as_array);
    let wanted: Option<Vec<String>> =
        roots.map(|roots| roots.iter().filter_map(Value::as_str).map(clean).collect());
    let (real, excludes_slash_tmp, excludes_tmpdir) = match &in_force.sandbox {
        SandboxInForce::WorkspaceWrite { roots, excludes_slash_tmp, excludes_tmpdir, .. } => {
            (roots.iter().map(|root| clean(root)).collect(), *excludes_slash_tmp, *excludes_tmpdir)
        }
        // Nothing can be written at all, which is reported as the sandbox.
        SandboxInForce::ReadOnly { .. } => return,
        SandboxInForce::FullAccess | SandboxInForce::Unknown(_) => (vec!["/".to_owned()], false, false),
    };
    for (name, path, is_excluded) in [
        ("exclude_slash_tmp", "/tmp", excludes_slash_tmp),
        ("exclude_tmpdir_env_var", "$TMPDIR", excludes_tmpdir),
    ] {
        if wish(name).and_then(Value::as_bool) == Some(true) && !is_excluded {
            let (asked, real) = (format!("{path} read-only"), format!("{path} writable"));
            found.add(Setting::TemporaryDirectories, asked, real, Weight::MorePower);
        }
    }
    let Some(wanted) = wanted else { return };
    let own = codex_home.map(|home| clean(&format!("{home}/memories")));
    let cwd = clean(&in_force.cwd);
    let is_own = |root: &String| *root == cwd || own.as_ref() == Some(root);
    let more: Vec<&String> = real.iter().filter(|root| !wanted.contains(root) && !is_own(root)).collect();
    let is_open = |root: &String| real.contains(root) || (root == "/tmp" && !excludes_slash_tmp);
    let less = wanted.iter().any(|root| !is_open(root) && *root != cwd);
    let weight = match (more.is_empty(), less) {
        (false, _) => Weight::MorePower,
        (true, true) => Weight::LessPower,
        (true, false) => return,
    };
    let words = |roots: &[String]| if roots.is_empty() { "none".to_owned() } else { roots.join(", ") };
    found.add(Setting::WritableRoots, words(&wanted), words(&real), weight);
}

/// A path the way Codex cleans it: `.` and `..` and doubled or final slashes go; links are not followed.
pub(super) fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if path.starts_with('/') => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}
