//! Resumes a thread on a host where it is loaded, also in the middle of a turn: used for the threads of an adopted
//! host.
//!
//! No options are sent, and nothing is compared: that happened when the thread was started or cold resumed, and Codex
//! ignores options while the thread is loaded. Only a loaded thread is resumed like this, because one that Codex has to
//! load again loses its settings. Codex sends open requests again on this connection, with the same id, after the response;
//! text of a running turn continues from the current position, and its completed item has the whole. Items reported here
//! may be repeated as notifications: the subscription begins before the read, so that nothing is missed in between.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use talaria_codex_proto::power::{InForce, PowerCheck};
use talaria_codex_proto::wire::call::{Call, ThreadStartReply};
use talaria_codex_proto::wire::history::{History, HistoryTurn};
use talaria_core::ids::ThreadId;

use super::client::CallError;
use super::host::Host;
use super::threads::{OpenThread, RawEvents};

/// Number of turns that are reported. The one in flight is the last; the earlier ones show whether it exists at
/// all.
const TURNS: u32 = 3;

/// A thread that was resumed as it was.
#[derive(Debug)]
pub struct AttachedThread {
    /// The thread. What differs from what was asked is not looked at.
    pub thread: OpenThread,
    /// Its status, and its last few turns, oldest first. A running turn has its completed and running items;
    /// unfinished text is missing, and a command is missing for a moment after it began.
    pub history: History,
}

/// Why a thread was not resumed as it was.
#[derive(Debug, thiserror::Error)]
pub enum AttachThreadError {
    /// It is not loaded here. Resuming it loads it, and asks for everything again.
    #[error("Codex has not loaded the conversation")]
    NotLoaded,
    /// Codex said no, or nothing.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// `thread/resume` that asks for nothing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Attach<'a> {
    thread_id: &'a ThreadId,
    /// A long conversation would not fit into one message.
    exclude_turns: bool,
    /// The last turns, from versions that know this; others ignore it.
    initial_turns_page: TurnsPage,
}

impl Call for Attach<'_> {
    const METHOD: &'static str = "thread/resume";
    type Reply = Box<RawValue>;
}

/// Which turns are reported, and how much of each.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnsPage {
    limit: u32,
    sort_direction: &'static str,
    items_view: &'static str,
}

const LAST: TurnsPage = TurnsPage { limit: TURNS, sort_direction: "desc", items_view: "full" };

/// Additional fields of the response to `Attach`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttachReply {
    thread: History,
    initial_turns_page: Option<LastTurnsReply>,
}

/// The last turns, for versions that do not include them in the response. Newer ones would return only written items
/// here, which lack some of the running turn.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LastTurns<'a> {
    thread_id: &'a ThreadId,
    #[serde(flatten)]
    page: TurnsPage,
}

#[derive(Debug, Deserialize)]
struct LastTurnsReply {
    /// Newest first.
    data: Vec<HistoryTurn>,
}

impl Call for LastTurns<'_> {
    const METHOD: &'static str = "thread/turns/list";
    type Reply = LastTurnsReply;
}

/// Asks which threads a Codex has loaded.
#[derive(Debug, Serialize)]
struct LoadedThreads {}

#[derive(Debug, Deserialize)]
struct LoadedThreadsReply {
    data: Vec<ThreadId>,
}

impl Call for LoadedThreads {
    const METHOD: &'static str = "thread/loaded/list";
    type Reply = LoadedThreadsReply;
}

impl Host {
    /// The threads that Codex has loaded, for any client. It unloads one that no one follows after a while.
    pub async fn loaded_threads(&self) -> Result<Vec<ThreadId>, CallError> {
        self.call(&LoadedThreads {}).await.map(|reply| reply.data)
    }

    /// Resumes a thread that is loaded here, as it is, also while a turn runs. Codex refuses one that never had a turn.
    pub async fn attach_thread(&self, thread: &ThreadId) -> Result<AttachedThread, AttachThreadError> {
        let _opening = self.thread_slots().begin_opening();
        if !self.loaded_threads().await?.contains(thread) {
            return Err(AttachThreadError::NotLoaded);
        }
        let attach = Attach { thread_id: thread, exclude_turns: true, initial_turns_page: LAST };
        let told = self.call(&attach).await?;
        let shape = |error| CallError::Shape { method: Attach::METHOD, error };
        let reply: ThreadStartReply = serde_json::from_str(told.get()).map_err(shape)?;
        let told: AttachReply = serde_json::from_str(told.get()).map_err(shape)?;
        let standing = PowerCheck { in_force: InForce::of(&reply), differences: Vec::new() };
        // Codex does report them where this process started the thread, but not where it resumed it; it does not say
        // which.
        let opened = self.open(reply, standing, RawEvents::NotTold);
        let last = match told.initial_turns_page {
            Some(last) => last,
            None => self.call(&LastTurns { thread_id: thread, page: LAST }).await?,
        };
        let turns = last.data.into_iter().rev().collect();
        Ok(AttachedThread { thread: opened, history: History { turns, ..told.thread } })
    }
}

impl Host {
    /// Listens to a thread that is loaded here without taking it up: a sub-agent's, whose frames go where its parent's do.
    pub(crate) async fn hear_thread(&self, thread: &ThreadId) -> Result<(), CallError> {
        self.call(&Attach { thread_id: thread, exclude_turns: true, initial_turns_page: LAST })
            .await
            .map(drop)
    }
}

#[cfg(test)]
mod tests;
