//! A point in a reply where the stream waits until the test opens it.
//!
//! Tests use it to decide when the next chunk is sent, without sleeping: add the gate to a reply, wait until the
//! server has `reached` it, check the state, then `open` it. An open gate stays open.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds every stream that arrives at it until it is opened; clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    arrived: Arc<watch::Sender<usize>>,
}

impl Gate {
    /// Makes a closed gate.
    pub fn new() -> Self {
        Self { open: Arc::new(watch::Sender::new(false)), arrived: Arc::new(watch::Sender::new(0)) }
    }

    /// Lets the waiting stream, and every later one, pass.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until a stream has arrived here.
    pub async fn reached(&self) {
        self.reached_by(1).await;
    }

    /// Waits until `streams` streams have arrived here, for tests that hold several turns at once.
    pub async fn reached_by(&self, streams: usize) {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived >= streams).await;
    }

    pub(crate) async fn pass(&self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
