//! Why something could not be imported. The other program's files are unchanged in every case.

use std::path::PathBuf;

use talaria_core::api::{Problem, ProblemCode};
use talaria_core::next_step::NextStep;
use talaria_store::StoreError;

/// The program that a database belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceProgram {
    /// The old bridge.
    Bridge,
    /// Hermes.
    Hermes,
}

impl SourceProgram {
    fn database(self) -> &'static str {
        match self {
            Self::Bridge => "database of the codex bridge",
            Self::Hermes => "database of Hermes",
        }
    }
}

/// Why a database of another program could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// There is nothing.
    #[error("there is no file {}", path.display())]
    NotThere {
        /// The file.
        path: PathBuf,
        /// Whose it should have been.
        program: SourceProgram,
    },
    /// It is no file, or the system does not let us read it, or another program has locked it.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        why: String,
    },
    /// It is something else.
    #[error("{} is no {}: {why}", path.display(), program.database())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it should have been.
        program: SourceProgram,
        /// What shows that.
        why: String,
    },
    /// It is damaged.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
}

impl DatabaseError {
    /// Next step for the user.
    pub fn next_step(&self) -> NextStep {
        NextStep::from(match self {
            Self::NotThere { program, .. } | Self::Foreign { program, .. } => match program {
                SourceProgram::Bridge => {
                    "pass the path of the old `codex_bridge.db`; as a rule it is in ~/.hermes"
                }
                SourceProgram::Hermes => {
                    "name the home of Hermes with --home; its conversations are in state.db there"
                }
            },
            Self::Unreadable { .. } => "end the program that has the file open, and see that you may read it",
            Self::Damaged { .. } => "restore the file from a backup, or mend it with `sqlite3 FILE .recover`",
        })
    }
}

/// Why an import, or a page of it, failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The request is not valid.
    #[error("{0}")]
    BadRequest(String),
    /// The other program's database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// Our own store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ImportError {
    /// The error as the API reports it. `of_store` reports an error of the store, as the engine does everywhere else.
    pub fn problem(&self, of_store: impl FnOnce(&StoreError) -> Problem) -> Problem {
        match self {
            Self::BadRequest(message) => Problem::new(ProblemCode::BadRequest, message.as_str()),
            Self::Database(error) => {
                Problem::new(ProblemCode::BadRequest, error.to_string()).next(error.next_step())
            }
            Self::Store(error) => of_store(error),
        }
    }
}
