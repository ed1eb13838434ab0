//! Records the requests of a turn: opened, answered, delivered to Codex, and the fate of an answer that was never
//! delivered.

use talaria_codex_proto::turn::{AnswerStage, Fate, Record, RecordedRequest, RequestIdentity};
use talaria_core::escrow;
use talaria_core::event::Event;
use talaria_core::event_redactor::EventRedactor;
use talaria_core::ids::{ItemId, TicketId};
use talaria_core::request::{Answer, Ask, Decision, Who};
use talaria_guard::place::Place;
use talaria_store::{AuditOutcome, Change, NewAudit, NewRequest, RequestPatch, RequestState};

use super::Journal;
use crate::engine::journal::asker::{Asker, QuestionTopic};
use crate::engine::journal::rows;
use crate::engine::outbox::notices;
use talaria_codex::conversation::Watcher;
use talaria_home::clock::now_ms;

/// How long an answer that was never delivered is kept for the same question.
const ESCROW_MS: i64 = 24 * 60 * 60 * 1000;

impl Journal {
    /// Resumes a turn in flight, whose requests are stored already. Those whose secret answer is no longer known are
    /// reopened; the others are unchanged, because a person may be answering them right now.
    pub(crate) fn recall(&mut self, requests: &[RecordedRequest], forgotten: Vec<TicketId>) {
        self.known.extend(requests.iter().map(|request| request.ticket.clone()));
        let open = requests.iter().filter(|request| matches!(request.standing, AnswerStage::Open));
        let open: Vec<TicketId> = open.map(|request| request.ticket.clone()).collect();
        self.ask(|asking| asking.extend(open));
        for ticket in forgotten {
            self.patch(RequestPatch::state(ticket, RequestState::Open));
        }
    }

    /// Decides the fate of a request whose Codex process has ended.
    pub(crate) fn abandon(&mut self, request: RecordedRequest) {
        let RecordedRequest { ticket, binding, standing, is_closed, .. } = request;
        let (decision, by, fate) = match standing {
            AnswerStage::Answered { answer, by } if binding.is_some() && escrow::is_keepable(&answer) => {
                (answer.decision, by, Fate::Kept { answer: Box::new(answer), by })
            }
            AnswerStage::Open | AnswerStage::Answered { .. } => (Decision::Void, Who::Codex, Fate::Void),
            AnswerStage::Delivering { answer, by } => {
                (answer.map_or(Decision::Accept, |answer| answer.decision), by, Fate::Unknown)
            }
        };
        if !is_closed {
            self.event(Event::RequestClosed { id: ticket.clone(), decision, by, why: None });
        }
        if matches!(fate, Fate::Unknown) {
            self.event(Event::DeliveryUnknown { id: ticket.clone() });
        }
        self.record(Record::Fate { ticket, fate });
    }

    /// A request was opened or closed.
    pub(crate) fn ask(&mut self, change: impl FnOnce(&mut Vec<TicketId>)) {
        change(&mut self.asking);
        let is_waiting = !self.asking.is_empty();
        if let Some(place) = &mut self.place {
            place.set_parked(is_waiting);
        }
    }

    pub(crate) fn request(&mut self, id: &TicketId, ask: &Ask) {
        let Some(opened) = self.opened.take_if(|opened| opened.ticket == *id) else { return };
        if self.known.contains(id) {
            return self.patch(RequestPatch::state(id.clone(), RequestState::Open));
        }
        let thread =
            opened.asked.thread.or_else(|| self.started.as_ref().map(|started| started.thread.clone()));
        let asker = Asker::Codex(RequestIdentity { thread, ..opened.asked });
        let binding = opened.binding.and_then(|binding| serde_json::to_string(&binding).ok());
        self.new_request(id, ask, asker, opened.place, binding);
    }

    fn new_request(
        &mut self,
        id: &TicketId,
        ask: &Ask,
        asker: Asker,
        place: Option<Place>,
        binding: Option<String>,
    ) {
        if let Some(task) = &self.task {
            self.changes.extend(notices::request(task, id).map(Change::Outbox));
        }
        self.changes.push(Change::NewRequest(NewRequest {
            id: id.clone(),
            turn: Some(self.ordinal),
            origin: asker.origin(self.host.clone()),
            kind: rows::kind(ask).to_owned(),
            summary: ask.label().to_string(),
            place: place.map(|place| rows::word(&place)),
            ask: serde_json::to_string(ask).unwrap_or_default(),
            binding,
        }));
    }

    /// Opens a request of Talaria itself.
    pub(crate) fn open_own(&mut self, id: &TicketId, ask: Ask, about: QuestionTopic) {
        self.open_covered(id, ask, Asker::Talaria { about }, None);
    }

    /// Opens a request about a call of the built-in loop, which would happen at `place`.
    pub(crate) fn open_for_call(&mut self, id: &TicketId, ask: Ask, place: Option<Place>, item: &ItemId) {
        self.open_covered(id, ask, Asker::LoopCall { item: item.clone() }, place);
    }

    fn open_covered(&mut self, id: &TicketId, ask: Ask, asker: Asker, place: Option<Place>) {
        let ask = covered(&ask);
        self.new_request(id, &ask, asker, place, None);
        self.event(Event::RequestOpened { id: id.clone(), ask: Box::new(ask), place, digest: None });
    }

    /// Is this request closed, or its answer delivered, with what is written next?
    pub(crate) fn is_closing(&self, id: &TicketId) -> bool {
        let is_final = |state: RequestState| matches!(state, RequestState::Delivered | RequestState::Void);
        self.changes.iter().any(|change| {
            matches!(change, Change::Request(patch) if patch.id == *id && patch.state.is_some_and(is_final))
        })
    }

    /// Closes a question of Talaria's own: `decision` has its effect in the same transaction.
    pub(crate) fn close_own(&mut self, id: &TicketId, decision: Decision, by: Who, why: Option<String>) {
        self.event(Event::RequestClosed { id: id.clone(), decision, by, why });
        if decision != Decision::Void {
            self.patch(RequestPatch::state(id.clone(), RequestState::Delivered));
        }
    }

    /// Writes a further change down with the next events.
    pub(crate) fn change(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// The answer is about to be written to Codex.
    pub(crate) fn deliver(&mut self, ticket: TicketId, answer: &Answer, by: Who) {
        self.points.push("answer-sent");
        if by == Who::Hook {
            self.points.push("hook-decided");
        }
        if matches!(by, Who::Rule | Who::Mode | Who::Floor | Who::Hook | Who::Talaria) {
            self.changes.push(Change::Audit(self.own_decision(&ticket, answer, by)));
        }
        let patch = RequestPatch {
            decision: Some(rows::word(&answer.decision)),
            answer_sealed: self.sealed(answer),
            // Who a person or a model is was recorded with the answer.
            answered_by: (!matches!(by, Who::User | Who::Model)).then(|| rows::word(&by)),
            ..RequestPatch::state(ticket, RequestState::Delivering)
        };
        self.patch(patch);
    }

    /// The row of the audit log for what no caller decided.
    fn own_decision(&self, ticket: &TicketId, answer: &Answer, by: Who) -> NewAudit {
        NewAudit {
            at: now_ms(),
            action: "decide".to_owned(),
            outcome: AuditOutcome::Done,
            principal: rows::word(&by),
            established: format!("decided by {by}"),
            pid: None,
            terminal: None,
            program: None,
            session: Some(self.session.to_string()),
            request: Some(ticket.to_string()),
            digest: None,
            decision: Some(rows::word(&answer.decision)),
            reason: None,
        }
    }

    pub(crate) fn end_of_answer(&mut self, ticket: TicketId, fate: &Fate) {
        let patch = match fate {
            Fate::Delivered => RequestPatch::state(ticket, RequestState::Delivered),
            Fate::Unknown => RequestPatch::state(ticket, RequestState::Undelivered),
            Fate::Void => void(ticket),
            Fate::Kept { answer, .. } => match self.sealed(answer) {
                Some(sealed) => RequestPatch {
                    answer_sealed: Some(sealed),
                    expires_at: Some(end_of_escrow()),
                    ..RequestPatch::state(ticket, RequestState::Escrowed)
                },
                None => void(ticket),
            },
        };
        self.patch(patch);
    }

    pub(crate) fn patch(&mut self, patch: RequestPatch) {
        self.changes.push(Change::Request(patch));
    }

    pub(crate) fn sealed(&self, answer: &Answer) -> Option<Vec<u8>> {
        escrow::is_keepable(answer)
            .then(|| self.shelf.seal.close(&answer.revealed().to_string()).ok())
            .flatten()
    }
}

/// A request with its secrets masked, as it is stored and shown.
pub(crate) fn covered(ask: &Ask) -> Ask {
    let shown =
        Event::RequestOpened { id: TicketId::new(""), ask: Box::new(ask.clone()), place: None, digest: None };
    let mut found = None;
    EventRedactor::default().cover(shown, &mut |event| {
        if let Event::RequestOpened { ask, .. } = event {
            found = Some(*ask);
        }
    });
    found.unwrap_or_else(|| ask.clone())
}

/// The turn no longer waits for the answer. An answer that is stored but was not delivered to the turn is kept.
pub(crate) fn void(ticket: TicketId) -> RequestPatch {
    RequestPatch { expires_at: Some(end_of_escrow()), ..RequestPatch::state(ticket, RequestState::Void) }
}

fn end_of_escrow() -> i64 {
    now_ms().saturating_add(ESCROW_MS)
}
