//! A `codex` that replaces the real one where thousands are needed: detached, with threads in files and a
//! built-in model. `src/bin/stand-in-codex/main.rs` describes its behaviour.

use std::path::{Path, PathBuf};

use crate::app_server::write_program;
use crate::program;

/// The version that it says it is.
pub const VERSION: &str = "0.166.0";

/// Installs the stand-in into `folder`; returns the program to use as `codex`.
pub fn install(folder: &Path) -> PathBuf {
    let path = folder.join("codex");
    let written = program::path("stand-in-codex").and_then(|program| {
        std::fs::create_dir_all(folder)?;
        let quoted = program.display().to_string().replace('\'', r"'\''");
        write_program(
            &path,
            &format!("#!/bin/sh\nexport STAND_IN_VERSION={VERSION}\nexec '{quoted}' \"$@\"\n"),
        )
    });
    match written {
        Ok(()) => path,
        Err(cause) => panic!("cannot install the stand-in for codex: {cause:#}"),
    }
}
