//! The program that does the same with raw SQLite.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds it; the first time takes minutes.
pub(crate) fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/sqlite-baseline");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("bench/sqlite-baseline/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()
        .unwrap();
    assert!(status.success(), "the baseline program does not build");
    target.join("release/sqlite-baseline")
}

/// Runs it and returns events per second.
pub(crate) fn run(program: &Path, arguments: &[&str]) -> f64 {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}
