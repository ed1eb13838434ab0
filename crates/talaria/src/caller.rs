//! What only a command on this machine knows, as it is sent to the engine: its environment.
//!
//! The engine may have been started long ago from elsewhere: this command's environment counts.

use std::path::PathBuf;

use talaria_core::api::LocalCaller;

/// Describes this command to the engine.
pub(crate) fn describe() -> LocalCaller {
    let variables = std::env::vars_os();
    let environment = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .map(|(name, value)| {
            let value = if name == "CODEX_HOME" { absolute(value) } else { value };
            (name, value)
        });
    LocalCaller { codex: None, codex_home: None, environment: environment.collect() }
}

/// The engine has another working directory.
fn absolute(path: String) -> String {
    if path.is_empty() {
        return path;
    }
    std::path::absolute(PathBuf::from(&path))
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok())
        .unwrap_or(path)
}
