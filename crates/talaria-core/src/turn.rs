//! One turn on one thread, without I/O: feed what happened, drain what to do, sleep until `wake_at`.
//!
//! Scope: only frames of this thread and this turn count; an old turn's late end never touches this one. A turn ends
//! only by evidence: Codex said so, Codex refused it, or Codex is gone. Silence ends nothing. The caller's deadline
//! stops while a person is being asked. A tick that comes early or twice changes nothing.
//!
//! Called by the session loop in `talaria-engine`, which owns the clock, the socket and the people.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use crate::event::{Event, Usage};
use crate::failure;
use crate::frame::{Corrupt, RpcError, Unknown};
use crate::ids::{ItemId, RequestId, ThreadId, TicketId, TurnId};
use crate::item::{FileChange, Item, ItemBody};
use crate::outcome::{Outcome, Report};
use crate::project;
use crate::request::{Decision, Who};
use crate::wire::notification::{Notification, TurnParams, TurnStatus};
use crate::wire::server_request::ServerRequest;

mod answer_text;
mod deadline;
mod items;
mod requests;
#[cfg(test)]
mod tests;

use answer_text::AnswerText;
use deadline::Deadline;
use requests::OpenRequest;

/// How long after its end a turn's last items may still come: 0.130 sends them 50 to 100 ms late.
const LATE_ITEMS: Duration = Duration::from_millis(400);
/// How long Codex may take to end a turn that it was asked to interrupt (measured: 2 to 103 ms).
const INTERRUPT_LIMIT: Duration = Duration::from_secs(10);

/// A point in time: how long after the start of the program. It does not jump when the clock is set.
pub type Moment = Duration;

/// One turn.
#[derive(Debug)]
pub struct Turn {
    thread: ThreadId,
    phase: Phase,
    id: Option<TurnId>,
    /// Codex said `turn/started`. From its answer to `turn/start` until then it refuses an interrupt ("no active turn").
    begun: bool,
    deadline: Deadline,
    open_items: BTreeSet<ItemId>,
    /// What announced patches would change, those of sub-agents included.
    announced: HashMap<(ThreadId, ItemId), Vec<FileChange>>,
    open_requests: Vec<OpenRequest>,
    answer: AnswerText,
    baseline: Usage,
    total: Usage,
    /// Who asked for the end, by an interrupt or by cancelling a request.
    stopped_by: Option<Who>,
    declined: u32,
    outputs: VecDeque<Output>,
}

#[derive(Debug)]
enum Phase {
    /// `turn/start` is on its way.
    Starting,
    /// Codex works.
    Running,
    /// Codex was asked to stop.
    Interrupting {
        until: Moment,
    },
    /// Codex said how it ended; late items may still come.
    Ending {
        outcome: Outcome,
        until: Moment,
    },
    Done,
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// Codex accepted the turn.
    Accepted(TurnId),
    /// Codex refused the turn.
    Refused(RpcError),
    /// Codex did not answer `turn/start`, or not in a way that is understood.
    Unanswered(String),
    /// Codex told something about this thread or one of its sub-agents.
    Notification(Notification<'static>),
    /// Codex asks something; the shell minted the ticket.
    Request {
        /// Our name for it.
        ticket: TicketId,
        /// Codex's.
        id: RequestId,
        /// What is asked.
        request: ServerRequest,
    },
    /// Somebody answered.
    Answer {
        /// Which request.
        ticket: TicketId,
        /// What.
        decision: Decision,
        /// Who.
        by: Who,
    },
    /// Somebody wants the turn to stop.
    Interrupt {
        /// Who.
        by: Who,
    },
    /// A message that this build does not know; the host has refused it already if it was a request.
    Unknown(Box<Unknown>),
    /// Bytes that are no message.
    Corrupt(Corrupt),
    /// Codex is gone.
    Gone(String),
    /// Time passed.
    Tick,
}

/// What to do.
#[derive(Debug)]
pub enum Output {
    /// Ask Codex to stop this turn.
    Interrupt(TurnId),
    /// Answer a request of Codex.
    Reply {
        /// The request.
        id: RequestId,
        /// The answer.
        result: Value,
    },
    /// Tell everybody.
    Emit(Event),
    /// The turn is over; nothing follows.
    Finish(Report, Usage),
}

impl Turn {
    /// Begins a turn whose `turn/start` is being sent. `baseline` is the thread's token total so far.
    pub fn new(now: Moment, thread: ThreadId, baseline: Usage, limit: Option<Duration>) -> Self {
        Self {
            thread,
            phase: Phase::Starting,
            id: None,
            begun: false,
            deadline: Deadline::new(now, limit),
            open_items: BTreeSet::new(),
            announced: HashMap::new(),
            open_requests: Vec::new(),
            answer: AnswerText::default(),
            baseline,
            total: baseline,
            stopped_by: None,
            declined: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Takes what happened.
    pub fn handle(&mut self, now: Moment, input: Input) {
        if matches!(self.phase, Phase::Done) {
            return;
        }
        match input {
            Input::Accepted(id) => self.accept(id),
            Input::Refused(error) => self.finish(failure::refused(&error)),
            // A turn that was seen to begin needs no answer.
            Input::Unanswered(_) if self.id.is_some() => {}
            Input::Unanswered(why) => self.lose(why),
            Input::Notification(notification) => self.notice(now, notification),
            Input::Request { ticket, id, request } => self.open_request(now, ticket, id, request),
            Input::Answer { ticket, decision, by } => self.take_answer(now, &ticket, decision, by),
            Input::Interrupt { by } => self.interrupt(now, by),
            Input::Unknown(unknown) => self.keep_unknown(*unknown),
            Input::Corrupt(corrupt) => {
                self.emit(Event::Corrupt { reason: corrupt.reason, bytes: corrupt.bytes });
            }
            Input::Gone(why) => self.lose(why),
            Input::Tick => {}
        }
        self.pass_time(now);
    }

    /// Gives the next thing to do.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call `handle` with a tick, if nothing happens before.
    pub fn wake_at(&self) -> Option<Moment> {
        match &self.phase {
            Phase::Starting | Phase::Running => self.deadline.at(),
            Phase::Interrupting { until } | Phase::Ending { until, .. } => Some(*until),
            Phase::Done => None,
        }
    }

    /// The turn that may be steered now.
    pub fn steerable(&self) -> Option<&TurnId> {
        if matches!(self.phase, Phase::Running) { self.id.as_ref() } else { None }
    }

    fn emit(&mut self, event: Event) {
        self.outputs.push_back(Output::Emit(event));
    }

    /// The id comes twice, in the answer to `turn/start` and in `turn/started`, in either order.
    fn accept(&mut self, id: TurnId) {
        if self.id.is_some() {
            return;
        }
        self.emit(Event::TurnStarted { turn: id.clone() });
        self.id = Some(id);
        if matches!(self.phase, Phase::Starting) {
            self.phase = Phase::Running;
        }
    }

    fn begin(&mut self, now: Moment, id: TurnId) {
        self.accept(id);
        let is_first = !std::mem::replace(&mut self.begun, true);
        if is_first && matches!(self.phase, Phase::Interrupting { .. }) {
            self.send_interrupt(now);
        }
    }

    fn is_ours(&self, notification: &Notification<'_>) -> bool {
        let scope = notification.scope();
        let thread_fits = scope.thread.is_none_or(|thread| thread == self.thread.as_str());
        let turn_fits = match (scope.turn, &self.id) {
            (Some(theirs), Some(ours)) => theirs == ours.as_str(),
            // Before the id is known only `turn/started` of this thread may bring it.
            (Some(_), None) => matches!(notification, Notification::TurnStarted(_)),
            (None, _) => true,
        };
        thread_fits && turn_fits
    }

    fn notice(&mut self, now: Moment, notification: Notification<'static>) {
        if let Notification::RequestResolved(resolved) = &notification {
            // A sub-agent's request is closed under the sub-agent's thread id.
            return self.close_request(now, &resolved.request_id, Who::Codex);
        }
        if !self.is_ours(&notification) {
            return self.overhear(notification);
        }
        match notification {
            Notification::AgentMessageDelta(d) => {
                self.emit(Event::TextDelta { item: ItemId::new(d.item_id), delta: d.delta.into_owned() });
            }
            Notification::ReasoningSummaryDelta(d) => {
                self.emit(Event::ReasoningDelta {
                    item: ItemId::new(d.item_id),
                    delta: d.delta.into_owned(),
                });
            }
            Notification::CommandOutputDelta(d) => {
                self.emit(Event::OutputDelta { item: ItemId::new(d.item_id), delta: d.delta.into_owned() });
            }
            Notification::ItemStarted(params) => self.start_item(*params),
            Notification::ItemCompleted(params) => self.complete_item(*params),
            Notification::TurnStarted(params) => self.begin(now, params.turn.id),
            Notification::TurnCompleted(params) => self.end(now, &params),
            Notification::PlanUpdated(p) => {
                let steps = project::plan(p.plan);
                self.emit(Event::PlanUpdated { explanation: p.explanation, steps });
            }
            Notification::DiffUpdated(p) => self.emit(Event::DiffUpdated { diff: p.diff }),
            Notification::TokenUsageUpdated(p) => {
                self.total = project::usage(p.token_usage.total);
                self.emit(Event::UsageUpdated {
                    turn: self.total.since(self.baseline),
                    context: p.token_usage.last.total_tokens,
                    window: p.token_usage.model_context_window,
                });
            }
            // The final error comes again with `turn/completed`.
            Notification::Error(p) if p.will_retry => {
                self.emit(Event::Retrying { message: p.error.to_string() });
            }
            Notification::Warning(p) => self.emit(Event::Warning { message: p.message }),
            Notification::ConfigWarning(p) => self.emit(Event::Warning { message: p.summary }),
            Notification::McpServerStatus(p) => {
                if let Some(error) = p.error {
                    self.emit(Event::Warning { message: format!("MCP server {}: {error}", p.name) });
                }
            }
            Notification::Error(_)
            | Notification::ReasoningTextDelta(_)
            | Notification::ReasoningPartAdded(_)
            | Notification::ThreadStatusChanged(_)
            | Notification::ThreadStarted(_)
            | Notification::ThreadClosed(_)
            | Notification::ReadStateChanged(_)
            | Notification::RequestResolved(_)
            | Notification::DeprecationNotice(_)
            | Notification::RateLimitsUpdated(_)
            | Notification::RemoteControlChanged(_) => {}
        }
    }

    fn end(&mut self, now: Moment, params: &TurnParams) {
        // The first end is the end: another one neither changes the outcome nor prolongs the wait.
        if matches!(self.phase, Phase::Ending { .. }) {
            return;
        }
        let outcome = match params.turn.status {
            TurnStatus::Completed => Outcome::Completed,
            TurnStatus::Failed => failure::failed(params.turn.error.as_ref()),
            TurnStatus::Interrupted => Outcome::Interrupted { by: self.stopped_by.unwrap_or(Who::Codex) },
            // An end that does not say how: what happened is not known.
            TurnStatus::InProgress | TurnStatus::Unknown => {
                Outcome::Lost { why: "Codex ended the turn without saying how".to_owned() }
            }
        };
        // What is open when a turn is interrupted never completes.
        if self.open_items.is_empty() || matches!(outcome, Outcome::Interrupted { .. }) {
            self.finish(outcome);
        } else {
            self.void_requests();
            self.phase = Phase::Ending { outcome, until: now + LATE_ITEMS };
        }
    }

    fn interrupt(&mut self, now: Moment, by: Who) {
        if !matches!(self.phase, Phase::Starting | Phase::Running) {
            return;
        }
        self.stopped_by = Some(by);
        self.phase = Phase::Interrupting { until: now + INTERRUPT_LIMIT };
        self.emit(Event::Interrupting { by });
        self.send_interrupt(now);
    }

    /// Sends the interrupt once the turn has begun; until then `begin` will. Never twice: 0.130 does not answer a second.
    fn send_interrupt(&mut self, now: Moment) {
        if let (Some(id), true) = (&self.id, self.begun) {
            self.outputs.push_back(Output::Interrupt(id.clone()));
            self.phase = Phase::Interrupting { until: now + INTERRUPT_LIMIT };
        }
    }

    fn pass_time(&mut self, now: Moment) {
        match &self.phase {
            Phase::Starting | Phase::Running => {
                if self.deadline.at().is_some_and(|at| at <= now) {
                    self.interrupt(now, Who::Deadline);
                }
            }
            Phase::Ending { outcome, until } if *until <= now => self.finish(outcome.clone()),
            Phase::Interrupting { until } if *until <= now => {
                let missed = if self.begun { "end" } else { "begin" };
                let limit = INTERRUPT_LIMIT.as_secs();
                self.lose(format!("Codex did not {missed} the turn within {limit} s of the wish to stop it"));
            }
            Phase::Interrupting { .. } | Phase::Ending { .. } | Phase::Done => {}
        }
    }

    /// A message in a shape that this build does not know. If it says that this turn ended, that much is understood.
    fn keep_unknown(&mut self, unknown: Unknown) {
        let is_end = unknown.method == "turn/completed" && unknown.thread.as_ref() == Some(&self.thread);
        let is_ours = unknown.turn.is_none() || unknown.turn == self.id;
        // The host has refused it: nobody could be asked.
        self.declined += u32::from(unknown.id.is_some());
        self.emit(Event::Unknown { method: unknown.method, raw: unknown.raw });
        if is_end && is_ours && self.id.is_some() {
            self.lose("Codex ended the turn in a form that this version does not understand".to_owned());
        }
    }

    /// Ends a turn that can no longer be followed. What Codex said about its end before that still holds.
    fn lose(&mut self, why: String) {
        let outcome = match &self.phase {
            Phase::Ending { outcome, .. } => outcome.clone(),
            _ => Outcome::Lost { why },
        };
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: Outcome) {
        self.void_requests();
        for item in std::mem::take(&mut self.open_items) {
            self.emit(Event::ItemAbandoned { item });
        }
        let usage = self.total.since(self.baseline);
        let report = Report::new(outcome, self.answer.text(), usage, self.declined);
        self.emit(Event::Outcome(report.clone()));
        self.outputs.push_back(Output::Finish(report, self.total));
        self.phase = Phase::Done;
    }
}

/// The threads of sub-agents that an item names; their frames belong to the turn that started them.
pub fn sub_agents(item: &Item) -> &[ThreadId] {
    match &item.body {
        ItemBody::Agents { threads, .. } => threads,
        _ => &[],
    }
}
