//! Installing the real Codex: once, completely, by the first caller.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;

use talaria_testkit::{Codex, build_dir};

#[test]
fn both_versions_are_installed_and_say_so() {
    for codex in Codex::both() {
        for program in [&codex.native, &codex.launcher] {
            let output = Command::new(program).arg("--version").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said.trim(), format!("codex-cli {}", codex.version), "{}", program.display());
        }
    }
}

#[test]
fn racing_installs_make_one_whole_folder() {
    // A stand-in for npm links an existing installation: the test is about the race, not the download.
    let real = Codex::v0_166();
    let modules = real.launcher.ancestors().nth(2).unwrap().to_owned();
    let root = tempfile::tempdir_in(build_dir::homes()).unwrap();
    let install = || {
        let mut said = Vec::new();
        let npm = |folder: &Path| Ok(symlink(&modules, folder.join("node_modules"))?);
        let codex = Codex::install_with(real.version, root.path(), |line| said.push(line.to_owned()), npm);
        (codex.unwrap(), said.iter().filter(|line| line.contains("npm install")).count())
    };
    let done: Vec<_> = thread::scope(|scope| {
        let racers: Vec<_> = (0..8).map(|_| scope.spawn(install)).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(done.iter().map(|(_, installs)| installs).sum::<usize>(), 1, "one downloads, the others wait");
    assert!(done.iter().all(|(codex, _)| codex.native.is_file() && codex.launcher.is_file()));
    let left: Vec<_> =
        std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".unfinished")), "{left:?}");
}

#[test]
fn a_failed_install_leaves_nothing_behind_that_could_be_used() {
    let root = tempfile::tempdir_in(build_dir::homes()).unwrap();
    let half = |folder: &Path| {
        std::fs::create_dir_all(folder.join("node_modules/@openai/codex"))?;
        Ok(())
    };
    let failed = Codex::install_with("0.166.0", root.path(), |_| {}, half).unwrap_err();
    assert!(failed.to_string().contains("no launcher"), "{failed:#}");
    assert!(!root.path().join("0.166.0").exists());
}
