//! Installs something once into the build directory, in the process that needs it first.
//!
//! An install happens in a temporary folder that is renamed when complete: a folder with the final name is
//! complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The package.
pub(crate) struct Wanted<'a> {
    /// What people call it.
    pub(crate) title: &'a str,
    /// The folder that it gets.
    pub(crate) folder: &'a str,
    /// Description of the installation.
    pub(crate) how: &'a str,
}

/// Returns the folder with the finished install; `download` fills it unless it exists. `progress` is called with each
/// step.
pub(crate) fn once(
    wanted: &Wanted<'_>,
    root: &Path,
    mut progress: impl FnMut(&str),
    download: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let Wanted { title, folder: name, how } = wanted;
    let folder = root.join(name);
    if !folder.is_dir() {
        fs::create_dir_all(root).with_context(|| format!("create {}", root.display()))?;
        let lock = File::create(root.join(format!("{name}.lock"))).context("create the lock file")?;
        progress(&format!("{title}: waiting for my turn"));
        // Freed when `lock` is dropped, and by the kernel if we are killed.
        lock.lock().context("lock the install")?;
        if !folder.is_dir() {
            progress(&format!("{title}: {how}"));
            let unfinished = tempfile::Builder::new().prefix(".unfinished-").tempdir_in(root)?;
            download(unfinished.path())?;
            // The guard then finds nothing to delete.
            fs::rename(unfinished.path(), &folder).context("move the finished install into place")?;
        }
    }
    progress(&format!("{title} is installed"));
    Ok(folder)
}

/// Installs an npm package below a folder.
pub(crate) fn npm(package: &str, folder: &Path) -> Result<()> {
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--prefix"])
        .arg(folder)
        .arg(package)
        // npm reads the package.json of its working directory when there is one.
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("run npm (Node.js is needed for these tests)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "npm install failed ({}):\n{said}", output.status);
    Ok(())
}

/// Installs Python packages with everything that they need into a virtual environment: `bin/python` has them.
pub(crate) fn pip(packages: &[&str], folder: &Path) -> Result<()> {
    let run = |what: &str, command: &mut Command| {
        let output = command.stdin(Stdio::null()).output();
        let output = output.context("run python3 (Python 3.10 or newer is needed for these tests)")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{what} failed ({}):\n{said}", output.status);
        Ok(())
    };
    run("python3 -m venv", Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
    run("pip install", Command::new(folder.join("bin/python")).args(install).args(packages))
}
