//! The questions of a turn: opened once, answered once, closed when Codex says so or the turn ends.
//!
//! An answer is reported before it is written (`Delivering`), and its result afterwards (`Fate`). The deadline is paused
//! while a request is open. Requests that no one could be asked are counted. An answer that does not match its question is
//! not sent; its author is informed, and the question stays open.

use super::approvals::{label, refusal_note};
use super::consulting::{JudgedRequest, tool_name};
use super::offered::Telling;
use super::{Fate, Moment, OpenItem, Output, Phase, Record, Settling, Turn};
use crate::project;
use crate::wire::reply;
use crate::wire::server_request::ServerRequest;
use serde_json::Value;
use talaria_core::escrow::Binding;
use talaria_core::event::Event;
use talaria_core::gate::Ruling;
use talaria_core::ids::{ItemId, RequestId, ThreadId, TicketId, TurnId};
use talaria_core::item::FileChange;
use talaria_core::request::{Answer, Ask, Decision, Who};

/// A question that is open, or whose answer Codex has not confirmed.
#[derive(Debug)]
pub(super) struct OpenRequest {
    pub(super) ticket: TicketId,
    pub(super) id: RequestId,
    pub(super) request: ServerRequest,
    pub(super) ask: Ask,
    pub(super) binding: Option<Binding>,
    /// Something was sent to Codex already; only its echo is awaited.
    pub(super) answered: bool,
}

/// How the questions of a turn end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Codex ended the turn, or was asked to.
    Ended,
    /// Codex continued without an answer from here: another client of it may have answered.
    Elsewhere,
    /// Codex can no longer be followed.
    Lost,
}

impl End {
    /// Who closed what was not answered here.
    pub(super) fn closer(self) -> Who {
        match self {
            Self::Elsewhere => Who::OtherClient,
            Self::Ended | Self::Lost => Who::Codex,
        }
    }
}

impl Turn {
    pub(super) fn open_request(
        &mut self,
        now: Moment,
        ticket: TicketId,
        id: RequestId,
        request: ServerRequest,
    ) {
        let known = self.open_requests.iter().any(|open| open.id == id)
            || self.consulted.iter().any(|consulted| consulted.judged.id == id);
        // Requests of a Codex that has ended cannot be answered.
        if known || self.is_codex_gone() {
            return;
        }
        if let Some(record) = self.take_record(&id, &request) {
            return self.offered_again(now, record, id, request);
        }
        let changes = self.changes_of(&request);
        let request = match request {
            ServerRequest::ToolCall(call) => return self.outputs.push_back(Output::CallTool { id, call }),
            other => other,
        };
        let ask = self.with_step(project::ask(&request, changes));
        let answerable = ask.is_answerable();
        let subject = project::subject(&request, changes_in(&ask));
        let (place, ruling) = self.order.gate.judge(&request, subject.as_ref());
        let binding = project::binding(&request, subject.as_ref());
        let name = tool_name(subject.as_ref());
        let ask = ask.because(ruling.because());
        let is_refused = reply::refusal(&request).is_some();
        let mut judged = JudgedRequest { ticket: ticket.clone(), id, request, ask, binding, place };
        if is_refused {
            self.announce_request(&judged);
            return self.note_refusal(ticket);
        }
        if let Ruling::Ask { is_only_for_people, .. } = &ruling
            && answerable
        {
            match self.consult(judged, name.as_deref(), *is_only_for_people) {
                Some(unconsulted) => judged = unconsulted,
                None => return,
            }
        }
        self.show(now, judged);
        match ruling {
            _ if !answerable => self.decide(now, &ticket, &Decision::Decline.into(), Who::Talaria, None),
            Ruling::Accept { by, why } => self.decide(now, &ticket, &Decision::Accept.into(), by, Some(why)),
            Ruling::Decline { by, why } => {
                // The model gets the reason, or it would try the same thing in other words.
                let answer = Answer { reason: Some(why.clone()), ..Decision::Decline.into() };
                self.decide(now, &ticket, &answer, by, Some(why));
            }
            Ruling::Ask { .. } => self.answer_from_escrow(now, &ticket, place),
        }
    }

    /// The changes of a patch, as announced before: the request does not contain them.
    pub(super) fn changes_of(&self, request: &ServerRequest) -> Option<Vec<FileChange>> {
        match request {
            ServerRequest::Patch(p) => self.announced.get(&(p.thread_id.clone(), p.item_id.clone())).cloned(),
            _ => None,
        }
    }

    /// Adds the call that waits for the approval of a tool, which Codex does not name: the first of this server with these
    /// arguments that no other question was about.
    pub(super) fn with_step(&self, mut ask: Ask) -> Ask {
        if let Ask::Tool { thread: Some(thread), server, arguments, item, .. } = &mut ask
            && *thread == self.order.thread
        {
            let wanted: Option<Value> = arguments.as_ref().and_then(|json| serde_json::from_str(json).ok());
            let fits = |open: &OpenItem| match open {
                OpenItem::Tool { server: theirs, arguments } => {
                    theirs == server && (wanted.is_none() || *arguments == wanted)
                }
                _ => false,
            };
            let calls =
                self.open_items.iter().filter(|(item, open)| fits(open) && !self.approvals.is_asked(item));
            *item = calls.map(|(item, _)| item).min().cloned();
        }
        ask
    }

    /// The clocks stop while someone is asked.
    pub(super) fn ask_person(&mut self, now: Moment) {
        self.quiet.sign(now);
        self.deadline.pause(now);
        if let Some(clock) = self.children_clock() {
            clock.pause(now);
        }
    }

    /// The host has refused it already: it may belong to no conversation.
    fn note_refusal(&mut self, ticket: TicketId) {
        self.tell_closed(ticket, Decision::Decline, Who::Talaria, None, Telling::Now);
    }

    pub(super) fn take_answer(&mut self, now: Moment, ticket: &TicketId, answer: &Answer, by: Who) {
        self.decide(now, ticket, answer, by, None);
    }

    pub(super) fn decide(
        &mut self,
        now: Moment,
        ticket: &TicketId,
        answer: &Answer,
        by: Who,
        why: Option<String>,
    ) {
        self.decide_as(now, ticket, answer, Decided { by, why, telling: Telling::Now });
    }

    pub(super) fn decide_as(&mut self, now: Moment, ticket: &TicketId, answer: &Answer, decided: Decided) {
        let Some(at) = self.open_requests.iter().position(|open| open.ticket == *ticket && !open.answered)
        else {
            return self.answer_awaited(now, ticket, answer, decided.by);
        };
        let open = &mut self.open_requests[at];
        if let Err(misfit) = open.ask.check(answer) {
            return self.emit(Event::Warning { message: format!("an answer was not taken: {misfit}") });
        }
        let Some(result) = reply::answer(&open.request, answer) else { return };
        let Decided { by, why, telling } = decided;
        if self.is_codex_gone() {
            let open = self.open_requests.remove(at);
            return self.keep_answer(open.ticket, open.binding.as_ref(), answer.clone(), by, telling);
        }
        let open = &mut self.open_requests[at];
        open.answered = true;
        let decision = reply::decided(&open.request, answer.decision);
        let id = open.id.clone();
        let reason = match decision {
            Decision::Decline => self.open_requests[at].reason_for_the_model(answer, by, self.id.as_ref()),
            _ => None,
        };
        let given = answer.given_reason().filter(|_| decision == Decision::Decline).map(str::to_owned);
        self.tell_closed(ticket.clone(), decision, by, why.or(given), telling);
        self.outputs.push_back(Output::Record(Record::Delivering {
            ticket: ticket.clone(),
            answer: Box::new(answer.clone()),
            by,
        }));
        // Before the answer: 0.166 would else ask the model once without it.
        self.outputs.extend(reason);
        self.outputs.push_back(Output::Reply { id, result });
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

    pub(super) fn close_request(&mut self, now: Moment, id: &RequestId) {
        self.show_consulted(|judged| judged.id == *id);
        let Some(at) = self.open_requests.iter().position(|open| open.id == *id) else {
            return self.awaited_is_over(now, |asked| asked.id == *id);
        };
        let open = self.open_requests.remove(at);
        if open.answered {
            self.tell_fate(open.ticket, End::Ended);
        } else {
            self.void(vec![open], self.end_without_an_answer());
        }
        self.resume_clock(now);
    }

    /// How a question ends that Codex no longer asks although it was not answered here. An interrupt takes it back.
    pub(super) fn end_without_an_answer(&self) -> End {
        if self.is_stopping() { End::Ended } else { End::Elsewhere }
    }

    /// Codex continued with a step: it has the answers to what it asked about it.
    pub(super) fn went_on(&mut self, now: Moment, thread: &ThreadId, item: &ItemId) {
        let is_about = |open: &OpenRequest| {
            open.request.item() == Some(item) && open.request.scope().thread == Some(thread.as_str())
        };
        while let Some(at) = self.open_requests.iter().position(|open| open.answered && is_about(open)) {
            let open = self.open_requests.remove(at);
            self.tell_fate(open.ticket, End::Ended);
        }
        self.awaited_is_over(now, |asked| {
            asked.item.as_ref() == Some(item) && asked.thread.as_ref() == Some(thread)
        });
    }

    pub(super) fn tell_fate(&mut self, ticket: TicketId, end: End) {
        let fate = match end {
            End::Ended | End::Elsewhere => Fate::Delivered,
            End::Lost => {
                self.emit(Event::DeliveryUnknown { id: ticket.clone() });
                Fate::Unknown
            }
        };
        self.outputs.push_back(Output::Record(Record::Fate { ticket, fate }));
    }

    /// Reports a decision, unless people know it already.
    pub(super) fn tell_closed(
        &mut self,
        id: TicketId,
        decision: Decision,
        by: Who,
        why: Option<String>,
        telling: Telling,
    ) {
        if telling == Telling::Now {
            self.declined += u32::from(counts_as_declined(decision, by));
            self.emit(Event::RequestClosed { id, decision, by, why });
        }
    }

    /// Is it known that Codex is gone, so that no answer can be given any more?
    pub(super) fn is_codex_gone(&self) -> bool {
        matches!(self.phase, Phase::Settling { evidence: Settling::Gone, .. })
    }

    /// Does this request wait for an answer?
    pub(super) fn is_open(&self, ticket: &TicketId) -> bool {
        self.open_requests.iter().any(|open| open.ticket == *ticket && !open.answered)
    }

    /// Is an answer awaited?
    pub(super) fn is_person_asked(&self) -> bool {
        self.open_requests.iter().any(|open| !open.answered) || self.is_answer_awaited()
    }

    /// The end of a turn ends its questions, not those of its sub-agents.
    pub(super) fn void_own_requests(&mut self) {
        let children: Vec<ThreadId> = self.children.threads().cloned().collect();
        let is_child = |request: &ServerRequest| {
            request.scope().thread.is_some_and(|thread| children.iter().any(|child| child.as_str() == thread))
        };
        self.show_consulted(|judged| !is_child(&judged.request));
        let open = std::mem::take(&mut self.open_requests).into_iter();
        let (theirs, ours) = open.partition(|open| is_child(&open.request));
        self.open_requests = theirs;
        self.void(ours, End::Ended);
        self.void_awaited(End::Ended, |record| {
            record.asked.thread.as_ref().is_none_or(|thread| !children.contains(thread))
        });
    }

    pub(super) fn void_requests_of(&mut self, thread: &ThreadId) {
        self.show_consulted(|judged| judged.request.scope().thread == Some(thread.as_str()));
        let is_theirs = |open: &OpenRequest| open.request.scope().thread == Some(thread.as_str());
        let (theirs, others) = std::mem::take(&mut self.open_requests).into_iter().partition(is_theirs);
        self.open_requests = others;
        self.void(theirs, End::Ended);
        self.void_awaited(End::Ended, |record| record.asked.thread.as_ref() == Some(thread));
    }

    pub(super) fn void_requests(&mut self, end: End) {
        self.show_consulted(|_| true);
        let all = std::mem::take(&mut self.open_requests);
        self.void(all, end);
        self.void_awaited(end, |_| true);
    }

    fn void(&mut self, requests: Vec<OpenRequest>, end: End) {
        for open in requests {
            if open.answered {
                self.tell_fate(open.ticket, end);
            } else {
                let (decision, by) = (Decision::Void, end.closer());
                self.emit(Event::RequestClosed { id: open.ticket, decision, by, why: None });
            }
        }
    }

    pub(super) fn resume_clock(&mut self, now: Moment) {
        if !self.is_person_asked() {
            self.quiet.sign(now);
            self.deadline.resume(now);
            if let Some(clock) = self.children_clock() {
                clock.resume(now);
            }
        }
    }
}

/// Who decided, by what, and whether people know.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) by: Who,
    pub(super) why: Option<String>,
    pub(super) telling: Telling,
}

/// Was it declined because no one could be asked, or no one had to be?
pub(super) fn counts_as_declined(decision: Decision, by: Who) -> bool {
    let is_no = matches!(decision, Decision::Decline | Decision::Cancel);
    is_no && matches!(by, Who::Nobody | Who::Talaria | Who::Rule | Who::Floor | Who::Hook)
}

/// The changes that a question is about, if it is about changes that are known.
pub(super) fn changes_in(ask: &Ask) -> Option<&[FileChange]> {
    match ask {
        Ask::Patch { changes, .. } => changes.as_deref(),
        _ => None,
    }
}

impl OpenRequest {
    /// The wire has no field for a reason, so it is sent as further input of the turn that asks; a request of a server
    /// may not name that turn, and then it is ours.
    fn reason_for_the_model(&self, answer: &Answer, by: Who, ours: Option<&TurnId>) -> Option<Output> {
        let reason = answer.given_reason()?;
        let scope = self.request.scope();
        let turn = scope.turn.map(TurnId::new).or_else(|| ours.cloned())?;
        let text = refusal_note(&label(&self.ask), by, reason);
        Some(Output::Steer { thread: ThreadId::new(scope.thread?), turn, text })
    }
}
