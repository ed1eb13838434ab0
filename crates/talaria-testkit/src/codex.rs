//! The real Codex in the versions we promise to work with, installed through npm into the build directory.
//!
//! The first caller downloads; everybody later, in this process or another, finds the finished folder and needs no
//! network. An install happens in a folder of its own that is renamed when complete: what has the final name is whole.
//! The npm package is kept whole, because the native program needs its neighbours (sandbox helper, code-mode host).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::build_dir;

/// The versions that the test suite runs against, oldest first.
pub const VERSIONS: [&str; 2] = ["0.130.0", "0.166.0"];

/// One installed Codex.
#[derive(Clone, Debug)]
pub struct Codex {
    /// Its version, such as `0.166.0`.
    pub version: &'static str,
    /// The native program.
    pub native: PathBuf,
    /// The Node launcher that npm puts on PATH.
    pub launcher: PathBuf,
}

impl Codex {
    /// Gives Codex 0.130.0, installing it if this is the first use.
    pub fn v0_130() -> Self {
        Self::installed(VERSIONS[0])
    }

    /// Gives Codex 0.166.0, installing it if this is the first use.
    pub fn v0_166() -> Self {
        Self::installed(VERSIONS[1])
    }

    /// Gives both, oldest first.
    pub fn both() -> [Self; 2] {
        VERSIONS.map(Self::installed)
    }

    /// Installs a version below `root` unless it is there; `progress` hears what is being done.
    pub fn install(version: &'static str, root: &Path, progress: impl FnMut(&str)) -> Result<Self> {
        Self::install_with(version, root, progress, |folder| npm_install(version, folder))
    }

    /// Installs a version with something else than npm putting `node_modules` into the folder it is given.
    pub fn install_with(
        version: &'static str,
        root: &Path,
        mut progress: impl FnMut(&str),
        download: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Self> {
        let folder = root.join(version);
        if folder.is_dir() {
            progress(&format!("codex {version} is installed"));
            return Self::find(version, &folder);
        }
        fs::create_dir_all(root).with_context(|| format!("create {}", root.display()))?;
        let lock = File::create(root.join(format!("{version}.lock"))).context("create the lock file")?;
        progress(&format!("codex {version}: waiting for my turn"));
        // Freed when `lock` is dropped, and by the kernel if we are killed.
        lock.lock().context("lock the install")?;
        if !folder.is_dir() {
            progress(&format!("codex {version}: npm install @openai/codex@{version}"));
            let unfinished = tempfile::Builder::new().prefix(".unfinished-").tempdir_in(root)?;
            download(unfinished.path())?;
            Self::find(version, unfinished.path())?;
            // The guard then finds nothing to delete.
            fs::rename(unfinished.path(), &folder).context("move the finished install into place")?;
        }
        progress(&format!("codex {version} is installed"));
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

fn npm_install(version: &str, folder: &Path) -> Result<()> {
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--prefix"])
        .arg(folder)
        .arg(format!("@openai/codex@{version}"))
        // npm reads the package.json of its working directory when there is one.
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("run npm (Node.js is needed for the real-Codex tests)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "npm install failed ({}):\n{said}", output.status);
    Ok(())
}
