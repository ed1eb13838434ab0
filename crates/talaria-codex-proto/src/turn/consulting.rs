//! Requests about which the user's hook is asked before a person is.
//!
//! Floor and rules come first: only what they leave to a person gets here, and what the hook leaves open reaches the person, or
//! an answer from before. Until the hook has answered nothing is recorded or shown: an engine that ends meanwhile is offered the
//! request again, and asks the hook again. A request that ends first is opened and closed, because a step that was asked about
//! and never accepted did not run.

use talaria_core::escrow::Binding;
use talaria_core::event::Event;
use talaria_core::hook::{HookRuling, HookVerdict, HookedCall};
use talaria_core::ids::{RequestId, TicketId};
use talaria_core::request::{Answer, Ask, Decision, Who};
use talaria_core::subject::Subject;
use talaria_guard::place::Place;

use super::flight::RequestIdentity;
use super::requests::OpenRequest;
use super::{Moment, Opened, Output, Record, Turn};
use crate::wire::server_request::ServerRequest;

/// A request that was judged, and that no person has seen.
#[derive(Debug)]
pub(super) struct JudgedRequest {
    pub(super) ticket: TicketId,
    pub(super) id: RequestId,
    pub(super) request: ServerRequest,
    pub(super) ask: Ask,
    pub(super) binding: Option<Binding>,
    pub(super) place: Option<Place>,
}

/// A request that waits for the hook.
#[derive(Debug)]
pub(super) struct ConsultedRequest {
    pub(super) judged: JudgedRequest,
    is_cut: bool,
    is_only_for_people: bool,
    /// What the hook answered, while an earlier request waits for it.
    verdict: Option<HookVerdict>,
}

impl Turn {
    /// Asks the hook about a request that is for a person; returns it if the hook is not asked.
    pub(super) fn consult(
        &mut self,
        judged: JudgedRequest,
        name: Option<&str>,
        is_only_for_people: bool,
    ) -> Option<JudgedRequest> {
        if !self.order.asks_hook {
            return Some(judged);
        }
        let Some(call) = HookedCall::of_request(&judged.ask, name, judged.place) else { return Some(judged) };
        let (ticket, is_cut) = (judged.ticket.clone(), call.is_cut);
        self.consulted.push(ConsultedRequest { judged, is_cut, is_only_for_people, verdict: None });
        self.outputs.push_back(Output::Consult { ticket, call: Box::new(call) });
        None
    }

    /// Takes what the hook answered. A request that is over by now has been closed. People see requests in the order in which
    /// Codex made them, whichever the hook answers first.
    pub(super) fn take_verdict(&mut self, ticket: &TicketId, verdict: HookVerdict) {
        let is_it = |consulted: &&mut ConsultedRequest| consulted.judged.ticket == *ticket;
        let Some(consulted) = self.consulted.iter_mut().find(is_it) else { return };
        consulted.verdict = Some(verdict);
    }

    /// Rules on the requests whose verdict is known, up to the first that waits for the hook.
    pub(super) fn rule_in_order(&mut self, now: Moment) {
        while let Some(verdict) = self.consulted.first_mut().and_then(|first| first.verdict.take()) {
            let first = self.consulted.remove(0);
            self.rule(now, first, verdict);
        }
    }

    fn rule(&mut self, now: Moment, consulted: ConsultedRequest, verdict: HookVerdict) {
        let ConsultedRequest { mut judged, is_cut, is_only_for_people, .. } = consulted;
        let ticket = judged.ticket.clone();
        let ticket = &ticket;
        let place = judged.place;
        let ruling = verdict.rule(is_cut, is_only_for_people);
        if let HookRuling::Ask { why: Some(why) } = &ruling {
            // Only a command has a place for it on its card.
            match &mut judged.ask {
                Ask::Command { asked_because, .. } => *asked_because = Some(why.clone()),
                _ => self.emit(Event::Warning { message: why.clone() }),
            }
        }
        self.show(now, judged);
        match ruling {
            HookRuling::Accept { why } => {
                self.decide(now, ticket, &Decision::Accept.into(), Who::Hook, Some(why));
            }
            HookRuling::Decline { why } => {
                self.decide(now, ticket, &Answer::decline_because(why.clone()), Who::Hook, Some(why));
            }
            HookRuling::Ask { .. } | HookRuling::Undecided => self.answer_from_escrow(now, ticket, place),
        }
    }

    /// Records a request and shows it to people.
    pub(super) fn show(&mut self, now: Moment, judged: JudgedRequest) {
        self.announce_request(&judged);
        let JudgedRequest { ticket, id, request, ask, binding, .. } = judged;
        self.open_requests.push(OpenRequest { ticket, id, request, ask, binding, answered: false });
        self.ask_person(now);
    }

    pub(super) fn announce_request(&mut self, judged: &JudgedRequest) {
        let JudgedRequest { ticket, id, request, ask, binding, place } = judged;
        let asked = RequestIdentity::new(id.clone(), request);
        let opened = Opened { ticket: ticket.clone(), asked, binding: binding.clone(), place: *place };
        self.outputs.push_back(Output::Record(Record::Opened(Box::new(opened))));
        let digest = binding.as_ref().map(|binding| binding.subject.clone());
        let (id, ask, place) = (ticket.clone(), Box::new(ask.clone()), *place);
        self.emit(Event::RequestOpened { id, ask, place, digest });
    }

    /// Shows requests that end before the hook has answered; they are closed like every other.
    pub(super) fn show_consulted(&mut self, is_over: impl Fn(&JudgedRequest) -> bool) {
        let (over, waiting) = std::mem::take(&mut self.consulted)
            .into_iter()
            .partition::<Vec<_>, _>(|consulted| is_over(&consulted.judged));
        self.consulted = waiting;
        for ConsultedRequest { judged, .. } in over {
            self.announce_request(&judged);
            let JudgedRequest { ticket, id, request, ask, binding, .. } = judged;
            self.open_requests.push(OpenRequest { ticket, id, request, ask, binding, answered: false });
        }
    }
}

/// The name of the tool that a request is about, if that is certain.
pub(super) fn tool_name(subject: Option<&Subject<'_>>) -> Option<String> {
    match subject {
        Some(Subject::Tool { tool, .. }) => tool.map(str::to_owned),
        _ => None,
    }
}
