//! The connection to the engine, and its principal: always a model, under the name that the person configured or that of
//! the client.
//!
//! The engine may end, or be replaced, at any time between two calls: each one looks for it again and starts it if need be.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use talaria_core::api::LocalCaller;
use talaria_core::principal::Principal;
use talaria_engine::engine::{OutsideTool, outside_tools};

use crate::client::launch::Launcher;
use crate::client::{Client, ClientError};

/// Finds out whether a task could be started: with a Codex, or with a provider for the built-in loop.
pub type TaskCheck = Box<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// The way to the engine.
pub struct Door {
    launcher: Launcher,
    caller: LocalCaller,
    task_check: TaskCheck,
    started_in: PathBuf,
    name: Option<String>,
}

impl Door {
    /// A connection to the engine that `launcher` starts, in the directory that the client was started in.
    pub fn new(launcher: Launcher, caller: LocalCaller, task_check: TaskCheck, started_in: PathBuf) -> Self {
        Self { launcher, caller, task_check, started_in, name: None }
    }

    /// The name of every caller, whatever it says.
    #[must_use]
    pub fn called(mut self, name: Option<String>) -> Self {
        self.name = name;
        self
    }

    /// Finds the engine, or starts it, for this client.
    pub(super) async fn engine(&self, client_name: Option<&str>) -> Result<Client, ClientError> {
        let name = self.name.as_deref().or(client_name).unwrap_or_default();
        let client = self.launcher.ensure().await?;
        Ok(client.on_behalf_of(Principal::model(name)))
    }

    /// Talaria's own tools, by the configuration as it is now.
    pub(super) fn tools(&self) -> Vec<OutsideTool> {
        outside_tools(self.launcher.home())
    }

    /// Whether a task could be started: there is a usable Codex, or a provider for the built-in loop.
    pub(super) async fn can_start_tasks(&self) -> bool {
        (self.task_check)().await
    }

    /// The environment that the client was started in.
    pub(super) fn caller(&self) -> &LocalCaller {
        &self.caller
    }

    /// Where the client was started.
    pub(super) fn started_in(&self) -> &Path {
        &self.started_in
    }

    /// A path relative to that directory.
    pub(super) fn path(&self, path: &str) -> String {
        let path = self.started_in.join(path);
        std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door")
            .field("started_in", &self.started_in)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
