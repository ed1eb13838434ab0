//! Conversations as JSON files, for programs that read files: written after each turn where `sessions.write_json_snapshots` is
//! set, whole or not at all, and removed with the conversation.
//!
//! The database remains what counts; nothing reads these files back. An engine that ended between a turn and its file is made up
//! for by the next one, which compares the age of the newest conversations with that of their files.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use talaria_core::export::SessionSnapshot;
use talaria_core::ids::SessionId;
use talaria_core::transcript::Message;
use talaria_home::faults;
use talaria_home::home::ensure_dir;
use talaria_home::user_file::UserFile;
use talaria_store::{MessageRow, SessionFilter, SessionRow, SessionState, StoreError};

use crate::engine::Inner;
use crate::engine::queries::views;

/// How many messages are read at once.
const PAGE: u32 = 500;
/// How many of the newest conversations a new engine looks at.
const NEWEST: u32 = 100;

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
enum SnapshotError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    File(String),
}

impl Inner {
    /// Are snapshots wanted?
    fn has_snapshots(&self) -> bool {
        self.config().sessions.write_json_snapshots == Some(true)
    }

    fn snapshot_file(&self, session: &SessionId) -> PathBuf {
        self.home.snapshots_dir().join(SessionSnapshot::file_name(session.as_str()))
    }

    /// Writes the file of a conversation, where that is wanted. Returns a warning if it could not be written.
    pub(crate) async fn write_snapshot(&self, session: &SessionId) -> Option<String> {
        if !self.has_snapshots() {
            return None;
        }
        faults::point("before:snapshot").await;
        let written = self.try_snapshot(session).await;
        faults::point("after:snapshot").await;
        let error = written.err()?;
        let path = self.snapshot_file(session);
        Some(format!(
            "the snapshot {} was not written: {error}; the conversation itself is stored",
            path.display()
        ))
    }

    async fn try_snapshot(&self, session: &SessionId) -> Result<(), SnapshotError> {
        let Some(row) = self.shelf.store.session(session).await? else { return Ok(()) };
        let json = self.snapshot(&row).await?.to_json();
        let (directory, path) = (self.home.snapshots_dir(), self.snapshot_file(session));
        let writing = tokio::task::spawn_blocking(move || {
            ensure_dir(&directory).map_err(|error| SnapshotError::File(error.to_string()))?;
            let replaced = UserFile::lock(&path).and_then(|file| file.replace(&json));
            replaced.map_err(|error| SnapshotError::File(error.to_string()))
        });
        writing.await.unwrap_or_else(|_| Err(SnapshotError::File("internal error".to_owned())))
    }

    async fn snapshot(&self, row: &SessionRow) -> Result<SessionSnapshot, StoreError> {
        let undone = self.shelf.store.undone_turns(&row.id).await?;
        let is_current = |row: &MessageRow| row.turn.is_none_or(|turn| !undone.contains(&turn));
        let mut messages: Vec<Message> = Vec::new();
        let mut last: Option<MessageRow> = None;
        loop {
            let page = self.shelf.store.messages(&row.id, last.as_ref(), PAGE).await?;
            let current = page.iter().filter(|row| is_current(row));
            messages.extend(current.filter_map(|row| serde_json::from_str(&row.json).ok()));
            match page.into_iter().last() {
                Some(row) => last = Some(row),
                None => break,
            }
        }
        let info = views::session(row);
        Ok(SessionSnapshot {
            session_id: info.id.to_string(),
            title: info.title,
            provider: info.provider,
            model: info.model,
            platform: "talaria",
            runtime: info.runtime,
            session_start: info.created_at.to_string(),
            last_updated: info.updated_at.to_string(),
            message_count: messages.len(),
            messages,
        })
    }

    /// Writes the files that the last engine owed: of the newest conversations, those that are older than what they show.
    pub(crate) async fn catch_up_snapshots(&self) {
        if !self.has_snapshots() {
            return;
        }
        let page = match self.shelf.store.sessions(&SessionFilter::default(), None, NEWEST).await {
            Ok(page) => page,
            Err(error) => return tracing::warn!("snapshots of conversations were not compared: {error}"),
        };
        // A turn that runs writes its file at its end.
        for row in page.sessions.iter().filter(|row| row.state != SessionState::Running) {
            if !self.is_current(row)
                && let Some(warning) = self.write_snapshot(&row.id).await
            {
                tracing::warn!("{warning}");
            }
        }
    }

    fn is_current(&self, row: &SessionRow) -> bool {
        let modified = std::fs::metadata(self.snapshot_file(&row.id)).and_then(|file| file.modified());
        let age = modified.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        age.is_some_and(|age| i64::try_from(age.as_millis()).is_ok_and(|at| at >= row.updated_at))
    }

    /// Removes the texts of a deleted conversation that were too long for its model.
    pub(crate) async fn remove_long_texts(&self, session: &SessionId) {
        let directory = self.home.long_texts_dir().join(session.as_str());
        if let Err(error) = tokio::fs::remove_dir_all(&directory).await
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("the long texts of the deleted conversation {session} were not removed: {error}");
        }
    }

    /// Removes the file of a conversation that was deleted, whether or not files are wanted now.
    pub(crate) fn remove_snapshot(&self, session: &SessionId) {
        if let Err(error) = std::fs::remove_file(self.snapshot_file(session))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("the snapshot of the deleted conversation {session} was not removed: {error}");
        }
    }
}
