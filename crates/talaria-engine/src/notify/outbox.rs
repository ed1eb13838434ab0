//! The storage interface of a deliverer. The engine's store implements it; tests use another.
//!
//! A claim is for one deliverer until a time. An entry that was claimed before and never reported is marked as a
//! possible repeat.

use std::fmt::Display;
use std::future::Future;

use talaria_core::ids::SessionId;

/// Something that is owed and was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Its name.
    pub id: String,
    /// Its conversation.
    pub session: SessionId,
    /// The notice, as JSON: a [`talaria_core::notice::QueuedNotice`].
    pub payload: String,
    /// The target, as text.
    pub target: String,
    /// How often it was claimed, with this time.
    pub attempts: u32,
    /// May it have been sent before?
    pub repeat: bool,
}

/// The outbox cannot be used, or a claim was lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutboxError(String);

impl OutboxError {
    /// Wraps what the keeper said.
    pub fn new(why: impl Display) -> Self {
        Self(why.to_string())
    }
}

/// Keeps what is owed. Times are milliseconds since 1970.
pub trait Outbox: Send + Sync + 'static {
    /// Claims up to `limit` entries that are due at `now`, until `until`, none of them for a target in `except`.
    ///
    /// A storage that cannot filter by target may ignore `except`; surplus entries are released.
    fn claim(
        &self,
        by: &str,
        now: i64,
        until: i64,
        limit: u32,
        except: &[String],
    ) -> impl Future<Output = Result<Vec<Owed>, OutboxError>> + Send;

    /// Keeps that a claimed entry was sent.
    fn sent(&self, by: &str, id: &str, at: i64) -> impl Future<Output = Result<(), OutboxError>> + Send;

    /// Keeps that an attempt failed, and when the next one is due.
    fn failed(
        &self,
        by: &str,
        id: &str,
        due_at: i64,
        error: &str,
    ) -> impl Future<Output = Result<(), OutboxError>> + Send;

    /// Records that it will not be tried again.
    fn abandoned(
        &self,
        by: &str,
        id: &str,
        at: i64,
        error: &str,
    ) -> impl Future<Output = Result<(), OutboxError>> + Send;

    /// Releases a claim for which no attempt was made: it does not count, and leaves no possible repeat.
    fn release(
        &self,
        by: &str,
        id: &str,
        due_at: i64,
    ) -> impl Future<Output = Result<(), OutboxError>> + Send;

    /// Returns when the next entry becomes due, if nothing new arrives.
    fn next_due(&self) -> impl Future<Output = Result<Option<i64>, OutboxError>> + Send;
}
