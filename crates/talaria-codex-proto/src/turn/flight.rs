//! A turn that an earlier engine had in flight, as it was recorded: what `Turn::adopt` starts from.
//!
//! The steps come from stored events (`replay`), the requests from their own records, because answers to Codex are not in
//! the events. Nothing is decided here; an incomplete record leads to an incomplete flight.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::approvals::Approvals;
use crate::wire::server_request::ServerRequest;
use talaria_core::escrow::Binding;
use talaria_core::event::{AgentPhase, Event, RateLimits, Stage, Usage};
use talaria_core::ids::{ItemId, RequestId, ThreadId, TicketId, TurnId};
use talaria_core::item::{Item, ItemBody};
use talaria_core::request::{Answer, Ask, Decision, Who};

/// Recorded state of a turn that was in flight.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Stage of its input: sent, accepted or unknown. Input that was only prepared is sent now, once.
    pub stage: Stage,
    /// The turn, if Codex had named it.
    pub turn: Option<TurnId>,
    /// Its steps that had begun and not ended, in order. A message has the text that had come so far.
    pub begun: Vec<Item>,
    /// Its steps that had ended, in order.
    pub ended: Vec<Item>,
    /// Its sub-agents.
    pub agents: Vec<RecordedAgent>,
    /// Who had asked it to stop.
    pub stopped_by: Option<Who>,
    /// How many requests no one could be asked about.
    pub declined: u32,
    /// The tokens it had cost.
    pub spent: Usage,
    /// The account's limits as reported last.
    pub limits: Option<RateLimits>,
    /// How much of its limit was used up.
    pub used: Duration,
    /// Which of its steps waited for a person.
    pub approvals: Approvals,
    /// The requests that were open, or answered without a word from Codex that it has the answer.
    pub requests: Vec<RecordedRequest>,
    /// When the last of all this was recorded, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Why Codex is gone, if it is: then the thread is read on another one, and only an end that was written counts.
    pub gone: Option<String>,
}

/// A sub-agent, as it was recorded.
#[derive(Clone, Debug)]
pub struct RecordedAgent {
    /// Its thread.
    pub thread: ThreadId,
    /// Its state.
    pub phase: AgentPhase,
    /// Its steps that had begun and not ended.
    pub begun: Vec<Item>,
    /// Its steps that had ended.
    pub ended: Vec<ItemId>,
}

/// How Codex names a request; by this it is found again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestIdentity {
    /// Its JSON-RPC id, which counts per process.
    pub id: RequestId,
    /// The wire's name for what is asked.
    pub method: String,
    /// The conversation.
    pub thread: Option<ThreadId>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The step.
    pub item: Option<ItemId>,
}

impl RequestIdentity {
    /// Names a request.
    pub fn new(id: RequestId, request: &ServerRequest) -> Self {
        let scope = request.scope();
        Self {
            id,
            method: request.method().to_owned(),
            thread: scope.thread.map(ThreadId::new),
            turn: scope.turn.map(TurnId::new),
            item: request.item().cloned(),
        }
    }

    /// Is it the same request? Its turn may be missing on one side.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.id == other.id
            && self.method == other.method
            && self.thread == other.thread
            && self.item == other.item
    }
}

/// A request, as it was recorded.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Our name for it, which it keeps.
    pub ticket: TicketId,
    /// Codex's.
    pub asked: RequestIdentity,
    /// What people were shown.
    pub ask: Ask,
    /// Binding of an answer.
    pub binding: Option<Binding>,
    /// How far the answer is.
    pub standing: AnswerStage,
    /// People were informed that it is closed.
    pub is_closed: bool,
}

/// How far the answer to a recorded request is.
#[derive(Clone, Debug)]
pub enum AnswerStage {
    /// No one had answered, or what was answered was secret and is not known any more.
    Open,
    /// Someone had; nothing was written to Codex.
    Answered {
        /// What.
        answer: Answer,
        /// Who.
        by: Who,
    },
    /// It was being written to Codex.
    Delivering {
        /// What; `None` if a part of it was secret.
        answer: Option<Answer>,
        /// Who.
        by: Who,
    },
}

impl Flight {
    /// A flight of which nothing but this is known.
    pub fn new(stage: Stage) -> Self {
        Self {
            stage,
            turn: None,
            begun: Vec::new(),
            ended: Vec::new(),
            agents: Vec::new(),
            stopped_by: None,
            declined: 0,
            spent: Usage::default(),
            limits: None,
            used: Duration::ZERO,
            approvals: Approvals::default(),
            requests: Vec::new(),
            since: None,
            gone: None,
        }
    }

    /// Makes a flight of the events of the turn, in order, from the first on.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut flight = Self::new(Stage::Prepared);
        for event in events {
            flight.take(event);
        }
        flight
    }

    fn take(&mut self, event: &Event) {
        self.approvals.note(event);
        match event {
            Event::Ledger { stage, .. } => self.stage = *stage,
            Event::TurnStarted { turn } => self.turn = Some(turn.clone()),
            Event::ItemStarted { item } => self.begun.push((**item).clone()),
            Event::ItemCompleted { item } => {
                self.begun.retain(|begun| begun.id != item.id);
                self.ended.push((**item).clone());
            }
            Event::TextDelta { item, delta } => {
                let begun = self.begun.iter_mut().find(|begun| begun.id == *item);
                if let Some(ItemBody::AgentMessage { text, .. }) = begun.map(|item| &mut item.body) {
                    text.push_str(delta);
                }
            }
            Event::PatchUpdated { item, changes: newer } => {
                let begun = self.begun.iter_mut().find(|begun| begun.id == *item);
                if let Some(ItemBody::Patch { changes, .. }) = begun.map(|item| &mut item.body) {
                    changes.clone_from(newer);
                }
            }
            Event::Interrupting { by } => self.stopped_by = Some(*by),
            Event::RequestClosed { decision, by, .. } => {
                self.declined += u32::from(super::requests::counts_as_declined(*decision, *by));
                if *decision == Decision::Cancel {
                    self.stopped_by.get_or_insert(*by);
                }
            }
            Event::Unknown { raw, .. } => self.declined += u32::from(is_request(raw.get())),
            Event::UsageUpdated { turn, .. } => self.spent = *turn,
            Event::RateLimits(limits) => self.limits = Some((**limits).clone()),
            Event::AgentUpdated { thread, phase } => self.agent(thread).phase = *phase,
            Event::AgentItemStarted { thread, item } => self.agent(thread).begun.push((**item).clone()),
            Event::AgentItemCompleted { thread, item } => {
                let agent = self.agent(thread);
                agent.begun.retain(|begun| begun.id != item.id);
                agent.ended.push(item.id.clone());
            }
            _ => {}
        }
    }

    fn agent(&mut self, thread: &ThreadId) -> &mut RecordedAgent {
        let at = self.agents.iter().position(|agent| agent.thread == *thread);
        let at = at.unwrap_or_else(|| {
            let (begun, ended) = (Vec::new(), Vec::new());
            self.agents.push(RecordedAgent {
                thread: thread.clone(),
                phase: AgentPhase::Running,
                begun,
                ended,
            });
            self.agents.len() - 1
        });
        &mut self.agents[at]
    }
}

/// A message that has an id was a request, and the host refused it.
fn is_request(raw: &str) -> bool {
    #[derive(Deserialize)]
    struct Head {
        id: Option<RequestId>,
    }
    serde_json::from_str::<Head>(raw).is_ok_and(|head| head.id.is_some())
}
