//! Says the same thing again while the engine is away for a moment. Only for what may be said twice: an answer, of which
//! the engine takes the first, and the wish to stop.

use std::time::Duration;

use talaria_server::client::ClientError;

use crate::engine::may_come_back;

/// How often it is said again, and how long is waited in between.
const TRIES: u32 = if cfg!(test) { 3 } else { 40 };
const BETWEEN_TRIES: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 250 });

/// Retries while the engine is unavailable. If all attempts fail, and the connection broke once, that is the error: the
/// engine may have received the request then, regardless of the later attempts.
pub(crate) async fn insist<T, F>(ask: impl Fn() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let (mut tries, mut broken) = (0, None);
    loop {
        match ask().await {
            Err(error) if may_come_back(&error) && tries < TRIES => {
                tries += 1;
                if matches!(error, ClientError::Broken(_)) {
                    broken = Some(error);
                }
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            // Only an engine that answers can say that it was not done.
            Err(error) if !matches!(error, ClientError::Problem(_)) || may_come_back(&error) => {
                return Err(broken.unwrap_or(error));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use talaria_core::api::{Problem, ProblemCode};

    use super::*;

    async fn insist_on(errors: impl IntoIterator<Item = ClientError>) -> Result<(), ClientError> {
        let errors = RefCell::new(VecDeque::from_iter(errors));
        insist(|| async { errors.borrow_mut().pop_front().map_or(Err(ClientError::NotRunning), Err) }).await
    }

    #[tokio::test]
    async fn what_may_have_been_heard_once_is_not_told_as_not_heard() {
        let broken = || ClientError::Broken("it ended".to_owned());
        assert!(matches!(insist_on([]).await, Err(ClientError::NotRunning)));
        assert!(matches!(insist_on([broken()]).await, Err(ClientError::Broken(_))));
        let stopped = insist_on([broken(), ClientError::Stopped]).await;
        assert!(matches!(stopped, Err(ClientError::Broken(_))), "{stopped:?}");
        let refused =
            insist_on([broken(), ClientError::Problem(Problem::new(ProblemCode::Conflict, "no"))]).await;
        assert!(matches!(refused, Err(ClientError::Problem(_))), "the engine answered: {refused:?}");
    }
}
