//! Messages: the stored and searchable form of a turn's steps.
//!
//! A message is written again under the same key when its step changes; it keeps its position.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::message::MessageRow;
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for MessageRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            key: row.try_get("key")?,
            turn: row.try_get("turn")?,
            seq: row.try_get("seq")?,
            role: row.try_get("role")?,
            text: row.try_get("text")?,
            json: row.try_get("json")?,
            at: row.try_get("at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn messages(
        &self,
        session: &SessionId,
        after: Option<&MessageRow>,
        limit: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let found = sqlx::query(
            "select id, key, turn, seq, role, text, json, at from message
             where session = $1 and (seq, id) > ($2, $3) order by seq, id limit $4",
        )
        .bind(session.as_str())
        .bind(after.map_or(-1, |message| message.seq))
        .bind(after.map_or(-1, |message| message.id))
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn count_messages(&self, session: &SessionId) -> Result<i64, StoreError> {
        let found = sqlx::query("select count(*) as messages from message where session = $1")
            .bind(session.as_str())
            .fetch_one(self.readers())
            .await?;
        Ok(found.try_get("messages")?)
    }

    pub(crate) async fn last_messages(
        &self,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let mut found = sqlx::query(
            "select id, key, turn, seq, role, text, json, at from message
             where session = $1 order by seq desc, id desc limit $2",
        )
        .bind(session.as_str())
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        found.reverse();
        rows::all(&found)
    }
}
