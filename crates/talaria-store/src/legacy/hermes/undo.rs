//! Taking an import back: what it brought goes, unless somebody has worked with it since.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::prune;
use crate::store::Store;

/// How many sessions are one page.
const PAGE: u32 = 200;

/// What became of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Sessions that are, or would be, gone.
    pub removed: usize,
    /// Sessions that are as they were before the import.
    pub shortened: usize,
    /// Sessions that went on since, and stay.
    pub left: Vec<SessionId>,
    /// Where the next page begins, if there is one.
    pub next: Option<SessionId>,
}

impl Undone {
    fn count(&mut self, fate: Fate, id: SessionId) {
        match fate {
            Fate::Removed => self.removed += 1,
            Fate::Shortened => self.shortened += 1,
            Fate::Left => self.left.push(id),
        }
    }
}

enum Fate {
    Removed,
    Shortened,
    Left,
}

impl Store {
    /// Takes one page of what a run brought back. If it is broken off, the next call goes on.
    pub async fn undo_import(
        &self,
        run: &str,
        after: Option<&SessionId>,
        now: i64,
    ) -> Result<Undone, StoreError> {
        let found = self.brought(run, after).await?;
        let mut undone = Undone { next: next(&found), ..Undone::default() };
        let fates = self.write(move |conn| {
            Box::pin(async move {
                let mut fates = Vec::with_capacity(found.len());
                for (id, turn) in found {
                    fates.push((take_back(conn, &id, turn, now).await?, id));
                }
                Ok(fates)
            })
        });
        for (fate, id) in fates.await? {
            undone.count(fate, id);
        }
        self.clear_forgotten().await?;
        Ok(undone)
    }

    /// Says what `undo_import` would do with a page.
    pub async fn preview_undo(&self, run: &str, after: Option<&SessionId>) -> Result<Undone, StoreError> {
        let found = self.brought(run, after).await?;
        let mut undone = Undone { next: next(&found), ..Undone::default() };
        for (id, turn) in found {
            let mut conn = self.readers().acquire().await?;
            undone.count(fate(&mut conn, &id, turn).await?, id);
        }
        Ok(undone)
    }

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

fn next(found: &[(SessionId, i64)]) -> Option<SessionId> {
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count == PAGE);
    found.last().filter(|_| is_full).map(|(id, _)| id.clone())
}

/// Has anybody but imports given the session a turn, or has a later import?
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

async fn take_back(
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
