//! What proposals about memory and skills have in common: they wait for a person, are decided once, and say who made them.
//!
//! Called inside the transaction that makes what was proposed.

use sqlx::Row as _;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::origin::ChangeOrigin;
use crate::model::words::Word;
use crate::sqlite::rows::{self, FromRow};

#[derive(Clone, Copy)]
pub(crate) enum ProposalTable {
    Memory,
    Skill,
}

impl ProposalTable {
    fn select_state(self) -> &'static str {
        match self {
            Self::Memory => "select state from memory_proposal where id = $1",
            Self::Skill => "select state from skill_proposal where id = $1",
        }
    }

    fn update_state(self) -> &'static str {
        match self {
            Self::Memory => "update memory_proposal set state = $2, decided_at = $3 where id = $1",
            Self::Skill => "update skill_proposal set state = $2, decided_at = $3 where id = $1",
        }
    }

    /// Returns the state of a proposal.
    pub(crate) async fn state<S: Word>(self, conn: &mut SqliteConnection, id: &str) -> Result<S, StoreError> {
        let found = sqlx::query(self.select_state()).bind(id).fetch_optional(conn).await?;
        let row = found.ok_or_else(|| StoreError::Conflict(format!("there is no proposal {id}")))?;
        rows::word(&row, "state")
    }

    /// Records how a proposal was decided.
    pub(crate) async fn decide(
        self,
        conn: &mut SqliteConnection,
        id: &str,
        state: impl Word,
        at: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(self.update_state()).bind(id).bind(state.word()).bind(at).execute(conn).await?;
        Ok(())
    }
}

impl<A: Word> FromRow for ChangeOrigin<A> {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            author: rows::word(row, "author")?,
            session: rows::id(row, "session", SessionId::new)?,
            turn: row.try_get("turn")?,
            call: row.try_get("call")?,
        })
    }
}

/// Binds author, session, turn and call, in this order.
pub(crate) fn bind_origin<'q, A: Word + Copy>(
    query: Query<'q, Sqlite, SqliteArguments>,
    origin: &ChangeOrigin<A>,
) -> Query<'q, Sqlite, SqliteArguments> {
    query
        .bind(origin.author.word())
        .bind(origin.session.as_ref().map(|session| session.as_str().to_owned()))
        .bind(origin.turn.clone())
        .bind(origin.call.clone())
}
