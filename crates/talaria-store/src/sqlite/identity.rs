//! Which home the database belongs to, and what happens to unfinished work when it turns out to be a copy: the original
//! continues it, so the copy must not act on it.

use sqlx::Row as _;

use crate::error::StoreError;
use crate::sqlite::SqliteStore;

impl SqliteStore {
    pub(crate) async fn home_record(&self) -> Result<Option<String>, StoreError> {
        let row =
            sqlx::query("select value from meta where key = 'home'").fetch_optional(self.readers()).await?;
        row.map(|row| row.try_get("value")).transpose().map_err(StoreError::from)
    }

    pub(crate) async fn set_home_record(&self, record: &str) -> Result<(), StoreError> {
        let record = record.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query(
                    "insert into meta (key, value) values ('home', $1)
                     on conflict (key) do update set value = excluded.value",
                )
                .bind(record)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn leave_to_original(&self, why: &str, at: i64) -> Result<(), StoreError> {
        let why = why.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query(
                    "update host set state = 'ended', why = $1, ended_at = $2 where state <> 'ended'",
                )
                .bind(why.as_str())
                .bind(at)
                .execute(&mut *conn)
                .await?;
                sqlx::query(
                    "update outbox set state = 'abandoned', error = $1, done_at = $2,
                                       claimed_by = null, claimed_until = null
                     where done_at is null and target is not null",
                )
                .bind(why.as_str())
                .bind(at)
                .execute(&mut *conn)
                .await?;
                sqlx::query(
                    "update request set state = 'expired', answer_sealed = null, closed_at = $1
                     where state = 'escrowed'",
                )
                .bind(at)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn mark_owed_as_repeats(&self) -> Result<u64, StoreError> {
        self.write(|conn| {
            Box::pin(async move {
                let done =
                    sqlx::query("update outbox set repeat = 1 where done_at is null and target is not null")
                        .execute(conn)
                        .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }
}
