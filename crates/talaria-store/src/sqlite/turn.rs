//! Turns: the ledger of what was sent to Codex and what became of it.
//!
//! The sealed input is erased as soon as Codex has it or the turn is settled.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::{SessionId, TurnId};

use crate::error::StoreError;
use crate::model::session::SessionRow;
use crate::model::turn::{NewTurnRow, TurnPatch, TurnRow};
use crate::model::words::Word;
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for TurnRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            session: SessionId::new(row.try_get::<String, _>("session")?),
            ordinal: row.try_get("ordinal")?,
            stage: rows::word(row, "stage")?,
            client_id: row.try_get("client_id")?,
            after_turn: rows::id(row, "after_turn", TurnId::new)?,
            codex_turn: rows::id(row, "codex_turn", TurnId::new)?,
            input_sealed: row.try_get("input_sealed")?,
            input_text: row.try_get("input_text")?,
            limit_ms: row.try_get("limit_ms")?,
            ours: row.try_get("ours")?,
            outcome: row.try_get("outcome")?,
            outcome_kind: row.try_get("outcome_kind")?,
            code: row.try_get("code")?,
            usage: row.try_get("usage")?,
            first_seq: row.try_get("first_seq")?,
            created_at: row.try_get("created_at")?,
            sent_at: row.try_get("sent_at")?,
            accepted_at: row.try_get("accepted_at")?,
            settled_at: row.try_get("settled_at")?,
            is_plain: row.try_get("is_plain")?,
            undone_at: row.try_get("undone_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn turn(
        &self,
        session: &SessionId,
        ordinal: i64,
    ) -> Result<Option<TurnRow>, StoreError> {
        let found = sqlx::query("select * from turn where session = $1 and ordinal = $2")
            .bind(session.as_str())
            .bind(ordinal)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn last_turns(
        &self,
        session: &SessionId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<TurnRow>, StoreError> {
        let mut found = sqlx::query(
            "select * from turn where session = $1 and ordinal < $2 order by ordinal desc limit $3",
        )
        .bind(session.as_str())
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        found.reverse();
        rows::all(&found)
    }

    pub(crate) async fn next_unsettled(&self, session: &SessionId) -> Result<Option<TurnRow>, StoreError> {
        let found = sqlx::query(
            "select * from turn where session = $1 and stage <> 'settled' order by ordinal limit 1",
        )
        .bind(session.as_str())
        .fetch_optional(self.readers())
        .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn undone_turns(&self, session: &SessionId) -> Result<Vec<i64>, StoreError> {
        let found = sqlx::query(
            "select ordinal from turn where session = $1 and undone_at is not null order by ordinal",
        )
        .bind(session.as_str())
        .fetch_all(self.readers())
        .await?;
        found.iter().map(|row| Ok(row.try_get("ordinal")?)).collect()
    }

    pub(crate) async fn unsettled(&self) -> Result<Vec<(SessionRow, TurnRow)>, StoreError> {
        let turns =
            sqlx::query("select * from turn where stage <> 'settled' order by created_at, session, ordinal")
                .fetch_all(self.readers())
                .await?;
        let mut found = Vec::with_capacity(turns.len());
        for turn in rows::all::<TurnRow>(&turns)? {
            if let Some(session) = self.session(&turn.session).await? {
                found.push((session, turn));
            }
        }
        Ok(found)
    }
}

/// Inserts a new turn.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    first_seq: i64,
    turn: NewTurnRow,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into turn (session, ordinal, stage, client_id, after_turn, input_sealed, input_text, limit_ms, ours,
                           first_seq, created_at, is_plain)
         values ($1, $2, 'prepared', $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(session.as_str())
    .bind(turn.ordinal)
    .bind(turn.client_id)
    .bind(turn.after_turn.map(|id| id.to_string()))
    .bind(turn.input_sealed)
    .bind(turn.input_text)
    .bind(turn.limit_ms)
    .bind(turn.ours)
    .bind(first_seq)
    .bind(at)
    .bind(turn.is_plain)
    .execute(conn)
    .await?;
    Ok(())
}

/// Withdraws the unsent turns after this one.
pub(crate) async fn withdraw_after(
    conn: &mut SqliteConnection,
    session: &SessionId,
    after: i64,
) -> Result<(), StoreError> {
    sqlx::query("delete from turn where session = $1 and ordinal > $2 and stage = 'prepared'")
        .bind(session.as_str())
        .bind(after)
        .execute(conn)
        .await?;
    Ok(())
}

/// Updates an existing turn.
pub(crate) async fn update(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    patch: TurnPatch,
) -> Result<(), StoreError> {
    let ordinal = patch.ordinal;
    let done = sqlx::query(
        "update turn set
             stage = coalesce($3, stage),
             after_turn = coalesce($4, after_turn),
             codex_turn = coalesce($5, codex_turn),
             outcome = coalesce($6, outcome),
             outcome_kind = coalesce($7, outcome_kind),
             code = coalesce($8, code),
             usage = coalesce($9, usage),
             sent_at = case when $3 = 'sent' then $10 else sent_at end,
             accepted_at = case when $3 = 'accepted' then $10 else accepted_at end,
             settled_at = case when $3 = 'settled' then $10 else settled_at end,
             input_sealed = case
                 when $3 in ('accepted', 'settled') or accepted_at is not null or settled_at is not null then null
                 else coalesce($11, input_sealed) end
         where session = $1 and ordinal = $2",
    )
    .bind(session.as_str())
    .bind(ordinal)
    .bind(patch.stage.map(Word::word))
    .bind(patch.after_turn.map(|id| id.to_string()))
    .bind(patch.codex_turn.map(|id| id.to_string()))
    .bind(patch.outcome)
    .bind(patch.outcome_kind)
    .bind(patch.code)
    .bind(patch.usage)
    .bind(at)
    .bind(patch.input_sealed)
    .execute(conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(StoreError::Conflict(format!("session {session} has no turn {ordinal}")));
    }
    Ok(())
}

/// Marks the last turn as undone. A conflict if another one is the last, a turn runs, or it was undone before.
pub(crate) async fn undo(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    ordinal: i64,
) -> Result<(), StoreError> {
    let done = sqlx::query(
        "update turn set undone_at = $3
         where session = $1 and ordinal = $2
           and ordinal = (select max(ordinal) from turn where session = $1 and undone_at is null)
           and not exists (select 1 from turn where session = $1 and stage <> 'settled')",
    )
    .bind(session.as_str())
    .bind(ordinal)
    .bind(at)
    .execute(conn)
    .await?;
    if done.rows_affected() == 0 {
        let message =
            format!("turn {ordinal} of the session {session} is not its last finished one any more");
        return Err(StoreError::Conflict(message));
    }
    Ok(())
}
