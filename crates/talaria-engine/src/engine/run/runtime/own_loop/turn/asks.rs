//! The questions of a running turn: requests of its calls, and whether a turn that repeats itself continues. It opens them, finds those
//! that an earlier engine put, and passes answers on to the calls.

use talaria_agent::history::LogPart;
use talaria_agent::loop_turn::LoopInput;
use talaria_codex::conversation::{Watcher as _, mint_ticket};
use talaria_core::event::Event;
use talaria_core::ids::{ItemId, SessionId, TicketId};
use talaria_core::input::InputPart;
use talaria_core::request::{Answer, Ask, Decision, Who};
use talaria_store::{RequestFilter, RequestPatch, RequestRow, RequestState};
use tokio::sync::oneshot;

use super::super::calls::Decided;
use super::super::doubt::{self, DoubtVerdict};
use super::{RunningLoop, Unrecorded};
use crate::engine::journal::asker::Asker;
use crate::engine::journal::{Journal, covered, rows};
use crate::engine::run::opening;

/// A request of a call that waits for a person.
pub(super) struct OpenAsk {
    ticket: TicketId,
    /// The step of the call.
    item: ItemId,
    ask: Ask,
    done: oneshot::Sender<Decided>,
}

/// The answer to a request that an earlier engine put.
enum EarlierAnswer {
    /// It waits for one.
    None,
    /// The call did not get it yet.
    Given(Answer, Who),
    /// The call had it, and has no result.
    PassedOn(Answer, Who),
}

impl RunningLoop<'_> {
    /// Asks whether a turn that repeats itself continues.
    pub(super) async fn put_doubt(&mut self, after: u64, text: &str) -> Result<(), Unrecorded> {
        if !self.scene.confinement.asks {
            self.handle(LoopInput::GiveUp { by: None });
            return Ok(());
        }
        let item = ItemId::new(format!("{}-repeats-{after}", self.scene.turn.as_str()));
        let ask = doubt::question(&self.scene.thread, &item, text);
        let (done, is_decided) = oneshot::channel();
        self.doubt = Some(is_decided);
        self.open_ask(&item, ask, None, None, done).await
    }

    pub(super) fn settle_doubt(&mut self, decided: Option<Decided>) {
        let Some(Decided { answer, by }) = decided else { return };
        match doubt::verdict(&answer) {
            DoubtVerdict::Continue => self.handle(LoopInput::Proceed),
            DoubtVerdict::Advise(words) => {
                let input = [InputPart::Text { text: words.clone() }];
                self.steer(&input, vec![LogPart::text(words)]);
                self.handle(LoopInput::Proceed);
            }
            DoubtVerdict::Stop => self.handle(LoopInput::GiveUp { by: (by == Who::User).then_some(by) }),
        }
    }

    /// Opens a request, or finds the one that an earlier engine put about the same call.
    pub(super) async fn open_ask(
        &mut self,
        item: &ItemId,
        ask: Ask,
        place: Option<talaria_guard::place::Place>,
        decided: Option<(Answer, Who, String)>,
        done: oneshot::Sender<Decided>,
    ) -> Result<(), Unrecorded> {
        if *self.stop.borrow() {
            return Ok(());
        }
        if let Some((answer, by, why)) = decided {
            let earlier = self.earlier_ask(item, &ask).await;
            if matches!(&earlier, Some((_, EarlierAnswer::PassedOn(before, _))) if before.decision == answer.decision)
            {
                let _ = done.send(Decided { answer, by });
                return Ok(());
            }
            if let Some((ticket, EarlierAnswer::None | EarlierAnswer::Given(..))) = earlier {
                let why = format!("{by} decides it now");
                self.journal.close_own(&ticket, Decision::Void, Who::Talaria, Some(why));
            }
            let ticket = mint_ticket();
            self.journal.open_for_call(&ticket, ask, place, item);
            self.journal.deliver(ticket.clone(), &answer, by);
            let decision = answer.decision;
            self.tell(Event::RequestClosed { id: ticket.clone(), decision, by, why: Some(why) });
            self.journal.end_of_answer(ticket, &talaria_codex_proto::turn::Fate::Delivered);
            self.journal.keep().await?;
            let _ = done.send(Decided { answer, by });
            return Ok(());
        }
        let open = |ticket: &TicketId, ask: &Ask, done| {
            let (ticket, item, ask) = (ticket.clone(), item.clone(), ask.clone());
            OpenAsk { ticket, item, ask, done }
        };
        match self.earlier_ask(item, &ask).await {
            Some((ticket, EarlierAnswer::None)) => {
                self.journal.ask(|asking| asking.push(ticket.clone()));
                self.asks.push(open(&ticket, &ask, done));
                tracing::debug!("request {ticket} is still open");
            }
            Some((ticket, EarlierAnswer::Given(answer, by))) => {
                self.asks.push(open(&ticket, &ask, done));
                self.answer(&ticket, answer, by);
            }
            Some((_, EarlierAnswer::PassedOn(answer, by))) => {
                let _ = done.send(Decided { answer, by });
                return Ok(());
            }
            None => {
                let ticket = mint_ticket();
                self.journal.open_for_call(&ticket, ask.clone(), place, item);
                self.asks.push(open(&ticket, &ask, done));
                tracing::debug!("request {ticket} is open");
            }
        }
        if !self.asks.is_empty() {
            self.deadline.pause();
        }
        self.journal.keep().await?;
        Ok(())
    }

    /// The request that an earlier engine put about the same thing in the same call, and its answer. One about anything else
    /// is closed: consent is for what was shown.
    async fn earlier_ask(&mut self, item: &ItemId, ask: &Ask) -> Option<(TicketId, EarlierAnswer)> {
        let filter = RequestFilter { session: Some(self.scene.session.clone()), states: None };
        let rows = self.journal.services().store.requests(&filter).await.ok()?;
        let asked = serde_json::to_string(&covered(ask)).ok()?;
        let is_this = |row: &RequestRow| matches!(Asker::of(&row.origin), Some(Asker::LoopCall { item: asked }) if asked == *item);
        for row in rows.into_iter().rev().filter(is_this) {
            let is_same = row.ask == asked;
            let answer = match row.state {
                RequestState::Open => Some(EarlierAnswer::None),
                RequestState::Answered => {
                    let sealed = row.answer_sealed.as_deref();
                    let json = sealed.and_then(|sealed| self.journal.services().seal.reveal(sealed));
                    let answer = json.and_then(|json| serde_json::from_str(&json).ok());
                    // A secret answer is not stored: the person is asked again.
                    answer.map(|answer| EarlierAnswer::Given(answer, opening::who(&row)))
                }
                // Answers to questions are erased once the call has them; then the call has its result.
                RequestState::Delivered if !matches!(ask, Ask::Input { .. }) => {
                    let decision: Option<Decision> = row.decision.as_deref().and_then(rows::value);
                    decision.map(|decision| EarlierAnswer::PassedOn(decision.into(), opening::who(&row)))
                }
                _ => continue,
            };
            match answer {
                Some(answer) if is_same => return Some((row.id, answer)),
                _ if matches!(row.state, RequestState::Open | RequestState::Answered) => {
                    let why = "it is asked again".to_owned();
                    self.journal.close_own(&row.id, Decision::Void, Who::Talaria, Some(why));
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn answer(&mut self, ticket: &TicketId, answer: Answer, by: Who) {
        let Some(at) = self.asks.iter().position(|open| open.ticket == *ticket) else { return };
        if let Err(misfit) = self.asks[at].ask.check(&answer) {
            return self.tell(Event::Warning { message: format!("an answer was not taken: {misfit}") });
        }
        let open = self.asks.remove(at);
        let (why, decision) = (answer.given_reason().map(str::to_owned), answer.decision);
        self.journal.point("loop-answer");
        if self.closed.insert(ticket.clone()) {
            self.tell(Event::RequestClosed { id: ticket.clone(), decision, by, why });
        }
        self.passed_on.push((open.item.clone(), ticket.clone()));
        self.record_allowance(&open.item, ticket, &answer, by);
        if self.asks.is_empty() {
            self.deadline.resume();
        }
        let is_cancelled = answer.decision == Decision::Cancel;
        let _ = open.done.send(Decided { answer, by });
        if is_cancelled {
            self.interrupt(by);
        }
    }

    /// Records, with the next step of a call or with its result, that the call has the answer; until then the next engine
    /// finds it.
    pub(super) fn confirm_answers(&mut self, item: Option<&ItemId>) {
        let is_due = |(call, _): &(ItemId, TicketId)| item.is_none_or(|item| item == call);
        let (due, later) = std::mem::take(&mut self.passed_on).into_iter().partition(is_due);
        self.passed_on = later;
        let due: Vec<(ItemId, TicketId)> = due;
        for (_, ticket) in due {
            self.journal.patch(RequestPatch::state(ticket, RequestState::Delivered));
        }
    }

    /// Closes what is open without an answer.
    pub(super) fn withdraw_asks(&mut self) {
        for open in std::mem::take(&mut self.asks) {
            let why = "the turn ended before it was answered".to_owned();
            self.journal.close_own(&open.ticket, Decision::Void, Who::Talaria, Some(why));
        }
        self.deadline.resume();
    }
}

/// Closes the requests of calls that the end of the turn leaves: nothing waits for them.
pub(in super::super) async fn close_left_asks(journal: &mut Journal, session: &SessionId) {
    let states = Some(vec![RequestState::Open, RequestState::Answered]);
    let filter = RequestFilter { session: Some(session.clone()), states };
    // What cannot be read now is closed by the next engine.
    let rows = journal.services().store.requests(&filter).await.unwrap_or_default();
    let is_of_call = |row: &RequestRow| matches!(Asker::of(&row.origin), Some(Asker::LoopCall { .. }));
    for row in rows.into_iter().filter(is_of_call) {
        if !journal.is_closing(&row.id) {
            let why = "the turn ended before it was answered".to_owned();
            journal.close_own(&row.id, Decision::Void, Who::Talaria, Some(why));
        }
    }
}
