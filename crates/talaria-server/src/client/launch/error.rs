//! Why there is no engine to talk to.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use talaria_core::next_step::NextStep;

use crate::client::ClientError;

/// Why there is no engine to talk to.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program could not be run.
    #[error("cannot start the engine {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The home cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Home {
        /// The file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// It ended at once.
    #[error("the engine ended while it started ({status}){end}")]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// Where it says why.
        log: PathBuf,
        /// The end of that.
        end: String,
    },
    /// It does not answer.
    #[error("the engine did not answer within {seconds} seconds after its start{end}")]
    Silent {
        /// How long it was waited for.
        seconds: u64,
        /// Where it says why.
        log: PathBuf,
        /// The end of that.
        end: String,
    },
    /// An older engine was asked to end and did not.
    #[error("the engine (process {pid}) was asked to end and still runs after {seconds} seconds")]
    DoesNotEnd {
        /// Its process.
        pid: u32,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A newer engine speaks another API.
    #[error(
        "the engine (process {pid}) is Talaria {version} and speaks API {api}; this command speaks {own}"
    )]
    OtherApi {
        /// The engine's version of Talaria.
        version: String,
        /// Its process.
        pid: u32,
        /// The API that it speaks.
        api: u32,
        /// The API of this command.
        own: u32,
    },
    /// There is an engine, and it cannot be used.
    #[error(transparent)]
    Engine(Box<ClientError>),
}

impl LaunchError {
    /// What to do next, if there is something.
    pub fn next_step(&self) -> Option<NextStep> {
        let text = match self {
            Self::Start { .. } => "reinstall Talaria: its program file cannot be run".to_owned(),
            Self::Home { .. } => "set TALARIA_HOME to a directory that you may write".to_owned(),
            Self::Ended { log, .. } | Self::Silent { log, .. } => {
                format!("read {}, or run the engine in the foreground: talaria serve", log.display())
            }
            Self::DoesNotEnd { pid, .. } => format!("end it: kill {pid}"),
            Self::OtherApi { version, .. } => {
                format!("use Talaria {version}, or end that engine with it: talaria stop")
            }
            Self::Engine(error) => return error.next_step(),
        };
        Some(text.into())
    }
}
