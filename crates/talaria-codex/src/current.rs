//! The host that a session is on now, and where it gets the next. A Codex that died is replaced; every holder of this
//! sees the new one.

use std::sync::{Arc, Mutex, PoisonError};

use super::host::Host;
use super::source::HostSource;

/// The host of a session, whichever it is at the moment.
#[derive(Clone, Debug)]
pub struct CurrentHost {
    host: Arc<Mutex<Arc<Host>>>,
    source: Arc<dyn HostSource>,
}

impl From<Arc<Host>> for CurrentHost {
    /// Replaced by a private host of the same kind.
    fn from(host: Arc<Host>) -> Self {
        let source = Arc::new(host.spec().clone());
        Self::new(host, source)
    }
}

impl CurrentHost {
    /// A host that is replaced from this source.
    pub fn new(host: Arc<Host>, source: Arc<dyn HostSource>) -> Self {
        Self { host: Arc::new(Mutex::new(host)), source }
    }

    /// The host now.
    pub fn get(&self) -> Arc<Host> {
        Arc::clone(&self.host.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Source of the next one.
    pub fn source(&self) -> &Arc<dyn HostSource> {
        &self.source
    }

    pub(crate) fn replace(&self, host: Arc<Host>) {
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = host;
    }
}
