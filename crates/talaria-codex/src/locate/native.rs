//! The native program that npm's launcher starts.
//!
//! npm installs a Node script on PATH that starts the real program from a second package, one per platform. Starting
//! the program itself saves a Node process per host and makes signals reach the right one. Owns the layouts of those
//! packages; only reads, never copies: the program finds its helpers relative to itself.

use std::path::{Path, PathBuf};

/// A kind of machine for which npm has a Codex package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Platform {
    /// How the package is named after `codex-`, and the versions after `<version>-`.
    pub(crate) name: &'static str,
    /// The compiler's name of the platform, a directory in the package.
    pub(crate) triple: &'static str,
}

/// The platform that this program was built for.
pub(crate) fn platform() -> Option<Platform> {
    let (name, triple) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => ("linux-x64", "x86_64-unknown-linux-musl"),
        ("linux", "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
        ("macos", "x86_64") => ("darwin-x64", "x86_64-apple-darwin"),
        ("macos", "aarch64") => ("darwin-arm64", "aarch64-apple-darwin"),
        _ => return None,
    };
    Some(Platform { name, triple })
}

/// Path of npm's launcher below an installation directory.
pub(crate) fn launcher_in(prefix: &Path) -> PathBuf {
    prefix.join("node_modules/@openai/codex/bin/codex.js")
}

/// Returns whether the file is npm's launcher, or a link to it as npm makes them in `bin`.
pub(crate) fn is_launcher(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real.file_name().is_some_and(|name| name == "codex.js"))
}

/// Finds the native program that the launcher would start.
pub(crate) fn native_of(launcher: &Path) -> Option<PathBuf> {
    let platform = platform()?;
    let real = launcher.canonicalize().ok()?;
    let package = real.parent()?.parent()?;
    package_dirs(package, platform).find_map(|dir| native_in(&dir.join("vendor").join(platform.triple)))
}

/// The places where Node would look for the platform's package, nearest first; then the package itself.
fn package_dirs(package: &Path, platform: Platform) -> impl Iterator<Item = PathBuf> {
    let name = format!("codex-{}", platform.name);
    let beside = package.parent().map(|scope| scope.join(&name));
    let as_node_looks = package.ancestors().map(move |dir| dir.join("node_modules/@openai").join(&name));
    as_node_looks.chain(beside).chain([package.to_owned()])
}

/// `bin/codex` as in 0.166, or `codex/codex` as in 0.130.
fn native_in(vendor: &Path) -> Option<PathBuf> {
    [vendor.join("bin/codex"), vendor.join("codex/codex")].into_iter().find(|path| super::is_executable(path))
}

/// The directory that the launcher of the older layout prepends to PATH; the newer launcher adds none.
pub(crate) fn path_dir(native: &Path) -> Option<PathBuf> {
    let real = native.canonicalize().ok()?;
    if !real.ends_with("codex/codex") {
        return None;
    }
    Some(real.parent()?.with_file_name("path")).filter(|dir| dir.join("rg").is_file())
}
