//! Skills: origins, read counts, and archived skills.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::skill::{NewSkillUse, SkillArchiveRow, SkillOrigin, SkillSourceRow, SkillUsageRow};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for SkillSourceRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            folder: row.try_get("folder")?,
            proposal: row.try_get("proposal")?,
            origin: SkillOrigin::from_row(row)?,
            at: row.try_get("at")?,
        })
    }
}

impl FromRow for SkillUsageRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            folder: row.try_get("folder")?,
            uses: row.try_get("uses")?,
            last_at: row.try_get("last_at")?,
        })
    }
}

impl FromRow for SkillArchiveRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            folder: row.try_get("folder")?,
            kept: row.try_get("kept")?,
            at: row.try_get("at")?,
            restored_at: row.try_get("restored_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn skill_sources(&self) -> Result<Vec<SkillSourceRow>, StoreError> {
        let found =
            sqlx::query("select * from skill_source order by folder").fetch_all(self.readers()).await?;
        rows::all(&found)
    }

    pub(crate) async fn add_skill_use(&self, new: NewSkillUse) -> Result<(), StoreError> {
        self.write(move |conn| Box::pin(async move { insert_use(conn, new).await })).await
    }

    pub(crate) async fn skill_usage(&self) -> Result<Vec<SkillUsageRow>, StoreError> {
        let found = sqlx::query(
            "select folder, count(*) as uses, max(at) as last_at from skill_use group by folder order by folder",
        )
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn skill_uses_since(&self) -> Result<i64, StoreError> {
        let found =
            sqlx::query("select cast(value as integer) as since from meta where key = 'skill_uses_since'")
                .fetch_one(self.readers())
                .await?;
        Ok(found.try_get("since")?)
    }

    pub(crate) async fn skills_read_in(&self, session: &SessionId) -> Result<Vec<String>, StoreError> {
        let found = sqlx::query("select distinct folder from skill_use where session = $1 order by folder")
            .bind(session.as_str())
            .fetch_all(self.readers())
            .await?;
        found.iter().map(|row| Ok(row.try_get("folder")?)).collect()
    }

    pub(crate) async fn add_skill_archive(&self, archive: SkillArchiveRow) -> Result<(), StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query(
                    "insert into skill_archive (id, name, folder, kept, at, restored_at)
                     values ($1, $2, $3, $4, $5, $6)",
                )
                .bind(archive.id)
                .bind(archive.name)
                .bind(archive.folder)
                .bind(archive.kept)
                .bind(archive.at)
                .bind(archive.restored_at)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn skill_archives(&self) -> Result<Vec<SkillArchiveRow>, StoreError> {
        let found =
            sqlx::query("select * from skill_archive order by at, id").fetch_all(self.readers()).await?;
        rows::all(&found)
    }

    pub(crate) async fn restore_skill(&self, id: &str, at: i64) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query("update skill_archive set restored_at = $2 where id = $1")
                    .bind(id)
                    .bind(at)
                    .execute(conn)
                    .await?;
                Ok(())
            })
        })
        .await
    }
}

/// Records a use, once for each step.
pub(crate) async fn insert_use(conn: &mut SqliteConnection, new: NewSkillUse) -> Result<(), StoreError> {
    sqlx::query(
        "insert into skill_use (folder, session, step, at) values ($1, $2, $3, $4) on conflict do nothing",
    )
    .bind(new.folder)
    .bind(new.session.as_str())
    .bind(new.step)
    .bind(new.at)
    .execute(conn)
    .await?;
    Ok(())
}
