//! Waiting for a state that nothing announces: the test looks, pauses, and looks again.
//!
//! A loop that only yields takes a core from the process that it waits for. What announces itself (an event, a line of
//! output, a gate) is awaited directly instead.

use std::time::Duration;

/// How long a state may take to come. Far more than needed: it only ends a test that hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until this is so; `what` names it for the failure.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, async || is_so().then_some(())).await;
}

/// Waits until a look finds something, and returns it; `what` names it for the failure.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    match tokio::time::timeout(PATIENCE, looking).await {
        Ok(found) => found,
        Err(_) => panic!("it did not come within {} s: {what}", PATIENCE.as_secs()),
    }
}
