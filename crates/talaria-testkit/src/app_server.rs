//! A `codex` that plays a transcript, for faults which the real one will not produce.
//!
//! [`AppServer::install`] writes a program named `codex` into a folder. It answers `--version`, and as `app-server` it
//! plays the directives over stdio or a unix socket. What each directive does is written in
//! `src/bin/scripted-app-server/transcript.rs`; [`directive`] has a function for each.

pub mod directive;
mod stage;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::program;
use crate::wait::until;

pub use stage::{THREAD, TURN, agent_delta, complete_turn, start_turn};

/// A transcript in the making.
#[derive(Clone, Debug)]
pub struct AppServer {
    version: String,
    directives: Vec<Value>,
}

/// A scripted `codex` on disk.
#[derive(Clone, Debug)]
pub struct InstalledAppServer {
    /// The program to be used as `codex`.
    pub codex: PathBuf,
    /// Everything that was received, as JSON lines.
    pub log: PathBuf,
}

impl AppServer {
    /// Plays exactly these directives; whatever they do not mention is refused as an unknown method.
    pub fn script(directives: impl IntoIterator<Item = Value>) -> Self {
        Self { version: "0.166.0".to_owned(), directives: directives.into_iter().collect() }
    }

    /// Answers `initialize`, `account/read`, `thread/start` and their like as 0.166 does, whenever they arrive, and
    /// plays the directives in addition.
    pub fn ready(directives: impl IntoIterator<Item = Value>) -> Self {
        Self::script(stage::handlers().into_iter().chain(directives))
    }

    /// Says that another provider than `mock` serves the models.
    pub fn provider(mut self, name: &str) -> Self {
        let named = |directive: &Value| {
            let text = directive
                .to_string()
                .replace(r#""modelProvider":"mock""#, &format!(r#""modelProvider":"{name}""#));
            serde_json::from_str(&text).unwrap_or_else(|_| directive.clone())
        };
        self.directives = self.directives.iter().map(named).collect();
        self
    }

    /// Pretends to be another version.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Writes the program and its transcript into `folder`.
    pub fn install(&self, folder: &Path) -> InstalledAppServer {
        match self.write(folder) {
            Ok(installed) => installed,
            Err(cause) => panic!("cannot install the scripted app-server: {cause:#}"),
        }
    }

    fn write(&self, folder: &Path) -> Result<InstalledAppServer> {
        fs::create_dir_all(folder).context("create the folder")?;
        let transcript = folder.join("transcript.jsonl");
        let lines: String = self
            .directives
            .iter()
            .map(|line| format!("{line}\n").replace("$version", &self.version))
            .collect();
        fs::write(&transcript, lines).context("write the transcript")?;
        let installed =
            InstalledAppServer { codex: folder.join("codex"), log: folder.join("received.jsonl") };
        let wrapper = format!(
            "#!/bin/sh\nSCRIPTED_VERSION={} SCRIPTED_TRANSCRIPT={} SCRIPTED_LOG={}\n\
             export SCRIPTED_VERSION SCRIPTED_TRANSCRIPT SCRIPTED_LOG\nexec {} \"$@\"\n",
            quoted(Path::new(&self.version)),
            quoted(&transcript),
            quoted(&installed.log),
            quoted(&program::path("scripted-app-server")?),
        );
        write_program(&installed.codex, &wrapper)?;
        Ok(installed)
    }
}

/// Writes an executable script, from a separate process: a file that this process had open for writing may have been
/// inherited by a process that another test started meanwhile, and could then not be run ("text file busy").
pub fn write_program(path: &Path, script: &str) -> Result<()> {
    let writer = ["-c", "cat > \"$0\" && chmod 755 \"$0\""];
    let mut shell = Command::new("/bin/sh").args(writer).arg(path).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = shell.stdin.take() {
        stdin.write_all(script.as_bytes())?;
    }
    anyhow::ensure!(shell.wait()?.success(), "cannot write {}", path.display());
    Ok(())
}

/// Copies a program, from a separate process for the same reason. The copy is newer than the original.
pub fn copy_program(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp").args([from, to]).status()?;
    anyhow::ensure!(copied.success(), "cannot copy {} to {}", from.display(), to.display());
    Ok(())
}

impl InstalledAppServer {
    /// Returns every message received so far; invalid JSON is returned as a string.
    pub fn received(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may be half written while the program runs.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until it has received a message of this method.
    pub async fn wait_received(&self, method: &str) {
        let is_there = || self.received().iter().any(|message| message["method"] == method);
        until(&format!("{method} is received"), is_there).await;
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
