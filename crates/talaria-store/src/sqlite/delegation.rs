//! Delegated tasks: made with the task, in its transaction; their results are handed over and delivered in transactions of the
//! parent. Whether a task has ended is read off its first turn.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::{ItemId, SessionId, ThreadId, TurnId};

use crate::error::StoreError;
use crate::model::delegation::{DelegationRow, NewDelegation, ResultCarrier};
use crate::model::tool_call::ToolCallKey;
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

/// Every column, and when the task ended.
const SHOWN: &str = "select delegation.*, turn.settled_at as ended_at from delegation
                     left join turn on turn.session = delegation.child and turn.ordinal = 1";

impl FromRow for DelegationRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let turn: Option<i64> = row.try_get("carried_turn")?;
        let carrier = match row.try_get::<Option<String>, _>("carried_call")? {
            Some(call) => ResultCarrier::Call(ItemId::new(call)),
            None => ResultCarrier::Input,
        };
        Ok(Self {
            child: SessionId::new(row.try_get::<String, _>("child")?),
            parent: SessionId::new(row.try_get::<String, _>("parent")?),
            call: ToolCallKey {
                thread: ThreadId::new(row.try_get::<String, _>("thread")?),
                turn: TurnId::new(row.try_get::<String, _>("turn")?),
                call: ItemId::new(row.try_get::<String, _>("call_id")?),
            },
            goal: row.try_get("goal")?,
            depth: row.try_get("depth")?,
            created_at: row.try_get("created_at")?,
            announced_at: row.try_get("announced_at")?,
            carried: turn.map(|turn| (turn, carrier)),
            delivered_at: row.try_get("delivered_at")?,
            ended_at: row.try_get("ended_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn delegation(&self, child: &SessionId) -> Result<Option<DelegationRow>, StoreError> {
        let found = sqlx::query(sqlx::AssertSqlSafe(format!("{SHOWN} where child = $1")))
            .bind(child.as_str())
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn delegations(&self, parent: &SessionId) -> Result<Vec<DelegationRow>, StoreError> {
        let order = "order by delegation.created_at, delegation.goal, delegation.child";
        let found = sqlx::query(sqlx::AssertSqlSafe(format!("{SHOWN} where parent = $1 {order}")))
            .bind(parent.as_str())
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }

    pub(crate) async fn has_delegations(&self) -> Result<bool, StoreError> {
        let found = sqlx::query("select exists (select 1 from delegation) as found")
            .fetch_one(self.readers())
            .await?;
        Ok(found.try_get("found")?)
    }

    pub(crate) async fn unannounced_delegations(&self) -> Result<Vec<DelegationRow>, StoreError> {
        let wanted =
            "where announced_at is null and turn.settled_at is not null order by turn.settled_at, child";
        let found =
            sqlx::query(sqlx::AssertSqlSafe(format!("{SHOWN} {wanted}"))).fetch_all(self.readers()).await?;
        rows::all(&found)
    }
}

/// Inserts a delegation, after its task. A goal that its call started before is a conflict.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    child: &SessionId,
    at: i64,
    new: NewDelegation,
) -> Result<(), StoreError> {
    let done = sqlx::query(
        "insert into delegation (child, parent, thread, turn, call_id, goal, depth, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (thread, turn, call_id, goal) do nothing",
    )
    .bind(child.as_str())
    .bind(new.parent.as_str())
    .bind(new.call.thread.as_str())
    .bind(new.call.turn.as_str())
    .bind(new.call.call.as_str())
    .bind(new.goal)
    .bind(new.depth)
    .bind(at)
    .execute(conn)
    .await?;
    match done.rows_affected() {
        0 => Err(StoreError::Conflict(format!("the call {} started this task before", new.call.call))),
        _ => Ok(()),
    }
}

/// Records that the end of a task was reported to the person.
pub(crate) async fn announce(
    conn: &mut SqliteConnection,
    parent: &SessionId,
    at: i64,
    child: &SessionId,
) -> Result<(), StoreError> {
    let update = sqlx::query(
        "update delegation set announced_at = $3 where child = $1 and parent = $2 and announced_at is null",
    );
    let done = update.bind(child.as_str()).bind(parent.as_str()).bind(at).execute(conn).await?;
    match done.rows_affected() {
        0 => Err(StoreError::Conflict(format!("the end of {child} was reported before"))),
        _ => Ok(()),
    }
}

/// Records what carries a result that is still owed. A turn that is over carries nothing: a late call must not take a result
/// from the turn that has it by then.
pub(crate) async fn carry(
    conn: &mut SqliteConnection,
    parent: &SessionId,
    child: &SessionId,
    turn: i64,
    carrier: ResultCarrier,
) -> Result<(), StoreError> {
    sqlx::query(
        "update delegation set carried_turn = $3, carried_call = $4
         where child = $1 and parent = $2 and delivered_at is null
             and exists (select 1 from turn where session = $2 and ordinal = $3 and stage <> 'settled')",
    )
    .bind(child.as_str())
    .bind(parent.as_str())
    .bind(turn)
    .bind(call_of(carrier))
    .execute(conn)
    .await?;
    Ok(())
}

/// Records that the runtime has what was carried in a turn: by this carrier, or by any.
pub(crate) async fn deliver(
    conn: &mut SqliteConnection,
    parent: &SessionId,
    at: i64,
    turn: i64,
    carrier: Option<ResultCarrier>,
) -> Result<(), StoreError> {
    sqlx::query(
        "update delegation set delivered_at = $3
         where parent = $1 and carried_turn = $2 and delivered_at is null and ($4 or carried_call is $5)",
    )
    .bind(parent.as_str())
    .bind(turn)
    .bind(at)
    .bind(carrier.is_none())
    .bind(carrier.and_then(call_of))
    .execute(conn)
    .await?;
    Ok(())
}

fn call_of(carrier: ResultCarrier) -> Option<String> {
    match carrier {
        ResultCarrier::Input => None,
        ResultCarrier::Call(call) => Some(call.to_string()),
    }
}
