//! A thread that begins with the turns of another one: Codex copies that thread up to a turn.
//!
//! 0.166 copies up to the turn that it is asked for. 0.130 copies everything, so that the turns after it are removed from the copy;
//! what a compaction in one of them replaced stays replaced, although the turns look right, so that such a copy is not made.
//! Either way the copy is read, and used only if its last turn is the wanted one: a conversation must not know what was undone, and
//! not lack what people see. The thread that is copied is never changed. Called by the engine for forks and undone turns.

use talaria_codex_proto::wire::call::{ThreadRollback, ThreadStart};
use talaria_core::ids::{ThreadId, TurnId};

use crate::client::CallError;
use crate::host::Host;
use crate::threads::{OpenThread, ThreadError};

/// A thread up to a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPoint {
    /// The thread that is copied.
    pub thread: ThreadId,
    /// The last turn that the new thread has.
    pub last_turn: TurnId,
    /// Whether the thread was shortened in a later turn.
    pub is_compacted_after: bool,
}

/// Why there is no such thread.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    /// This Codex cannot make it; a digest of the conversation has to do.
    #[error("{0}")]
    Impossible(String),
    /// Codex did not answer, or would have allowed more than was asked for.
    #[error(transparent)]
    Thread(#[from] ThreadError),
}

impl From<CallError> for BranchError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused { error, .. } => Self::Impossible(error.message),
            error => Self::Thread(error.into()),
        }
    }
}

/// Starts a thread that begins with another one up to a turn. If that is impossible, nothing is left of the attempt.
pub async fn branch(
    host: &Host,
    point: &BranchPoint,
    asked: &ThreadStart,
) -> Result<OpenThread, BranchError> {
    if point.is_compacted_after && !host.version().forks_at_turns() {
        let why = "this version of Codex cannot restore what a compaction replaced";
        return Err(BranchError::Impossible(why.to_owned()));
    }
    let last_turn = host.version().forks_at_turns().then(|| point.last_turn.clone());
    let copied = host.copy_thread(&point.thread, last_turn, asked).await;
    let thread = copied.map_err(|error| match error {
        ThreadError::Call(error) => error.into(),
        error @ ThreadError::Power(_) => BranchError::Thread(error),
    })?;
    match cut(host, &thread.started.thread, &point.last_turn).await {
        Ok(()) => Ok(thread),
        Err(error) => {
            host.discard(thread.started.thread.clone()).await;
            Err(error)
        }
    }
}

/// Removes what follows a turn from a copy, and checks that the turn is its last one.
async fn cut(host: &Host, copy: &ThreadId, last_turn: &TurnId) -> Result<(), BranchError> {
    let turns_after = async || {
        let turns = host.read_thread(copy).await?.turns;
        Ok::<_, CallError>(turns.iter().rev().position(|turn| turn.id == *last_turn))
    };
    let missing = || BranchError::Impossible("Codex's copy of the conversation lacks the turn".to_owned());
    let after = turns_after().await?.ok_or_else(missing)?;
    if after == 0 {
        return Ok(());
    }
    if !host.version().forks_at_turns() {
        let num_turns = u32::try_from(after).unwrap_or(u32::MAX);
        host.call(&ThreadRollback { thread_id: copy.clone(), num_turns }).await?;
    }
    match turns_after().await? {
        Some(0) => Ok(()),
        _ => Err(BranchError::Impossible("Codex's copy of the conversation has other turns".to_owned())),
    }
}
