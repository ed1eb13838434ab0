//! Budgets: what was spent, what is reserved, and the one transaction that decides and reserves. A reservation ends in the
//! transaction that counts its request, so nothing is counted twice and nothing is lost.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::budget::{
    BudgetAmount, BudgetScope, BudgetShortfall, BudgetState, ScopedLimit, first_shortfall,
};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::budget::{NewAllowance, NewReservation};
use crate::model::model_attempt::ModelAttemptKey;
use crate::sqlite::{SqliteStore, lease};

const DAY: i64 = 86_400_000;

/// Both sums over rows of `model_usage`. Where a cost is not known, its bound counts.
macro_rules! spent {
    ($which:literal) => {
        concat!(
            "select coalesce(sum(max(total, coalesce(bound_tokens, 0))), 0) as tokens,
                    coalesce(sum(max(coalesce(bound_tokens, 0) - total, 0)), 0) as uncertain_tokens,
                    coalesce(sum(max(coalesce(amount, 0), coalesce(bound_amount, 0))), 0) as amount,
                    coalesce(sum(max(coalesce(bound_amount, 0) - coalesce(amount, 0), 0)), 0) as uncertain_amount
             from model_usage
             where coalesce(provider, '') not in (select value from json_each($1)) and ",
            $which
        )
    };
}

/// Both sums over reservations.
macro_rules! reserved {
    ($which:literal) => {
        concat!(
            "select coalesce(sum(tokens), 0) as tokens, coalesce(sum(amount), 0) as amount from budget_reservation
             where provider not in (select value from json_each($1)) and ",
            $which
        )
    };
}

const OWNERS: &str = "
    with recursive owner (id) as (
        select parent from delegation where child = $1
        union select delegation.parent from delegation join owner on delegation.child = owner.id
    )
    select case count(*) when 0 then null else json_group_array(id) end as owners from owner";

impl SqliteStore {
    pub(crate) async fn reserve_budget(
        &self,
        new: NewReservation,
    ) -> Result<Option<BudgetShortfall>, StoreError> {
        self.write(move |conn| Box::pin(async move { reserve(conn, new).await })).await
    }

    pub(crate) async fn budget_states(
        &self,
        limits: &[ScopedLimit],
        uncounted: &[String],
    ) -> Result<Vec<BudgetState>, StoreError> {
        let mut conn = self.readers().acquire().await?;
        states(&mut conn, limits, uncounted).await
    }

    pub(crate) async fn budget_owners(&self, session: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        let mut conn = self.readers().acquire().await?;
        let owners = owners(&mut conn, session).await?;
        let ids: Vec<String> = owners.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        Ok(ids.into_iter().map(SessionId::new).collect())
    }
}

async fn reserve(
    conn: &mut SqliteConnection,
    new: NewReservation,
) -> Result<Option<BudgetShortfall>, StoreError> {
    lease::check(conn, &new.session, new.epoch).await?;
    // One whose request could not be recorded after it: it was not sent.
    sqlx::query(
        "delete from budget_reservation where session = $1 and ordinal = $2 and number = $3
         and not exists (select 1 from model_attempt where model_attempt.session = $1 and model_attempt.ordinal = $2
                         and model_attempt.number = $3 and state <> 'planned')",
    )
    .bind(new.session.as_str())
    .bind(new.key.ordinal)
    .bind(new.key.number)
    .execute(&mut *conn)
    .await?;
    let states = states(conn, &new.limits, &new.uncounted).await?;
    if let Some(shortfall) = first_shortfall(&states, new.charge) {
        return Ok(Some(shortfall));
    }
    let owners = owners(conn, &new.session).await?;
    let done = sqlx::query(
        "insert into budget_reservation (session, ordinal, number, provider, owners, tokens, amount, epoch, at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (session, ordinal, number) do nothing",
    )
    .bind(new.session.as_str())
    .bind(new.key.ordinal)
    .bind(new.key.number)
    .bind(new.provider)
    .bind(owners)
    .bind(number(new.charge.tokens))
    .bind(new.charge.amount.map(number))
    .bind(new.epoch)
    .bind(new.at)
    .execute(conn)
    .await?;
    match done.rows_affected() {
        0 => Err(StoreError::Conflict(format!("attempt {} has its reservation", new.key.number))),
        _ => Ok(None),
    }
}

/// The conversations that delegated the task `session`, as JSON; none if no one did.
pub(crate) async fn owners(
    conn: &mut SqliteConnection,
    session: &SessionId,
) -> Result<Option<String>, StoreError> {
    let row = sqlx::query(OWNERS).bind(session.as_str()).fetch_one(conn).await?;
    Ok(row.try_get("owners")?)
}

async fn states(
    conn: &mut SqliteConnection,
    limits: &[ScopedLimit],
    uncounted: &[String],
) -> Result<Vec<BudgetState>, StoreError> {
    let uncounted = serde_json::json!(uncounted).to_string();
    let mut states = Vec::with_capacity(limits.len());
    for ScopedLimit { scope, limit } in limits {
        states.push(state(conn, scope, *limit, &uncounted).await?);
    }
    Ok(states)
}

async fn state(
    conn: &mut SqliteConnection,
    scope: &BudgetScope,
    limit: BudgetAmount,
    uncounted: &str,
) -> Result<BudgetState, StoreError> {
    let (spent, reserved) = match scope {
        BudgetScope::Conversation(id) | BudgetScope::Task(id) => (
            sqlx::query(spent!(
                "id in (select id from model_usage where session = $2
                        union all
                        select id from model_usage where owners is not null
                            and exists (select 1 from json_each(owners) where value = $2))"
            ))
            .bind(uncounted)
            .bind(id.as_str()),
            sqlx::query(reserved!(
                "(session = $2 or exists (select 1 from json_each(owners) where value = $2))"
            ))
            .bind(uncounted)
            .bind(id.as_str()),
        ),
        // A reservation of now is spent on this day or a later one, and counted there.
        BudgetScope::Provider { name, day } => (
            sqlx::query(spent!("provider = $2 and at >= $3 and at < $4"))
                .bind(uncounted)
                .bind(name)
                .bind(day * DAY)
                .bind((day + 1) * DAY),
            sqlx::query(reserved!("provider = $2")).bind(uncounted).bind(name),
        ),
        BudgetScope::Day(day) => (
            sqlx::query(spent!("at >= $2 and at < $3")).bind(uncounted).bind(day * DAY).bind((day + 1) * DAY),
            sqlx::query(reserved!("true")).bind(uncounted),
        ),
    };
    let spent = spent.fetch_one(&mut *conn).await?;
    let reserved = reserved.fetch_one(&mut *conn).await?;
    let allowed = sqlx::query(
        "select coalesce(sum(amount), 0) as amount from budget_allowance where scope = $1 and unit = $2",
    )
    .bind(scope.key())
    .bind(limit.unit())
    .fetch_one(conn)
    .await?;
    let (column, uncertain) = match limit {
        BudgetAmount::Money(_) => ("amount", "uncertain_amount"),
        BudgetAmount::Tokens(_) => ("tokens", "uncertain_tokens"),
    };
    let figure = |row: &sqlx::sqlite::SqliteRow, column: &str| -> Result<u64, StoreError> {
        Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
    };
    Ok(BudgetState {
        scope: scope.clone(),
        limit: limit.plus(limit.with(figure(&allowed, "amount")?)),
        spent: figure(&spent, column)?,
        uncertain: figure(&spent, uncertain)?,
        reserved: figure(&reserved, column)?,
    })
}

/// Ends a reservation: its request is counted, or was never sent.
pub(crate) async fn release(
    conn: &mut SqliteConnection,
    session: &SessionId,
    key: ModelAttemptKey,
) -> Result<(), StoreError> {
    sqlx::query("delete from budget_reservation where session = $1 and ordinal = $2 and number = $3")
        .bind(session.as_str())
        .bind(key.ordinal)
        .bind(key.number)
        .execute(conn)
        .await?;
    Ok(())
}

/// Ends what engines with a lower epoch reserved, after their requests were counted.
pub(crate) async fn release_older(conn: &mut SqliteConnection, epoch: i64) -> Result<(), StoreError> {
    sqlx::query("delete from budget_reservation where epoch < $1").bind(epoch).execute(conn).await?;
    Ok(())
}

/// Records what a person allowed. One request allows once.
pub(crate) async fn allow(conn: &mut SqliteConnection, at: i64, new: NewAllowance) -> Result<(), StoreError> {
    sqlx::query(
        "insert into budget_allowance (ticket, scope, unit, amount, at) values ($1, $2, $3, $4, $5)
         on conflict (ticket) do nothing",
    )
    .bind(new.ticket.as_str())
    .bind(new.scope.key())
    .bind(new.amount.unit())
    .bind(number(new.amount.number()))
    .bind(at)
    .execute(conn)
    .await?;
    Ok(())
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
