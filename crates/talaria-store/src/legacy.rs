//! What other programs kept: the tasks of the old bridge (`codex_bridge.db`: `read`, `import`) and the conversations of
//! Hermes (`state.db`: `hermes`), and how they become ours.
//!
//! The file is somebody else's: it is opened read-only, and whatever is in it is taken as text of unknown origin. It
//! may be older than its last columns, in use, damaged, or something else altogether. Called by the engine when a
//! person asks for an import.

mod file;
pub mod hermes;
mod import;
mod read;

use std::io;
use std::path::PathBuf;

pub use import::Imported;
pub use read::read;

/// A task as the old bridge left it. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegacyTask {
    /// Its name.
    pub id: String,
    /// How far it was, in the bridge's word.
    pub status: String,
    /// The beginning of the prompt: more was never kept.
    pub prompt: Option<String>,
    /// Where it worked.
    pub cwd: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What the bridge took for the result; as a rule ids and times, not the answer.
    pub final_summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// Whom to tell.
    pub notify: Option<String>,
    /// When it was made.
    pub created_at: Option<i64>,
    /// When it last changed.
    pub updated_at: Option<i64>,
    /// When it ended.
    pub completed_at: Option<i64>,
    /// What the model said, in order, out of the events.
    pub said: Vec<String>,
    /// Requests that nobody answered.
    pub open_requests: usize,
}

/// Whose database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The old bridge.
    Bridge,
    /// Hermes.
    Hermes,
}

impl Program {
    fn database(self) -> &'static str {
        match self {
            Self::Bridge => "database of the codex bridge",
            Self::Hermes => "database of Hermes",
        }
    }
}

/// Why a database of another program could not be read. The file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum LegacyError {
    /// There is nothing.
    #[error("there is no file {}", path.display())]
    NotThere {
        /// The file.
        path: PathBuf,
        /// Whose it should have been.
        program: Program,
    },
    /// It is no file, or the system does not let us read it, or somebody has locked it.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// It is something else.
    #[error("{} is no {}: {why}", path.display(), program.database())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it should have been.
        program: Program,
        /// By what one sees that.
        why: String,
    },
    /// It is damaged.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl LegacyError {
    /// What a person can do about it.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::NotThere { program, .. } | Self::Foreign { program, .. } => match program {
                Program::Bridge => "give the path of the old `codex_bridge.db`; as a rule it is in ~/.hermes",
                Program::Hermes => {
                    "name the home of Hermes with --home; its conversations are in state.db there"
                }
            },
            Self::Unreadable { .. } => "end the program that has the file open, and see that you may read it",
            Self::Damaged { .. } => "restore the file from a backup, or mend it with `sqlite3 FILE .recover`",
        }
    }

    fn of_io(file: file::File<'_>, error: &io::Error) -> Self {
        let path = file.path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotThere { path, program: file.program },
            _ => Self::Unreadable { path, why: error.to_string() },
        }
    }
}
