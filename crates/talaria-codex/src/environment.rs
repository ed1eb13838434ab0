//! The environment of a host: the caller's, except what would mislead it.
//!
//! `HOME` is never faked. Talaria's own variables are left out, because they may contain its secrets and every
//! command that the model runs could read them. A Codex started from inside a Codex command must not inherit that
//! command's variables.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Set by Codex in the commands that it runs.
const STALE: &[&str] = &[
    "CODEX_THREAD_ID",
    "CODEX_TURN_ID",
    "CODEX_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_BY_BUN",
    "CODEX_CI",
];

/// Marks the processes of a host; not a secret.
pub const NONCE: &str = "TALARIA_HOST";

/// Environment of one host.
#[derive(Debug)]
pub(crate) struct Overlay<'a> {
    /// Set only when configured.
    pub(crate) codex_home: Option<&'a Path>,
    /// Prepended to PATH.
    pub(crate) path_dir: Option<&'a Path>,
    /// Names the host.
    pub(crate) nonce: &'a str,
    /// A directory of the host's own, for when its home lies under the usual temporary directory.
    pub(crate) private_tmp: &'a Path,
}

/// Makes the environment of a host from the caller's.
pub(crate) fn compose(
    caller: impl Iterator<Item = (OsString, OsString)>,
    overlay: &Overlay<'_>,
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = caller.filter(|(name, _)| is_passed_on(name)).collect();
    replace(&mut variables, "RUST_LOG", OsStr::new("warn"));
    replace(&mut variables, NONCE, OsStr::new(overlay.nonce));
    let codex_home = overlay.codex_home.map(Path::to_owned);
    let codex_home = codex_home.or_else(|| value(&variables, "CODEX_HOME").map(PathBuf::from));
    // The host has another working directory than the caller.
    if let Some(home) = codex_home.and_then(|home| std::path::absolute(home).ok()) {
        replace(&mut variables, "CODEX_HOME", home.as_os_str());
    }
    if let Some(first) = overlay.path_dir {
        let rest = value(&variables, "PATH").unwrap_or_default().to_owned();
        let directories = std::iter::once(first.to_owned()).chain(std::env::split_paths(&rest));
        // A directory with a colon in its name cannot be in PATH at all.
        if let Ok(path) = std::env::join_paths(directories) {
            replace(&mut variables, "PATH", &path);
        }
    }
    // Codex refuses to create its helpers under the temporary directory.
    let user_home = || Some(Path::new(value(&variables, "HOME")?).join(".codex"));
    let home = value(&variables, "CODEX_HOME").map(PathBuf::from).or_else(user_home);
    let tmp = value(&variables, "TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    if home.is_some_and(|home| is_below(&home, &tmp)) {
        replace(&mut variables, "TMPDIR", overlay.private_tmp.as_os_str());
    }
    variables
}

fn replace(variables: &mut Vec<(OsString, OsString)>, name: &str, value: &OsStr) {
    variables.retain(|(existing, _)| existing != name);
    variables.push((name.into(), value.to_owned()));
}

fn is_passed_on(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with("TALARIA_") && !STALE.contains(&name.as_ref())
}

fn value<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    variables.iter().find(|(existing, _)| existing == name).map(|(_, value)| value.as_os_str())
}

fn is_below(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(path).starts_with(real(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(caller: &[(&str, &str)], codex_home: Option<&str>) -> Vec<String> {
        let overlay = Overlay {
            codex_home: codex_home.map(Path::new),
            path_dir: Some(Path::new("/tools")),
            nonce: "n",
            private_tmp: Path::new("/private"),
        };
        let caller = caller.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut variables: Vec<String> = compose(caller, &overlay)
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        variables.sort();
        variables
    }

    #[test]
    fn secrets_of_ours_and_stale_words_of_codex_stay_out_and_the_rest_passes() {
        let caller = [
            ("HOME", "/home/a"),
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "k"),
            ("TALARIA_TOKEN", "secret"),
            ("CODEX_THREAD_ID", "old"),
            ("CODEX_HOME", "/home/a/.codex"),
            ("RUST_LOG", "trace"),
        ];
        assert_eq!(
            composed(&caller, None),
            [
                "CODEX_HOME=/home/a/.codex",
                "HOME=/home/a",
                "OPENAI_API_KEY=k",
                "PATH=/tools:/bin",
                "RUST_LOG=warn",
                "TALARIA_HOST=n"
            ]
        );
    }

    #[test]
    fn a_relative_codex_home_means_the_callers_directory() {
        let here = std::env::current_dir().unwrap().join("rel").display().to_string();
        for found in [composed(&[("CODEX_HOME", "rel")], None), composed(&[], Some("rel"))] {
            assert!(found.contains(&format!("CODEX_HOME={here}")), "{found:?}");
        }
    }

    #[test]
    fn a_codex_home_under_the_temporary_directory_gets_another_temporary_directory() {
        let found = composed(&[("TMPDIR", "/somewhere/tmp")], Some("/somewhere/tmp/x"));
        assert!(found.contains(&"TMPDIR=/private".to_owned()), "{found:?}");
        let found = composed(&[("TMPDIR", "/somewhere/tmp"), ("HOME", "/somewhere/tmp/me")], None);
        assert!(found.contains(&"TMPDIR=/private".to_owned()), "{found:?}");
        let found = composed(&[("TMPDIR", "/somewhere/tmp")], Some("/elsewhere"));
        assert!(found.contains(&"TMPDIR=/somewhere/tmp".to_owned()), "{found:?}");
    }
}
