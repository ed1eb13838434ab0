//! What keeps sessions from being recorded right now, for `talaria status` and the log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_core::ids::SessionId;
use talaria_store::StoreError;

/// Sessions that cannot be recorded, and why.
#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles(Arc<Mutex<BTreeMap<SessionId, String>>>);

impl Troubles {
    /// A session waits to be recorded.
    pub(crate) fn cannot_write(&self, session: &SessionId, error: &StoreError) {
        self.waits_for_store(session, format!("{error}; {}", error.next_step().in_shell()));
    }

    /// The same, for a reason in words.
    pub(crate) fn waits_for_store(&self, session: &SessionId, words: String) {
        let before = self.lock().insert(session.clone(), words.clone());
        if before.as_ref() != Some(&words) {
            tracing::warn!("session {session} waits to be stored: {words}");
        }
    }

    /// A session cannot be recorded, and that will not change.
    pub(crate) fn gave_up(&self, session: &SessionId, error: &StoreError) {
        tracing::error!("session {session} is released: {error}");
    }

    /// A session was recorded.
    pub(crate) fn can_write(&self, session: &SessionId) {
        if self.lock().remove(session).is_some() {
            tracing::info!("session {session} is stored again");
        }
    }

    /// Note for the user.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.lock().iter().map(|(session, why)| format!("session {} waits: {why}", session.short())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
