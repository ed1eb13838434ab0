//! The servers of one engine: started when a conversation first needs one, shared by all conversations with the same
//! launch, started again after they ended, closed when nothing has used them for a while, and closed with the engine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rmcp::model::{JsonObject, Tool};
use talaria_agent::transport::ModelTransport;
use tokio::time::Instant;

use crate::answer::ServerAnswer;
use crate::connection::{CallFailure, ServerConnection, ServerFailure};
use crate::launch::{ServerKeeper, ServerLaunch};

/// The servers of an engine.
pub struct ServerRoom {
    keeper: ServerKeeper,
    transport: Arc<ModelTransport>,
    idle: Duration,
    slots: Mutex<Option<HashMap<String, Arc<ServerSlot>>>>,
}

/// The place of one launch. The lock is held while the server starts, so that it starts once.
#[derive(Default)]
struct ServerSlot {
    live: tokio::sync::Mutex<Option<LiveServer>>,
}

struct LiveServer {
    connection: Arc<ServerConnection>,
    used: Arc<Mutex<Instant>>,
}

impl ServerRoom {
    /// A room without servers. One that was not used for `idle` is closed.
    pub fn new(keeper: ServerKeeper, transport: Arc<ModelTransport>, idle: Duration) -> Self {
        Self { keeper, transport, idle, slots: Mutex::new(Some(HashMap::new())) }
    }

    /// Lists the tools of a server. Starts it if it does not run.
    pub async fn list(&self, launch: &ServerLaunch) -> Result<Vec<Tool>, ServerFailure> {
        let (connection, _) = self.connection(launch).await?;
        Ok(connection.tools().to_vec())
    }

    /// Calls a tool of a server. Starts it if it does not run; a call is never repeated. `mark` must be random.
    pub async fn call(
        &self,
        launch: &ServerLaunch,
        tool: &str,
        arguments: JsonObject,
        mark: u64,
        stopped: impl Future<Output = ()>,
    ) -> Result<ServerAnswer, CallFailure> {
        let connection = self.connection(launch).await;
        let (connection, used) = connection.map_err(|error| CallFailure::NotSent(error.to_string()))?;
        let result = connection.call(tool, arguments, launch.call_limit, stopped).await;
        *used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(ServerAnswer::of(&launch.name, tool, &result?, mark))
    }

    /// Ends every server. None is started after that.
    pub async fn close(&self) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ending = slots.into_iter().flatten().map(|(_, slot)| async move {
            if let Some(live) = slot.live.lock().await.take() {
                end(live.connection).await;
            }
        });
        join_all(ending).await;
    }

    async fn connection(
        &self,
        launch: &ServerLaunch,
    ) -> Result<(Arc<ServerConnection>, Arc<Mutex<Instant>>), ServerFailure> {
        let slot = self.slot(launch).ok_or(ServerFailure::Closing)?;
        let mut place = slot.live.lock().await;
        if let Some(live) = place.as_ref().filter(|live| !live.connection.is_closed()) {
            *live.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            return Ok((Arc::clone(&live.connection), Arc::clone(&live.used)));
        }
        *place = None;
        let connection = Arc::new(ServerConnection::open(launch, &self.keeper, &self.transport).await?);
        // The room may have been closed meanwhile.
        if self.slot(launch).is_none() {
            end(connection).await;
            return Err(ServerFailure::Closing);
        }
        let used = Arc::new(Mutex::new(Instant::now()));
        *place = Some(LiveServer { connection: Arc::clone(&connection), used: Arc::clone(&used) });
        tokio::spawn(close_when_idle(Arc::downgrade(&slot), Arc::downgrade(&connection), self.idle));
        Ok((connection, used))
    }

    fn slot(&self, launch: &ServerLaunch) -> Option<Arc<ServerSlot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = slots.as_mut()?;
        // What nothing uses and nothing runs in is forgotten.
        slots.retain(|_, slot| {
            Arc::strong_count(slot) > 1 || slot.live.try_lock().is_ok_and(|live| live.is_some())
        });
        Some(Arc::clone(slots.entry(launch.digest()).or_default()))
    }
}

/// Closes a connection that nothing has used for a while.
async fn close_when_idle(
    slot: std::sync::Weak<ServerSlot>,
    connection: std::sync::Weak<ServerConnection>,
    idle: Duration,
) {
    let mut wait = idle;
    loop {
        tokio::time::sleep(wait).await;
        let Some(slot) = slot.upgrade() else { return };
        let mut place = slot.live.lock().await;
        let is_own = place
            .as_ref()
            .is_some_and(|live| std::ptr::eq(Arc::as_ptr(&live.connection), connection.as_ptr()));
        let Some(live) = place.as_ref().filter(|_| is_own) else { return };
        let used = *live.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_used = Arc::strong_count(&live.connection) > 1;
        wait = if is_used { idle } else { idle.saturating_sub(used.elapsed()) };
        if wait.is_zero() {
            if let Some(live) = place.take() {
                end(live.connection).await;
            }
            return;
        }
    }
}

/// Ends a connection, or leaves that to the call that still has it.
async fn end(connection: Arc<ServerConnection>) {
    if let Some(connection) = Arc::into_inner(connection) {
        connection.close().await;
    }
}
