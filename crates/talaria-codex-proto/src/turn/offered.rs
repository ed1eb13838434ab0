//! Requests that an earlier engine recorded. Codex offers those that it still waits for again when the thread is resumed,
//! with the same id; each keeps its ticket and is not reported a second time.
//!
//! One that is offered again was not answered as far as Codex knows: an answer that is on record is written now. One that
//! is not offered again is over: an answer that was being written has arrived, any other question is void.

use super::flight::{AnswerStage, RecordedRequest, RequestIdentity};
use super::requests::{Decided, End, OpenRequest, changes_in};
use super::{Fate, Moment, Output, Record, Turn};
use crate::project;
use crate::wire::server_request::ServerRequest;
use talaria_core::event::Event;
use talaria_core::gate::Ruling;
use talaria_core::ids::{RequestId, TicketId};
use talaria_core::item::FileChange;
use talaria_core::request::{Answer, Decision, Who};

impl Turn {
    /// Takes the record of a request, if there is one.
    pub(super) fn take_record(&mut self, id: &RequestId, request: &ServerRequest) -> Option<RecordedRequest> {
        let awaited = &mut self.adoption.as_mut()?.awaited;
        let asked = RequestIdentity::new(id.clone(), request);
        let at = awaited.iter().position(|record| record.asked.is(&asked))?;
        Some(awaited.remove(at))
    }

    /// Codex still waits for this one.
    pub(super) fn offered_again(
        &mut self,
        now: Moment,
        record: RecordedRequest,
        id: RequestId,
        request: ServerRequest,
    ) {
        let changes =
            self.changes_of(&request).or_else(|| changes_in(&record.ask).map(<[FileChange]>::to_vec));
        let ask = self.with_step(project::ask(&request, changes));
        let subject = project::subject(&request, changes_in(&ask));
        let (place, ruling) = self.order.gate.judge(&request, subject.as_ref());
        let telling = Telling::of(&record);
        let RecordedRequest { ticket, standing, binding, asked, .. } = record;
        let ask = ask.because(ruling.because());
        let again = ask.clone();
        let open = OpenRequest {
            ticket: ticket.clone(),
            id,
            request,
            ask,
            binding: binding.clone(),
            answered: false,
        };
        self.open_requests.push(open);
        match standing {
            AnswerStage::Answered { answer, by } => {
                self.decide_as(now, &ticket, &answer, Decided { by, why: None, telling });
            }
            // Its reason, if it had one, was on its way before it.
            AnswerStage::Delivering { answer: Some(answer), by } => {
                let answer = Answer { reason: None, ..answer };
                self.decide_as(now, &ticket, &answer, Decided { by, why: None, telling });
            }
            AnswerStage::Open | AnswerStage::Delivering { answer: None, .. } => {}
        }
        if !self.is_open(&ticket) {
            return;
        }
        // People who thought it closed have to know: the answer is not known any more, or does not fit.
        if telling == Telling::Before {
            let message = "an answer was not stored, so the question is asked again".to_owned();
            self.emit(Event::Warning { message });
            let digest = binding.as_ref().map(|binding| binding.subject.clone());
            let opened = super::Opened { ticket: ticket.clone(), asked, binding, place };
            self.outputs.push_back(Output::Record(Record::Opened(Box::new(opened))));
            self.emit(Event::RequestOpened { id: ticket.clone(), ask: Box::new(again), place, digest });
        }
        self.ask_person(now);
        match ruling {
            Ruling::Accept { by, why } => self.decide(now, &ticket, &Decision::Accept.into(), by, Some(why)),
            Ruling::Decline { by, why } => {
                self.decide(now, &ticket, &Answer::decline_because(why.clone()), by, Some(why));
            }
            Ruling::Ask { .. } => {}
        }
    }

    /// Someone answers what Codex has not offered again yet. The first answer counts.
    pub(super) fn answer_awaited(&mut self, now: Moment, ticket: &TicketId, answer: &Answer, by: Who) {
        let is_gone = self.is_codex_gone();
        let Some(adoption) = &mut self.adoption else { return };
        let is_it = |record: &&mut RecordedRequest| {
            record.ticket == *ticket
                && matches!(record.standing, AnswerStage::Open)
                && answer.decision != Decision::Void
        };
        let Some(record) = adoption.awaited.iter_mut().find(is_it) else { return };
        if let Err(misfit) = record.ask.check(answer) {
            return self.emit(Event::Warning { message: format!("an answer was not taken: {misfit}") });
        }
        record.standing = AnswerStage::Answered { answer: answer.clone(), by };
        if is_gone {
            let all = std::mem::take(&mut adoption.awaited);
            let (answered, others) = all.into_iter().partition(|record| record.ticket == *ticket);
            adoption.awaited = others;
            self.end_awaited(answered, End::Lost);
        }
        self.resume_clock(now);
    }

    /// Codex did not offer these again in time.
    pub(super) fn give_up_offers(&mut self, now: Moment) {
        self.void_awaited(self.end_without_an_answer(), |_| true);
        self.resume_clock(now);
    }

    /// Codex closed it, or continued with the step that it was about.
    pub(super) fn awaited_is_over(&mut self, now: Moment, is_it: impl Fn(&RequestIdentity) -> bool) {
        if self
            .adoption
            .as_ref()
            .is_some_and(|adoption| adoption.awaited.iter().any(|record| is_it(&record.asked)))
        {
            self.void_awaited(self.end_without_an_answer(), |record| is_it(&record.asked));
            self.resume_clock(now);
        }
    }

    pub(super) fn void_awaited(&mut self, end: End, is_meant: impl Fn(&RecordedRequest) -> bool) {
        let Some(adoption) = &mut self.adoption else { return };
        let (meant, others) = std::mem::take(&mut adoption.awaited).into_iter().partition(is_meant);
        adoption.awaited = others;
        if adoption.awaited.is_empty() {
            adoption.offers_until = None;
        }
        self.end_awaited(meant, end);
    }

    fn end_awaited(&mut self, records: Vec<RecordedRequest>, end: End) {
        for record in records {
            let telling = Telling::of(&record);
            let RecordedRequest { ticket, standing, binding, .. } = record;
            match (standing, end) {
                (AnswerStage::Open, _) => {
                    self.tell_closed(ticket, Decision::Void, end.closer(), None, telling);
                }
                (AnswerStage::Answered { .. }, End::Ended | End::Elsewhere) => {
                    if telling == Telling::Before {
                        let message =
                            "Codex no longer waits for an answer that was not given to it yet".to_owned();
                        self.emit(Event::Warning { message });
                    }
                    self.tell_closed(ticket.clone(), Decision::Void, end.closer(), None, telling);
                    self.outputs.push_back(Output::Record(Record::Fate { ticket, fate: Fate::Void }));
                }
                (AnswerStage::Answered { answer, by }, End::Lost) => {
                    self.keep_answer(ticket, binding.as_ref(), answer, by, telling);
                }
                (AnswerStage::Delivering { answer, by }, end) => {
                    let decision = answer.map_or(Decision::Accept, |answer| answer.decision);
                    self.tell_closed(ticket.clone(), decision, by, None, telling);
                    self.tell_fate(ticket, end);
                }
            }
        }
    }

    /// Is a person asked something that Codex has not offered again?
    pub(super) fn is_answer_awaited(&self) -> bool {
        let is_open = |record: &RecordedRequest| matches!(record.standing, AnswerStage::Open);
        self.adoption.as_ref().is_some_and(|adoption| adoption.awaited.iter().any(is_open))
    }
}

/// Is a decision reported now, or was it before?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// People are informed now.
    Now,
    /// They were informed before.
    Before,
}

impl Telling {
    fn of(record: &RecordedRequest) -> Self {
        if record.is_closed { Self::Before } else { Self::Now }
    }
}
