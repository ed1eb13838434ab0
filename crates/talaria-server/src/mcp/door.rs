//! The way to the engine, and who comes through it: always a model, under the name that the person gave it or the client
//! has.
//!
//! The engine may end, or be replaced, at any time between two calls: each one looks for it anew and starts it if need be.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use talaria_core::api::{Caller, Problem};
use talaria_core::principal::Principal;

use crate::client::{Client, ClientError};
use crate::launch::Launcher;

/// What holds for a new turn where `talaria mcp` was started.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The Codex to use, and its environment.
    pub caller: Caller,
    /// The user's model.
    pub model: Option<String>,
    /// How much it thinks.
    pub effort: Option<String>,
    /// The user's limit for a turn, in milliseconds.
    pub limit_ms: Option<u64>,
    /// After how much silence a person is told, in milliseconds.
    pub quiet_after_ms: Option<u64>,
}

/// Looks at the configuration and for Codex, as they are now.
pub type Surroundings =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Ready, Problem>> + Send>> + Send + Sync>;

/// The way to the engine.
pub struct Door {
    launcher: Launcher,
    surroundings: Surroundings,
    started_in: PathBuf,
    name: Option<String>,
}

impl Door {
    /// A door to the engine that `launcher` brings up, in the directory that the client was started in.
    pub fn new(launcher: Launcher, surroundings: Surroundings, started_in: PathBuf) -> Self {
        Self { launcher, surroundings, started_in, name: None }
    }

    /// Whoever comes is called this, whatever it says.
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

    /// What holds for a new turn; a problem if there is no Codex.
    pub(super) async fn ready(&self) -> Result<Ready, Problem> {
        (self.surroundings)().await
    }

    /// Where the client was started.
    pub(super) fn started_in(&self) -> &Path {
        &self.started_in
    }

    /// A path as it is meant there.
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
