//! The real Codex in the versions we promise to work with, installed through npm into the build directory.
//!
//! The first caller downloads; later ones, in this process or another, find the finished folder and need no network
//! (`install`). The npm package is kept whole, because the native program needs its neighbours (sandbox helper,
//! code-mode host).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::build_dir;
use crate::install::{self, Wanted};

/// The versions that the test suite runs against, oldest first.
pub const VERSIONS: [&str; 2] = ["0.130.0", "0.166.0"];

/// One installed Codex.
#[derive(Clone, Debug)]
pub struct Codex {
    /// Its version, such as `0.166.0`.
    pub version: &'static str,
    /// The native program.
    pub native: PathBuf,
    /// The Node launcher that npm installs on PATH.
    pub launcher: PathBuf,
}

impl Codex {
    /// Returns Codex 0.130.0, installing it if this is the first use.
    pub fn v0_130() -> Self {
        Self::installed(VERSIONS[0])
    }

    /// Returns Codex 0.166.0, installing it if this is the first use.
    pub fn v0_166() -> Self {
        Self::installed(VERSIONS[1])
    }

    /// Returns both, oldest first.
    pub fn both() -> [Self; 2] {
        VERSIONS.map(Self::installed)
    }

    /// Installs a version below `root` unless it exists; `progress` is called with each step.
    pub fn install(version: &'static str, root: &Path, progress: impl FnMut(&str)) -> Result<Self> {
        Self::install_with(version, root, progress, |folder| {
            install::npm(&format!("@openai/codex@{version}"), folder)
        })
    }

    /// Installs a version with something else than npm putting `node_modules` into the folder it is given.
    pub fn install_with(
        version: &'static str,
        root: &Path,
        progress: impl FnMut(&str),
        download: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Self> {
        let (title, how) = (format!("codex {version}"), format!("npm install @openai/codex@{version}"));
        let wanted = Wanted { title: &title, folder: version, how: &how };
        let folder = install::once(&wanted, root, progress, |folder| {
            download(folder)?;
            Self::find(version, folder).map(drop)
        })?;
        Self::find(version, &folder)
    }

    fn installed(version: &'static str) -> Self {
        match Self::install(version, &build_dir::root().join("codex"), |_| {}) {
            Ok(codex) => codex,
            Err(cause) => panic!("cannot install codex {version}: {cause:#}"),
        }
    }

    fn find(version: &'static str, folder: &Path) -> Result<Self> {
        let modules = folder.join("node_modules");
        let launcher = modules.join(".bin/codex");
        ensure!(launcher.is_file(), "no launcher at {}", launcher.display());
        let platform = platform_package()?;
        // npm may hoist the platform package or leave it inside the main one.
        let places = [modules.join("@openai"), modules.join("@openai/codex/node_modules/@openai")];
        let vendors = places.iter().map(|place| place.join(platform).join("vendor"));
        let native = vendors.filter_map(|vendor| native_program(&vendor)).next();
        let native =
            native.with_context(|| format!("no native program of {platform} in {}", modules.display()))?;
        Ok(Self { version, native, launcher })
    }
}

/// The program lies in `<triple>/bin/` since about 0.140 and in `<triple>/codex/` before.
fn native_program(vendor: &Path) -> Option<PathBuf> {
    let triples = fs::read_dir(vendor).ok()?.flatten().map(|entry| entry.path());
    let candidates = triples.flat_map(|triple| [triple.join("bin/codex"), triple.join("codex/codex")]);
    candidates.into_iter().find(|program| program.is_file())
}

fn platform_package() -> Result<&'static str> {
    Ok(match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "codex-linux-x64",
        ("linux", "aarch64") => "codex-linux-arm64",
        ("macos", "x86_64") => "codex-darwin-x64",
        ("macos", "aarch64") => "codex-darwin-arm64",
        (os, arch) => bail!("there is no codex for {os} on {arch}"),
    })
}
