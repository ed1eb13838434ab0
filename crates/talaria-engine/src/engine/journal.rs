//! Records what happens in a turn, then shows it. Event log and rows change in one transaction, and no one sees what
//! is not on the disk.
//!
//! The session calls it for every event and, before anything with consequences outside, `keep`. A disk that is full or
//! busy is waited for: a turn whose steps cannot be recorded must not continue. Only pieces of text may be lost. `counts` adds tokens and the progress to the next review.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::turn::{Opened, Record};
use talaria_core::background::BackgroundEnd;
use talaria_core::backoff::Backoff;
use talaria_core::event::{Event, QueuedInput, Stage, Started};
use talaria_core::ids::{ItemId, SessionId, ThreadId, TicketId, TurnId};
use talaria_core::input::InputPart;
use talaria_core::item::{ItemBody, Status};
use talaria_core::learning::progress::ReviewProgress;
use talaria_core::outcome::Outcome;
use talaria_core::tool::{OfferedTool, ToolInvocation, contract};
use talaria_core::transcript::Message;
use talaria_store::{
    Batch, Change, NewEvent, NewTurnRow, RequestPatch, RequestState, ResultCarrier, SessionPatch, SessionRow,
    Store, StoreError, ToolCallKey, TurnRow,
};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::engine::journal::feed::{EventLine, Feed};
use crate::engine::journal::pending::Pending;
use crate::engine::lifecycle::trouble::Troubles;
use crate::engine::outbox::notices;
use crate::engine::run::background::{self, BackgroundList};
use crate::engine::run::input;
use crate::engine::seal::Seal;
use crate::engine::tasks::queue::TaskPlace;
use crate::engine::tasks::worktrees::Kept;
use crate::engine::tools::{delegate, ledger};
use talaria_codex::conversation::{BackgroundNews, NotKept, Watcher};
use talaria_codex::permit::{Permits, SendPermit};
use talaria_home::clock::now_ms;
use talaria_home::faults;

pub(crate) mod asker;
mod counts;
pub(crate) mod feed;
pub(crate) mod follow;
pub(crate) mod own_question;
pub(crate) mod pending;
mod requests;
pub(crate) mod rows;

pub(crate) use requests::{covered, void};

/// The pauses between two tries to write.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));

/// The parts of the engine that a journal uses.
#[derive(Clone)]
pub(crate) struct EngineServices {
    pub(crate) store: Store,
    pub(crate) epoch: i64,
    pub(crate) seal: Seal,
    pub(crate) permits: Permits,
    pub(crate) troubles: Troubles,
    /// A new notification is pending.
    pub(crate) nudge: Arc<Notify>,
    /// Something that is owed was tried, or needs no further attempt.
    pub(crate) tried: Arc<Notify>,
    /// A turn of a task has ended.
    pub(crate) task_ended: Arc<Notify>,
    pub(crate) background: BackgroundList,
}

/// A task, as far as its journal knows it.
#[derive(Clone, Debug)]
pub(crate) struct TaskContext {
    pub(crate) id: String,
    pub(crate) owner: String,
    /// Whom to notify.
    pub(crate) notify: Vec<String>,
    /// Its own worktree, if it has one.
    pub(crate) worktree: Option<Kept>,
}

impl TaskContext {
    pub(crate) fn new(id: String, task: talaria_store::TaskRow) -> Self {
        let worktree = Kept::of(&task);
        Self { id, owner: task.owner, notify: task.notify, worktree }
    }
}

/// Calls over MCP, which no id connects with their steps: what they carry is delivered once all of them ended well.
#[derive(Default)]
struct BridgedCalls {
    open: Vec<ItemId>,
    has_failed: bool,
}

impl BridgedCalls {
    /// A step ended; returns whether the runtime has what all calls so far returned.
    fn end(&mut self, item: &ItemId, status: Status) -> bool {
        self.open.retain(|open| open != item);
        self.has_failed |= status != Status::Completed;
        self.open.is_empty() && !self.has_failed
    }
}

/// The journal of one turn.
pub(crate) struct Journal {
    shelf: EngineServices,
    feed: Feed,
    session: SessionId,
    ordinal: i64,
    /// Our own id for its input, by which the permit to write it is named.
    client_id: String,
    permit: Option<SendPermit>,
    /// The task that the session is; its owner is notified of what happens to it.
    task: Option<TaskContext>,
    /// Its place among those that work.
    place: Option<TaskPlace>,
    /// The requests that wait for a person.
    asking: Vec<TicketId>,
    /// Names the host that the turn is on.
    host: Option<String>,
    /// The thread, until it is recorded: one without an accepted turn cannot be resumed.
    started: Option<Started>,
    pending: Pending,
    changes: Vec<Change>,
    /// The points of a turn that the next commit passes, for tests that stop there.
    points: Vec<&'static str>,
    opened: Option<Opened>,
    /// Requests that were recorded before this turn was resumed.
    known: Vec<TicketId>,
    /// Number of messages without an item.
    unnamed: usize,
    /// Input queued after this turn.
    waiting: Vec<QueuedInput>,
    /// The runtime's name for the turn, once it has one.
    turn: Option<TurnId>,
    /// Which tools the thread was started with, and a thread that starts now.
    contract: i64,
    new_contract: i64,
    /// What makes a review of the conversation due; none if there are no reviews.
    progress: Option<ReviewProgress>,
    /// Gets the tokens of the turn whenever they are reported.
    spent: Option<watch::Sender<u64>>,
    /// The tools of a thread that starts now.
    offered: Vec<OfferedTool>,
    /// Whether this turn may carry results of delegated tasks.
    carries: bool,
    /// Every request of the turn is counted with its end, so that the turn itself costs nothing more.
    counts_attempts: bool,
    /// The calls of `talaria_delegate` over MCP.
    bridged: BridgedCalls,
    /// Why nothing can be recorded any more.
    broken: Option<StoreError>,
}

impl Journal {
    pub(crate) fn new(
        shelf: EngineServices,
        feed: Feed,
        session: SessionId,
        turn: &TurnRow,
        task: Option<TaskContext>,
    ) -> Self {
        Self {
            shelf,
            feed,
            session,
            ordinal: turn.ordinal,
            client_id: turn.client_id.clone(),
            permit: None,
            task,
            place: None,
            asking: Vec::new(),
            host: None,
            started: None,
            pending: Pending::default(),
            changes: Vec::new(),
            points: Vec::new(),
            opened: None,
            known: Vec::new(),
            unnamed: 0,
            waiting: Vec::new(),
            turn: turn.codex_turn.clone(),
            contract: contract::NO_TOOLS,
            new_contract: contract::NO_TOOLS,
            progress: None,
            spent: None,
            offered: Vec::new(),
            carries: false,
            counts_attempts: false,
            bridged: BridgedCalls::default(),
            broken: None,
        }
    }

    /// Reports what was queued after this turn before it began.
    pub(crate) fn follow_up(&mut self, waiting: Vec<QueuedInput>) {
        self.waiting = waiting;
    }

    /// Returns queued input to its senders, in the same transaction as the outcome. It was written for a conversation in
    /// which this turn completed: run alone it would be a different task, and its outcome would hide how this turn ended.
    fn take_back(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let inputs = std::mem::take(&mut self.waiting);
        self.changes.push(Change::TakeBack { after: self.ordinal });
        self.pending.push(Instant::now().into_std(), Event::Unqueued { inputs, was_sent: false });
    }

    /// The prompt names a skill, which Codex loads with the turn.
    pub(crate) fn use_skill(&mut self, folder: &Path) {
        let (folder, step) = (folder.to_string_lossy().into_owned(), format!("turn-{}", self.ordinal));
        self.changes.push(Change::SkillUse { folder, step });
    }

    /// Results of delegated tasks may reach the runtime with this turn.
    pub(crate) fn expect_results(&mut self) {
        self.carries = true;
    }

    /// The runtime has the results that this turn carried: by this carrier, or all of them.
    fn deliver_results(&mut self, carrier: Option<ResultCarrier>) {
        if self.carries {
            self.changes.push(Change::ResultsDelivered { turn: self.ordinal, carrier });
        }
    }

    /// Keeps a slot until the turn is over.
    pub(crate) fn take(&mut self, place: TaskPlace) {
        self.place = Some(place);
    }

    /// Says where the turn runs: in which process, if that outlives the engine, and with what in force.
    pub(crate) fn on(&mut self, host: Option<String>, started: &Started) {
        self.host = host;
        self.started = Some(started.clone());
    }

    /// Records which tools the thread has. `fresh` is the contract of a thread that was just started, `offered` are the tools
    /// of one that this turn may have to start, and `notice` is said once.
    pub(crate) fn tools(
        &mut self,
        row: &SessionRow,
        fresh: Option<i64>,
        offered: &[OfferedTool],
        notice: Option<String>,
    ) {
        let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
        self.contract = fresh.or(row.contract).unwrap_or(contract::NO_TOOLS);
        self.new_contract = contract::of_new_thread(&names);
        self.offered = offered.to_vec();
        if fresh.is_some() {
            self.keep_contract();
        } else if let Some(message) = notice {
            self.event(Event::Warning { message });
            let patch = SessionPatch { contract_said: Some(true), ..SessionPatch::default() };
            self.changes.push(Change::Session(patch));
        }
    }

    fn keep_contract(&mut self) {
        let patch = SessionPatch {
            contract: Some(self.contract),
            tools: serde_json::to_string(&self.offered).ok(),
            ..SessionPatch::default()
        };
        self.changes.push(Change::Session(patch));
    }

    /// A step of this thread that is a call of our tools ended: the runtime has its result.
    fn delivered(&mut self, call: &ItemId) {
        if let (Some(started), Some(turn)) = (&self.started, &self.turn) {
            let (thread, turn, call) = (started.thread.clone(), turn.clone(), call.clone());
            self.changes.push(Change::ToolDelivered(ToolCallKey { thread, turn, call }));
        }
    }

    /// Reports model and effort if the resumed conversation has others than those that were recorded: Codex
    /// took a choice whose answer was lost.
    pub(crate) fn confirm(&mut self, row: &SessionRow, started: &Started) {
        let known: Option<Started> = row.started.as_deref().and_then(|json| serde_json::from_str(json).ok());
        let is_known =
            |known: Started| (known.model, known.effort) == (started.model.clone(), started.effort.clone());
        if !known.is_some_and(is_known) {
            let (model, effort) = (started.model.clone(), started.effort.clone());
            self.event(Event::SettingsConfirmed { model, effort });
        }
    }

    /// Says what the person said first. What waited for its turn becomes part of the conversation only now.
    pub(crate) fn prompt(&mut self, text: &str) {
        let prompt = rows::prompt(self.ordinal, text);
        self.changes.push(Change::Message(talaria_store::NewMessage { event: Some(0), ..prompt }));
    }

    /// The parts of the engine that it writes with.
    pub(crate) fn services(&self) -> &EngineServices {
        &self.shelf
    }

    /// The number of its turn.
    pub(crate) fn ordinal(&self) -> i64 {
        self.ordinal
    }

    /// Reports what the turn spends from now on.
    pub(crate) fn report_spending(&mut self, spent: watch::Sender<u64>) {
        self.spent = Some(spent);
    }

    /// The next commit passes this point of a turn, for tests that stop there.
    pub(crate) fn point(&mut self, point: &'static str) {
        self.points.push(point);
    }

    /// Why nothing can be recorded any more, if that is so.
    pub(crate) fn broken_by(&self) -> Option<&StoreError> {
        self.broken.as_ref()
    }

    /// Codex has a turn of this thread: from now on it can be resumed.
    fn bind_thread(&mut self) {
        let Some(started) = &self.started else { return };
        self.changes.push(Change::Session(SessionPatch {
            thread: Some(started.thread.clone()),
            ..SessionPatch::default()
        }));
    }

    /// Writes until it is written: without a record nothing continues.
    async fn write(&mut self, batch: Batch) -> Result<(), StoreError> {
        let mut retries = 0;
        let appended = loop {
            match self.shelf.store.append(batch.clone()).await {
                Ok(appended) => break appended,
                Err(
                    error @ (StoreError::Full
                    | StoreError::Busy
                    | StoreError::Io(_)
                    | StoreError::ReadOnly(_)),
                ) => {
                    self.shelf.troubles.cannot_write(&self.session, &error);
                    tokio::time::sleep(BACKOFF.pause(retries)).await;
                    retries += 1;
                }
                Err(error) => {
                    self.shelf.troubles.gave_up(&self.session, &error);
                    return Err(error);
                }
            }
        };
        self.shelf.troubles.can_write(&self.session);
        if batch.changes.iter().any(|change| matches!(change, Change::Outbox(_))) {
            self.shelf.nudge.notify_one();
        }
        for (seq, event) in (appended.first_seq..).zip(&batch.events) {
            let json = rows::line(&self.session, seq, batch.at, event.turn, &event.json);
            self.feed.publish(EventLine { seq, json: Arc::from(json) });
        }
        Ok(())
    }
}

impl Watcher for Journal {
    fn event(&mut self, mut event: Event) {
        if let Event::RequestOpened { digest: Some(digest), .. } = &mut event {
            *digest = self.shelf.seal.mark(digest);
        }
        if let Some(progress) = &mut self.progress {
            progress.count(&event);
        }
        match &event {
            Event::Ledger { stage: Stage::Sent, .. } => {
                self.points.push("sent");
                self.permit = self.shelf.permits.issue(&self.client_id);
            }
            Event::Ledger { stage: Stage::Accepted, .. } => {
                self.points.push("accepted");
                self.bind_thread();
                self.deliver_results(Some(ResultCarrier::Input));
            }
            Event::SessionStarted(_) => self
                .changes
                .push(Change::Session(SessionPatch { host: self.host.clone(), ..SessionPatch::default() })),
            Event::SettingsConfirmed { model, effort } => {
                if let Some(started) = &mut self.started {
                    started.model.clone_from(model);
                    started.effort.clone_from(effort);
                    let started = serde_json::to_string(started).ok();
                    self.changes.push(Change::Session(SessionPatch { started, ..SessionPatch::default() }));
                }
            }
            Event::RequestOpened { id, ask, .. } => {
                self.points.push("request");
                self.request(id, ask);
                self.ask(|asking| asking.push(id.clone()));
            }
            Event::RequestClosed { id, .. } => self.ask(|asking| asking.retain(|open| open != id)),
            Event::Steering { .. } => self.points.push("steering"),
            Event::Queued { .. } => self.points.push("queued"),
            Event::BackgroundStarted(command) => {
                let thread = self.started.as_ref().map(|started| started.thread.clone());
                let thread = thread.unwrap_or_else(|| ThreadId::new(""));
                let kept = background::keep(command, self.ordinal, thread, self.host.clone());
                self.changes.push(self.shelf.background.add(&self.session, kept));
            }
            Event::BackgroundEnded { id, .. } => {
                self.changes.push(self.shelf.background.remove(&self.session, id));
            }
            Event::UsageUpdated { turn, .. } => {
                if let Some(spent) = &self.spent {
                    spent.send_replace(turn.total);
                }
            }
            Event::TurnStarted { turn } => self.turn = Some(turn.clone()),
            Event::ItemStarted { item } => {
                if matches!(&item.body, ItemBody::Tool { tool, .. } if tool == delegate::NAME) {
                    self.carries = true;
                    self.bridged.open.push(item.id.clone());
                }
            }
            Event::ItemCompleted { item } => {
                self.points.push("item");
                match &item.body {
                    ItemBody::ClientTool { status, .. } => {
                        // On the built-in loop the results of an answer are delivered together, with the history.
                        if self.host.is_some() {
                            self.delivered(&item.id);
                        }
                        if *status == Status::Completed {
                            self.deliver_results(Some(ResultCarrier::Call(item.id.clone())));
                        }
                    }
                    ItemBody::Tool { tool, status, .. } if tool == delegate::NAME => {
                        self.carries = true;
                        if self.bridged.end(&item.id, *status) {
                            self.deliver_results(Some(delegate::outside_carrier()));
                        }
                    }
                    ItemBody::Command { command, cwd, status: Status::Completed, .. } => {
                        self.changes.extend(rows::skill_uses(&item.id, command, cwd));
                    }
                    _ => {}
                }
            }
            Event::Outcome(report) => {
                self.points.push("outcome");
                self.count_usage(report);
                self.end_progress(report);
                self.changes.push(Change::ToolsClosed(self.ordinal));
                self.shelf.permits.withdraw(&self.client_id);
                match report.outcome {
                    // Codex completes no turn with a call that has no answer, whether or not the end of the call was seen.
                    Outcome::Completed => self.deliver_results(None),
                    _ => self.take_back(),
                }
                if let Some(task) = &self.task {
                    self.changes.extend(notices::outcome(task, self.ordinal).map(Change::Outbox));
                }
            }
            _ => {}
        }
        self.changes.extend(rows::changes(self.ordinal, &event));
        self.pending.push(Instant::now().into_std(), event);
    }

    fn message(&mut self, message: &Message) {
        let message = rows::message(self.ordinal, message, &mut self.unnamed);
        self.changes.push(Change::Message(message));
    }

    fn background(&mut self, mut news: BackgroundNews) {
        if let Event::BackgroundEnded { id, end, exit_code, .. } = &mut news.event
            && *end == BackgroundEnd::Exited
            && self.shelf.background.is_stopping(&self.session, id)
        {
            (*end, *exit_code) = (BackgroundEnd::Stopped, None);
        }
        if let Some((item, message)) = &news.message {
            let turn = self.shelf.background.turn_of(&self.session, item).unwrap_or(self.ordinal);
            let message = rows::message(turn, message, &mut self.unnamed);
            self.changes.push(Change::Message(message));
        }
        self.event(news.event);
    }

    fn offered(&mut self, call: &ToolInvocation) {
        self.points.push("tool-offered");
        self.carries |= call.tool == delegate::NAME;
        let row = ledger::offered(&self.shelf.seal, self.ordinal, self.contract, call);
        self.changes.push(Change::ToolOffered(row));
    }

    fn moved(&mut self, host: Option<String>, started: &Started) {
        if self.started.as_ref().is_some_and(|before| before.thread != started.thread) {
            self.contract = self.new_contract;
            self.keep_contract();
        }
        self.on(host, started);
        self.changes.push(Change::Session(SessionPatch {
            host: self.host.clone(),
            started: serde_json::to_string(started).ok(),
            ..SessionPatch::default()
        }));
    }

    fn record(&mut self, record: Record) {
        match record {
            Record::Opened(opened) => self.opened = Some(*opened),
            Record::Delivering { ticket, answer, by } => self.deliver(ticket, &answer, by),
            Record::Fate { ticket, fate } => self.end_of_answer(ticket, &fate),
            Record::EscrowUsed { kept, .. } => self.patch(RequestPatch::state(kept, RequestState::Delivered)),
        }
    }

    fn queue(&mut self, input: &[InputPart], limit: Option<Duration>) -> Option<usize> {
        let sealed = self.shelf.seal.close(&input::to_json(input)).ok()?;
        self.waiting.push(QueuedInput::of(input));
        let ordinal = self.ordinal + i64::try_from(self.waiting.len()).unwrap_or(i64::MAX);
        self.changes.push(Change::NewTurn(NewTurnRow {
            ordinal,
            client_id: uuid::Uuid::now_v7().to_string(),
            input_sealed: Some(sealed),
            input_text: input::shown(input),
            limit_ms: limit.and_then(|limit| i64::try_from(limit.as_millis()).ok()),
            ..NewTurnRow::default()
        }));
        Some(self.waiting.len())
    }

    fn permit(&mut self) -> Option<SendPermit> {
        self.permit.take()
    }

    async fn keep(&mut self) -> Result<(), NotKept> {
        let (events, changes) = (self.pending.take(), std::mem::take(&mut self.changes));
        let points = std::mem::take(&mut self.points);
        if events.is_empty() && changes.is_empty() {
            return Ok(());
        }
        let event = |event: &Event| {
            let json = serde_json::to_string(event).unwrap_or_default();
            NewEvent { turn: Some(self.ordinal), kind: rows::type_of(&json), json }
        };
        let batch = Batch {
            session: self.session.clone(),
            epoch: self.shelf.epoch,
            at: now_ms(),
            events: events.iter().map(event).collect(),
            changes,
        };
        for point in &points {
            faults::point(&format!("before:{point}")).await;
        }
        if let Err(error) = self.write(batch).await {
            let words = error.to_string();
            self.broken = Some(error);
            return Err(NotKept(words));
        }
        if self.task.is_some() && points.contains(&"outcome") {
            self.shelf.task_ended.notify_waiters();
        }
        for point in &points {
            faults::point(&format!("after:{point}")).await;
        }
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        let now = (!self.changes.is_empty()).then(Instant::now);
        now.or_else(|| self.pending.due().map(Instant::from_std))
    }
}
