//! The Codex that this command means, and the environment that it runs in, as the engine is told.
//!
//! The engine may have been started long ago from elsewhere: what holds is what holds here.

use std::path::{Path, PathBuf};

use talaria_core::api::Caller;
use talaria_engine::codex::locate::CodexBinary;

/// Describes this command to the engine. `codex_home` is the configured one; else the environment's holds.
pub(crate) fn describe(codex: &CodexBinary, codex_home: Option<PathBuf>) -> Caller {
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let named = environment.iter().find(|(name, value)| name == "CODEX_HOME" && !value.is_empty());
    let codex_home = codex_home.or_else(|| named.map(|(_, value)| PathBuf::from(value)));
    Caller {
        codex: text(&codex.path),
        version: codex.version.to_string(),
        path_dir: codex.path_dir.as_deref().map(text),
        // The engine has another working directory.
        codex_home: codex_home.map(|home| text(&std::path::absolute(&home).unwrap_or(home))),
        environment,
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
