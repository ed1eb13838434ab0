//! Events: what happened in a session, numbered without a gap, never changed.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::event::EventRow;
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for EventRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.try_get("seq")?,
            turn: row.try_get("turn")?,
            at: row.try_get("at")?,
            kind: row.try_get("kind")?,
            json: row.try_get("json")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn events(
        &self,
        session: &SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let found = sqlx::query(
            "select seq, turn, at, kind, json from event where session = $1 and seq > $2 order by seq limit $3",
        )
        .bind(session.as_str())
        .bind(after)
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn last_events(
        &self,
        session: &SessionId,
        without: &[&str],
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let found = sqlx::query(
            "select seq, turn, at, kind, json from event
             where session = $1 and kind not in (select value from json_each($2)) order by seq desc limit $3",
        )
        .bind(session.as_str())
        .bind(serde_json::json!(without).to_string())
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        let mut events: Vec<EventRow> = rows::all(&found)?;
        events.reverse();
        Ok(events)
    }

    pub(crate) async fn all_events_of_turn(
        &self,
        session: &SessionId,
        ordinal: i64,
    ) -> Result<Vec<EventRow>, StoreError> {
        let found = sqlx::query(
            "select seq, turn, at, kind, json from event
             where session = $1 and turn = $2
               and seq >= coalesce((select first_seq from turn where session = $1 and ordinal = $2), 0)
             order by seq",
        )
        .bind(session.as_str())
        .bind(ordinal)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn last_event_of(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<EventRow>, StoreError> {
        let found = sqlx::query(
            "select seq, turn, at, kind, json from event where session = $1 and kind = $2
             order by seq desc limit 1",
        )
        .bind(session.as_str())
        .bind(kind)
        .fetch_optional(self.readers())
        .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn landmarks(
        &self,
        session: &SessionId,
        after: i64,
    ) -> Result<Vec<EventRow>, StoreError> {
        let found = sqlx::query(
            "select seq, turn, at, kind, json from event
             where session = $1 and seq > $2
               and (kind in ('session_started', 'compacted')
                    or (kind = 'item_completed' and json_extract(json, '$.item.kind') = 'compaction'))
             order by seq",
        )
        .bind(session.as_str())
        .bind(after)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn events_of_turn(
        &self,
        session: &SessionId,
        ordinal: i64,
        kinds: &[&str],
    ) -> Result<Vec<EventRow>, StoreError> {
        // The events of a turn begin where the turn was stored.
        let found = sqlx::query(
            "select seq, turn, at, kind, json from event
             where session = $1 and turn = $2 and kind in (select value from json_each($3))
               and seq >= coalesce((select first_seq from turn where session = $1 and ordinal = $2), 0)
             order by seq",
        )
        .bind(session.as_str())
        .bind(ordinal)
        .bind(serde_json::json!(kinds).to_string())
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }
}
