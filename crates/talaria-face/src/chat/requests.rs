//! What waits for a person: in this conversation, as its events say, and in the others, as the engine says.

use std::collections::VecDeque;

use talaria_core::api::{RequestInfo, RequestState};
use talaria_core::event::Event;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::plain::one_line;
use talaria_core::request::{Decision, Who};

use super::known::Known;
use super::panel::{Request, Scene};

/// So many closed requests are remembered, so that an older list does not open them again.
const REMEMBERED: usize = 64;

/// All that wait.
#[derive(Debug, Default)]
pub(super) struct Requests {
    here: Vec<Request>,
    elsewhere: Vec<RequestInfo>,
    closed: VecDeque<TicketId>,
}

/// A request of this conversation that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) ticket: TicketId,
    pub(super) decision: Decision,
    pub(super) by: Who,
}

impl Requests {
    /// Another conversation is on the screen.
    pub(super) fn open(&mut self) {
        self.here.clear();
    }

    /// Learns from an event of this conversation.
    pub(super) fn event(&mut self, event: &Event, known: &Known) -> Option<Closed> {
        match event {
            Event::RequestOpened { id, ask, place, digest } if ask.is_answerable() => {
                let text = |value: Option<&str>| value.unwrap_or("not known").to_owned();
                let scene = Scene {
                    origin: None,
                    sandbox: text(known.sandbox().value()),
                    approval: text(known.approval().value()),
                    cwd: known.folder().to_owned(),
                    place: *place,
                };
                self.add(Request { ticket: id.clone(), ask: (**ask).clone(), digest: digest.clone(), scene });
                None
            }
            Event::RequestClosed { id, decision, by, .. } => {
                self.close(id);
                Some(Closed { ticket: id.clone(), decision: *decision, by: *by })
            }
            Event::Outcome(_) => {
                for ticket in self.here.iter().map(|request| request.ticket.clone()).collect::<Vec<_>>() {
                    self.close(&ticket);
                }
                None
            }
            _ => None,
        }
    }

    /// Learns what waits everywhere. Events know more of this conversation: only what they did not tell is taken, since
    /// its events may begin after the question.
    pub(super) fn waiting(&mut self, requests: Vec<RequestInfo>, session: Option<&SessionId>, known: &Known) {
        let open = requests.into_iter().filter(|request| request.state == RequestState::Open);
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            open.partition(|request| session.is_some_and(|session| *session == request.session));
        self.elsewhere = elsewhere;
        for request in here {
            let Some(ask) = request.ask else { continue };
            let event = Event::RequestOpened {
                id: request.id,
                ask: Box::new(ask),
                place: request.place,
                digest: request.digest,
            };
            self.event(&event, known);
        }
    }

    /// The oldest of this conversation.
    pub(super) fn first_here(&self) -> Option<&Request> {
        self.here.first()
    }

    /// Does it still wait, as far as is known?
    pub(super) fn is_open(&self, ticket: &TicketId) -> bool {
        self.here.iter().any(|request| request.ticket == *ticket)
            || self.elsewhere.iter().any(|request| request.id == *ticket)
    }

    /// How many wait besides the one that is shown.
    pub(super) fn count(&self, shown: Option<&TicketId>) -> usize {
        let here = self.here.iter().map(|request| &request.ticket);
        let elsewhere = self.elsewhere.iter().map(|request| &request.id);
        here.chain(elsewhere).filter(|ticket| Some(*ticket) != shown).count()
    }

    /// All of them, in a line each.
    pub(super) fn listed(&self) -> Vec<(String, TicketId)> {
        let here = self
            .here
            .iter()
            .map(|request| (format!("here: {}", request.ask.label()), request.ticket.clone()));
        let elsewhere = self.elsewhere.iter().map(|request| {
            (format!("{}: {}", whose(request), one_line(&request.summary)), request.id.clone())
        });
        here.chain(elsewhere).collect()
    }

    /// The whole of one, if it can be shown.
    pub(super) fn find(&self, ticket: &TicketId) -> Option<Request> {
        let here = self.here.iter().find(|request| request.ticket == *ticket).cloned();
        here.or_else(|| {
            let request = self.elsewhere.iter().find(|request| request.id == *ticket)?;
            let scene = Scene {
                origin: Some(format!("A request of {}", whose(request))),
                sandbox: "of that conversation".to_owned(),
                approval: "of that conversation".to_owned(),
                cwd: String::new(),
                place: request.place,
            };
            let ask = request.ask.clone().filter(talaria_core::request::Ask::is_answerable)?;
            Some(Request { ticket: request.id.clone(), ask, digest: request.digest.clone(), scene })
        })
    }

    fn add(&mut self, request: Request) {
        let is_known = self.here.iter().any(|known| known.ticket == request.ticket);
        if !is_known && !self.closed.contains(&request.ticket) {
            self.here.push(request);
        }
    }

    fn close(&mut self, ticket: &TicketId) {
        self.here.retain(|request| request.ticket != *ticket);
        self.closed.push_back(ticket.clone());
        if self.closed.len() > REMEMBERED {
            self.closed.pop_front();
        }
    }
}

/// The conversation, in words.
fn whose(request: &RequestInfo) -> String {
    match &request.task {
        Some(task) => format!("the task {}", one_line(task)),
        None => format!("the conversation {}", one_line(request.session.as_str())),
    }
}
