//! Whether a question that an engine refused because it was ending is asked again: the next engine may answer it.
//!
//! Only requests that provably had no effect are retried. An ending engine refuses before it does anything, or cannot commit
//! the request's only transaction; the routes for which that is true are named here. For requests that may have had an
//! effect the caller decides.

use std::time::Duration;

use talaria_core::api::ProblemCode;
use tokio::time::Instant;

use super::ClientError;
use crate::route::{self, Route, Verb};

/// How long the next engine is waited for.
const LIMIT: Duration = Duration::from_secs(20);
/// How long is waited before the question is repeated.
const PAUSE: Duration = Duration::from_millis(100);

/// The routes that do all they do in one transaction, after everything that can be refused; a worktree that was made for a
/// task is removed when its task cannot be recorded.
const ALL_OR_NOTHING: [Route; 9] = [
    route::START_SESSION,
    route::START_TURN,
    route::SAY,
    route::COMPACT,
    route::FORK,
    route::UNDO,
    route::RETRY,
    route::START_TASK,
    route::SEND,
];

/// The retries of one question.
#[derive(Debug)]
pub(super) struct Retries {
    is_repeatable: bool,
    until: Option<Instant>,
}

impl Retries {
    pub(super) fn of(route: &Route) -> Self {
        let is_repeatable = route.verb == Verb::Get || ALL_OR_NOTHING.contains(route);
        Self { is_repeatable, until: None }
    }

    /// Has the engine refused once, because it was ending? Then it was stopped after the question was asked.
    pub(super) fn has_begun(&self) -> bool {
        self.until.is_some()
    }

    /// Waits for a moment and returns whether to retry.
    pub(super) async fn wait_after(&mut self, error: &ClientError) -> bool {
        let is_ending = match error {
            ClientError::Problem(problem) => problem.code == ProblemCode::Stopping,
            // No one listens between two engines.
            ClientError::NotRunning => self.has_begun(),
            _ => false,
        };
        let until = *self.until.get_or_insert_with(|| Instant::now() + LIMIT);
        let is_repeated = is_ending && self.is_repeatable && Instant::now() < until;
        if is_repeated {
            tokio::time::sleep(PAUSE).await;
        }
        is_repeated
    }
}
