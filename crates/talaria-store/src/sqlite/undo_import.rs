//! Undoing an import: its sessions are removed, except those that were used since.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::imported::UndoneImport;
use crate::sqlite::{SqliteStore, prune};

/// How many sessions are one page.
const PAGE: u32 = 200;

enum Fate {
    Removed,
    Shortened,
    Left,
}

impl SqliteStore {
    pub(crate) async fn undo_import(
        &self,
        run: &str,
        after: Option<&SessionId>,
        now: i64,
    ) -> Result<UndoneImport, StoreError> {
        let found = self.brought(run, after).await?;
        let mut undone = UndoneImport { next: next(&found), ..UndoneImport::default() };
        let fates = self.write(move |conn| {
            Box::pin(async move {
                let mut fates = Vec::with_capacity(found.len());
                for (id, turn) in found {
                    fates.push((undo_session(conn, &id, turn, now).await?, id));
                }
                Ok(fates)
            })
        });
        for (fate, id) in fates.await? {
            count(&mut undone, fate, id);
        }
        self.clear_forgotten().await?;
        Ok(undone)
    }

    pub(crate) async fn preview_undo(
        &self,
        run: &str,
        after: Option<&SessionId>,
    ) -> Result<UndoneImport, StoreError> {
        let found = self.brought(run, after).await?;
        let mut undone = UndoneImport { next: next(&found), ..UndoneImport::default() };
        for (id, turn) in found {
            let mut conn = self.readers().acquire().await?;
            count(&mut undone, fate(&mut conn, &id, turn).await?, id);
        }
        Ok(undone)
    }

    /// The sessions of a run after `after`, each with the first turn that the run added.
    async fn brought(
        &self,
        run: &str,
        after: Option<&SessionId>,
    ) -> Result<Vec<(SessionId, i64)>, StoreError> {
        let found = sqlx::query(
            "select session, turn from origin_part where run = $1 and session > $2 order by session limit $3",
        )
        .bind(run)
        .bind(after.map_or("", SessionId::as_str))
        .bind(PAGE)
        .fetch_all(self.readers())
        .await?;
        let part = |row: &sqlx::sqlite::SqliteRow| {
            Ok((SessionId::new(row.try_get::<String, _>("session")?), row.try_get("turn")?))
        };
        found.iter().map(part).collect()
    }
}

fn count(undone: &mut UndoneImport, fate: Fate, id: SessionId) {
    match fate {
        Fate::Removed => undone.removed += 1,
        Fate::Shortened => undone.shortened += 1,
        Fate::Left => undone.left.push(id),
    }
}

fn next(found: &[(SessionId, i64)]) -> Option<SessionId> {
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count == PAGE);
    found.last().filter(|_| is_full).map(|(id, _)| id.clone())
}

/// Decides what to do with a session. It was used if it has a turn that no import added, or if a later import added one.
async fn fate(conn: &mut SqliteConnection, id: &SessionId, turn: i64) -> Result<Fate, StoreError> {
    let row = sqlx::query(
        "select exists (select 1 from turn where turn.session = $1 and client_id not in
                        (select run from origin_part where origin_part.session = $1))
                or exists (select 1 from origin_part where session = $1 and turn > $2) as is_used
         from session where id = $1",
    )
    .bind(id.as_str())
    .bind(turn)
    .fetch_optional(conn)
    .await?;
    let is_used = row.map(|row| row.try_get::<bool, _>("is_used")).transpose()?;
    Ok(match (is_used, turn) {
        (Some(false), 1) => Fate::Removed,
        (Some(false), _) => Fate::Shortened,
        _ => Fate::Left,
    })
}

async fn undo_session(
    conn: &mut SqliteConnection,
    id: &SessionId,
    turn: i64,
    now: i64,
) -> Result<Fate, StoreError> {
    match fate(conn, id, turn).await? {
        Fate::Removed => match prune::forget(conn, id, now).await? {
            true => Ok(Fate::Removed),
            false => Ok(Fate::Left),
        },
        Fate::Shortened => {
            sqlx::query(
                "update session set
                     bytes = max(0, bytes
                         - (select coalesce(sum(octet_length(json)), 0) from event where session = $1 and turn >= $2)
                         - (select coalesce(sum(octet_length(text) + octet_length(json)), 0) from message
                            where session = $1 and turn >= $2)),
                     last_seq = (select first_seq - 1 from turn where session = $1 and ordinal = $2),
                     updated_at = coalesce((select max(settled_at) from turn where session = $1 and ordinal < $2), updated_at)
                     where id = $1;
                 update session set first_seq = min(first_seq, last_seq + 1) where id = $1;
                 delete from event where session = $1 and turn >= $2;
                 delete from message where session = $1 and turn >= $2;
                 delete from turn where session = $1 and ordinal >= $2;
                 delete from origin_part where session = $1 and turn >= $2",
            )
            .bind(id.as_str())
            .bind(turn)
            .execute(conn)
            .await?;
            Ok(Fate::Shortened)
        }
        Fate::Left => Ok(Fate::Left),
    }
}
