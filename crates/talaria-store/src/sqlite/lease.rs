//! Leases: the right of one engine to act on a session. A write under another epoch than the lease's is refused.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::lease::{Lease, Takeover};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for Lease {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            session: SessionId::new(row.try_get::<String, _>("session")?),
            epoch: row.try_get("epoch")?,
            owner: row.try_get("owner")?,
            expires_at: row.try_get("expires_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn next_epoch(&self) -> Result<i64, StoreError> {
        self.write(|conn| {
            Box::pin(async move {
                let row = sqlx::query(
                    "insert into meta (key, value) values ('epoch', '1')
                     on conflict (key) do update set value = cast(cast(meta.value as bigint) + 1 as text)
                     returning cast(value as bigint) as epoch",
                )
                .fetch_one(conn)
                .await?;
                Ok(row.try_get("epoch")?)
            })
        })
        .await
    }

    pub(crate) async fn take_lease(&self, lease: Lease, takeover: Takeover) -> Result<(), StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                if let Some(held) = read(conn, &lease.session).await? {
                    let is_free = match takeover {
                        _ if held.epoch == lease.epoch => true,
                        Takeover::Expired { at } => held.expires_at <= at,
                        Takeover::Older => held.epoch < lease.epoch,
                    };
                    if !is_free {
                        return Err(fenced(&lease.session, lease.epoch, Some(held)));
                    }
                }
                put(conn, &lease).await
            })
        })
        .await
    }

    pub(crate) async fn lease(&self, session: &SessionId) -> Result<Option<Lease>, StoreError> {
        let mut conn = self.readers().acquire().await?;
        read(&mut conn, session).await
    }
}

async fn read(conn: &mut SqliteConnection, session: &SessionId) -> Result<Option<Lease>, StoreError> {
    let found = sqlx::query("select * from lease where session = $1")
        .bind(session.as_str())
        .fetch_optional(conn)
        .await?;
    rows::one(found.as_ref())
}

/// Stores a lease, whichever engine held it before.
pub(crate) async fn put(conn: &mut SqliteConnection, lease: &Lease) -> Result<(), StoreError> {
    let done = sqlx::query(
        "insert into lease (session, epoch, owner, expires_at) select id, $2, $3, $4 from session where id = $1
         on conflict (session) do update
             set epoch = excluded.epoch, owner = excluded.owner, expires_at = excluded.expires_at",
    )
    .bind(lease.session.as_str())
    .bind(lease.epoch)
    .bind(lease.owner.as_str())
    .bind(lease.expires_at)
    .execute(conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(StoreError::UnknownSession(lease.session.clone()));
    }
    Ok(())
}

/// Refuses unless `epoch` holds the session.
pub(crate) async fn check(
    conn: &mut SqliteConnection,
    session: &SessionId,
    epoch: i64,
) -> Result<(), StoreError> {
    match read(conn, session).await? {
        Some(held) if held.epoch == epoch => Ok(()),
        held => Err(fenced(session, epoch, held)),
    }
}

fn fenced(session: &SessionId, epoch: i64, held: Option<Lease>) -> StoreError {
    StoreError::Fenced { session: session.clone(), epoch, held: held.map(|held| (held.epoch, held.owner)) }
}
