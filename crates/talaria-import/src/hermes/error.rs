//! Why an import failed. Nothing was changed, unless it says so.

use std::io;
use std::path::PathBuf;

use super::config::BadYaml;
use talaria_core::config::ConfigProblem;
use talaria_core::next_step::NextStep;

use talaria_home::home::HomeError;
use talaria_home::user_file::UserFileError;

/// Why an import stopped.
#[derive(Debug, thiserror::Error)]
pub enum HermesError {
    /// The location of Hermes is unknown.
    #[error("cannot find Hermes's home: none of --home, HERMES_HOME and HOME is set")]
    Unset,
    /// There is nothing.
    #[error("there is no directory {}", .0.display())]
    NoHome(PathBuf),
    /// There is nothing of Hermes in it.
    #[error("{} is no home of Hermes: it has none of config.yaml, state.db, memories and skills", .0.display())]
    Foreign(PathBuf),
    /// It would be its own import.
    #[error("{} is Talaria's own home", .0.display())]
    Itself(PathBuf),
    /// Its configuration is not YAML.
    #[error("{}: {bad}", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// Where and why.
        bad: BadYaml,
    },
    /// Talaria's own configuration is not TOML.
    #[error("{}: {}", .0.display(), .1)]
    Own(PathBuf, Box<ConfigProblem>),
    /// A file of Hermes or of the person.
    #[error(transparent)]
    File(#[from] UserFileError),
    /// Talaria's home.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Another import is running.
    #[error("another import is running")]
    Busy,
    /// Something could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The note of an earlier import cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is nothing to take back.
    #[error("nothing that was imported from Hermes is left to take back")]
    NothingToUndo,
}

impl HermesError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::Unset | Self::NoHome(_) | Self::Foreign(_) => {
                "name it with --home; as a rule it is ~/.hermes, and profiles are in ~/.hermes/profiles/NAME"
            }
            Self::Itself(_) => "name Hermes's home with --home",
            Self::Yaml { .. } => "correct that line and run the command again; nothing was changed",
            Self::Own(..) => "correct that line, or move the file away; nothing was changed",
            Self::File(error) => return error.next_step(),
            Self::Home(error) => return error.next_step(),
            Self::Busy => "wait until it is done, then run the command again",
            Self::Write { .. } => {
                "make room or see to the permissions, then run the command again: it continues where it stopped"
            }
            Self::Record { .. } => "move the file away; what it was about can then not be taken back",
            Self::NothingToUndo => "see what there is: talaria config get, talaria sessions list",
        };
        text.into()
    }

    /// Returns whether the cause is what the user typed, or a file that the user wrote.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Unset
                | Self::NoHome(_)
                | Self::Foreign(_)
                | Self::Itself(_)
                | Self::Yaml { .. }
                | Self::Own(..)
        )
    }
}
