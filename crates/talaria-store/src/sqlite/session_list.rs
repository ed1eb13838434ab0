//! The list of sessions, newest first, page by page.

use crate::error::StoreError;
use crate::model::session::{Cursor, SessionFilter, SessionPage, SessionRow};
use crate::model::words::{SessionKind, SessionState};
use crate::sqlite::{SqliteStore, rows};

impl SqliteStore {
    pub(crate) async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&Cursor>,
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
        .bind(after.map_or(i64::MAX, |cursor| cursor.updated_at))
        .bind(after.map_or("~", |cursor| cursor.id.as_str()))
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        let sessions: Vec<SessionRow> = rows::all(&found)?;
        let is_full = sessions.len() == usize::try_from(limit).unwrap_or(usize::MAX);
        let last = sessions.last().filter(|_| is_full);
        let next = last.map(|last| Cursor { updated_at: last.updated_at, id: last.id.clone() });
        Ok(SessionPage { sessions, next })
    }
}
