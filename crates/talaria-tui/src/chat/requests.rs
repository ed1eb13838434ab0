//! What waits for a person: in this conversation, as its events say, and in the others, as the engine says.

use std::collections::VecDeque;

use jiff::Timestamp;
use talaria_core::api::{Numbered, RequestInfo, RequestState};
use talaria_core::event::Event;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::{Ask, Decision, Who};
use talaria_guard::place::Place;
use talaria_guard::plain::one_line;

use super::known::Known;
use super::panel::{Request, Scene};
use talaria_render::{about, news};

/// Maximum length of a title next to a request.
const LONGEST_TITLE: usize = 32;
/// At most this many closed requests are remembered, so that an older list does not open them again.
const REMEMBERED: usize = 64;

/// All that wait.
#[derive(Debug, Default)]
pub(super) struct Requests {
    here: Vec<Here>,
    /// The last report about all conversations: the open one may change.
    told: Vec<RequestInfo>,
    session: Option<SessionId>,
    closed: VecDeque<TicketId>,
}

/// A request from this conversation. Its place is determined when it is shown: the settings in force may be reported after
/// the question.
#[derive(Debug)]
struct Here {
    ticket: TicketId,
    ask: Ask,
    place: Option<Place>,
    digest: Option<String>,
    /// When it was asked.
    since: Timestamp,
}

/// A request from this conversation that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) ticket: TicketId,
    pub(super) decision: Decision,
    pub(super) by: Who,
}

impl Requests {
    /// Another conversation is on the screen, or this one has its name now.
    pub(super) fn open(&mut self, session: Option<&SessionId>) {
        if self.session.as_ref() != session {
            self.here.clear();
            self.session = session.cloned();
            self.take_here();
        }
    }

    /// Learns from an event of this conversation.
    pub(super) fn event(&mut self, numbered: &Numbered) -> Option<Closed> {
        match &numbered.event {
            Event::RequestOpened { id, ask, place, digest } if ask.is_answerable() => {
                // Of what is reported again, an older turn may have ended after a list had named this one.
                self.closed.retain(|closed| closed != id);
                self.add(Here {
                    ticket: id.clone(),
                    ask: (**ask).clone(),
                    place: *place,
                    digest: digest.clone(),
                    since: numbered.at,
                });
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

    /// Learns what waits everywhere.
    pub(super) fn waiting(&mut self, requests: Vec<RequestInfo>) {
        self.told = requests;
        self.told.retain(|request| request.state == RequestState::Open && !self.closed.contains(&request.id));
        self.take_here();
    }

    /// Events have more details of this conversation: only requests that they lack are taken, since its events may begin
    /// after the question.
    fn take_here(&mut self) {
        let here = self.told.iter().filter(|request| self.session.as_ref() == Some(&request.session));
        for request in here.cloned().collect::<Vec<_>>() {
            let Some(ask) = request.ask else { continue };
            if ask.is_answerable() {
                let (ticket, place, digest, since) =
                    (request.id, request.place, request.digest, request.since);
                self.add(Here { ticket, ask, place, digest, since });
            }
        }
    }

    /// The oldest of this conversation.
    pub(super) fn first_here(&self) -> Option<&TicketId> {
        self.here.first().map(|request| &request.ticket)
    }

    /// Since when this conversation has been waiting for a person.
    pub(super) fn waiting_since(&self) -> Option<Timestamp> {
        self.here.iter().map(|request| request.since).min()
    }

    /// Does it still wait, as far as is known?
    pub(super) fn is_open(&self, ticket: &TicketId) -> bool {
        self.here.iter().any(|request| request.ticket == *ticket)
            || self.elsewhere().any(|request| request.id == *ticket)
    }

    /// How many wait besides the one that is shown.
    pub(super) fn count(&self, shown: Option<&TicketId>) -> usize {
        let here = self.here.iter().map(|request| &request.ticket);
        let elsewhere = self.elsewhere().map(|request| &request.id);
        here.chain(elsewhere).filter(|ticket| Some(*ticket) != shown).count()
    }

    /// All of them, in a line each.
    pub(super) fn listed(&self) -> Vec<(String, TicketId)> {
        let here = self.here.iter().map(|request| {
            let label = request.ask.label();
            (format!("here: {}", about(Some(&request.ask), &label)), request.ticket.clone())
        });
        let elsewhere = self.elsewhere().map(|request| {
            let about = about(request.ask.as_ref(), &request.summary);
            (format!("{}: {}", in_short(request), one_line(&about)), request.id.clone())
        });
        here.chain(elsewhere).collect()
    }

    /// The whole of one, if it can be shown.
    pub(super) fn find(&self, ticket: &TicketId, known: &Known) -> Option<Request> {
        if let Some(here) = self.here.iter().find(|request| request.ticket == *ticket) {
            let (ticket, ask, digest) = (here.ticket.clone(), here.ask.clone(), here.digest.clone());
            let scene = scene_here(&ask, here.place, known);
            return Some(Request { ticket, ask, digest, scene });
        }
        let request = self.elsewhere().find(|request| request.id == *ticket)?;
        let scene = Scene {
            origin: Some(format!("A request from {}", whose(request))),
            agent: None,
            sandbox: String::new(),
            approval: String::new(),
            cwd: String::new(),
            place: request.place,
        };
        let ask = request.ask.clone().filter(Ask::is_answerable)?;
        Some(Request { ticket: request.id.clone(), ask, digest: request.digest.clone(), scene })
    }

    fn elsewhere(&self) -> impl Iterator<Item = &RequestInfo> {
        self.told.iter().filter(|request| self.session.as_ref() != Some(&request.session))
    }

    fn add(&mut self, request: Here) {
        let is_known = self.here.iter().any(|known| known.ticket == request.ticket);
        if !is_known && !self.closed.contains(&request.ticket) {
            self.here.push(request);
        }
    }

    /// It is over.
    pub(super) fn close(&mut self, ticket: &TicketId) {
        self.here.retain(|request| request.ticket != *ticket);
        self.told.retain(|request| request.id != *ticket);
        self.closed.push_back(ticket.clone());
        if self.closed.len() > REMEMBERED {
            self.closed.pop_front();
        }
    }
}

/// The settings in force here: only Codex's report for this conversation counts.
fn scene_here(ask: &Ask, place: Option<Place>, known: &Known) -> Scene {
    let own = known.started.as_ref().map(|started| &started.thread);
    let agent = ask.thread().filter(|thread| own.is_some_and(|own| own != *thread));
    let agent = agent.map(|thread| format!("A request from the sub-{}", one_line(&news::agent(thread))));
    let untold = || "not known".to_owned();
    let (sandbox, approval) = match &known.started {
        Some(started) => (started.sandbox.clone(), started.approval.clone()),
        None => (untold(), untold()),
    };
    Scene { origin: None, agent, sandbox, approval, cwd: known.folder().to_owned(), place }
}

/// The conversation, in words.
fn whose(request: &RequestInfo) -> String {
    let called = title(request).map(|title| format!(" ({title})")).unwrap_or_default();
    match &request.task {
        Some(task) => format!("the task {}{called}", one_line(task)),
        None => format!("the conversation {}{called}", one_line(request.session.as_str())),
    }
}

/// The same with more detail: by its name, if it has one.
fn in_short(request: &RequestInfo) -> String {
    match (title(request), &request.task) {
        (Some(title), Some(_)) => format!("task {title}"),
        (Some(title), None) => title,
        (None, _) => whose(request),
    }
}

fn title(request: &RequestInfo) -> Option<String> {
    let title = one_line(request.title.as_deref()?.trim()).into_owned();
    if title.chars().count() <= LONGEST_TITLE {
        return Some(title).filter(|title| !title.is_empty());
    }
    Some(title.chars().take(LONGEST_TITLE).chain("...".chars()).collect())
}
