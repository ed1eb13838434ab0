//! Forks: a session with the beginning of another one, copied in one transaction. Events keep their numbers, so that everything
//! that refers to them stays true. Costs are not copied: they were counted where they arose.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use crate::error::StoreError;
use crate::model::lease::Lease;
use crate::model::session::NewForkRow;
use crate::sqlite::{SqliteStore, audit, lease};

impl SqliteStore {
    pub(crate) async fn fork_session(&self, fork: NewForkRow, lease: Lease) -> Result<(), StoreError> {
        if lease.session != fork.id {
            return Err(StoreError::Conflict(format!("the lease is for the session {}", lease.session)));
        }
        self.write(move |conn| {
            Box::pin(async move {
                let last_seq = last_event(conn, &fork).await?;
                insert(conn, &fork, last_seq).await?;
                copy(conn, &fork, last_seq).await?;
                audit::insert(conn, fork.audit).await?;
                lease::put(conn, &lease).await
            })
        })
        .await
    }
}

/// The last event of the turns that are copied. What happened after the last of them, before the next turn, belongs to them, too.
async fn last_event(conn: &mut SqliteConnection, fork: &NewForkRow) -> Result<i64, StoreError> {
    let found = sqlx::query(
        "select max(session.first_seq - 1,
                    coalesce((select first_seq - 1 from turn as later
                              where later.session = $1 and later.ordinal > $2 order by later.ordinal limit 1), last_seq),
                    coalesce((select max(seq) from event
                              where event.session = $1 and event.turn = $2 and event.kind = 'outcome'), 0)) as seq
         from session join turn on turn.session = session.id and turn.ordinal = $2
         where session.id = $1 and turn.undone_at is null
           and not exists (select 1 from turn as open
                           where open.session = $1 and open.ordinal <= $2 and open.stage <> 'settled')",
    )
    .bind(fork.origin.as_str())
    .bind(fork.turn)
    .fetch_optional(conn)
    .await?;
    let row = found.ok_or_else(|| {
        StoreError::Conflict(format!("the session {} has no finished turn {}", fork.origin, fork.turn))
    })?;
    Ok(row.try_get("seq")?)
}

async fn insert(conn: &mut SqliteConnection, fork: &NewForkRow, last_seq: i64) -> Result<(), StoreError> {
    sqlx::query(
        "insert into session (id, kind, title, cwd, runtime, model, codex_version, asked, settings, contract, contract_said,
                              tools, state, created_at, updated_at, first_seq, last_seq, first_at, forked_from, forked_turn,
                              basis)
         select $1, 'chat', coalesce($4, title), cwd, runtime, model, codex_version, asked, settings, contract,
                contract_said, tools, 'idle', $5, $5, first_seq, $6, first_at, $2, $3, $7
         from session where id = $2",
    )
    .bind(fork.id.as_str())
    .bind(fork.origin.as_str())
    .bind(fork.turn)
    .bind(fork.title.as_deref())
    .bind(fork.created_at)
    .bind(last_seq)
    .bind(fork.basis.as_deref())
    .execute(conn)
    .await?;
    Ok(())
}

async fn copy(conn: &mut SqliteConnection, fork: &NewForkRow, last_seq: i64) -> Result<(), StoreError> {
    sqlx::query(
        "insert into turn (session, ordinal, stage, client_id, after_turn, codex_turn, input_text, limit_ms, ours, outcome,
                           outcome_kind, code, usage, first_seq, created_at, sent_at, accepted_at, settled_at, undone_at,
                           is_plain)
         select $1, ordinal, stage, client_id, after_turn, codex_turn, input_text, limit_ms, ours, outcome, outcome_kind,
                code, usage, first_seq, created_at, sent_at, accepted_at, settled_at, undone_at, is_plain
         from turn where session = $2 and ordinal <= $3;
         insert into event (session, seq, turn, at, kind, json)
         select $1, seq, turn, at, kind, json from event where session = $2 and seq <= $4;
         insert into message (session, key, turn, seq, role, text, json, at)
         select $1, key, turn, seq, role, text, json, at from message
         where session = $2 and turn <= $3 order by id;
         insert into model_history (session, seq, ordinal, attempt, prefix_epoch, sealed, at)
         select $1, seq, ordinal, attempt, prefix_epoch, sealed, at from model_history
         where session = $2 and ordinal <= $3;
         insert into memory_snapshot (session, digest, entries, at)
         select $1, digest, entries, at from memory_snapshot where session = $2 order by id;
         update session set bytes =
             coalesce((select sum(length(json)) from event where session = $1), 0)
             + coalesce((select sum(octet_length(json) + octet_length(text)) from message where session = $1), 0)
             + coalesce((select sum(length(sealed)) from model_history where session = $1), 0)
         where id = $1",
    )
    .bind(fork.id.as_str())
    .bind(fork.origin.as_str())
    .bind(fork.turn)
    .bind(last_seq)
    .execute(conn)
    .await?;
    Ok(())
}
