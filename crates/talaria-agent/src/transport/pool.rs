//! Connections that wait for the next request to the same place.
//!
//! At most a few per place, and none longer than servers keep them: a connection that closes while a request is written
//! makes an attempt whose fate is unknown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use tokio_util::task::AbortOnDropHandle;

const KEPT_PER_PLACE: usize = 8;
const KEPT_FOR: Duration = Duration::from_secs(30);
/// How long a connection that has just delivered its last byte may take to be ready again.
const SETTLES_WITHIN: Duration = Duration::from_millis(20);

/// A connection without a request. Dropping it closes it.
pub(super) struct KeptConnection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes; aborted when dropped.
    pub(super) _driver: AbortOnDropHandle<()>,
}

type Places = Mutex<HashMap<String, Vec<(Instant, KeptConnection)>>>;

/// The connections of one transport.
#[derive(Default)]
pub(super) struct ConnectionPool {
    places: Arc<Places>,
}

/// Where a connection returns to when its response was read.
pub(super) struct PoolSlot {
    places: Weak<Places>,
    key: String,
}

impl ConnectionPool {
    /// Takes a connection that can carry a request now.
    pub(super) async fn take(&self, key: &str) -> Option<KeptConnection> {
        loop {
            let (since, mut kept) = {
                let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
                // Servers that are not asked again would otherwise keep a connection indefinitely.
                for connections in places.values_mut() {
                    connections
                        .retain(|(since, kept)| since.elapsed() < KEPT_FOR && !kept.sender.is_closed());
                }
                places.retain(|_, connections| !connections.is_empty());
                places.get_mut(key)?.pop()?
            };
            let is_ready = tokio::time::timeout(SETTLES_WITHIN, kept.sender.ready()).await;
            if matches!(is_ready, Ok(Ok(()))) && since.elapsed() < KEPT_FOR {
                return Some(kept);
            }
        }
    }

    /// Names the place for connections with this key.
    pub(super) fn slot(&self, key: &str) -> PoolSlot {
        PoolSlot { places: Arc::downgrade(&self.places), key: key.to_owned() }
    }
}

impl PoolSlot {
    /// Keeps a connection whose response was read to the end.
    pub(super) fn keep(self, connection: KeptConnection) {
        let Some(places) = self.places.upgrade() else { return };
        let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = places.entry(self.key).or_default();
        if connections.len() < KEPT_PER_PLACE && !connection.sender.is_closed() {
            connections.push((Instant::now(), connection));
        }
    }
}

impl std::fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConnectionPool")
    }
}
