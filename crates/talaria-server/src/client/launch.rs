//! Finding the engine of a home, or starting it: what every command does first.
//!
//! At most one engine serves a home; the engine itself ensures that (`engine.lock`). One that finds the home taken
//! ends with the exit code [`HELD`], and its starter connects to the other. A command that is newer than the engine
//! replaces it: the engine is asked to end and leaves its turns running, which the next one resumes.

mod error;
mod log;
mod process;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use talaria_core::api::{self, EngineInfo, Stop};
use talaria_core::version::Version;
use talaria_engine::engine::is_at_rest;
use tokio::time::Instant;

pub use error::LaunchError;
pub use process::is_running;

use crate::client::{Client, ClientError};
use crate::socket_path;
use log::Log;
use process::Started;

/// Exit code of an engine whose home is locked by another one.
pub const HELD: u8 = 75;

/// How long an engine may take to answer after its start.
const START: Duration = Duration::from_secs(15);
/// How long an engine that was asked to end may take.
const END: Duration = Duration::from_secs(15);
/// How often it is checked whether another process answers or has ended: neither a socket nor a process that is no child of
/// ours notifies of that.
const LOOK: Duration = Duration::from_millis(10);
/// How long an engine that found the home taken is left alone before the next one is started.
const HELD_PAUSE: Duration = Duration::from_millis(300);
/// How often one command replaces the engine: a service manager may start the old program again.
const REPLACEMENTS: usize = 2;

/// Which build of Talaria something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// The version.
    pub version: String,
    /// When its program file was made, in milliseconds since 1970.
    pub build: i64,
}

impl Build {
    /// Whether this is a later build than the engine's. An invalid version is never newer.
    fn is_newer_than(&self, engine: &EngineInfo) -> bool {
        let own = (self.version.parse::<Version>().ok(), self.build);
        own > (engine.version.parse().ok(), engine.build)
    }
}

/// Data for starting the engine of one home.
#[derive(Clone, Debug)]
pub struct Launcher {
    home: PathBuf,
    program: PathBuf,
    arguments: Vec<OsString>,
    own: Build,
}

/// Finds the engine of `home`, or starts `program` as one, and returns a client that can do so again.
pub async fn ensure(home: &Path, program: &Path, own: Build) -> Result<Client, LaunchError> {
    Launcher::new(home, program, own).ensure().await
}

impl Launcher {
    /// Starts the engine of `home` with `program serve --detached`.
    pub fn new(home: &Path, program: &Path, own: Build) -> Self {
        let arguments = vec!["serve".into(), "--detached".into()];
        // The engine works in another directory than this process.
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        Self { home, program: program.to_owned(), arguments, own }
    }

    /// Starts the program with these arguments instead.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl IntoIterator<Item = OsString>) -> Self {
        self.arguments = arguments.into_iter().collect();
        self
    }

    /// The home of the engine.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Did a person stop the last engine of this home?
    pub(crate) fn is_at_rest(&self) -> bool {
        is_at_rest(&self.home)
    }

    /// Finds the engine, replaces it if it is older, or starts one.
    ///
    /// Takes at most about half a minute. When this is cancelled, an engine that was started keeps coming up.
    pub async fn ensure(&self) -> Result<Client, LaunchError> {
        for _ in 0..REPLACEMENTS {
            let engine = self.find_or_start().await?;
            if !self.own.is_newer_than(engine.engine()) {
                return self.accept(engine);
            }
            self.replace(&engine).await?;
        }
        let engine = self.find_or_start().await?;
        self.accept(engine)
    }

    fn accept(&self, engine: Client) -> Result<Client, LaunchError> {
        let info = engine.engine().clone();
        match engine.understood() {
            Ok(engine) => Ok(engine.launched_by(Arc::new(self.clone()))),
            Err(_) => Err(LaunchError::OtherApi {
                version: info.version,
                pid: info.pid,
                api: info.api,
                own: api::VERSION,
            }),
        }
    }

    async fn find_or_start(&self) -> Result<Client, LaunchError> {
        let socket = socket_path(&self.home);
        if let Some(engine) = usable_engine(Client::knock(&socket).await)? {
            return Ok(engine);
        }
        let until = Instant::now() + START;
        let log = Log::open(&self.home)?;
        let mut started = self.start(&log)?;
        loop {
            if let Some(engine) = usable_engine(Client::knock(&socket).await)? {
                return Ok(engine);
            }
            if let Some(status) = started.exit_status() {
                if status.code() != Some(i32::from(HELD)) {
                    // Someone else may have been faster.
                    let other = usable_engine(Client::knock(&socket).await)?;
                    let ended = || LaunchError::Ended { status, log: log.path(), end: log.end() };
                    return other.ok_or_else(ended);
                }
                // The engine that holds the home is starting, and will answer, or is ending, and will release
                // it.
                if started.since_end() > HELD_PAUSE {
                    started = self.start(&log)?;
                }
            }
            if Instant::now() >= until {
                return Err(LaunchError::Silent {
                    seconds: START.as_secs(),
                    log: log.path(),
                    end: log.end(),
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn start(&self, log: &Log) -> Result<Started, LaunchError> {
        Started::start(&self.program, &self.arguments, &self.home, log)
            .map_err(|source| LaunchError::Start { program: self.program.clone(), source })
    }

    /// Asks an older engine to end and leave its turns running, and waits until it is gone.
    async fn replace(&self, engine: &Client) -> Result<(), LaunchError> {
        match engine.stop(Stop { keep_turns: true, stay_down: false }).await {
            // It may have ended for another reason, or another command was first.
            Ok(_) => {}
            Err(error) if error.is_passing() => {}
            Err(error) => return Err(LaunchError::Engine(Box::new(error))),
        }
        let pid = engine.engine().pid;
        let until = Instant::now() + END;
        while is_running(pid) {
            // Where the number means someone else, for example in another container, the socket decides.
            let other = Client::knock(engine.socket()).await;
            if other.is_ok_and(|other| other.engine() != engine.engine()) {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(LaunchError::DoesNotEnd { pid, seconds: END.as_secs() });
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

/// Distinguishes a missing or ending engine from one that cannot be used.
fn usable_engine(knocked: Result<Client, ClientError>) -> Result<Option<Client>, LaunchError> {
    match knocked {
        Ok(engine) => Ok(Some(engine)),
        Err(error) if error.is_passing() => Ok(None),
        Err(error) => Err(LaunchError::Engine(Box::new(error))),
    }
}
