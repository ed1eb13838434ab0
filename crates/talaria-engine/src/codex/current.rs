//! The host that a session is on now. A Codex that died is replaced; whoever holds this sees the new one.

use std::sync::{Arc, Mutex, PoisonError};

use super::host::Host;

/// The host of a session, whichever it is at the moment.
#[derive(Clone, Debug)]
pub struct CurrentHost(Arc<Mutex<Arc<Host>>>);

impl From<Arc<Host>> for CurrentHost {
    fn from(host: Arc<Host>) -> Self {
        Self(Arc::new(Mutex::new(host)))
    }
}

impl CurrentHost {
    /// The host now.
    pub fn get(&self) -> Arc<Host> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn replace(&self, host: Arc<Host>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = host;
    }
}
