//! The questions of a turn: opened once, answered once, closed when Codex says so or the turn ends.
//!
//! The deadline does not run while one is open. What nobody could be asked is counted.

use super::{Moment, Output, Turn};
use crate::event::Event;
use crate::ids::{RequestId, TicketId};
use crate::project;
use crate::request::{Decision, Who};
use crate::wire::reply;
use crate::wire::server_request::ServerRequest;

/// A question that is open, or whose answer Codex has not confirmed.
#[derive(Debug)]
pub(super) struct OpenRequest {
    ticket: TicketId,
    id: RequestId,
    request: ServerRequest,
    /// Something was sent to Codex already; only its echo is awaited.
    answered: bool,
}

impl Turn {
    pub(super) fn open_request(
        &mut self,
        now: Moment,
        ticket: TicketId,
        id: RequestId,
        request: ServerRequest,
    ) {
        let known = self.open_requests.iter().any(|open| open.id == id);
        if known {
            return;
        }
        let changes = match &request {
            ServerRequest::Patch(p) => self.announced.get(&(p.thread_id.clone(), p.item_id.clone())).cloned(),
            _ => None,
        };
        let ask = project::ask(&request, changes);
        let answerable = ask.is_answerable();
        self.emit(Event::RequestOpened { id: ticket.clone(), ask });
        self.open_requests.push(OpenRequest { ticket: ticket.clone(), id, request, answered: false });
        self.deadline.pause(now);
        if !answerable {
            self.take_answer(now, &ticket, Decision::Decline, Who::Talaria);
        }
    }

    pub(super) fn take_answer(&mut self, now: Moment, ticket: &TicketId, decision: Decision, by: Who) {
        let Some(at) = self.open_requests.iter().position(|open| open.ticket == *ticket && !open.answered)
        else {
            return;
        };
        let open = &mut self.open_requests[at];
        let Some(result) = reply::answer(&open.request, decision) else { return };
        open.answered = true;
        let id = open.id.clone();
        self.emit(Event::RequestClosed { id: ticket.clone(), decision, by });
        self.outputs.push_back(Output::Reply { id, result });
        let is_no = matches!(decision, Decision::Decline | Decision::Cancel);
        if is_no && matches!(by, Who::Nobody | Who::Talaria) {
            self.declined += 1;
        }
        self.resume_clock(now);
        if decision == Decision::Cancel {
            self.stop_by_cancel(now, at, by);
        }
    }

    /// To cancel means to stop the turn. Codex does so by itself only for commands and patches of this thread.
    fn stop_by_cancel(&mut self, now: Moment, at: usize, by: Who) {
        let request = &self.open_requests[at].request;
        let is_ours = request.scope().thread == Some(self.thread.as_str());
        if is_ours && matches!(request, ServerRequest::Command(_) | ServerRequest::Patch(_)) {
            // A deadline that fired before stays the reason.
            self.stopped_by.get_or_insert(by);
        } else {
            self.interrupt(now, by);
        }
    }

    pub(super) fn close_request(&mut self, now: Moment, id: &RequestId, by: Who) {
        let Some(at) = self.open_requests.iter().position(|open| open.id == *id) else { return };
        let open = self.open_requests.remove(at);
        if !open.answered {
            self.emit(Event::RequestClosed { id: open.ticket, decision: Decision::Void, by });
        }
        self.resume_clock(now);
    }

    pub(super) fn void_requests(&mut self) {
        for open in std::mem::take(&mut self.open_requests) {
            if !open.answered {
                let closed =
                    Event::RequestClosed { id: open.ticket, decision: Decision::Void, by: Who::Codex };
                self.emit(closed);
            }
        }
    }

    fn resume_clock(&mut self, now: Moment) {
        if self.open_requests.iter().all(|open| open.answered) {
            self.deadline.resume(now);
        }
    }
}
