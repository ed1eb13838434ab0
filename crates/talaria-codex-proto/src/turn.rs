//! One turn on one thread, without I/O: feed what happened, drain what to do, sleep until `wake_at`.
//!
//! Scope: only frames of this thread and this turn count; a late end of an old turn never affects this one. A turn ends
//! only by evidence: Codex reported it, Codex refused it, the thread was read, or Codex ended. Silence ends nothing; it
//! is reported and investigated. The caller's deadline pauses while a person is being asked. An early or repeated tick
//! changes nothing.
//!
//! This file is the map: inputs and outputs, and one match on the input. `telling` handles reports of Codex, `sending` the
//! delivery of the input, `ending` and `stopping` the end, `requests` the questions, `consulting` those that the user's hook is
//! asked about, `children` the sub-agents, `choosing` model and effort, `calls` calls without steps; `adopting` resumes a turn
//! that another engine had in flight. Called by the session loop in `talaria-engine`, which owns the clock, the socket and the people.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use crate::frame::{Corrupt, Unknown};
use crate::rollout::Untold;
use crate::settle::{Deed, Settlement};
use crate::thread_bounds::ThreadBounds;
use crate::thread_gate::ThreadGate;
use crate::wire::notification::{Notification, TurnError};
use crate::wire::rpc_error::RpcError;
use crate::wire::server_request::{DynamicToolCallParams, ServerRequest};
use talaria_core::background::{BackgroundCommand, UnendedCommand};
use talaria_core::escrow::EscrowedAnswers;
use talaria_core::event::{Escalation, Event, RateLimits, Usage};
use talaria_core::hook::{HookVerdict, HookedCall};
use talaria_core::ids::{ItemId, RequestId, ThreadId, TicketId, TurnId};
use talaria_core::item::{FileChange, Item};
use talaria_core::outcome::{Outcome, Report};
use talaria_core::request::{Answer, Who};

mod adopting;
mod answer_text;
mod approvals;
mod calls;
mod children;
mod choosing;
mod consulting;
mod context;
mod deadline;
mod ending;
mod escrowed;
mod flight;
mod items;
mod offered;
mod quiet;
mod record;
mod requests;
mod sending;
mod spending;
mod stopping;
mod telling;
#[cfg(test)]
mod tests;
mod unanswered;

pub use crate::choice::ModelSettings;
pub use crate::moment::Moment;
use adopting::Adoption;
use answer_text::AnswerText;
pub use approvals::Approvals;
use calls::RawCalls;
use children::Children;
pub use children::sub_agents;
pub use choosing::{Choosing, ToldBy};
use consulting::ConsultedRequest;
use context::ContextWatch;
use deadline::Deadline;
use ending::Waits;
pub use flight::{AnswerStage, Flight, RecordedAgent, RecordedRequest, RequestIdentity};
use items::{Ended, OpenItem};
use quiet::Quiet;
pub use record::{Fate, Opened, Record};
use requests::OpenRequest;
use unanswered::LastWord;

/// Specification of a turn: everything that is decided before its input is sent.
#[derive(Clone, Debug)]
pub struct Order {
    /// The conversation.
    pub thread: ThreadId,
    /// Our name for the input, where Codex keeps it with the message.
    pub client_id: Option<String>,
    /// The last turn of the thread that is known: only a later one can be this one.
    pub after: Option<TurnId>,
    /// The thread's token total so far. If it is partial, the first report of this turn corrects it.
    pub baseline: Usage,
    /// The caller's limit; the time that a person takes to answer does not count.
    pub limit: Option<Duration>,
    /// After how much silence a person is notified for the first time.
    pub quiet_after: Option<Duration>,
    /// The gate before a person is asked.
    pub gate: ThreadGate,
    /// Is the user's hook asked before a person is?
    pub asks_hook: bool,
    /// Earlier answers, kept for this turn.
    pub escrow: EscrowedAnswers,
    /// Model and effort: the values in force, and those that this turn requests.
    pub choosing: Choosing,
    /// Kind of the turn.
    pub deed: Deed,
    /// Where its commands run unless they say otherwise.
    pub cwd: String,
    /// Can the file of the conversation be read for what Codex does not report?
    pub has_file: bool,
}

/// One turn.
#[derive(Debug)]
pub struct Turn {
    order: Order,
    phase: Phase,
    id: Option<TurnId>,
    /// Codex said `turn/started`. From its answer to `turn/start` until then it refuses an interrupt ("no active turn").
    begun: bool,
    /// Codex took the input without naming a turn: until when it has to begin one.
    begins_until: Option<Moment>,
    /// The file of the conversation is being looked into for what is in force.
    is_looking_up: bool,
    deadline: Deadline,
    quiet: Quiet,
    open_items: HashMap<ItemId, OpenItem>,
    /// Commands that were still running when Codex was asked, once it has been asked.
    background: Option<Vec<BackgroundCommand>>,
    /// Steps that have ended, with their kinds: later messages about them are stale. In 0.130 the beginning and the
    /// end of a review have the same id.
    ended_items: HashMap<ItemId, Ended>,
    /// What announced patches would change, those of sub-agents included.
    announced: HashMap<(ThreadId, ItemId), Vec<FileChange>>,
    calls: RawCalls,
    context: ContextWatch,
    open_requests: Vec<OpenRequest>,
    /// Requests about which the user's hook is being asked.
    consulted: Vec<ConsultedRequest>,
    approvals: Approvals,
    children: Children,
    answer: AnswerText,
    total: Usage,
    limits: Option<RateLimits>,
    /// The error that Codex reported last and does not try to overcome.
    last_error: Option<TurnError>,
    /// A step consisted of nothing but the mark that Codex leaves in an aborted conversation.
    is_marked_aborted: bool,
    last_word: LastWord,
    /// Codex itself complained of its login.
    has_login_trouble: bool,
    /// Who asked for the end, by an interrupt or by cancelling a request.
    stopped_by: Option<Who>,
    /// How often commands are being ended right now.
    ending_terminals: usize,
    declined: u32,
    /// State from an earlier engine, if this turn was resumed.
    adoption: Option<Box<Adoption>>,
    outputs: VecDeque<Output>,
}

#[derive(Debug)]
enum Phase {
    /// Nothing has been sent.
    Prepared,
    /// `turn/start` is on its way.
    Starting,
    /// Codex works.
    Running,
    /// Codex was asked to stop.
    Interrupting {
        until: Moment,
    },
    /// Codex did not stop; the shell does something about it.
    Escalating {
        until: Moment,
    },
    /// Codex may have the input, or is gone: the thread is being read.
    Settling {
        why: String,
        evidence: Settling,
        until: Moment,
    },
    /// How the turn ended is known; something may still come.
    Ending {
        outcome: Outcome,
        waits: Waits,
    },
    Done,
}

/// Why a thread is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settling {
    /// Codex lives, but did not answer `turn/start`.
    Unanswered,
    /// Codex lives; another engine sent the input and followed the turn until it ended.
    Adopted,
    /// Codex is gone: whatever ran is over.
    Gone,
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// The order is recorded: the input may be sent.
    Send,
    /// Codex accepted the turn.
    Accepted(TurnId),
    /// Codex took what was sent, without naming the turn that it becomes: `turn/started` will.
    Taken,
    /// Codex refused the turn.
    Refused(RpcError),
    /// Codex did not answer what was sent, or not in a way that is understood.
    Unanswered(String),
    /// Codex reported something about this thread or one of its sub-agents.
    Notification(Notification<'static>),
    /// Codex asks something; the shell minted the ticket.
    Request {
        /// Our name for it.
        ticket: TicketId,
        /// Codex's.
        id: RequestId,
        /// The question.
        request: ServerRequest,
    },
    /// Someone answered.
    Answer {
        /// Which request.
        ticket: TicketId,
        /// What.
        answer: Answer,
        /// Who.
        by: Who,
    },
    /// The user's hook answered.
    Consulted {
        /// About which request.
        ticket: TicketId,
        /// What.
        verdict: HookVerdict,
    },
    /// A request to stop the turn.
    Interrupt {
        /// Who.
        by: Who,
    },
    /// Codex refused to interrupt a turn: this one, or that of a sub-agent.
    InterruptRefused {
        /// The turn.
        turn: TurnId,
        /// Codex's reason.
        why: String,
    },
    /// The thread was read, as asked, and this is what it says.
    Settled(Settlement),
    /// The file of the conversation was looked into, as asked, and says that this is in force; `None` if it says nothing.
    SettingsFound(Option<ModelSettings>),
    /// The file of the conversation was looked into, as asked, and this is what Codex did not report of the turn.
    UntoldFound(Untold),
    /// The action taken about a Codex that did not stop.
    Escalated(Escalation),
    /// The commands that the turn left running were handled; a note about it.
    TerminalsEnded(Option<String>),
    /// The commands of the turn that still run in the background.
    TerminalsFound(Vec<BackgroundCommand>),
    /// A message that this build does not know; the host has refused it already if it was a request.
    Unknown(Box<Unknown>),
    /// Bytes that are no message.
    Corrupt(Corrupt),
    /// Codex itself complained of its login during this turn; reported before the end that it may explain.
    LoginTrouble,
    /// Codex is gone.
    Gone(String),
    /// Time passed.
    Tick,
}

/// What to do.
#[derive(Debug)]
pub enum Output {
    /// Send what the turn consists of.
    Start,
    /// Ask Codex to stop a turn: this one, or that of a sub-agent.
    Interrupt {
        /// The conversation.
        thread: ThreadId,
        /// The turn.
        turn: TurnId,
    },
    /// Read the thread and say what it reports about this turn (`settle`). If Codex is gone, on a new one.
    Read,
    /// Look into the file of the conversation for the model and the effort that this turn runs with, and say so.
    LookUpSettings,
    /// Look into the file of the conversation for what Codex does not report of this turn, and say so.
    LookUpUntold,
    /// Codex does not stop: end its process if no other turn runs there, and say what was done.
    Escalate,
    /// End the commands of these steps, which a turn left running: this one, or that of a sub-agent. And say so.
    EndTerminals {
        /// The conversation.
        thread: ThreadId,
        /// The steps.
        items: Vec<ItemId>,
    },
    /// Say which of these commands still run, now that their turn has ended (`Input::TerminalsFound`).
    FindTerminals {
        /// The conversation.
        thread: ThreadId,
        /// The commands.
        commands: Vec<UnendedCommand>,
    },
    /// Send the model a text, and wait until Codex has taken it before anything else is sent.
    Steer {
        /// The thread, which may be a sub-agent's.
        thread: ThreadId,
        /// Its turn.
        turn: TurnId,
        /// The text for the model.
        text: String,
    },
    /// Record this, with everything reported before it, before anything else is done.
    Record(Record),
    /// Answer a request of Codex.
    Reply {
        /// The request.
        id: RequestId,
        /// The answer.
        result: Value,
    },
    /// Ask the user's hook about a request, and say what it answered.
    Consult {
        /// Our name for the request.
        ticket: TicketId,
        /// What the hook reads.
        call: Box<HookedCall>,
    },
    /// Call a tool of ours for the model, and answer with what it returns. No question for people.
    CallTool {
        /// The request to be answered.
        id: RequestId,
        /// The call.
        call: Box<DynamicToolCallParams>,
    },
    /// Codex has this as said by the person. It may be our own input, come back.
    Heard(Box<Item>),
    /// Publish an event.
    Emit(Event),
    /// The turn is over; nothing follows.
    Finish(Box<Report>, Usage),
}

impl Turn {
    /// Prepares a turn. Nothing is sent before `Input::Send`.
    pub fn new(now: Moment, order: Order) -> Self {
        let mut turn = Self {
            phase: Phase::Prepared,
            id: None,
            begun: false,
            begins_until: None,
            is_looking_up: false,
            deadline: Deadline::new(now, order.limit),
            quiet: Quiet::new(now, order.quiet_after),
            open_items: HashMap::new(),
            background: None,
            ended_items: HashMap::new(),
            announced: HashMap::new(),
            calls: RawCalls::default(),
            context: ContextWatch::default(),
            open_requests: Vec::new(),
            consulted: Vec::new(),
            approvals: Approvals::default(),
            children: Children::default(),
            answer: AnswerText::default(),
            total: Usage { partial: false, ..order.baseline },
            limits: None,
            last_error: None,
            is_marked_aborted: false,
            last_word: LastWord::default(),
            has_login_trouble: false,
            stopped_by: None,
            ending_terminals: 0,
            declined: 0,
            adoption: None,
            outputs: VecDeque::new(),
            order,
        };
        turn.record_prepared();
        turn
    }

    /// Orders the turn again, because the conversation moved before anything was sent. Later it changes nothing.
    pub fn reorder(&mut self, order: Order) {
        if matches!(self.phase, Phase::Prepared) {
            self.total = Usage { partial: false, ..order.baseline };
            self.order = order;
            self.record_prepared();
        }
    }

    /// Takes what happened.
    pub fn handle(&mut self, now: Moment, input: Input) {
        if let Some(input) = self.hold_back(now, input) {
            self.take(now, input);
        }
        self.rule_in_order(now);
        self.pass_time(now);
    }

    fn take(&mut self, now: Moment, input: Input) {
        if matches!(self.phase, Phase::Done) {
            return;
        }
        match input {
            Input::Send => self.send(),
            Input::Accepted(id) => self.accept(id),
            Input::Taken => self.await_beginning(now),
            Input::Refused(error) => self.refuse(&error),
            Input::Unanswered(why) => self.miss_answer(now, why),
            Input::Notification(notification) => self.notice(now, notification),
            Input::Request { ticket, id, request } => self.open_request(now, ticket, id, request),
            Input::Answer { ticket, answer, by } => self.take_answer(now, &ticket, &answer, by),
            Input::Consulted { ticket, verdict } => self.take_verdict(&ticket, verdict),
            Input::Interrupt { by } => self.interrupt(now, by),
            Input::InterruptRefused { turn, why } => self.interrupt_refused(&turn, &why),
            Input::Settled(settlement) => self.take_reading(now, settlement),
            Input::SettingsFound(found) => self.take_settings(now, found),
            Input::UntoldFound(untold) => self.take_untold(now, untold),
            Input::Escalated(action) => self.escalated(action),
            Input::TerminalsEnded(message) => self.terminals_ended(now, message),
            Input::TerminalsFound(found) => self.terminals_found(now, found),
            Input::Unknown(unknown) => self.keep_unknown(now, *unknown),
            Input::Corrupt(corrupt) => {
                self.emit(Event::Corrupt { reason: corrupt.reason, bytes: corrupt.bytes });
            }
            Input::LoginTrouble => self.has_login_trouble = true,
            Input::Gone(why) => self.codex_gone(now, why),
            Input::Tick => {}
        }
    }

    /// Returns the next thing to do.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call `handle` with a tick, if nothing happens before.
    pub fn wake_at(&self) -> Option<Moment> {
        let next = match &self.phase {
            Phase::Prepared => self.deadline.at(),
            Phase::Starting => [self.deadline.at(), self.begins_until].into_iter().flatten().min(),
            Phase::Running => [self.deadline.at(), self.quiet_at()].into_iter().flatten().min(),
            Phase::Interrupting { until } | Phase::Escalating { until } | Phase::Settling { until, .. } => {
                Some(*until)
            }
            Phase::Ending { waits, .. } => waits.next(),
            Phase::Done => return None,
        };
        [next, self.adoption_at()].into_iter().flatten().min()
    }

    /// The turn that may be steered now.
    pub fn steerable(&self) -> Option<&TurnId> {
        if matches!(self.phase, Phase::Running) { self.id.as_ref() } else { None }
    }

    /// The turn, as Codex names it, once that is known.
    pub fn id(&self) -> Option<&TurnId> {
        self.id.as_ref()
    }

    /// The sandbox and policy in force; Codex may have changed them during the turn.
    pub fn bounds(&self) -> &ThreadBounds {
        self.order.gate.bounds()
    }

    fn emit(&mut self, event: Event) {
        self.approvals.note(&event);
        self.outputs.push_back(Output::Emit(event));
    }

    fn pass_time(&mut self, now: Moment) {
        self.pass_adoption(now);
        match &self.phase {
            Phase::Prepared | Phase::Starting | Phase::Running => {
                if self.deadline.at().is_some_and(|at| at <= now) {
                    self.interrupt(now, Who::Deadline);
                } else if self.begins_until.is_some_and(|until| until <= now) {
                    self.miss_beginning(now);
                } else {
                    self.watch_silence(now);
                }
            }
            Phase::Interrupting { until } if *until <= now => self.escalate(now),
            Phase::Escalating { until } if *until <= now => self.escalation_failed(),
            Phase::Settling { until, .. } if *until <= now => self.settling_failed(),
            Phase::Ending { .. } => self.finish_when_nothing_is_awaited(now),
            Phase::Interrupting { .. } | Phase::Escalating { .. } | Phase::Settling { .. } | Phase::Done => {}
        }
    }
}
