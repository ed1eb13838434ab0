//! One turn of the built-in loop while it runs: the shell around `LoopTurn`. It owns clock, connection, calls and commands,
//! makes every output of the machine durable in order, and decides nothing.
//!
//! It can be dropped at any point. Everything that the next engine needs is in the store: the history with the answers that
//! count, the ledger of calls, and the requests.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use talaria_agent::attempt::WireNews;
use talaria_agent::history::{CallDisposition, LogEntry, LogItem, LogPart};
use talaria_agent::key_pool::PooledKey;
use talaria_agent::loop_turn::{AttemptPurpose, LoopInput, LoopMoment, LoopOutput, LoopTurn, RequestedCall};
use talaria_codex::conversation::{Command, NotKept, Watcher as _, When};
use talaria_core::event::{Event, QueuedInput, Usage};
use talaria_core::event_redactor::{EventRedactor, cover_report};
use talaria_core::ids::{ItemId, TicketId};
use talaria_core::input::InputPart;
use talaria_core::outcome::{Outcome, Report};
use talaria_core::request::{Decision, Who};
use talaria_core::transcript::{ProjectionLimits, Projector};
use talaria_store::{Change, NewHistoryEntry, ToolCallKey};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::calls::{CallHistory, CallMessage, CallScene, Decided};
use super::deadline::Deadline;
use super::wire::WireFeed;
use super::{LoopProvider, log, said};
use crate::engine::Inner;
use crate::engine::journal::Journal;
use crate::engine::run::providers::RequestKey;
use asks::OpenAsk;
use budgeting::WithheldRequest;
use requests::UnsentRequest;

pub(super) use asks::close_left_asks;

mod asks;
mod budgeting;
mod requests;

/// How many messages of calls wait at most.
const WAITING_MESSAGES: usize = 64;
/// Milliseconds in a second.
const SECOND: i64 = 1_000;

/// A turn that runs.
pub(super) struct RunningLoop<'a> {
    pub(super) engine: Arc<Inner>,
    pub(super) journal: &'a mut Journal,
    pub(super) machine: LoopTurn,
    /// The provider and the model that are asked now.
    pub(super) provider: LoopProvider,
    /// The models that may answer; the chosen one first.
    models: Vec<LoopProvider>,
    pub(super) scene: CallScene,
    /// Other models that summarise the conversation.
    summarisers: Vec<LoopProvider>,
    deed: LoopDeed,
    /// Counts the prefixes of the conversation.
    prefix_epoch: i64,
    pub(super) ordinal: i64,
    epoch: Instant,
    wire: Option<WireFeed>,
    /// The key of the attempt that was planned last.
    key: RequestKey,
    /// The key that the turn keeps as long as it works.
    kept_key: Option<PooledKey>,
    /// A request that waits for a key.
    unsent: Option<UnsentRequest>,
    /// A request that a budget has no room for.
    withheld: Option<WithheldRequest>,
    /// The question for more.
    allowed: Option<oneshot::Receiver<Decided>>,
    /// Changes with the known keys.
    keys: watch::Receiver<()>,
    calls: Option<AbortOnDropHandle<()>>,
    /// The calls that have no result yet.
    unanswered: Vec<RequestedCall>,
    messages: mpsc::Receiver<CallMessage>,
    stop: watch::Sender<bool>,
    asks: Vec<OpenAsk>,
    /// Requests whose answer a call has, until that is recorded with the next step of the call.
    passed_on: Vec<(ItemId, TicketId)>,
    /// Requests that people saw closed before an earlier engine was killed.
    closed: HashSet<TicketId>,
    /// Who stopped the turn before this engine began with it.
    stopped_by: Option<Who>,
    /// The question whether a turn that repeats itself continues.
    doubt: Option<oneshot::Receiver<Decided>>,
    /// Further input that the machine has not taken yet.
    steering: VecDeque<QueuedInput>,
    /// How many messages of the person were shown, the prompt included.
    said: usize,
    projector: Projector,
    redactor: EventRedactor,
    deadline: Deadline,
    planned: u64,
    /// What that attempt is for.
    purpose: AttemptPurpose,
    /// Calls whose results are part of the history with the next entries.
    answered: Vec<ToolCallKey>,
    /// Requests that were declined without a person.
    declined: u32,
}

/// What a turn is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopDeed {
    /// Words of the person are answered.
    Words,
    /// The conversation is shortened, and nothing else.
    Compaction {
        /// An earlier engine did it.
        is_done: bool,
    },
}

/// What a turn is begun with.
pub(super) struct LoopStart<'a> {
    pub(super) engine: Arc<Inner>,
    pub(super) journal: &'a mut Journal,
    pub(super) machine: LoopTurn,
    /// The models that may answer; the chosen one first.
    pub(super) models: Vec<LoopProvider>,
    /// The chosen one.
    pub(super) provider: LoopProvider,
    pub(super) summarisers: Vec<LoopProvider>,
    pub(super) deed: LoopDeed,
    pub(super) prefix_epoch: i64,
    pub(super) ordinal: i64,
    pub(super) limit: Option<Duration>,
}

/// The turn cannot continue here: another engine is in charge, or this one ends.
struct Unrecorded;

impl From<NotKept> for Unrecorded {
    fn from(_: NotKept) -> Self {
        Self
    }
}

impl<'a> RunningLoop<'a> {
    /// Prepares a turn; `scene` makes what its calls use.
    pub(super) fn new(
        start: LoopStart<'a>,
        scene: impl FnOnce(mpsc::Sender<CallMessage>, watch::Receiver<bool>) -> CallScene,
    ) -> Self {
        let (sender, messages) = mpsc::channel(WAITING_MESSAGES);
        let (stop, stopped) = watch::channel(false);
        let LoopStart { engine, journal, machine, models, provider, summarisers, .. } = start;
        let LoopStart { deed, prefix_epoch, ordinal, limit, .. } = start;
        let keys = engine.provider_keys.subscribe();
        journal.count_attempts();
        Self {
            engine,
            journal,
            machine,
            provider,
            models,
            scene: scene(sender, stopped),
            summarisers,
            deed,
            prefix_epoch,
            ordinal,
            epoch: Instant::now(),
            wire: None,
            key: RequestKey::NotNeeded,
            kept_key: None,
            unsent: None,
            withheld: None,
            allowed: None,
            keys,
            calls: None,
            unanswered: Vec::new(),
            messages,
            stop,
            asks: Vec::new(),
            passed_on: Vec::new(),
            closed: HashSet::new(),
            stopped_by: None,
            doubt: None,
            steering: VecDeque::new(),
            said: 1,
            projector: Projector::new(ProjectionLimits::default()),
            redactor: EventRedactor::default(),
            deadline: Deadline::new(limit),
            planned: 0,
            purpose: AttemptPurpose::Answer,
            answered: Vec::new(),
            declined: 0,
        }
    }

    /// Continues from what an earlier engine reported: the transcript, what people saw closed, whether the turn is being
    /// stopped. Words of the person that the model did not get come back; only their masked form is stored.
    pub(super) fn replay(&mut self, events: &[Event]) {
        for event in events {
            project(&mut self.projector, event);
            self.declined += u32::from(is_declined_by_itself(event));
            match event {
                Event::RequestClosed { id, .. } => drop(self.closed.insert(id.clone())),
                Event::Interrupting { by } => self.stopped_by = Some(*by),
                _ => {}
            }
        }
        self.keep_messages();
        self.said = said::count(events).max(1);
        let unread = unread_steering(events);
        if !unread.is_empty() {
            self.tell(Event::Unqueued { inputs: unread, was_sent: false });
        }
    }

    /// Follows the turn to its end.
    pub(super) async fn run(mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> Report {
        match self.follow(commands).await {
            Ok(report) => report,
            // The next engine continues.
            Err(Unrecorded) => {
                let why = "what happens can no longer be written down".to_owned();
                Report::new(Outcome::Lost { why }, None, Usage::default(), 0)
            }
        }
    }

    async fn follow(
        &mut self,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) -> Result<Report, Unrecorded> {
        let mut early = Vec::new();
        while let Ok(command) = commands.try_recv() {
            early.push(command);
        }
        let moment = self.moment();
        if let Some(by) = self.stopped_by {
            self.interrupt(by);
        } else if !early.iter().any(|command| matches!(command, Command::Interrupt { .. })) {
            match self.deed {
                LoopDeed::Words => self.machine.begin(moment),
                LoopDeed::Compaction { is_done } => self.machine.begin_compaction(moment, is_done),
            }
        }
        for command in early {
            self.obey(command).await?;
        }
        let mut has_commands = true;
        loop {
            if let Some(report) = self.carry_out().await? {
                return Ok(report);
            }
            if self.journal.due().is_some_and(|due| due <= Instant::now()) {
                self.journal.keep().await?;
            }
            let due = self.journal.due();
            let wake = self.machine.wake_at().map(|at| self.epoch + at);
            let deadline = self.deadline.at();
            let waits_for_key = self.unsent.is_some();
            tokio::select! {
                () = sleep_until(due) => {}
                news = next(&mut self.wire) => self.take_news(&news),
                Some(message) = self.messages.recv() => self.take_message(message).await?,
                () = joined(&mut self.calls) => self.end_calls().await?,
                command = commands.recv(), if has_commands => match command {
                    Some(command) => self.obey(command).await?,
                    None => has_commands = false,
                },
                decided = doubted(&mut self.doubt) => self.settle_doubt(decided),
                decided = doubted(&mut self.allowed) => self.settle_allowance(decided).await?,
                Ok(()) = self.keys.changed(), if waits_for_key => self.send_unsent().await?,
                () = sleep_until(wake) => self.handle(LoopInput::Tick),
                () = sleep_until(deadline) => {
                    self.deadline.pass();
                    self.interrupt(Who::Deadline);
                }
            }
        }
    }

    /// Does what the machine says, in order.
    async fn carry_out(&mut self) -> Result<Option<Report>, Unrecorded> {
        while let Some(output) = self.machine.poll() {
            match output {
                LoopOutput::Emit(event) => self.tell(event),
                LoopOutput::Change(change) => self.report_change(change),
                LoopOutput::Learn(parameter) => {
                    let LoopProvider { found, model, .. } = &self.provider;
                    self.engine.provider_keys.health.refuse(&found.profile.base_url, model, parameter);
                }
                LoopOutput::Plan(planned) => self.plan(&planned).await?,
                LoopOutput::Send(request) => {
                    let is_answer = self.purpose == AttemptPurpose::Answer;
                    self.journal.point(if is_answer { "model-request" } else { "summary-request" });
                    self.journal.keep().await?;
                    match self.withheld.is_some() {
                        true => self.withhold(request).await?,
                        false => self.send(request, self.planned).await?,
                    }
                }
                LoopOutput::Close(attempt) => self.close_wire(attempt),
                LoopOutput::End(ended) => self.end_attempt(&ended),
                LoopOutput::Void { attempt, why, shown_chars, items } => {
                    self.tell(Event::AttemptVoid { attempt, why, shown_chars, items });
                }
                LoopOutput::Append(entries) => {
                    self.journal.point("model-history");
                    for row in self.history_rows(&entries) {
                        self.journal.change(Change::History(row));
                    }
                    self.confirm_answers(None);
                    // The history has the results: the ledger need not keep them.
                    for key in self.answered.drain(..) {
                        self.journal.change(Change::ToolDelivered(key));
                    }
                }
                LoopOutput::Start(calls) => {
                    self.journal.keep().await?;
                    self.start_calls(calls, CallHistory::New);
                }
                LoopOutput::Settle(calls) => self.start_calls(calls, CallHistory::Left),
                LoopOutput::Unread(count) => {
                    let first = self.steering.len().saturating_sub(count);
                    let inputs = self.steering.split_off(first).into();
                    self.tell(Event::Unqueued { inputs, was_sent: false });
                }
                LoopOutput::Doubt { after, text } => self.put_doubt(after, &text).await?,
                LoopOutput::StopCalls => {
                    let _ = self.stop.send(true);
                    self.withdraw_asks();
                }
                LoopOutput::Finish(report) => return self.finish(*report).await.map(Some),
            }
        }
        Ok(None)
    }

    fn start_calls(&mut self, calls: Vec<RequestedCall>, history: CallHistory) {
        let scene = self.scene.clone();
        self.unanswered.clone_from(&calls);
        self.calls = Some(AbortOnDropHandle::new(tokio::spawn(scene.run(calls, history))));
    }

    /// The task of the calls is over. A call without a result is one that panicked: it must not keep the turn waiting.
    async fn end_calls(&mut self) -> Result<(), Unrecorded> {
        self.calls = None;
        while let Ok(message) = self.messages.try_recv() {
            self.take_message(message).await?;
        }
        for requested in std::mem::take(&mut self.unanswered) {
            let why = "Outcome unknown: Talaria itself failed while the call ran. Look at its effects before you do it again.";
            self.tell(Event::Warning {
                message: format!("{}: internal error; its outcome is unknown", requested.name),
            });
            self.handle(LoopInput::CallEnded {
                seq: requested.seq,
                disposition: CallDisposition::Unknown,
                parts: vec![LogPart::text(why)],
            });
        }
        Ok(())
    }

    /// The rows of new entries. A summary begins another prefix.
    fn history_rows(&mut self, entries: &[LogEntry]) -> Vec<NewHistoryEntry> {
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            self.prefix_epoch += i64::from(matches!(entry.item, LogItem::Summary { .. }));
            rows.extend(log::row(self.journal.services(), self.ordinal, self.prefix_epoch, entry));
        }
        rows
    }

    async fn finish(&mut self, mut report: Report) -> Result<Report, Unrecorded> {
        self.withdraw_asks();
        self.confirm_answers(None);
        close_left_asks(self.journal, &self.scene.session).await;
        report.declined = self.declined;
        cover_report(&mut report);
        self.tell(Event::Outcome(Box::new(report.clone())));
        self.journal.keep().await?;
        Ok(report)
    }

    fn take_news(&mut self, news: &WireNews) {
        let Some(attempt) = self.wire.as_ref().map(WireFeed::attempt) else { return };
        self.handle(LoopInput::Wire { attempt, news });
        // What has arrived meanwhile needs no other wake-up.
        while let Some(news) = self.wire.as_mut().and_then(WireFeed::arrived) {
            self.handle(LoopInput::Wire { attempt, news: &news });
        }
    }

    async fn take_message(&mut self, message: CallMessage) -> Result<(), Unrecorded> {
        match message {
            CallMessage::Show(event) => self.tell(event),
            CallMessage::Record { offered, changes, events, done } => {
                events.into_iter().for_each(|event| self.tell(event));
                if let Some(call) = offered {
                    self.journal.offered(&call);
                }
                for change in changes {
                    if let Change::ToolCall(key, _) = &change {
                        self.confirm_answers(Some(&key.call));
                    }
                    self.journal.change(change);
                }
                self.journal.keep().await?;
                // A call that was given up needs no answer.
                let _ = done.send(());
            }
            CallMessage::Ask { item, ask, place, decided, done } => {
                self.open_ask(&item, *ask, place, decided, done).await?;
            }
            CallMessage::Ended { requested, disposition, parts, key } => {
                self.answered.push(key);
                self.unanswered.retain(|open| open.seq != requested.seq);
                let seq = requested.seq;
                self.handle(LoopInput::CallEnded { seq, disposition, parts });
            }
        }
        Ok(())
    }

    async fn obey(&mut self, command: Command) -> Result<(), Unrecorded> {
        match command {
            Command::Answer { ticket, answer, by } => self.answer(&ticket, answer, by),
            Command::Interrupt { by } => self.interrupt(by),
            Command::Report { event } => self.tell(*event),
            Command::Say { input, when, limit, kept } => {
                let is_read = self.deed == LoopDeed::Words && !self.machine.is_over();
                let took = if when == When::Now && is_read && !*self.stop.borrow() {
                    let too_long = "the text is too long for a running turn; it is the next prompt";
                    let parts = super::input_parts(&input).and_then(|parts| {
                        let is_too_long = |part| super::long_input::is_too_long(part, None);
                        if parts.iter().any(is_too_long) { Err(too_long.to_owned()) } else { Ok(parts) }
                    });
                    match parts {
                        Ok(parts) => {
                            self.steer(&input, parts);
                            When::Now
                        }
                        Err(why) => {
                            self.tell(Event::Warning { message: why });
                            self.queue(&input, limit)
                        }
                    }
                } else {
                    self.queue(&input, limit)
                };
                self.journal.keep().await?;
                if let Some(kept) = kept {
                    let _ = kept.send(took);
                }
            }
        }
        Ok(())
    }

    fn steer(&mut self, input: &[InputPart], parts: Vec<LogPart>) {
        let queued = QueuedInput::of(input);
        self.tell(Event::Steering { input: queued.clone() });
        self.steering.push_back(queued);
        self.handle(LoopInput::Steer(parts));
    }

    fn queue(&mut self, input: &[InputPart], limit: Option<Duration>) -> When {
        if let Some(waiting) = self.journal.queue(input, limit) {
            self.tell(Event::Queued { waiting, input: QueuedInput::of(input) });
        }
        When::Next
    }

    fn interrupt(&mut self, by: Who) {
        (self.unsent, self.withheld, self.allowed) = (None, None, None);
        let _ = self.stop.send(true);
        self.handle(LoopInput::Interrupt(by));
        if !self.machine.is_over() {
            self.withdraw_asks();
        }
    }

    fn handle(&mut self, input: LoopInput<'_>) {
        let moment = self.moment();
        self.machine.handle(moment, input);
    }

    fn moment(&self) -> LoopMoment {
        moment(self.epoch)
    }

    /// Publishes an event. From here on no one sees a secret.
    pub(super) fn tell(&mut self, event: Event) {
        let read = match event {
            Event::Steered { .. } => self.steering.pop_front(),
            _ => None,
        };
        self.declined += u32::from(is_declined_by_itself(&event));
        let Self { journal, projector, redactor, .. } = self;
        redactor.cover(event, &mut |event| {
            project(projector, &event);
            journal.event(event);
        });
        self.keep_messages();
        if let Some(input) = read {
            let shown = said::said(&self.scene.turn, self.said, input, None);
            self.said += 1;
            self.tell(shown);
        }
    }

    fn keep_messages(&mut self) {
        while let Some(message) = self.projector.poll() {
            self.journal.message(&message);
        }
    }
}

/// The time of an input; `epoch` is when the machine began.
pub(super) fn moment(epoch: Instant) -> LoopMoment {
    let random = uuid::Uuid::new_v4().as_u128() >> 75;
    LoopMoment {
        now: epoch.elapsed(),
        unix: talaria_home::clock::now_ms() / SECOND,
        // 53 bits are exact in a double.
        chance: random as f64 / (1_u64 << 53) as f64,
    }
}

/// The person's words that the model did not get, according to what was recorded of a turn.
pub(super) fn unread_steering(events: &[Event]) -> Vec<QueuedInput> {
    let mut unread: Vec<QueuedInput> = Vec::new();
    for event in events {
        match event {
            Event::Steering { input } => unread.push(input.clone()),
            Event::Steered { .. } if !unread.is_empty() => drop(unread.remove(0)),
            Event::Unqueued { inputs, .. } => {
                unread.retain(|input| inputs.iter().all(|returned| returned.text != input.text));
            }
            _ => {}
        }
    }
    unread
}

/// Whether a request was declined without a person: the exit code of the turn says so.
fn is_declined_by_itself(event: &Event) -> bool {
    let by_itself = |by: &Who| matches!(by, Who::Nobody | Who::Rule | Who::Floor | Who::Hook);
    matches!(event, Event::RequestClosed { decision: Decision::Decline, by, .. } if by_itself(by))
}

/// Lets the projector see an event that it makes messages of.
fn project(projector: &mut Projector, event: &Event) {
    match event {
        Event::ItemStarted { item } => projector.begin(item),
        Event::ItemCompleted { item } if said::is_prompt(item) => {}
        Event::ItemCompleted { item } => projector.complete(item),
        Event::ItemAbandoned { item, why } => projector.abandon(item, *why),
        Event::AttemptVoid { items, .. } => items.iter().for_each(|item| projector.abandon(item, None)),
        Event::Outcome(report) => projector.finish(&report.outcome),
        _ => {}
    }
}

async fn next(wire: &mut Option<WireFeed>) -> WireNews {
    match wire {
        Some(wire) => wire.next().await,
        None => std::future::pending().await,
    }
}

async fn joined(calls: &mut Option<AbortOnDropHandle<()>>) {
    match calls {
        // Whether it panicked shows in what it left unanswered.
        Some(task) => drop(task.await),
        None => std::future::pending().await,
    }
}

/// Waits for the answer to a question of the turn itself. A question that was withdrawn decides nothing.
async fn doubted(doubt: &mut Option<oneshot::Receiver<Decided>>) -> Option<Decided> {
    let Some(receiver) = doubt else { return std::future::pending().await };
    let decided = receiver.await.ok();
    *doubt = None;
    decided
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
