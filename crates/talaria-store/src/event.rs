//! Events: what happened in a session, numbered without a gap, never changed.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::store::Store;

/// An event to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// What kind of event.
    pub kind: String,
    /// The event as JSON.
    pub json: String,
}

/// An event that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number in the session, from 1.
    pub seq: i64,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// When it was kept.
    pub at: i64,
    /// What kind of event.
    pub kind: String,
    /// The event as JSON.
    pub json: String,
}

impl FromRow for Event {
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

impl Store {
    /// Gives up to `limit` events behind the number `after`, in order. A first number above `after + 1` means that
    /// older events were forgotten.
    pub async fn events(
        &self,
        session: &SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
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

    /// Gives the last `limit` events that are not of these kinds, in order.
    pub async fn last_events(
        &self,
        session: &SessionId,
        without: &[&str],
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
        let found = sqlx::query(
            "select seq, turn, at, kind, json from event
             where session = $1 and kind not in (select value from json_each($2)) order by seq desc limit $3",
        )
        .bind(session.as_str())
        .bind(serde_json::json!(without).to_string())
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        let mut events: Vec<Event> = rows::all(&found)?;
        events.reverse();
        Ok(events)
    }

    /// Gives all events of one turn, in order.
    pub async fn all_events_of_turn(
        &self,
        session: &SessionId,
        ordinal: i64,
    ) -> Result<Vec<Event>, StoreError> {
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

    /// Gives the events of these kinds that one turn has, in order: for example the steps that it completed.
    pub async fn events_of_turn(
        &self,
        session: &SessionId,
        ordinal: i64,
        kinds: &[&str],
    ) -> Result<Vec<Event>, StoreError> {
        // The events of a turn begin where the turn was written down.
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
