//! One turn of a session while it runs: frames of Codex, results of errands and commands of people are fed to the machine.
//! Its outputs are executed (`acting`) and published (`telling`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::failure;
use talaria_codex_proto::settle::{Deed, Settlement, Vantage};
use talaria_codex_proto::turn::{Input, ModelSettings, Order, Turn};
use talaria_codex_proto::wire::notification::{Notification, TurnStatus};
use talaria_core::background::BackgroundEnd;
use talaria_core::event::{Event, QueuedInput};
use talaria_core::event_redactor::EventRedactor;
use talaria_core::ids::TicketId;
use talaria_core::input::{InputPart, input_text};
use talaria_core::outcome::Report;
use talaria_core::transcript::{ProjectionLimits, Projector, SentInput};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::errands::{Done, Errands, Ground, Recorded};
use super::{CodexConversation, Command, Flown, NotKept, Prompt, Reading, Watcher, When};
use crate::live_turns::TurnGuard;
use crate::queue::{Delivery, ThreadQueue};
use crate::stderr::StderrMark;

mod acting;
mod taken;
mod telling;

use taken::Taken;

/// How often pieces of text are looked at, at most: waking up for each of a thousand a second costs more than they do.
const PACE: Duration = Duration::from_millis(2);

/// How long the answer to further input is waited for when the turn has ended.
const STEER_GRACE: Duration = Duration::from_secs(1);

/// A turn that runs.
pub(super) struct Running<'a, W> {
    session: &'a mut CodexConversation,
    watcher: &'a mut W,
    turn: Turn,
    prompt: Prompt,
    recorded: Recorded,
    /// The model and the effort that are not in force and have to be asked for.
    wanted: ModelSettings,
    /// The thread's response when a turn in flight was resumed; it serves the first read.
    reading: Option<Reading>,
    /// From where the thread is read on a host that lives.
    vantage: Vantage,
    errands: Errands,
    projector: Projector,
    redactor: EventRedactor,
    /// No one ends the host while this lives, except because of this turn.
    guard: TurnGuard,
    /// Earlier standard error belongs to other turns.
    mark: StderrMark,
    /// Callers that wait until what was reported so far is stored.
    waiting_for_keep: Vec<oneshot::Sender<When>>,
    taken: Taken,
    /// Further input for this turn that is not stored yet, and the caller that waits for that.
    steering: Vec<(Vec<InputPart>, Option<oneshot::Sender<When>>)>,
    /// A new host is being started. Remaining messages of the previous one, such as its end, do not concern this
    /// turn.
    is_between_hosts: bool,
}

impl<'a, W: Watcher> Running<'a, W> {
    pub(super) fn new(session: &'a mut CodexConversation, prompt: Prompt, watcher: &'a mut W) -> Self {
        let order = session.order(&prompt, prompt.escrow.clone());
        let turn = Turn::new(session.now(), order.clone());
        Self::with(session, prompt, order, turn, watcher)
    }

    /// Resumes a turn that an earlier engine had in flight.
    pub(super) fn resume(
        session: &'a mut CodexConversation,
        prompt: Prompt,
        flown: Flown,
        watcher: &'a mut W,
    ) -> Self {
        let order = session.order(&prompt, Vec::new());
        let known = flown.flight.turn.clone();
        // The connection over which an earlier engine sent it is closed; a later host has the turn from a file.
        let vantage = if flown.flight.gone.is_some() { Vantage::AfterItsEnd } else { Vantage::Reconnected };
        let turn = Turn::adopt(session.now(), order.clone(), flown.flight);
        let mut running = Self::with(session, prompt, order, turn, watcher);
        running.recorded.turn = known;
        running.reading = flown.reading;
        running.vantage = vantage;
        // Events reported before are not repeated; the items for the transcript are needed once more.
        for event in &flown.events {
            running.project(event);
            running.taken.replay(event);
        }
        while let Some(message) = running.projector.poll() {
            running.watcher.message(&message);
        }
        running
    }

    fn with(
        session: &'a mut CodexConversation,
        prompt: Prompt,
        order: Order,
        turn: Turn,
        watcher: &'a mut W,
    ) -> Self {
        let recorded = Recorded {
            deed: prompt.deed,
            thread: order.thread.clone(),
            client_id: order.client_id.clone(),
            last_turn: order.after.clone(),
            input: prompt.input.clone(),
            turn: None,
            path: session.started.path.clone(),
        };
        let host = session.current.get();
        let (guard, mark) = (host.enter_turn(&order.thread), host.stderr_mark());
        let mut projector = Projector::new(ProjectionLimits::default());
        projector.sent(SentInput::new(order.client_id, &prompt.input));
        let wanted = order.choosing.wanted;
        Self {
            session,
            watcher,
            turn,
            prompt,
            recorded,
            wanted,
            reading: None,
            vantage: Vantage::SameHost,
            errands: Errands::default(),
            projector,
            redactor: EventRedactor::default(),
            guard,
            mark,
            waiting_for_keep: Vec::new(),
            taken: Taken::default(),
            steering: Vec::new(),
            is_between_hosts: false,
        }
    }

    /// Runs the turn to its end.
    pub(super) async fn run(mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> Report {
        // Earlier commands take precedence: a turn that was stopped before it was sent is not sent.
        while let Ok(command) = commands.try_recv() {
            self.obey(command);
        }
        for message in std::mem::take(&mut self.session.notices) {
            self.tell(Event::Warning { message });
        }
        if self.prompt.deed == Deed::Words {
            self.remember_said(&input_text(&self.prompt.input));
        }
        let host = self.session.current.get();
        if self.session.is_doubtful || !host.is_alive() {
            self.is_between_hosts = true;
            self.errands.make_ready(host, self.ground());
        } else {
            self.handle(Input::Send);
        }
        self.follow(commands).await
    }

    /// Follows the turn to its end.
    pub(super) async fn follow(mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> Report {
        let mut has_commands = true;
        let mut not_before = None;
        loop {
            if let Some(report) = self.carry_out().await {
                return report;
            }
            if let Err(not_kept) = self.hand_over().await {
                return self.give_up(&not_kept);
            }
            let due = self.watcher.due();
            if due.is_some_and(|due| due <= Instant::now())
                && let Err(not_kept) = self.keep().await
            {
                return self.give_up(&not_kept);
            }
            let due = self.watcher.due();
            let queue = Arc::clone(&self.session.queue);
            let wake = self.turn.wake_at().map(|at| self.session.epoch + at);
            tokio::select! {
                () = sleep_until(due) => {}
                done = self.errands.next() => self.take(done),
                batch = take_paced(&queue, not_before), if !self.is_between_hosts => {
                    not_before = batch.iter().all(Delivery::is_piece).then(|| Instant::now() + PACE);
                    if let Some(report) = self.take_batch(batch).await {
                        return report;
                    }
                    self.watcher.caught_up();
                }
                command = commands.recv(), if has_commands => match command {
                    Some(command) => self.obey(command),
                    None => has_commands = false,
                },
                () = sleep_until(wake) => self.handle(Input::Tick),
            }
        }
    }

    fn handle(&mut self, input: Input) {
        let now = self.session.now();
        self.turn.handle(now, input);
    }

    async fn take_batch(&mut self, mut batch: VecDeque<Delivery<'static>>) -> Option<Report> {
        while let Some(delivery) = batch.pop_front() {
            if let Some(news) = self.session.overhear(&delivery) {
                news.into_iter().for_each(|news| self.watcher.background(news));
                continue;
            }
            if matches!(delivery, Delivery::Gone(_)) {
                let lost = self.session.lose_background(BackgroundEnd::WithCodex);
                lost.into_iter().for_each(|news| self.watcher.background(news));
            }
            if may_be_the_login(&delivery) {
                self.look_for_login_trouble();
            }
            self.handle(arrival(delivery));
            if let Some(report) = self.carry_out().await {
                // Frames after the end are left to the next turn.
                self.session.queue.give_back(batch);
                return Some(report);
            }
        }
        None
    }

    /// Handles the result of an errand.
    fn take(&mut self, done: Done) {
        if matches!(done, Done::Ready | Done::Moved(..) | Done::NoHost { .. }) {
            self.is_between_hosts = false;
        }
        match done {
            Done::Input(input) => {
                if matches!(input, Input::Gone(_) | Input::Unanswered(_) | Input::Refused(_)) {
                    self.look_for_login_trouble();
                }
                self.handle(input);
            }
            Done::Event(event) => self.tell(event),
            Done::Steered { turn } => self.tell(Event::Steered { turn }),
            Done::NotTaken { input, why } => {
                self.taken.withdraw(&QueuedInput::of(&input).text);
                let message = format!("the running turn did not take this, so it waits for the next: {why}");
                self.tell(Event::Warning { message });
                self.queue_up(&input, None);
            }
            Done::Ready => self.handle(Input::Send),
            Done::Moved(revived, settlement) => {
                self.tell(Event::HostReplaced { message: revived.how.to_string() });
                // The commands of the host before ended with it.
                let lost = self.session.lose_background(BackgroundEnd::WithCodex);
                lost.into_iter().for_each(|news| self.watcher.background(news));
                let host = Arc::clone(&revived.host);
                self.session.move_to(*revived);
                self.guard = host.enter_turn(&self.session.started.thread);
                self.mark = host.stderr_mark();
                self.watcher.moved(host.nonce().map(str::to_owned), &self.session.started);
                match settlement {
                    Some(settlement) => self.handle(Input::Settled(settlement)),
                    None => self.begin_again(),
                }
            }
            Done::NoHost { why, while_settling: true } => {
                self.handle(Input::Settled(Settlement::Unknown { why }));
            }
            Done::NoHost { why, while_settling: false } => self.handle(Input::Gone(why)),
            Done::Nothing => {}
        }
    }

    /// The turn was ordered for the host before; nothing of it was sent.
    fn begin_again(&mut self) {
        let order = self.session.order(&self.prompt, self.prompt.escrow.clone());
        self.wanted = order.choosing.wanted.clone();
        self.recorded.thread = order.thread.clone();
        self.recorded.client_id.clone_from(&order.client_id);
        self.recorded.last_turn.clone_from(&order.after);
        self.turn.reorder(order);
        self.handle(Input::Send);
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Answer { ticket, answer, by } => self.handle(Input::Answer { ticket, answer, by }),
            Command::Interrupt { by } => self.handle(Input::Interrupt { by }),
            Command::Report { event } => self.tell(*event),
            Command::Say { input, when, limit, kept } => match self.turn.steerable().cloned() {
                Some(_) if when == When::Now => {
                    self.tell(Event::Steering { input: QueuedInput::of(&input) });
                    self.steering.push((input, kept));
                }
                _ => {
                    self.queue_up(&input, limit);
                    self.waiting_for_keep.extend(kept);
                }
            },
        }
    }

    /// Passes further input to Codex once it is stored: then the next engine can report its fate.
    async fn hand_over(&mut self) -> Result<(), NotKept> {
        if self.steering.is_empty() {
            return Ok(());
        }
        self.keep().await?;
        for (input, kept) in std::mem::take(&mut self.steering) {
            let told = match self.turn.steerable().cloned() {
                // Concurrently with the turn: a missing response must not delay other events.
                Some(turn) => {
                    let thread = self.session.started.thread.clone();
                    self.taken.hand(QueuedInput::of(&input));
                    self.errands.steer(self.session.current.get(), thread, turn, input);
                    When::Now
                }
                None => {
                    self.queue_up(&input, None);
                    self.keep().await?;
                    When::Next
                }
            };
            // The caller may have left.
            kept.map(|kept| kept.send(told));
        }
        Ok(())
    }

    fn queue_up(&mut self, input: &[InputPart], limit: Option<Duration>) {
        let queued = QueuedInput::of(input);
        let event = match self.watcher.queue(input, limit) {
            Some(waiting) => Event::Queued { waiting, input: queued },
            None => Event::Unqueued { inputs: vec![queued], was_sent: false },
        };
        self.tell(event);
    }

    fn look_for_login_trouble(&mut self) {
        let lines = self.session.current.get().stderr_since(self.mark);
        if failure::is_login_trouble(lines.iter().map(String::as_str)) {
            self.handle(Input::LoginTrouble);
        }
    }

    fn ground(&self) -> Ground {
        Ground {
            source: Arc::clone(self.session.current.source()),
            asked: self.session.asked.clone(),
            before: self.session.started.clone(),
            digest: self.session.memory.digest(),
        }
    }
}

/// An end for which a broken login may be the reason.
fn may_be_the_login(delivery: &Delivery<'_>) -> bool {
    match delivery {
        Delivery::Notification(Notification::TurnCompleted(end)) => end.turn.status == TurnStatus::Failed,
        Delivery::Gone(_) => true,
        _ => false,
    }
}

fn arrival(delivery: Delivery<'static>) -> Input {
    match delivery {
        Delivery::Notification(notification) => Input::Notification(notification),
        Delivery::Request { id, request } => Input::Request { ticket: mint_ticket(), id, request },
        Delivery::Unknown(unknown) => Input::Unknown(unknown),
        Delivery::Corrupt(corrupt) => Input::Corrupt(corrupt),
        Delivery::Gone(why) => Input::Gone(why),
    }
}

/// A new name for a request.
pub fn mint_ticket() -> TicketId {
    let random = uuid::Uuid::new_v4().simple().to_string();
    TicketId::new(format!("req-{}", &random[..12]))
}

/// Takes what waits, but not before a certain time. Cancel-safe.
async fn take_paced(queue: &ThreadQueue, not_before: Option<Instant>) -> VecDeque<Delivery<'static>> {
    if let Some(at) = not_before {
        tokio::time::sleep_until(at).await;
    }
    queue.take().await
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
