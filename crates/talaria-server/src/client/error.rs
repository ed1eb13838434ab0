//! Why a command did not get what it asked the engine for.

use std::io;
use std::path::PathBuf;

use talaria_core::api::Problem;
use talaria_core::next_step::NextStep;

use crate::client::launch::LaunchError;

/// Why a command did not get what it asked for; one variant for each thing that it would do next.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The engine said no.
    #[error("{0}")]
    Problem(Problem),
    /// No one listens: nothing was sent.
    #[error("no engine runs for this home")]
    NotRunning,
    /// A person stopped the engine, and this client does not start another one.
    #[error("the engine was stopped")]
    Stopped,
    /// The socket is not ours to use.
    #[error("{} cannot be used: {why}", socket.display())]
    Refused {
        /// The socket.
        socket: PathBuf,
        /// Why.
        why: String,
    },
    /// The connection broke, or the response is invalid. It is unknown whether the engine handled the request.
    #[error("the connection to the engine broke: {0}")]
    Broken(String),
    /// The engine speaks another version of the API.
    #[error("the engine is Talaria {version} and speaks API {api}; this command speaks {own}")]
    Version {
        /// The engine's version of Talaria.
        version: String,
        /// The API that it speaks.
        api: u32,
        /// The API of this command.
        own: u32,
    },
    /// The engine had to be started, and that failed.
    #[error(transparent)]
    Launch(Box<LaunchError>),
}

impl ClientError {
    /// What to do next, if there is something.
    pub fn next_step(&self) -> Option<NextStep> {
        match self {
            Self::Problem(problem) => problem.advice(),
            Self::NotRunning => Some(NextStep::StartEngine),
            Self::Stopped => Some(NextStep::RestartEngine),
            Self::Refused { .. } => Some("set TALARIA_HOME to a directory of your own".into()),
            Self::Broken(_) => Some(NextStep::CheckEngine),
            Self::Version { .. } => Some(
                "use the newer talaria, or end the engine with the talaria that started it: talaria stop"
                    .into(),
            ),
            Self::Launch(error) => error.next_step(),
        }
    }

    /// Can the same thing be asked again soon, because the engine is away for a moment?
    pub(crate) fn is_passing(&self) -> bool {
        use talaria_core::api::ProblemCode::{Overloaded, Stopping};
        match self {
            Self::NotRunning | Self::Broken(_) => true,
            Self::Problem(problem) => matches!(problem.code, Stopping | Overloaded),
            Self::Stopped | Self::Refused { .. } | Self::Version { .. } | Self::Launch(_) => false,
        }
    }
}

impl From<LaunchError> for ClientError {
    fn from(error: LaunchError) -> Self {
        Self::Launch(Box::new(error))
    }
}

impl From<hyper::Error> for ClientError {
    fn from(error: hyper::Error) -> Self {
        // It was closed before anything was sent.
        if error.is_canceled() {
            return Self::Broken("it was closed at once".to_owned());
        }
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::Broken(format!("{error}{cause}"))
    }
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}
