//! A session: one conversation on one thread of a host. Runs turns, one after another.
//!
//! The loop here is the shell around `talaria_core::turn`: it owns clock, socket and commands, decides nothing, and can
//! be dropped at any point; Codex then goes on by itself until its host ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use talaria_core::event::{Event, Started, Usage};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::outcome::Report;
use talaria_core::request::{Decision, Who};
use talaria_core::turn::{Input, Moment, Output, Turn, sub_agents};
use talaria_core::wire::call::{ThreadStart, TurnInterrupt, TurnStart, TurnSteer, UserInput};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::codex::client::CallError;
use crate::codex::host::Host;
use crate::codex::queue::{Delivery, Queue};

/// How long the answer to further input is waited for when the turn has ended.
const STEER_GRACE: Duration = Duration::from_secs(1);

/// How often pieces of text are looked at, at most: waking up for each of a thousand a second costs more than they do.
const PACE: Duration = Duration::from_millis(2);

/// Looks at what happens in a turn. Called by the session's own task, so a slow one delays only this session.
pub trait Watcher {
    /// Something happened.
    fn event(&mut self, event: Event);
    /// Nothing more is waiting: a good time to show what was collected.
    fn caught_up(&mut self) {}
}

/// Something that somebody wants of a running turn.
#[derive(Debug)]
pub enum Command {
    /// An answer to a request.
    Answer {
        /// Which.
        ticket: TicketId,
        /// What.
        decision: Decision,
        /// Who.
        by: Who,
    },
    /// Stop.
    Interrupt {
        /// Who wants it.
        by: Who,
    },
    /// More input for the running turn.
    Steer(String),
}

/// One conversation.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    host: Arc<Host>,
    started: Started,
    queue: Arc<Queue>,
    effort: Option<String>,
    /// Tokens of the thread so far.
    total: Usage,
    epoch: Instant,
}

impl Session {
    /// Starts a conversation on a host.
    pub async fn start(
        host: Arc<Host>,
        start: ThreadStart,
        effort: Option<String>,
    ) -> Result<Self, CallError> {
        let (started, queue) = host.start_thread(start).await?;
        Ok(Self {
            id: new_id(),
            host,
            started,
            queue,
            effort,
            total: Usage::default(),
            epoch: Instant::now(),
        })
    }

    /// Our id of the conversation.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// What is in force, as Codex reported it.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// Sends input and follows the turn to its end. `commands` may come at any time.
    pub async fn run_turn(
        &mut self,
        input: Vec<UserInput>,
        limit: Option<Duration>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        watcher: &mut impl Watcher,
    ) -> Report {
        let mut turn = Turn::new(self.now(), self.started.thread.clone(), self.total, limit);
        let host = Arc::clone(&self.host);
        let start = TurnStart { thread_id: self.started.thread.clone(), input, effort: self.effort.clone() };
        let starting = host.call(&start);
        tokio::pin!(starting);
        let mut is_starting = true;
        let mut has_commands = true;
        let mut steering = JoinSet::new();
        let mut not_before = None;
        loop {
            if let Some(report) = self.carry_out(&mut turn, watcher, &mut steering).await {
                return report;
            }
            let wake = turn.wake_at().map(|at| self.epoch + at);
            tokio::select! {
                reply = &mut starting, if is_starting => {
                    is_starting = false;
                    turn.handle(self.now(), admission(reply.map(|reply| reply.turn.id)));
                }
                mut batch = take_paced(&self.queue, not_before) => {
                    not_before = batch.iter().all(Delivery::is_piece).then(|| Instant::now() + PACE);
                    let now = self.now();
                    while let Some(delivery) = batch.pop_front() {
                        turn.handle(now, arrival(delivery));
                        if let Some(report) = self.carry_out(&mut turn, watcher, &mut steering).await {
                            // What came after the end is for the next turn to look at.
                            self.queue.give_back(batch);
                            return report;
                        }
                    }
                    watcher.caught_up();
                }
                command = commands.recv(), if has_commands => match command {
                    Some(command) => self.obey(&mut turn, command, &mut steering),
                    None => has_commands = false,
                },
                Some(Ok(event)) = steering.join_next() => watcher.event(event),
                () = sleep_until(wake) => turn.handle(self.now(), Input::Tick),
            }
        }
    }

    /// Does what the turn wants done, until it wants nothing or is over.
    async fn carry_out(
        &mut self,
        turn: &mut Turn,
        watcher: &mut impl Watcher,
        steering: &mut JoinSet<Event>,
    ) -> Option<Report> {
        while let Some(output) = turn.poll() {
            match output {
                Output::Emit(event) => {
                    if matches!(event, Event::Outcome(_)) {
                        settle(steering, watcher).await;
                    }
                    if let Event::ItemStarted { item } | Event::ItemCompleted { item } = &event {
                        for thread in sub_agents(item) {
                            self.host.adopt(thread, &self.queue);
                        }
                    }
                    watcher.event(event);
                }
                Output::Reply { id, result } => self.host.respond(&id, &result),
                Output::Interrupt(turn_id) => {
                    let host = Arc::clone(&self.host);
                    let interrupt = TurnInterrupt { thread_id: self.started.thread.clone(), turn_id };
                    // Whether it was taken shows in how the turn ends; a refusal means that it ended already.
                    tokio::spawn(async move { host.call(&interrupt).await });
                }
                Output::Finish(report, total) => {
                    self.total = total;
                    watcher.caught_up();
                    return Some(report);
                }
            }
        }
        None
    }

    fn obey(&self, turn: &mut Turn, command: Command, steering: &mut JoinSet<Event>) {
        match command {
            Command::Answer { ticket, decision, by } => {
                turn.handle(self.now(), Input::Answer { ticket, decision, by });
            }
            Command::Interrupt { by } => turn.handle(self.now(), Input::Interrupt { by }),
            // Beside the turn: an answer that does not come must not hold up what else happens.
            Command::Steer(text) => match turn.steerable() {
                Some(turn_id) => {
                    let steer = TurnSteer {
                        thread_id: self.started.thread.clone(),
                        expected_turn_id: turn_id.clone(),
                        input: vec![UserInput::Text { text }],
                    };
                    steering.spawn(steer_turn(Arc::clone(&self.host), steer));
                }
                None => {
                    let message = "no turn is running that could take this".to_owned();
                    steering.spawn(async { Event::Warning { message } });
                }
            },
        }
    }

    fn now(&self) -> Moment {
        self.epoch.elapsed()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.host.forget(&self.queue);
    }
}

async fn steer_turn(host: Arc<Host>, steer: TurnSteer) -> Event {
    match host.call(&steer).await {
        Ok(reply) => Event::Steered { turn: reply.turn_id },
        Err(error) => Event::Warning { message: format!("the running turn did not take this: {error}") },
    }
}

/// Tells what became of further input before the turn is reported as over, as far as that is known by then.
async fn settle(steering: &mut JoinSet<Event>, watcher: &mut impl Watcher) {
    let deadline = Instant::now() + STEER_GRACE;
    while !steering.is_empty() {
        let event = match tokio::time::timeout_at(deadline, steering.join_next()).await {
            Ok(Some(Ok(event))) => event,
            Ok(_) => continue,
            Err(_) => {
                steering.abort_all();
                let message = "the turn ended before Codex said whether it took the further input".to_owned();
                return watcher.event(Event::Warning { message });
            }
        };
        watcher.event(event);
    }
}

/// What the answer to `turn/start` means. No answer is not a refusal: whether the turn runs is then not known.
fn admission(reply: Result<talaria_core::ids::TurnId, CallError>) -> Input {
    match reply {
        Ok(turn) => Input::Accepted(turn),
        Err(CallError::Refused { error, .. }) => Input::Refused(error),
        Err(CallError::Gone { why }) => Input::Gone(why),
        Err(error @ (CallError::TimedOut { .. } | CallError::Shape { .. })) => {
            Input::Unanswered(error.to_string())
        }
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

/// Mints an id for a conversation; later ones sort after earlier ones.
pub fn new_id() -> SessionId {
    SessionId::new(uuid::Uuid::now_v7().to_string())
}

fn mint_ticket() -> TicketId {
    let random = uuid::Uuid::new_v4().simple().to_string();
    TicketId::new(format!("req-{}", &random[..12]))
}

/// Takes what waits, but not before a certain time. Cancel-safe.
async fn take_paced(queue: &Queue, not_before: Option<Instant>) -> VecDeque<Delivery<'static>> {
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
