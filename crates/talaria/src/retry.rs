//! Retries a request while the engine is away for a moment. Only for requests that may arrive twice: an answer, of which
//! the engine takes the first, a stop, and what only reads.

use std::time::Duration;

use talaria_server::client::ClientError;

use crate::engine::may_come_back;

/// How often a request is retried, and the pause before each retry.
const RETRIES: u32 = if cfg!(test) { 3 } else { 40 };
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 250 });

/// Retries while the engine is unavailable. If all attempts fail, and the connection broke once, that is the error: the
/// engine may have received the request then, regardless of the later attempts.
pub(crate) async fn retry<T, F>(ask: impl Fn() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let (mut retries, mut broken) = (0, None);
    loop {
        match ask().await {
            Err(error) if may_come_back(&error) && retries < RETRIES => {
                retries += 1;
                if matches!(error, ClientError::Broken(_)) {
                    broken = Some(error);
                }
                tokio::time::sleep(PAUSE).await;
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

    async fn retry_after(errors: impl IntoIterator<Item = ClientError>) -> Result<(), ClientError> {
        let errors = RefCell::new(VecDeque::from_iter(errors));
        retry(|| async { errors.borrow_mut().pop_front().map_or(Err(ClientError::NotRunning), Err) }).await
    }

    #[tokio::test]
    async fn a_request_that_may_have_arrived_is_not_reported_as_not_sent() {
        let broken = || ClientError::Broken("it ended".to_owned());
        assert!(matches!(retry_after([]).await, Err(ClientError::NotRunning)));
        assert!(matches!(retry_after([broken()]).await, Err(ClientError::Broken(_))));
        let stopped = retry_after([broken(), ClientError::Stopped]).await;
        assert!(matches!(stopped, Err(ClientError::Broken(_))), "{stopped:?}");
        let refused =
            retry_after([broken(), ClientError::Problem(Problem::new(ProblemCode::Conflict, "no"))]).await;
        assert!(matches!(refused, Err(ClientError::Problem(_))), "the engine answered: {refused:?}");
    }
}
