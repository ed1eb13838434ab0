//! An engine's records of a turn, from its outputs: enough for another engine to resume it.

use super::super::*;
use talaria_core::escrow::is_keepable;
use talaria_core::request::Decision;

/// Everything that was written down.
#[derive(Default)]
pub(super) struct Store {
    pub(super) events: Vec<Event>,
    pub(super) requests: Vec<RecordedRequest>,
    opened: Vec<Opened>,
}

impl Store {
    pub(super) fn take(&mut self, output: &Output) {
        match output {
            Output::Emit(event) => self.take_event(event),
            Output::Record(Record::Opened(opened)) => self.opened.push(Opened::clone(opened)),
            Output::Record(Record::Delivering { ticket, answer, by }) => {
                let answer = is_keepable(answer).then(|| Answer::clone(answer));
                if let Some(request) = self.find(ticket) {
                    request.standing = AnswerStage::Delivering { answer, by: *by };
                }
            }
            Output::Record(Record::Fate { ticket, .. }) => {
                self.requests.retain(|request| request.ticket != *ticket);
            }
            _ => {}
        }
    }

    fn take_event(&mut self, event: &Event) {
        self.events.push(event.clone());
        match event {
            Event::RequestOpened { id, ask, .. } => {
                let at = self.opened.iter().position(|opened| opened.ticket == *id).expect("opened first");
                let Opened { ticket, asked, binding, .. } = self.opened.remove(at);
                self.requests.retain(|request| request.ticket != ticket);
                let (ask, standing, is_closed) = ((**ask).clone(), AnswerStage::Open, false);
                self.requests.push(RecordedRequest { ticket, asked, ask, binding, standing, is_closed });
            }
            Event::RequestClosed { id, decision: Decision::Void, .. } => {
                self.requests.retain(|request| request.ticket != *id);
            }
            Event::RequestClosed { id, .. } => {
                if let Some(request) = self.find(id) {
                    request.is_closed = true;
                }
            }
            _ => {}
        }
    }

    fn find(&mut self, ticket: &TicketId) -> Option<&mut RecordedRequest> {
        self.requests.iter_mut().find(|request| request.ticket == *ticket)
    }

    /// Writes an answer down that the machine has not been given.
    pub(super) fn answer(&mut self, ticket: &TicketId, answer: Answer, by: Who) {
        if let Some(request) =
            self.find(ticket).filter(|request| matches!(request.standing, AnswerStage::Open))
        {
            request.standing = AnswerStage::Answered { answer, by };
        }
    }

    /// What another engine finds. A request that was refused at once is not among the requests.
    pub(super) fn flight(&self) -> Flight {
        let is_pending =
            |request: &&RecordedRequest| !request.is_closed || !matches!(request.standing, AnswerStage::Open);
        let requests = self.requests.iter().filter(is_pending).cloned().collect();
        Flight { requests, since: Some(1_000), ..Flight::replay(&self.events) }
    }
}
