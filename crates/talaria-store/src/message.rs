//! Messages: what is kept of the steps of a turn, and searched.
//!
//! A message is written again under the same key when its step changes; it keeps its place.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::store::Store;

/// A message to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Unique in the session: made of turn, item, kind and role, because item ids alone are not unique.
    pub key: String,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// Which event of the batch brought it, counted from 0; `None` is the last one, or the next one if the batch has none.
    pub event: Option<usize>,
    /// Who speaks.
    pub role: String,
    /// What is searched: prompts, answers, commands, patches.
    pub text: String,
    /// The message as JSON.
    pub json: String,
}

/// A message that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its place in the store, for paging.
    pub id: i64,
    /// Unique in the session.
    pub key: String,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// The number of the event that brought it first.
    pub seq: i64,
    /// Who speaks.
    pub role: String,
    /// What is searched.
    pub text: String,
    /// The message as JSON.
    pub json: String,
    /// When it was last written.
    pub at: i64,
}

impl FromRow for Message {
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

impl Store {
    /// Gives up to `limit` messages behind the message `after` (or from the beginning), in order.
    pub async fn messages(
        &self,
        session: &SessionId,
        after: Option<&Message>,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
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

    /// Counts the messages of a session.
    pub async fn count_messages(&self, session: &SessionId) -> Result<i64, StoreError> {
        let found = sqlx::query("select count(*) as messages from message where session = $1")
            .bind(session.as_str())
            .fetch_one(self.readers())
            .await?;
        Ok(found.try_get("messages")?)
    }

    /// Gives the last `limit` messages, in order.
    pub async fn last_messages(&self, session: &SessionId, limit: u32) -> Result<Vec<Message>, StoreError> {
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
