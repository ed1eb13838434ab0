//! Why the store did not do what it was asked. One variant per decision that the caller can take.
//!
//! `StoreError` is what an open store returns, `StoreOpenError` (in `open_error`) why it could not be opened. A backend
//! converts what its database says. Errors are cloned: a commit that fails fails for every write in it.

use talaria_core::ids::SessionId;
use talaria_core::next_step::NextStep;

/// Why a write or a read failed. After an error nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another engine holds the session, or none does. Stop acting on it.
    #[error("this engine (epoch {epoch}) does not hold the session {session}: {}", holder(.held.as_ref()))]
    Fenced {
        /// The session.
        session: SessionId,
        /// The epoch of who wanted to write.
        epoch: i64,
        /// Epoch and owner of the lease, if there is one.
        held: Option<(i64, String)>,
    },
    /// There is no such session.
    #[error("there is no session {0}")]
    UnknownSession(SessionId),
    /// The write contradicts the stored rows. A mistake of the caller.
    #[error("this contradicts the stored data: {0}")]
    Conflict(String),
    /// The disk is full. Nothing was changed; later writes work when there is room.
    #[error("the disk is full")]
    Full,
    /// Another program, or this one, used the database for longer than we wait.
    #[error("the database is busy")]
    Busy,
    /// The database cannot be written any more.
    #[error("the database is read-only: {0}")]
    ReadOnly(String),
    /// The system failed to read or write.
    #[error("reading or writing the database failed: {0}")]
    Io(String),
    /// The file was moved, replaced or deleted while it was open. Further writes would be lost.
    #[error("the file of the database was moved or deleted while it was open")]
    Moved,
    /// The database is damaged.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// A row contains a value that this version cannot read.
    #[error("cannot read the stored data: {0}")]
    Unreadable(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// SQLite refused for another reason.
    #[error("the database refused: {0}")]
    Refused(String),
}

fn holder(held: Option<&(i64, String)>) -> String {
    match held {
        Some((epoch, owner)) => format!("{owner} holds it (epoch {epoch})"),
        None => "no engine holds it".to_owned(),
    }
}

impl StoreError {
    /// Returns whether the same call may succeed later.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Full | Self::Busy | Self::Io(_) | Self::ReadOnly(_))
    }

    /// Next step for the user.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            // To delete rows needs room as well.
            Self::Full => "make room on the disk, then try again",
            Self::Busy => "try again; if it stays busy, end other programs that have the database open",
            Self::ReadOnly(_) => {
                "make the home writable, or set TALARIA_HOME to a directory that you can write"
            }
            Self::Io(_) => "check the disk, the permissions of the home and the free memory, then try again",
            Self::Moved => "put the file back, then run `talaria stop` and try again",
            Self::Corrupt(_) => {
                "run `talaria stop`, then try again: the file is checked, and copied if it is damaged"
            }
            Self::UnknownSession(_) => return NextStep::FindConversation,
            Self::Fenced { .. } | Self::Closed => "try again: the engine that is in charge answers",
            Self::Conflict(_) | Self::Unreadable(_) | Self::Refused(_) => {
                "this is a bug, or a newer Talaria wrote the database: run `talaria doctor`"
            }
        };
        text.into()
    }

    /// Returns whether only this write is at fault, so that others in the same commit may still succeed.
    pub(crate) fn is_of_one_write(&self) -> bool {
        matches!(
            self,
            Self::Fenced { .. } | Self::UnknownSession(_) | Self::Conflict(_) | Self::Unreadable(_)
        )
    }
}
