//! Requests of a running turn under budgets: each is reserved before it is sent. One that has no room is kept, and a person is
//! asked; an answer that allows more is recorded together with the end of the question.

use talaria_agent::loop_turn::LoopInput;
use talaria_agent::rendered::RenderedRequest;
use talaria_codex::conversation::Watcher as _;
use talaria_core::budget::{BudgetCharge, BudgetReply, BudgetShortfall, ask_for_more, read_reply};
use talaria_core::event::Event;
use talaria_core::ids::{ItemId, TicketId};
use talaria_core::request::{Answer, Who};
use talaria_store::{Change, ModelAttemptKey, NewAllowance};
use tokio::sync::oneshot;

use super::super::attempt_rows;
use super::super::calls::Decided;
use super::{AttemptPurpose, RunningLoop, Unrecorded};
use crate::engine::run::budget::{next_after_end, words_of_end};

/// A planned request that a budget has no room for.
pub(super) struct WithheldRequest {
    key: ModelAttemptKey,
    attempt: u64,
    charge: BudgetCharge,
    shortfall: BudgetShortfall,
    /// Known once it is to be sent.
    request: Option<Box<RenderedRequest>>,
}

impl WithheldRequest {
    pub(super) fn attempt(&self) -> u64 {
        self.attempt
    }
}

impl RunningLoop<'_> {
    /// Reserves what the planned request can cost, and takes its key. Without room the machine waits.
    pub(super) async fn reserve(
        &mut self,
        key: ModelAttemptKey,
        attempt: u64,
        charge: BudgetCharge,
    ) -> Result<(), Unrecorded> {
        let provider = self.asked().found.profile.name.clone();
        let reserved = self.engine.reserve(&self.scene.session, key, &provider, charge).await;
        match reserved.map_err(|_| Unrecorded)? {
            None => self.prepare_to_send(key),
            Some(shortfall) => {
                self.withheld = Some(WithheldRequest { key, attempt, charge, shortfall, request: None });
                self.handle(LoopInput::Withheld);
            }
        }
        Ok(())
    }

    /// Keeps a request that must not be sent yet, and asks for more.
    pub(super) async fn withhold(&mut self, request: Box<RenderedRequest>) -> Result<(), Unrecorded> {
        if let Some(withheld) = &mut self.withheld {
            withheld.request = Some(request);
        }
        self.ask_for_more().await
    }

    async fn ask_for_more(&mut self) -> Result<(), Unrecorded> {
        let Some(WithheldRequest { shortfall, .. }) = &self.withheld else { return Ok(()) };
        if shortfall.wanted.is_none() || !self.scene.confinement.asks {
            self.forgo(false);
            return Ok(());
        }
        let is_answer = self.purpose == AttemptPurpose::Answer;
        let place = self.models.iter().position(|model| model.name() == self.provider.name());
        let another = place.and_then(|place| self.models.get(place + 1)).filter(|_| is_answer);
        let another = another.map(super::LoopProvider::name);
        let item = self.budget_item();
        let ask = ask_for_more(&self.scene.thread, &item, shortfall, another.as_deref());
        let (done, is_decided) = oneshot::channel();
        self.allowed = Some(is_decided);
        self.journal.point("budget-asked");
        self.open_ask(&item, ask, None, None, done).await
    }

    /// The step that names the questions for more of this turn, also for the next engine.
    fn budget_item(&self) -> ItemId {
        ItemId::new(format!("{}-budget", self.scene.turn.as_str()))
    }

    /// Records what an answer allows, with the end of its question. Only a person allows more.
    pub(super) fn record_allowance(&mut self, item: &ItemId, ticket: &TicketId, answer: &Answer, by: Who) {
        if *item != self.budget_item() {
            return;
        }
        if let (Some(withheld), Who::User) = (&self.withheld, by)
            && let BudgetReply::Allow(amount) = read_reply(answer, withheld.shortfall.state.limit)
        {
            let scope = withheld.shortfall.state.scope.clone();
            self.journal.point("budget-allowed");
            self.journal.change(Change::BudgetAllowance(NewAllowance {
                ticket: ticket.clone(),
                scope,
                amount,
            }));
        }
        self.confirm_answers(Some(item));
    }

    /// Does what was decided about the request that waits.
    pub(super) async fn settle_allowance(&mut self, decided: Option<Decided>) -> Result<(), Unrecorded> {
        let Some(Decided { answer, by }) = decided else { return Ok(()) };
        let Some(WithheldRequest { shortfall, .. }) = &self.withheld else { return Ok(()) };
        let reply = read_reply(&answer, shortfall.state.limit);
        match (reply, by) {
            (BudgetReply::Allow(_), Who::User) => self.try_again().await,
            (BudgetReply::AnotherModel, Who::User) => {
                self.forgo(true);
                Ok(())
            }
            (BudgetReply::Stop, Who::User) => {
                self.interrupt(by);
                Ok(())
            }
            (BudgetReply::Unreadable, Who::User) => {
                let unit = shortfall.state.limit;
                let message = format!(
                    "the answer is no amount like {unit}; nothing was allowed, and you are asked again"
                );
                self.tell(Event::Warning { message });
                self.journal.keep().await?;
                self.ask_for_more().await
            }
            _ => {
                self.forgo(false);
                Ok(())
            }
        }
    }

    /// Reserves again after a person allowed more, and sends the request if that is enough.
    async fn try_again(&mut self) -> Result<(), Unrecorded> {
        // The allowance is stored before it counts.
        self.journal.keep().await?;
        let Some(WithheldRequest { key, attempt, charge, request, .. }) = self.withheld.take() else {
            return Ok(());
        };
        self.reserve(key, attempt, charge).await?;
        if let Some(withheld) = &mut self.withheld {
            withheld.request = request;
            return self.ask_for_more().await;
        }
        self.handle(LoopInput::Granted);
        self.journal.keep().await?;
        match request {
            Some(request) => self.send(request, attempt).await,
            None => Ok(()),
        }
    }

    /// The request is never sent.
    fn forgo(&mut self, asks_another: bool) {
        let Some(WithheldRequest { shortfall, .. }) = &self.withheld else { return };
        let (message, next) = (words_of_end(shortfall), next_after_end(shortfall).into());
        self.handle(LoopInput::Forgone { message, next, asks_another });
    }

    /// Takes the key of a request that has its reservation.
    fn prepare_to_send(&mut self, key: ModelAttemptKey) {
        self.take_key();
        if !self.waits_for_key() {
            self.journal.change(attempt_rows::sent(key));
        }
    }
}
