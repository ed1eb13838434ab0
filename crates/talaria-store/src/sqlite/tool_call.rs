//! The call ledger: one row for each call of our tools. A call begins to run once; one that only reads may run again after its
//! engine died. A call with an effect record stays `running` when its engine dies, until the next engine settles it; any other
//! becomes unknown.
//!
//! A sealed result is erased when the runtime has it, or when the turn is over. A transition that is not allowed is a
//! conflict: the caller reads the row again and decides again.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::{ItemId, SessionId, ThreadId, TurnId};
use talaria_core::tool::ToolEffect;

use crate::error::StoreError;
use crate::model::batch::Batch;
use crate::model::tool_call::{NewToolCall, ToolCallKey, ToolCallRow, ToolCallStep};
use crate::model::words::Word as _;
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for ToolCallRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let effect = |changes: bool| if changes { ToolEffect::Changes } else { ToolEffect::Reads };
        Ok(Self {
            key: ToolCallKey {
                thread: ThreadId::new(row.try_get::<String, _>("thread")?),
                turn: TurnId::new(row.try_get::<String, _>("turn")?),
                call: ItemId::new(row.try_get::<String, _>("call_id")?),
            },
            session: SessionId::new(row.try_get::<String, _>("session")?),
            ordinal: row.try_get("ordinal")?,
            tool: row.try_get("tool")?,
            contract: row.try_get("contract")?,
            arguments: row.try_get("arguments")?,
            state: rows::word(row, "state")?,
            effect: row.try_get::<Option<bool>, _>("changes")?.map(effect),
            effect_record: row.try_get("effect_record")?,
            epoch: row.try_get("epoch")?,
            runs: row.try_get("runs")?,
            result_sealed: row.try_get("result_sealed")?,
            offered_at: row.try_get("offered_at")?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
            delivered_at: row.try_get("delivered_at")?,
            closed_at: row.try_get("closed_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn tool_call(&self, key: &ToolCallKey) -> Result<Option<ToolCallRow>, StoreError> {
        let found = sqlx::query("select * from tool_call where thread = $1 and turn = $2 and call_id = $3")
            .bind(key.thread.as_str())
            .bind(key.turn.as_str())
            .bind(key.call.as_str())
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn tool_calls(&self, session: &SessionId) -> Result<Vec<ToolCallRow>, StoreError> {
        let found = sqlx::query(
            "select * from tool_call where session = $1 order by ordinal, offered_at, thread, turn, call_id",
        )
        .bind(session.as_str())
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn unsettled_tool_calls(&self, epoch: i64) -> Result<Vec<ToolCallRow>, StoreError> {
        let found = sqlx::query(
            "select * from tool_call where state = 'running' and epoch < $1 and effect_record is not null
             order by session, ordinal, started_at, thread, turn, call_id",
        )
        .bind(epoch)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn effect_records(&self) -> Result<Vec<(Option<i64>, Vec<u8>)>, StoreError> {
        let found =
            sqlx::query("select closed_at, effect_record from tool_call where effect_record is not null")
                .fetch_all(self.readers())
                .await?;
        found.iter().map(|row| Ok((row.try_get("closed_at")?, row.try_get("effect_record")?))).collect()
    }

    pub(crate) async fn abandon_tool_calls(&self, epoch: i64, at: i64) -> Result<u64, StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update tool_call set state = 'unknown', ended_at = $2
                     where state = 'running' and epoch < $1 and effect_record is null",
                )
                .bind(epoch)
                .bind(at)
                .execute(conn)
                .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }
}

/// Inserts a new call. An existing one is unchanged.
pub(crate) async fn offer(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    call: NewToolCall,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into tool_call (thread, turn, call_id, session, ordinal, tool, contract, arguments, state, offered_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'offered', $9)
         on conflict (thread, turn, call_id) do nothing",
    )
    .bind(call.key.thread.as_str())
    .bind(call.key.turn.as_str())
    .bind(call.key.call.as_str())
    .bind(session.as_str())
    .bind(call.ordinal)
    .bind(call.tool)
    .bind(call.contract)
    .bind(call.arguments)
    .bind(at)
    .execute(conn)
    .await?;
    Ok(())
}

/// Moves a call on, if that is allowed.
pub(crate) async fn step(
    conn: &mut SqliteConnection,
    batch: &Batch,
    key: ToolCallKey,
    step: ToolCallStep,
) -> Result<(), StoreError> {
    let word = match &step {
        ToolCallStep::Run { .. } => "run",
        ToolCallStep::Decline { .. } => "be declined",
        ToolCallStep::End { .. } => "end",
        ToolCallStep::Settle { .. } => "be settled",
    };
    let query = match step {
        // `epoch < $5`: a call that this engine runs is not started a second time.
        ToolCallStep::Run { effect, effect_record } => sqlx::query(
            "update tool_call set state = 'running', changes = $6, epoch = $5, runs = runs + 1, started_at = $7,
                 effect_record = $8, ended_at = null, delivered_at = null, result_sealed = null
             where thread = $1 and turn = $2 and call_id = $3 and session = $4
                 and (state = 'offered'
                      or changes = 0 and $6 = 0 and (state <> 'running' or epoch < $5))",
        )
        .bind(key.thread.as_str().to_owned())
        .bind(key.turn.as_str().to_owned())
        .bind(key.call.as_str().to_owned())
        .bind(batch.session.as_str())
        .bind(batch.epoch)
        .bind(effect == ToolEffect::Changes)
        .bind(batch.at)
        .bind(effect_record),
        ToolCallStep::Decline { result_sealed } => sqlx::query(
            "update tool_call set state = 'failed', epoch = $5, ended_at = $6, delivered_at = null,
                 result_sealed = case when closed_at is null then $7 end
             where thread = $1 and turn = $2 and call_id = $3 and session = $4
                 and (state = 'offered' or changes = 0 and (state <> 'running' or epoch < $5))",
        )
        .bind(key.thread.as_str().to_owned())
        .bind(key.turn.as_str().to_owned())
        .bind(key.call.as_str().to_owned())
        .bind(batch.session.as_str())
        .bind(batch.epoch)
        .bind(batch.at)
        .bind(result_sealed),
        ToolCallStep::End { state, result_sealed } => sqlx::query(
            "update tool_call set state = $6, ended_at = $7,
                 result_sealed = case when closed_at is null then $8 end
             where thread = $1 and turn = $2 and call_id = $3 and session = $4
                 and state = 'running' and epoch = $5",
        )
        .bind(key.thread.as_str().to_owned())
        .bind(key.turn.as_str().to_owned())
        .bind(key.call.as_str().to_owned())
        .bind(batch.session.as_str())
        .bind(batch.epoch)
        .bind(state.word())
        .bind(batch.at)
        .bind(result_sealed),
        // The epoch stays: it names the engine that ran the call.
        ToolCallStep::Settle { state, result_sealed } => sqlx::query(
            "update tool_call set state = $6, ended_at = $7,
                 result_sealed = case when closed_at is null then $8 end
             where thread = $1 and turn = $2 and call_id = $3 and session = $4
                 and state = 'running' and epoch < $5 and effect_record is not null
                 and $6 in ('done', 'failed', 'unknown')",
        )
        .bind(key.thread.as_str().to_owned())
        .bind(key.turn.as_str().to_owned())
        .bind(key.call.as_str().to_owned())
        .bind(batch.session.as_str())
        .bind(batch.epoch)
        .bind(state.word())
        .bind(batch.at)
        .bind(result_sealed),
    };
    if query.execute(conn).await?.rows_affected() == 0 {
        return Err(StoreError::Conflict(format!("the call {} cannot {word} now", key.call)));
    }
    Ok(())
}

/// Erases the stored result of a call that has ended: the runtime has it.
pub(crate) async fn deliver(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    key: ToolCallKey,
) -> Result<(), StoreError> {
    sqlx::query(
        "update tool_call set result_sealed = null, delivered_at = coalesce(delivered_at, $5)
         where thread = $1 and turn = $2 and call_id = $3 and session = $4
             and state in ('done', 'failed', 'unknown')",
    )
    .bind(key.thread.as_str().to_owned())
    .bind(key.turn.as_str().to_owned())
    .bind(key.call.as_str().to_owned())
    .bind(session.as_str())
    .bind(at)
    .execute(conn)
    .await?;
    Ok(())
}

/// Erases the stored results of the calls of a finished turn.
pub(crate) async fn close_turn(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    ordinal: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "update tool_call set result_sealed = null, closed_at = $3
         where session = $1 and ordinal = $2 and closed_at is null",
    )
    .bind(session.as_str())
    .bind(ordinal)
    .bind(at)
    .execute(conn)
    .await?;
    Ok(())
}
