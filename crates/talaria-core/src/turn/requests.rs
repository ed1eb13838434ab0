//! The questions of a turn: opened once, answered once, closed when Codex says so or the turn ends.
//!
//! The deadline does not run while one is open. What nobody could be asked is counted. An answer that does not fit its
//! question is not sent; whoever gave it is told, and the question stays open.

use super::{Moment, Output, Turn};
use crate::event::Event;
use crate::gate::Ruling;
use crate::ids::{RequestId, ThreadId, TicketId, TurnId};
use crate::item::FileChange;
use crate::project;
use crate::request::{Answer, Ask, Decision, Who};
use crate::wire::reply;
use crate::wire::server_request::ServerRequest;

/// How much of a request's label the model is reminded of.
const LABEL_CHARS: usize = 300;

/// A question that is open, or whose answer Codex has not confirmed.
#[derive(Debug)]
pub(super) struct OpenRequest {
    ticket: TicketId,
    id: RequestId,
    request: ServerRequest,
    ask: Ask,
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
        let request = match request {
            ServerRequest::ToolCall(call) => return self.outputs.push_back(Output::CallTool { id, call }),
            other => other,
        };
        let ask = project::ask(&request, changes);
        let answerable = ask.is_answerable();
        let place = self.order.gate.place(&request, changes_in(&ask));
        let ruling = self.order.gate.rule(&request, &ask, place);
        self.emit(Event::RequestOpened { id: ticket.clone(), ask: ask.clone(), place });
        if reply::refusal(&request).is_some() {
            return self.note_refusal(ticket);
        }
        self.open_requests.push(OpenRequest { ticket: ticket.clone(), id, request, ask, answered: false });
        self.quiet.sign(now);
        self.deadline.pause(now);
        if let Some(clock) = self.children_clock() {
            clock.pause(now);
        }
        match ruling {
            _ if !answerable => self.decide(now, &ticket, &Decision::Decline.into(), Who::Talaria, None),
            Ruling::Accept { by, why } => self.decide(now, &ticket, &Decision::Accept.into(), by, Some(why)),
            Ruling::Decline { by, why } => {
                // The model is told, or it would try the same thing in other words.
                let answer = Answer { reason: Some(why.clone()), ..Decision::Decline.into() };
                self.decide(now, &ticket, &answer, by, Some(why));
            }
            Ruling::Ask => {}
        }
    }

    /// The host has refused it already: it may belong to no conversation.
    fn note_refusal(&mut self, ticket: TicketId) {
        self.declined += 1;
        let by = Who::Talaria;
        self.emit(Event::RequestClosed { id: ticket, decision: Decision::Decline, by, why: None });
    }

    pub(super) fn take_answer(&mut self, now: Moment, ticket: &TicketId, answer: &Answer, by: Who) {
        self.decide(now, ticket, answer, by, None);
    }

    fn decide(&mut self, now: Moment, ticket: &TicketId, answer: &Answer, by: Who, why: Option<String>) {
        let Some(at) = self.open_requests.iter().position(|open| open.ticket == *ticket && !open.answered)
        else {
            return;
        };
        let open = &mut self.open_requests[at];
        if let Err(misfit) = open.ask.check(answer) {
            return self.emit(Event::Warning { message: format!("an answer was not taken: {misfit}") });
        }
        let Some(result) = reply::answer(&open.request, answer) else { return };
        open.answered = true;
        let decision = reply::decided(&open.request, answer.decision);
        let id = open.id.clone();
        let reason = match decision {
            Decision::Decline => self.open_requests[at].reason_for_the_model(answer, self.id.as_ref()),
            _ => None,
        };
        self.emit(Event::RequestClosed { id: ticket.clone(), decision, by, why });
        // Before the answer: 0.166 would else ask the model once without it.
        self.outputs.extend(reason);
        self.outputs.push_back(Output::Reply { id, result });
        let is_no = matches!(decision, Decision::Decline | Decision::Cancel);
        if is_no && matches!(by, Who::Nobody | Who::Talaria | Who::Rule | Who::Floor) {
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
        let is_ours = request.scope().thread == Some(self.order.thread.as_str());
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
            self.emit(Event::RequestClosed { id: open.ticket, decision: Decision::Void, by, why: None });
        }
        self.resume_clock(now);
    }

    /// Is an answer awaited?
    pub(super) fn is_person_asked(&self) -> bool {
        self.open_requests.iter().any(|open| !open.answered)
    }

    /// The end of a turn ends its questions, not those of its sub-agents.
    pub(super) fn void_own_requests(&mut self) {
        let children = &self.children;
        let is_child =
            |open: &OpenRequest| open.request.scope().thread.is_some_and(|thread| children.has(thread));
        let (theirs, ours) = std::mem::take(&mut self.open_requests).into_iter().partition(is_child);
        self.open_requests = theirs;
        self.void(ours);
    }

    pub(super) fn void_requests_of(&mut self, thread: &ThreadId) {
        let is_theirs = |open: &OpenRequest| open.request.scope().thread == Some(thread.as_str());
        let (theirs, others) = std::mem::take(&mut self.open_requests).into_iter().partition(is_theirs);
        self.open_requests = others;
        self.void(theirs);
    }

    pub(super) fn void_requests(&mut self) {
        let all = std::mem::take(&mut self.open_requests);
        self.void(all);
    }

    fn void(&mut self, requests: Vec<OpenRequest>) {
        for open in requests.into_iter().filter(|open| !open.answered) {
            let (decision, by) = (Decision::Void, Who::Codex);
            self.emit(Event::RequestClosed { id: open.ticket, decision, by, why: None });
        }
    }

    fn resume_clock(&mut self, now: Moment) {
        if !self.is_person_asked() {
            self.quiet.sign(now);
            self.deadline.resume(now);
            if let Some(clock) = self.children_clock() {
                clock.resume(now);
            }
        }
    }
}

/// The changes that a question is about, if it is about changes that are known.
fn changes_in(ask: &Ask) -> Option<&[FileChange]> {
    match ask {
        Ask::Patch { changes, .. } => changes.as_deref(),
        _ => None,
    }
}

impl OpenRequest {
    /// The wire has no place for a reason, so it goes in as further input of the turn that asks; a request of a server
    /// may not say which that is, and then it is ours.
    fn reason_for_the_model(&self, answer: &Answer, ours: Option<&TurnId>) -> Option<Output> {
        let reason = answer.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty())?;
        let scope = self.request.scope();
        let turn = scope.turn.map(TurnId::new).or_else(|| ours.cloned())?;
        let label: String = self.ask.label().chars().take(LABEL_CHARS).collect();
        let text = format!("I declined this request: {label}\nThe reason: {reason}");
        Some(Output::Steer { thread: ThreadId::new(scope.thread?), turn, text })
    }
}
