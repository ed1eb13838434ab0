//! Takes up a thread on a host where it is loaded, also in the middle of a turn: what an engine does with the threads of
//! a host that it adopted.
//!
//! Nothing is asked for, so nothing that is in force changes, and nothing is compared: that was done when the thread was
//! started or cold resumed. Requests that are open come again on this connection, with the same id, after the answer;
//! pieces of a running turn go on where they are, without what came before.

use serde::Serialize;
use serde_json::value::RawValue;
use talaria_core::ids::ThreadId;
use talaria_core::power::{InForce, Standing};
use talaria_core::wire::call::{Call, ThreadStartReply};
use talaria_core::wire::history::{History, HistoryTurn, ThreadReadReply};
use talaria_core::wire::notification::TurnStatus;

use super::client::CallError;
use super::host::Host;
use super::threads::{OpenThread, RawEvents};

/// A thread that was taken up as it was.
#[derive(Debug)]
pub struct AttachedThread {
    /// The thread. What differs from what was asked is not looked at.
    pub thread: OpenThread,
    /// What Codex told about it: what it does, and its turns.
    pub history: History,
}

impl AttachedThread {
    /// The turn that runs, if one does.
    pub fn running_turn(&self) -> Option<&HistoryTurn> {
        self.history.turns.last().filter(|turn| turn.status == TurnStatus::InProgress)
    }
}

/// `thread/resume` that asks for nothing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Attach<'a> {
    thread_id: &'a ThreadId,
}

impl Call for Attach<'_> {
    const METHOD: &'static str = "thread/resume";
    type Reply = Box<RawValue>;
}

impl Host {
    /// Takes up a thread that is loaded here, as it is. One that never had a turn is refused by Codex.
    pub async fn attach_thread(&self, thread: &ThreadId) -> Result<AttachedThread, CallError> {
        let _seat = self.seats().take();
        let told = self.call(&Attach { thread_id: thread }).await?;
        let shape = |error| CallError::Shape { method: Attach::METHOD, error };
        let reply: ThreadStartReply = serde_json::from_str(told.get()).map_err(shape)?;
        let history: ThreadReadReply = serde_json::from_str(told.get()).map_err(shape)?;
        let standing = Standing { in_force: InForce::of(&reply), differences: Vec::new() };
        let thread = self.open(reply, standing, RawEvents::NotTold);
        Ok(AttachedThread { thread, history: history.thread })
    }
}
