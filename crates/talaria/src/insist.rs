//! Says the same thing again while the engine is away for a moment. Only for what may be said twice: an answer, of which
//! the engine takes the first, and the wish to stop.

use std::time::Duration;

use talaria_server::client::ClientError;

use crate::engine::may_come_back;

/// How often it is said again, and how long is waited in between.
const TRIES: u32 = 40;
const BETWEEN_TRIES: Duration = Duration::from_millis(250);

/// Asks until there is an answer that is not only an absence.
pub(crate) async fn insist<T, F>(ask: impl Fn() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let mut tries = 0;
    loop {
        match ask().await {
            Err(error) if may_come_back(&error) && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            result => return result,
        }
    }
}
