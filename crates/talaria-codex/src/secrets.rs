//! Finds what of Talaria's home a sandbox must not show, and runs commands of the person's own without it.
//!
//! Hidden are single entries and not the home as a whole: Codex reopens only what can be written below a hidden
//! directory, and a Codex that `talaria setup` installed lies in the home and runs inside the sandbox as well.
//! `codex`, `worktrees` and `demo` stay as they are. An entry that does not exist is hidden too, from the first command
//! that starts after it was made. A file that is replaced while a command runs appears in that command's sandbox: the
//! system removes the cover together with the file that it covered.
//!
//! Where the sandbox can write around the home (a home below the working directory or below `/tmp`), an entry that does
//! not exist must not be named: Codex would create an empty file there while a command runs, also in place of a journal
//! of the database. There the home is read-only as a whole and its files are found by a pattern at the start of each
//! command. Called by `threads`, `commands` and the built-in loop.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use talaria_codex_proto::hiding::{HiddenPaths, PROFILE, inline_toml};
use talaria_codex_proto::wire::call::{CommandExec, SandboxPolicy};
use talaria_core::version::Version;

use super::host::Host;
use talaria_home::home::ensure_dir;
use talaria_home::socket_path::socket_path;

/// The private entries of a home. Whatever else is found there is hidden as well.
const DIRECTORIES: [&str; 5] = ["run", "hosts", "commands", "imports", "migrations"];
const FILES: [&str; 13] = [
    "key",
    "talaria.db",
    "talaria.db-wal",
    "talaria.db-shm",
    "talaria.db-journal",
    "config.toml",
    "home.json",
    "engine.log",
    "engine.log.old",
    "engine.lock",
    "engine.stopped",
    "chat_history.jsonl",
    "last_open.jsonl",
];
/// Those that are never removed.
const LASTING: [&str; 2] = ["key", "talaria.db"];
/// What conversations work in, or run.
const OPEN: [&str; 3] = ["codex", "worktrees", "demo"];

impl Host {
    /// Paths hidden from a sandbox of this host. Empty if the host belongs to no home.
    pub(crate) fn hidden_paths(&self, sandbox: &SandboxPolicy, cwd: &str) -> HiddenPaths {
        let Some(home) = &self.spec().home else { return HiddenPaths::default() };
        hidden_paths(home, self.spec().variable("TMPDIR").map(PathBuf::from), sandbox, cwd)
    }

    /// The same for a sandbox of the user's own making, which may write anywhere.
    pub(crate) fn hidden_paths_anywhere(&self) -> HiddenPaths {
        self.spec().home.as_ref().map_or_else(HiddenPaths::default, |home| find(home, &Writable::Anywhere))
    }

    /// A command whose answer has what it printed, in a sandbox that hides the home: how `talaria doctor` looks whether
    /// that works. `None` where this Codex cannot, or the host belongs to no home.
    pub fn hiding_exec(
        &self,
        command: Vec<String>,
        cwd: String,
        timeout_ms: u64,
        sandbox: &SandboxPolicy,
    ) -> Option<CommandExec> {
        let profile = self.hiding_profile(sandbox, &cwd)?;
        let command = self.sandboxed(command, &cwd, &profile);
        let mut exec = CommandExec::new(command, cwd, timeout_ms, SandboxPolicy::DangerFullAccess);
        exec.env = self.sandbox_environment();
        Some(exec)
    }

    /// The profile that hides the home from a command of the person's own. Such a command never leaves the sandbox, so
    /// that hiding costs it nothing.
    pub(crate) fn hiding_profile(&self, sandbox: &SandboxPolicy, cwd: &str) -> Option<Value> {
        let can_hide = self.version().has_permission_profiles();
        let hidden = can_hide.then(|| self.hidden_paths(sandbox, cwd))?;
        if hidden.is_empty() { None } else { hidden.profile(sandbox, cwd) }
    }

    /// What `codex sandbox` needs to find the same configuration as this host.
    pub(crate) fn sandbox_environment(&self) -> BTreeMap<String, String> {
        self.codex_home().map(|home| ("CODEX_HOME".to_owned(), home.to_owned())).into_iter().collect()
    }

    /// The command line that runs a command in Codex's sandbox without these paths, and what it may do. Codex takes
    /// such a profile with `command/exec` in some versions and not in others, but its own program takes it in all.
    pub(crate) fn sandboxed(&self, command: Vec<String>, cwd: &str, profile: &Value) -> Vec<String> {
        let mut line = vec![self.spec().binary.display().to_string(), "sandbox".to_owned()];
        line.extend(system(self.version()).map(str::to_owned));
        let profile = format!("permissions.{PROFILE}={}", inline_toml(profile));
        line.extend(["-c", &profile, "--permissions-profile", PROFILE].map(str::to_owned));
        line.extend(["--include-managed-config", "-C", cwd, "--"].map(str::to_owned));
        line.extend(command);
        line
    }
}

/// The name and the inline TOML of the profile that hides a home from commands that run in Codex's sandbox without a host: those
/// of the built-in loop. Leaving the sandbox is decided by Talaria there, so that hiding costs nothing. `None` where this Codex
/// cannot hide, or there is no sandbox.
pub fn command_profile(
    home: &Path,
    tmpdir: Option<PathBuf>,
    sandbox: &SandboxPolicy,
    cwd: &str,
    version: &Version,
) -> Option<(String, String)> {
    let hidden = version.has_permission_profiles().then(|| hidden_paths(home, tmpdir, sandbox, cwd))?;
    let profile = if hidden.is_empty() { None } else { hidden.profile(sandbox, cwd) }?;
    Some((PROFILE.to_owned(), inline_toml(&profile)))
}

/// Paths of a home hidden from a sandbox.
fn hidden_paths(home: &Path, tmpdir: Option<PathBuf>, sandbox: &SandboxPolicy, cwd: &str) -> HiddenPaths {
    let mut writable = Vec::new();
    if let SandboxPolicy::WorkspaceWrite {
        writable_roots, exclude_tmpdir_env_var, exclude_slash_tmp, ..
    } = sandbox
    {
        writable.push(PathBuf::from(cwd));
        writable.extend(writable_roots.iter().map(PathBuf::from));
        writable.extend((!exclude_slash_tmp).then(|| PathBuf::from("/tmp")));
        writable.extend(tmpdir.filter(|_| !exclude_tmpdir_env_var));
    }
    find(home, &Writable::Below(writable))
}

/// Writable roots of a sandbox.
enum Writable {
    /// Everything below these directories.
    Below(Vec<PathBuf>),
    /// Perhaps everything. Nothing may be opened for reading: that is the user's own decision.
    Anywhere,
}

fn system(version: &Version) -> Option<&'static str> {
    let name = if cfg!(target_os = "macos") { "macos" } else { "linux" };
    version.names_sandbox_system().then_some(name)
}

/// Paths of a home, and of its parts elsewhere, that a sandbox must not show.
fn find(home: &Path, writable: &Writable) -> HiddenPaths {
    let mut hidden = HiddenPaths::default();
    // Codex hides the target of a link.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(home);
    let Some(name) = root.to_str() else { return hidden };
    match writable {
        Writable::Anywhere => cover_where_writable(&mut hidden, &root, name),
        Writable::Below(writable) => {
            let writable: Vec<PathBuf> = writable.iter().map(|path| real(path)).collect();
            if !writable.iter().any(|directory| root.starts_with(directory)) {
                DIRECTORIES.iter().chain(&FILES).for_each(|entry| hidden.hide(name, entry));
                entries(&root).iter().for_each(|entry| hidden.hide(name, entry));
            } else {
                if !writable.contains(&root) {
                    hidden.protect(name);
                }
                cover_where_writable(&mut hidden, &root, name);
            }
        }
    }
    // A home with a long path has its sockets elsewhere, in separate directories that exist while they are used.
    let sockets = socket_path(home).parent().map(Path::to_owned);
    let hosts = fs::read_dir(root.join("hosts")).into_iter().flatten().flatten();
    let hosts = hosts.filter_map(|entry| fs::read_link(entry.path()).ok());
    for directory in sockets.into_iter().chain(hosts).filter(|directory| directory.is_dir()) {
        let directory = real(&directory);
        if !directory.starts_with(&root)
            && let (Some(parent), Some(name)) = (directory.parent(), directory.file_name())
            && let (Some(parent), Some(name)) = (parent.to_str(), name.to_str())
        {
            hidden.hide(parent, name);
        }
    }
    hidden
}

fn cover_where_writable(hidden: &mut HiddenPaths, root: &Path, name: &str) {
    for directory in DIRECTORIES {
        let path = root.join(directory);
        if ensure_dir(&path).is_ok() {
            hidden.hide(name, directory);
        }
    }
    let is_plain = !name.contains(['*', '?', '[', ']']);
    for file in FILES {
        if is_plain {
            hidden.hide_if_present(name, file);
        } else if LASTING.contains(&file) && root.join(file).is_file() {
            hidden.hide(name, file);
        }
    }
}

/// What else is in a home.
fn entries(root: &Path) -> Vec<String> {
    let found = fs::read_dir(root).into_iter().flatten().flatten();
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    let is_known = |name: &&str| OPEN.contains(name) || DIRECTORIES.contains(name) || FILES.contains(name);
    // A name with characters of a pattern would be read as one.
    names.filter(|name| !is_known(&name.as_str()) && !name.contains(['*', '?', '[', ']'])).collect()
}

#[cfg(test)]
mod tests {
    use talaria_codex_proto::hiding::HiddenPaths;

    use super::*;

    fn filesystem(hidden: &HiddenPaths) -> Value {
        hidden.addition()["filesystem"].clone()
    }

    fn below(directory: &Path) -> Writable {
        Writable::Below(vec![directory.to_owned()])
    }

    fn home() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap().join("home");
        for directory in ["run", "codex", "worktrees", "demo"] {
            fs::create_dir_all(home.join(directory)).unwrap();
        }
        fs::write(home.join("key"), "k").unwrap();
        fs::write(home.join("talaria.db.before"), "old").unwrap();
        (place, home)
    }

    #[test]
    fn every_entry_is_hidden_by_name_whether_it_is_there_or_not_and_what_is_worked_in_stays() {
        let (_place, home) = home();
        let found = filesystem(&find(&home, &Writable::Below(Vec::new())));
        let entries = found[home.to_str().unwrap()].as_object().unwrap();
        for name in DIRECTORIES.iter().chain(&FILES).chain(&["talaria.db.before"]) {
            assert_eq!(entries.get(*name), Some(&"none".into()), "{name}");
        }
        assert!(OPEN.iter().all(|name| !entries.contains_key(*name)), "{entries:?}");
        assert!(!home.join("imports").exists(), "nothing is made");
    }

    #[test]
    fn where_the_sandbox_can_write_nothing_is_named_that_is_not_there() {
        let (place, home) = home();
        let found = filesystem(&find(&home, &below(place.path())));
        let entries = found[home.to_str().unwrap()].as_object().unwrap();
        assert_eq!(entries.get("."), Some(&"read".into()));
        for name in entries.keys().filter(|name| !name.contains('[') && *name != ".") {
            assert!(home.join(name).is_dir(), "{name}");
        }
        assert!(entries.contains_key("config.tom[l]") && entries.contains_key("talaria.db-wa[l]"));
        assert_eq!(found["glob_scan_max_depth"], 1);
        let users = filesystem(&find(&home, &Writable::Anywhere));
        let users = users[home.to_str().unwrap()].as_object().unwrap();
        assert!(!users.contains_key("."), "what can be read otherwise is the user's decision");
        assert_eq!(users.len() + 1, entries.len());
    }

    #[test]
    fn a_home_with_characters_of_a_pattern_has_no_patterns() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap().join("we[i]rd");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("key"), "k").unwrap();
        let found = filesystem(&find(&home, &below(place.path())));
        let entries = found[home.to_str().unwrap()].as_object().unwrap();
        assert_eq!(entries.get("key"), Some(&"none".into()));
        assert!(entries.keys().all(|name| !name.contains('[')) && !entries.contains_key("talaria.db"));
    }

    #[test]
    fn a_home_behind_a_link_is_hidden_where_it_is() {
        let (place, home) = home();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        assert_eq!(find(&link, &Writable::Below(Vec::new())), find(&home, &Writable::Below(Vec::new())));
    }

    #[test]
    fn sockets_of_a_long_home_are_hidden_where_they_are() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap().join("x".repeat(120));
        let elsewhere = place.path().canonicalize().unwrap().join("talaria-1234");
        fs::create_dir_all(home.join("hosts")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, home.join("hosts/1234")).unwrap();
        let found = filesystem(&find(&home, &Writable::Below(Vec::new())));
        let parent = elsewhere.parent().unwrap().to_str().unwrap();
        assert_eq!(found[parent]["talaria-1234"], "none");
        let socket = socket_path(&home);
        assert!(!socket.starts_with(&home));
        let directory = socket.parent().unwrap();
        fs::create_dir(directory).unwrap();
        let found = filesystem(&find(&home, &Writable::Below(Vec::new())));
        fs::remove_dir(directory).unwrap();
        assert_eq!(found["/tmp"][directory.file_name().unwrap().to_str().unwrap()], "none");
    }
}
