//! Promises of the search, with shell scripts instead of Codex.

use std::os::unix::fs::symlink;
use std::time::Duration;

use talaria_core::version::PINNED;

use super::*;

/// Writes an executable script through another process: a file that this one has open for writing while a test in
/// another thread forks cannot be executed ("text file busy").
pub(crate) fn script(path: &Path, body: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let write = "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
    let status =
        std::process::Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(body).status().unwrap();
    assert!(status.success());
}

pub(crate) fn codex(path: &Path, version: &str) {
    script(path, &format!("echo codex-cli {version}"));
}

/// Lays out what npm would: the launcher (which fails, so that no test uses it by accident) and the native program.
pub(crate) fn npm_package(prefix: &Path, version: &str, native: &str) -> PathBuf {
    let launcher = native::launcher_in(prefix);
    script(&launcher, "echo launcher used >&2; exit 3");
    codex(&prefix.join("node_modules/@openai").join(native), version);
    launcher
}

/// A path in the platform's package, below its directory for this machine.
pub(crate) fn vendor(below: &str) -> String {
    let platform = native::platform().unwrap();
    format!("codex-{}/vendor/{}/{below}", platform.name, platform.triple)
}

struct Place {
    dir: tempfile::TempDir,
    search: CodexSearch,
}

impl Place {
    /// Two directories on PATH, `a` before `b`, and nothing in them.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = std::env::join_paths([dir.path().join("a"), dir.path().join("b")]).unwrap();
        let search = CodexSearch { explicit: None, path: Some(path), installed: dir.path().join("codex") };
        Self { dir, search }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    async fn locate(&self) -> Result<CodexBinary, LocateError> {
        locate(&self.search).await
    }
}

#[tokio::test]
async fn nothing_found_says_where_it_looked_and_what_to_do() {
    let place = Place::new();
    let error = place.locate().await.unwrap_err();
    assert_eq!(
        error,
        LocateError::NotFound { looked_in: vec![place.at("a"), place.at("b"), place.at("codex")] }
    );
    assert_eq!(error.next_step().in_shell(), "run talaria setup to install codex 0.166.0");
}

#[tokio::test]
async fn path_is_searched_in_order_and_non_executables_are_skipped() {
    let place = Place::new();
    std::fs::create_dir_all(place.at("a")).unwrap();
    std::fs::write(place.at("a/codex"), "").unwrap();
    let error = place.locate().await.unwrap_err();
    assert_eq!(error, LocateError::NotExecutable { path: place.at("a/codex"), origin: CodexOrigin::Path });
    assert!(error.next_step().in_shell().contains("chmod +x"), "{}", error.next_step().in_shell());

    codex(&place.at("b/codex"), "0.150.0");
    let found = place.locate().await.unwrap();
    assert_eq!((found.path, found.origin), (place.at("b/codex"), CodexOrigin::Path));
    assert_eq!(found.version.to_string(), "0.150.0");
    assert_eq!(found.launcher, None);
}

#[tokio::test]
async fn an_explicit_path_is_the_only_one_considered() {
    let mut place = Place::new();
    codex(&place.at("a/codex"), "0.166.0");
    place.search.explicit = Some(place.at("mine"));
    let error = place.locate().await.unwrap_err();
    assert_eq!(error, LocateError::NoSuchFile { path: place.at("mine") });
    assert_eq!(error.next_step().in_shell(), "name another codex, or name none and run talaria setup");

    std::fs::create_dir(place.at("mine")).unwrap();
    let error = place.locate().await.unwrap_err();
    assert_eq!(error, LocateError::NotAFile { path: place.at("mine"), origin: CodexOrigin::Configured });

    codex(&place.at("yours"), "0.130.0");
    place.search.explicit = Some(place.at("yours"));
    assert_eq!(place.locate().await.unwrap().origin, CodexOrigin::Configured);
}

#[tokio::test]
async fn the_native_program_is_preferred_in_every_layout() {
    for layout in ["bin/codex", "codex/codex"] {
        for nested in ["", "codex/node_modules/@openai/"] {
            let place = Place::new();
            let native = format!("{nested}{}", vendor(layout));
            let launcher = npm_package(&place.at("lib"), "0.166.0", &native);
            std::fs::create_dir_all(place.at("a")).unwrap();
            symlink(&launcher, place.at("a/codex")).unwrap();
            let found = place.locate().await.unwrap();
            assert_eq!(found.path, place.at("lib/node_modules/@openai").canonicalize().unwrap().join(native));
            assert_eq!(found.launcher, Some(place.at("a/codex")));
        }
    }
}

#[tokio::test]
async fn a_launcher_without_a_native_program_is_used_itself() {
    let place = Place::new();
    codex(&native::launcher_in(&place.at("lib")), "0.140.0");
    std::fs::create_dir_all(place.at("a")).unwrap();
    symlink(native::launcher_in(&place.at("lib")), place.at("a/codex")).unwrap();
    let found = place.locate().await.unwrap();
    assert_eq!(found.path, place.at("a/codex"));
    assert_eq!(found.launcher, Some(found.path));
}

#[tokio::test]
async fn the_older_layout_names_the_directory_for_path_however_it_was_found() {
    let mut place = Place::new();
    npm_package(&place.at("codex/0.130.0"), "0.130.0", &vendor("codex/codex"));
    let package = place.at("codex/0.130.0/node_modules/@openai").canonicalize().unwrap();
    script(&package.join(vendor("path/rg")), "");
    assert_eq!(place.locate().await.unwrap().path_dir, Some(package.join(vendor("path"))));

    symlink(package.join(vendor("codex/codex")), place.at("link")).unwrap();
    place.search.explicit = Some(place.at("link"));
    let found = place.locate().await.unwrap();
    assert_eq!((found.path, found.path_dir), (place.at("link"), Some(package.join(vendor("path")))));
}

#[tokio::test]
async fn the_newest_complete_installation_is_taken() {
    let place = Place::new();
    for version in ["0.99.0", "0.130.0", "0.166.0"] {
        npm_package(&place.at("codex").join(version), version, &vendor("bin/codex"));
    }
    codex(&native::launcher_in(&place.at("codex/0.167.0")), "0.167.0");
    std::fs::create_dir_all(place.at("codex/.incoming-x")).unwrap();
    let found = place.locate().await.unwrap();
    assert_eq!(
        (found.version, found.origin, found.passed_over),
        (PINNED.clone(), CodexOrigin::Installed, None)
    );
}

#[tokio::test]
async fn a_codex_on_path_that_is_too_old_gives_way_to_an_installed_one() {
    let place = Place::new();
    codex(&place.at("a/codex"), "0.124.0");
    let version = "0.124.0".parse().unwrap();
    let too_old = LocateError::TooOld { path: place.at("a/codex"), origin: CodexOrigin::Path, version };
    assert_eq!(place.locate().await, Err(too_old.clone()));

    npm_package(&place.at("codex/0.166.0"), "0.166.0", &vendor("bin/codex"));
    let found = place.locate().await.unwrap();
    assert_eq!((found.origin, found.passed_over), (CodexOrigin::Installed, Some(too_old)));
}

#[tokio::test]
async fn a_program_that_is_no_codex_is_told_apart() {
    let place = Place::new();
    for (body, expected) in [
        ("echo hello", "--version printed no version, but \"hello\""),
        ("echo some; echo bad luck >&2; exit 4", "--version failed: exit status: 4: bad luck"),
        ("kill -9 $$", "--version failed: signal: 9 (SIGKILL): it printed no reason"),
        ("while :; do echo noise; done", "--version failed: signal: 13 (SIGPIPE): it printed no reason"),
    ] {
        script(&place.at("a/codex"), body);
        let error = place.locate().await.unwrap_err().to_string();
        assert_eq!(error, format!("{} {expected}", place.at("a/codex").display()));
    }
    std::fs::remove_file(place.at("a/codex")).unwrap();
    script(&place.at("a/codex"), "");
    let edit = "printf '#!/no/such/interpreter\\n' > \"$1\"";
    std::process::Command::new("sh").args(["-c", edit, "sh"]).arg(place.at("a/codex")).status().unwrap();
    let error = place.locate().await.unwrap_err().to_string();
    assert!(error.ends_with("the interpreter that it asks for is missing"), "{error}");
}

#[tokio::test]
async fn a_program_that_does_not_answer_is_ended_with_its_children() {
    let place = Place::new();
    script(
        &place.at("slow"),
        &format!("echo $$ > {0}; sleep 600 & echo $! >> {0}; wait", place.at("pids").display()),
    );
    let limit = Duration::from_millis(500);
    let error = probe::version_of(&place.at("slow"), CodexOrigin::Path, limit).await.unwrap_err();
    assert!(error.to_string().ends_with("no answer within 0.5 s"), "{error}");
    let pids = std::fs::read_to_string(place.at("pids")).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines().map(|pid| pid.parse().unwrap()) {
        assert!(is_gone(pid), "{pid} is left");
    }
}

/// Waits for the state: a killed orphan stays a zombie until its new parent reaps it.
pub(crate) fn is_gone(pid: i32) -> bool {
    let pid = pid.to_string();
    (0..500).any(|_| {
        let ps = std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().unwrap();
        let state = String::from_utf8_lossy(&ps.stdout).trim().to_owned();
        let gone = state.is_empty() || state.starts_with('Z');
        if !gone {
            std::thread::sleep(Duration::from_millis(10));
        }
        gone
    })
}
