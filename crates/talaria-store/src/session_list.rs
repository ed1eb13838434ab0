//! The list of sessions, newest first, page by page.

use serde::{Deserialize, Serialize};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::rows;
use crate::session::Session;
use crate::store::Store;
use crate::words::{SessionKind, SessionState};

/// Which sessions are wanted. `None` wants all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Made for this.
    pub kind: Option<SessionKind>,
    /// In this state.
    pub state: Option<SessionState>,
    /// Archived ones only, or only the others.
    pub archived: Option<bool>,
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// When its last session was last written to.
    pub updated_at: i64,
    /// Its last session.
    pub id: SessionId,
}

/// Some sessions, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Where to go on, if there may be more.
    pub next: Option<Cursor>,
}

impl Store {
    /// Gives up to `limit` sessions behind a cursor (or the newest ones), newest first.
    pub async fn sessions(
        &self,
        filter: &SessionFilter,
        behind: Option<&Cursor>,
        limit: u32,
    ) -> Result<SessionPage, StoreError> {
        let found = sqlx::query(
            "select * from session
             where ($1 is null or kind = $1) and ($2 is null or state = $2) and ($3 is null or archived = $3)
               and (updated_at, id) < ($4, $5)
             order by updated_at desc, id desc limit $6",
        )
        .bind(filter.kind.map(SessionKind::as_str))
        .bind(filter.state.map(SessionState::as_str))
        .bind(filter.archived)
        .bind(behind.map_or(i64::MAX, |cursor| cursor.updated_at))
        .bind(behind.map_or("~", |cursor| cursor.id.as_str()))
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        let sessions: Vec<Session> = rows::all(&found)?;
        let is_full = sessions.len() == usize::try_from(limit).unwrap_or(usize::MAX);
        let last = sessions.last().filter(|_| is_full);
        let next = last.map(|last| Cursor { updated_at: last.updated_at, id: last.id.clone() });
        Ok(SessionPage { sessions, next })
    }
}
