//! Tokens of the API: made and revoked together with their audit rows, so that neither exists without the other.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::error::StoreError;
use crate::model::api_token::{ApiTokenRow, NewApiToken};
use crate::model::audit::NewAudit;
use crate::sqlite::SqliteStore;
use crate::sqlite::audit;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for ApiTokenRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            token: NewApiToken {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                hash: row.try_get("hash")?,
                scopes: row.try_get("scopes")?,
                roots: row.try_get("roots")?,
                created_at: row.try_get("created_at")?,
                created_by: row.try_get("created_by")?,
                expires_at: row.try_get("expires_at")?,
            },
            used_at: row.try_get("used_at")?,
            used_from: row.try_get("used_from")?,
            revoked_at: row.try_get("revoked_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn add_api_token(&self, new: NewApiToken, entry: NewAudit) -> Result<bool, StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                let added = sqlx::query(
                    "insert into api_token (id, name, hash, scopes, roots, created_at, created_by, expires_at)
                     select $1, $2, $3, $4, $5, $6, $7, $8
                     where not exists (select 1 from api_token where id = $1 or (name = $2 and revoked_at is null))",
                )
                .bind(new.id)
                .bind(new.name)
                .bind(new.hash)
                .bind(new.scopes)
                .bind(new.roots)
                .bind(new.created_at)
                .bind(new.created_by)
                .bind(new.expires_at)
                .execute(&mut *conn)
                .await?;
                if added.rows_affected() == 1 {
                    audit::insert(conn, entry).await?;
                }
                Ok(added.rows_affected() == 1)
            })
        })
        .await
    }

    pub(crate) async fn revoke_api_token(
        &self,
        id: &str,
        at: i64,
        entry: NewAudit,
    ) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                let revoked =
                    sqlx::query("update api_token set revoked_at = $2 where id = $1 and revoked_at is null")
                        .bind(id)
                        .bind(at)
                        .execute(&mut *conn)
                        .await?;
                if revoked.rows_affected() == 1 {
                    audit::insert(conn, entry).await?;
                }
                Ok(revoked.rows_affected() == 1)
            })
        })
        .await
    }

    pub(crate) async fn touch_api_token(&self, id: &str, at: i64, from: &str) -> Result<(), StoreError> {
        let (id, from) = (id.to_owned(), from.to_owned());
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query(
                    "update api_token set used_at = $2, used_from = $3
                     where id = $1 and coalesce(used_at, 0) <= $2",
                )
                .bind(id)
                .bind(at)
                .bind(from)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn api_tokens(&self) -> Result<Vec<ApiTokenRow>, StoreError> {
        let found = sqlx::query("select * from api_token order by created_at desc, id")
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }
}
