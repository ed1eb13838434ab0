//! MCP clients of others, to try our server with: the official Python SDK and the MCP inspector.
//!
//! Installed once below the build directory, like Codex; after that no network is needed.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::build_dir;
use crate::install::{self, Wanted};

/// The version of the Python SDK.
const SDK: &str = "2.3.0";
/// The version of the inspector.
const INSPECTOR: &str = "2.12.0";

/// Returns a Python that has the official SDK (PyPI `mcp`).
pub fn python() -> PathBuf {
    installed(install_python_sdk(&root(), |_| {}))
}

/// Returns the inspector's program (npm `@modelcontextprotocol/inspector`), to be run with `node`.
pub fn inspector() -> PathBuf {
    installed(install_inspector(&root(), |_| {}))
}

/// Installs both below the build directory; `progress` is called with each step.
pub fn install(mut progress: impl FnMut(&str)) -> Result<()> {
    install_python_sdk(&root(), &mut progress)?;
    install_inspector(&root(), &mut progress)?;
    Ok(())
}

fn install_python_sdk(root: &Path, progress: impl FnMut(&str)) -> Result<PathBuf> {
    let package = format!("mcp=={SDK}");
    let (title, folder) = (format!("Python MCP SDK {SDK}"), format!("python-{SDK}"));
    let wanted = Wanted { title: &title, folder: &folder, how: &format!("pip install {package}") };
    let folder = install::once(&wanted, root, progress, |folder| install::pip(&[&package], folder))?;
    Ok(folder.join("bin/python"))
}

fn install_inspector(root: &Path, progress: impl FnMut(&str)) -> Result<PathBuf> {
    let package = format!("@modelcontextprotocol/inspector@{INSPECTOR}");
    let (title, folder) = (format!("MCP inspector {INSPECTOR}"), format!("inspector-{INSPECTOR}"));
    let wanted = Wanted { title: &title, folder: &folder, how: &format!("npm install {package}") };
    let folder = install::once(&wanted, root, progress, |folder| install::npm(&package, folder))?;
    let program = folder.join("node_modules/.bin/mcp-inspector");
    ensure!(program.is_file(), "no program at {}", program.display());
    Ok(program)
}

fn root() -> PathBuf {
    build_dir::root().join("mcp-clients")
}

fn installed(result: Result<PathBuf>) -> PathBuf {
    match result {
        Ok(path) => path,
        Err(cause) => panic!("cannot install an MCP client: {cause:#}"),
    }
}
