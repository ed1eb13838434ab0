//! Where the programs of this package lie, and building one when it is missing or older than its source.
//!
//! They belong to this package, so other crates' tests get no `CARGO_BIN_EXE_…` for them.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, ensure};

use crate::build_dir;

/// Returns the path of a program that is up to date; `name` is its folder below `src/bin`.
pub(crate) fn path(name: &'static str) -> Result<PathBuf> {
    static READY: Mutex<Option<HashMap<&str, Result<PathBuf, String>>>> = Mutex::new(None);
    let mut ready = READY.lock().unwrap_or_else(PoisonError::into_inner);
    let ready = ready.get_or_insert_default().entry(name);
    let found = ready.or_insert_with(|| find_or_build(name).map_err(|cause| format!("{cause:#}")));
    found.clone().map_err(|cause| anyhow!(cause))
}

fn find_or_build(name: &str) -> Result<PathBuf> {
    let program = build_dir::profile().join(name);
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !is_fresh(&program, &package.join("src/bin").join(name)) {
        build(package, name)?;
        ensure!(program.is_file(), "cargo did not make {}", program.display());
    }
    Ok(program)
}

fn is_fresh(program: &Path, source: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let Some(built) = changed(program) else { return false };
    let files = fs::read_dir(source).into_iter().flatten().flatten();
    let newest = files.filter_map(|file| changed(&file.path())).max().unwrap_or(SystemTime::UNIX_EPOCH);
    built >= newest
}

/// Cargo holds no lock while tests run, and serialises several of these by itself.
fn build(package: &Path, name: &str) -> Result<()> {
    let (root, folder) = (build_dir::root(), build_dir::profile());
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--offline", "--package", "talaria-testkit", "--bin", name]);
    // `time-tests` sets it for the test binary; with it, dependencies would be built again.
    cargo.env_remove("RUSTC_BOOTSTRAP");
    cargo.arg("--target-dir").arg(&root).current_dir(package);
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => {}
        Some(name) => drop(cargo.args(["--profile", name])),
    }
    // With --target, the profile lies in a folder named after it.
    if let Some(parent) = folder.parent()
        && parent != root
        && let Some(triple) = parent.file_name()
    {
        cargo.arg("--target").arg(triple);
    }
    let output = cargo.output().context("run cargo build")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo build --bin {name} failed:\n{said}");
    Ok(())
}
