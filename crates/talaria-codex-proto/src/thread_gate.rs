//! The gate of one Codex thread: converts what Codex asks into a neutral subject, and lets `RequestGate` and `Bounds` of
//! `talaria-core` decide about it.
//!
//! Remembers the permissions that the model requested for its calls, which arrive before Codex's requests about them. Called
//! by the turn machine for every request.

use talaria_core::gate::{RequestGate, Ruling};
use talaria_core::policy::Answers;
use talaria_core::subject::Subject;
use talaria_guard::place::Place;
use talaria_guard::rules::Rules;

use crate::thread_bounds::ThreadBounds;
use crate::wire::raw_call::RawItem;
use crate::wire::server_request::ServerRequest;
use crate::wishes::Wishes;

/// Decides the requests of one thread, as far as no person is needed.
#[derive(Clone, Debug)]
pub struct ThreadGate {
    gate: RequestGate,
    bounds: ThreadBounds,
    wishes: Wishes,
}

impl ThreadGate {
    /// A gate for a thread with these bounds.
    pub fn new(bounds: ThreadBounds, rules: Rules, answers: Answers, home: Option<String>) -> Self {
        Self { gate: RequestGate::new(rules, answers, home), bounds, wishes: Wishes::default() }
    }

    /// Protects the secrets in Talaria's own directory, wherever that is.
    #[must_use]
    pub fn protecting(mut self, talaria: Option<String>) -> Self {
        self.gate = self.gate.protecting(talaria);
        self
    }

    /// Notes a raw call of the model, which arrives before Codex's request about it.
    pub fn note(&mut self, item: &RawItem) {
        self.wishes.note(item);
    }

    /// Replaces the limits.
    pub fn rebind(&mut self, bounds: ThreadBounds) {
        self.bounds = bounds;
    }

    /// The current limits.
    pub fn bounds(&self) -> &ThreadBounds {
        &self.bounds
    }

    /// Returns where it would happen, and the decision. `subject` is what the request is about (`project::subject`).
    pub fn judge(&self, request: &ServerRequest, subject: Option<&Subject<'_>>) -> (Option<Place>, Ruling) {
        let Some(subject) = subject else {
            return (None, Ruling::for_people());
        };
        let wish = request.item().and_then(|item| self.wishes.of(item));
        let place = self.bounds.place(subject, wish);
        (place, self.gate.rule(subject, place))
    }
}

#[cfg(test)]
mod tests;
