//! One attempt: from a claimed entry to its recorded result.
//!
//! Every attempt ends in time and with a result; an entry that cannot be read is abandoned. Called by the deliverer, in
//! a separate async task.

use std::path::PathBuf;
use std::time::Duration;

use talaria_core::notice::{Next, QueuedNotice, RetryPolicy, Target};

use super::outbox::Owed;
use super::{NotifyError, Parcel, Receipt, Senders};

/// However a sender fails to keep its own limits, an attempt ends.
const LONGEST: Duration = Duration::from_secs(90);

/// Result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Sent(Receipt),
    Failed { due_at: i64, error: String },
    Abandoned { error: String },
}

/// Sends what is owed.
pub(super) async fn attempt(senders: &Senders, owed: &Owed) -> Result<Receipt, NotifyError> {
    let sending = async {
        let target: Target = owed.target.parse().map_err(|bad| NotifyError::permanent(format!("{bad}")))?;
        let kept: QueuedNotice = serde_json::from_str(&owed.payload).map_err(|why| {
            NotifyError::permanent(format!("the stored notification cannot be read: {why}"))
        })?;
        let mut notice = kept.notice.covered();
        (notice.repeat, notice.attempt) = (owed.repeat, owed.attempts);
        let parcel = Parcel { id: owed.id.clone(), notice, tty: kept.tty.map(PathBuf::from) };
        senders.sender(&target)?.deliver(&parcel).await
    };
    let sent = tokio::time::timeout(LONGEST, sending).await;
    sent.unwrap_or_else(|_| Err(NotifyError::passing("the attempt took too long")))
}

/// Decides what is recorded about an attempt that ended at `now`.
pub(super) fn fate(
    result: Result<Receipt, NotifyError>,
    attempts: u32,
    policy: RetryPolicy,
    now: i64,
    chance: f64,
) -> Fate {
    match result {
        Ok(receipt) => Fate::Sent(receipt),
        Err(NotifyError { fault, message }) => match policy.next(fault, attempts, now, chance) {
            Next::Retry { due_at } => Fate::Failed { due_at, error: message },
            Next::Abandon => Fate::Abandoned { error: message },
        },
    }
}
