//! The model requests of a running turn: their rows, their keys, and their connection.

use std::sync::Arc;

use talaria_agent::attempt::{AttemptEnd, WireNews};
use talaria_agent::failure::{FailureClass, ModelFailure};
use talaria_agent::loop_turn::{AttemptPurpose, EndedAttempt, LoopInput, ModelChange, PlannedAttempt};
use talaria_agent::rendered::RenderedRequest;
use talaria_codex::conversation::Watcher as _;
use talaria_core::event::Event;
use talaria_store::{Change, ModelAttemptEnd, UsagePurpose};

use super::super::dump::AttemptName;
use super::super::wire::{LoopEndpoint, WireFeed};
use super::super::{LoopProvider, attempt_rows};
use super::{RunningLoop, Unrecorded};
use crate::engine::run::budget::most_charge;
use crate::engine::run::providers::{KeyWait, RequestKey, key_wait_words};

/// A request that waits for the key of its provider.
pub(super) struct UnsentRequest {
    request: Box<RenderedRequest>,
    attempt: u64,
    /// Shows that it waits for these variables; none if it waits for a key that other requests use.
    wait: Option<(KeyWait, Vec<String>)>,
}

impl RunningLoop<'_> {
    pub(super) async fn plan(&mut self, planned: &PlannedAttempt) -> Result<(), Unrecorded> {
        (self.planned, self.purpose) = (planned.number, planned.purpose);
        let is_of_ladder = !matches!(planned.purpose, AttemptPurpose::Summary { by: Some(_) });
        if let Some(model) = self.models.get(planned.place).filter(|_| is_of_ladder) {
            self.provider = model.clone();
        }
        let purpose = match planned.purpose {
            AttemptPurpose::Answer => UsagePurpose::Turn,
            AttemptPurpose::Summary { .. } => UsagePurpose::Compaction,
        };
        let row = attempt_rows::planned(self.ordinal, purpose, self.asked(), planned);
        let key = row.key;
        let charge = most_charge(planned, self.asked());
        self.journal.change(Change::NewAttempt(row));
        self.reserve(key, planned.number, charge).await
    }

    /// Reports that another model answers from now on, and remembers for other turns how long the one before it rests.
    pub(super) fn report_change(&mut self, change: ModelChange) {
        let ModelChange { from, to, why, until, .. } = change;
        if let Some(until) = until {
            self.engine.provider_keys.health.rest(&from, until);
        }
        self.tell(Event::ModelRerouted { from, to, reason: Some(why), until });
    }

    /// Takes the key for the next request.
    pub(super) fn take_key(&mut self) {
        self.keys.mark_unchanged();
        let is_answer = self.purpose == AttemptPurpose::Answer;
        let LoopProvider { found, surroundings, .. } = self.asked();
        let kept = self.kept_key.as_ref().filter(|_| is_answer);
        self.key = self.engine.provider_keys.take(found, surroundings, &self.engine.home, kept);
        let spare = match &self.key {
            RequestKey::Leased { lease, spare } => {
                if is_answer {
                    self.kept_key = Some(lease.pooled().clone());
                }
                *spare
            }
            _ => 0,
        };
        self.handle(LoopInput::SpareKeys(spare));
    }

    pub(super) fn waits_for_key(&self) -> bool {
        matches!(self.key, RequestKey::Missing { .. } | RequestKey::Busy)
    }

    /// Sends a request, or waits for the key that it needs.
    pub(super) async fn send(
        &mut self,
        request: Box<RenderedRequest>,
        attempt: u64,
    ) -> Result<(), Unrecorded> {
        let key = match &self.key {
            RequestKey::NotNeeded => None,
            RequestKey::Leased { lease, .. } => Some(lease.key().clone()),
            // The conversation does not wait for the key of a model that only summarises.
            RequestKey::Missing { variables } if self.purpose != AttemptPurpose::Answer => {
                let text = format!("there is no key: set {}", variables.join(" or "));
                let failure = ModelFailure::transport(FailureClass::Auth, text);
                self.handle(LoopInput::Wire { attempt, news: &WireNews::Broken(failure) });
                return Ok(());
            }
            RequestKey::Missing { variables } => {
                let variables = variables.clone();
                let wait = KeyWait::begin(&self.engine, &self.scene.session, &variables);
                let message = key_wait_words(&variables.join(" or "));
                self.unsent = Some(UnsentRequest { request, attempt, wait: Some((wait, variables)) });
                self.tell(Event::Warning { message });
                return self.journal.keep().await.map_err(Unrecorded::from);
            }
            RequestKey::Busy => {
                let title = &self.asked().found.profile.title;
                let message = format!(
                    "waiting for a key of {title}: all of them have as many requests as they may have"
                );
                self.unsent = Some(UnsentRequest { request, attempt, wait: None });
                self.tell(Event::Warning { message });
                return self.journal.keep().await.map_err(Unrecorded::from);
            }
            RequestKey::Refused(text) => {
                let failure = ModelFailure::transport(FailureClass::Auth, text.clone());
                self.handle(LoopInput::Wire { attempt, news: &WireNews::Broken(failure) });
                return Ok(());
            }
        };
        let name = AttemptName { session: &self.scene.session, ordinal: self.ordinal, attempt };
        let endpoint = LoopEndpoint::new(&self.engine, self.asked(), key, name);
        self.wire = Some(WireFeed::send(Arc::clone(&self.engine.models), endpoint, *request, attempt));
        Ok(())
    }

    /// Sends a request that waited for its key, if that is here now.
    pub(super) async fn send_unsent(&mut self) -> Result<(), Unrecorded> {
        let Some(UnsentRequest { request, attempt, wait }) = self.unsent.take() else { return Ok(()) };
        self.take_key();
        let waits_as_before = match (&self.key, &wait) {
            (RequestKey::Missing { variables }, Some((_, before))) => variables == before,
            (RequestKey::Busy, None) => true,
            _ => false,
        };
        if waits_as_before {
            self.unsent = Some(UnsentRequest { request, attempt, wait });
            return Ok(());
        }
        drop(wait);
        if !self.waits_for_key() {
            self.journal.change(attempt_rows::sent(attempt_rows::key(self.ordinal, attempt)));
            self.journal.keep().await?;
        }
        self.send(request, attempt).await
    }

    /// The provider of the attempt that was planned last.
    pub(super) fn asked(&self) -> &LoopProvider {
        let configured = match self.purpose {
            AttemptPurpose::Summary { by: Some(by) } => self.summarisers.get(by),
            AttemptPurpose::Summary { by: None } | AttemptPurpose::Answer => None,
        };
        configured.unwrap_or(&self.provider)
    }

    pub(super) fn close_wire(&mut self, attempt: u64) {
        let Some(wire) = self.wire.take_if(|wire| wire.attempt() == attempt) else { return };
        // A turn that is stopped closes the connection at once.
        if !*self.stop.borrow() {
            wire.release();
        }
    }

    pub(super) fn end_attempt(&mut self, ended: &EndedAttempt) {
        self.wire = None;
        // It may have ended while it waited for its key.
        self.unsent.take_if(|unsent| unsent.attempt == ended.number);
        self.withheld.take_if(|withheld| withheld.attempt() == ended.number);
        self.settle_key(ended);
        let is_answer = self.purpose == AttemptPurpose::Answer;
        self.journal.point(if is_answer { "model-answer" } else { "summary-answer" });
        let items = self.history_rows(&ended.entries);
        let end = ModelAttemptEnd { items, ..attempt_rows::ended(self.asked(), ended) };
        let key = attempt_rows::key(self.ordinal, ended.number);
        self.journal.change(Change::AttemptEnd(key, Box::new(end)));
    }

    /// Records what the end of an attempt says about its key and its model, and lets other requests have the key.
    fn settle_key(&mut self, ended: &EndedAttempt) {
        if let AttemptEnd::Completed(_) | AttemptEnd::Incomplete(_) | AttemptEnd::Refused { .. } = &ended.end
        {
            self.engine.provider_keys.health.answered(&self.asked().name());
        }
        let key = std::mem::replace(&mut self.key, RequestKey::NotNeeded);
        if let RequestKey::Leased { lease, .. } = key {
            lease.settle(&ended.end, ended.tokens.usage().total);
        }
    }
}
