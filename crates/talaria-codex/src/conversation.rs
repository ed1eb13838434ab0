//! A conversation on one thread of a host. Runs turns, one after another.
//!
//! The loop here is the shell around `talaria_codex_proto::turn`: it owns clock, socket and commands, decides nothing,
//! and can be dropped at any point; Codex then continues by itself until its host ends. Slow work (a call, a new host)
//! is an errand that runs concurrently with the loop, so that no event has to wait for it. A host that died is replaced
//! and the thread resumed there.

use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::power::PowerCheck;
use talaria_codex_proto::settle::{Deed, Vantage};
use talaria_codex_proto::thread_bounds::ThreadBounds;
use talaria_codex_proto::thread_gate::ThreadGate;
use talaria_codex_proto::turn::{Choosing, Flight, ModelSettings, Moment, Order, Record, ToldBy};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_codex_proto::wire::history::History;
use talaria_core::escrow::{Escrow, EscrowedAnswers};
use talaria_core::event::{AgentPhase, Event, Started, Usage};
use talaria_core::hook;
use talaria_core::ids::{SessionId, TicketId, TurnId};
use talaria_core::input::InputPart;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::policy::{Answers, ApprovalPolicy};
use talaria_core::request::{Answer, Who};
use talaria_core::tool::ToolInvocation;
use talaria_core::transcript::Message;
use talaria_guard::rules::Rules;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::current::CurrentHost;
use crate::permit::SendPermit;
use crate::queue::ThreadQueue;
use crate::revival::Revived;
use crate::threads::{OpenThread, ThreadError};
use talaria_home::clock::now_ms;

mod background;
mod errands;
mod memory;
mod rollout;
mod running;
mod side_question;
mod tools;

pub use background::BackgroundNews;
use background::BackgroundWatch;
use memory::Memory;
use running::Running;
pub use running::mint_ticket;
pub use side_question::{SideAnswer, SideQuestion, SideQuestionError};
pub use talaria_core::api::When;
pub use tools::{HookWork, RequestHook, ToolRunner, ToolWork};

/// Looks at what happens in a turn, and keeps it. Called by the session's own task, so a slow one delays only this
/// session.
pub trait Watcher: Send {
    /// Something happened.
    fn event(&mut self, event: Event);

    /// Something that was said or done is complete.
    fn message(&mut self, _message: &Message) {}

    /// Something happened to a command of an earlier turn that runs in the background.
    fn background(&mut self, _news: BackgroundNews) {}

    /// Records something besides events. It is stored before the following step is taken.
    fn record(&mut self, _record: Record) {}

    /// The model calls a tool. The call is stored before the tool runs.
    fn offered(&mut self, _call: &ToolInvocation) {}

    /// The conversation moved to another process, which has this name if it outlives its owner.
    fn moved(&mut self, _host: Option<String>, _started: &Started) {}

    /// Queues input for the next turn, with its time limit, and returns the queue length; none if it cannot be stored.
    fn queue(&mut self, _input: &[InputPart], _limit: Option<Duration>) -> Option<usize> {
        None
    }

    /// The permit to write the input that is sent now, if permits are issued: requested once `sent` has been
    /// stored.
    fn permit(&mut self) -> Option<SendPermit> {
        None
    }

    /// Keeps everything that was reported so far. Nothing that follows from it is done before.
    fn keep(&mut self) -> impl Future<Output = Result<(), NotKept>> + Send {
        std::future::ready(Ok(()))
    }

    /// Deadline for calling `keep`, if anything waits to be stored.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Nothing more is waiting: a good time to show what was collected.
    fn caught_up(&mut self) {}
}

/// Events cannot be stored: another engine owns the session, or it is being ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what happens can no longer be written down: {0}")]
pub struct NotKept(pub String);

/// A command for a running turn.
#[derive(Debug)]
pub enum Command {
    /// An answer to a request.
    Answer {
        /// Which.
        ticket: TicketId,
        /// What.
        answer: Answer,
        /// Who.
        by: Who,
    },
    /// Stop.
    Interrupt {
        /// The requester.
        by: Who,
    },
    /// Something to be reported in the conversation.
    Report {
        /// What.
        event: Box<Event>,
    },
    /// More input.
    Say {
        /// The input.
        input: Vec<InputPart>,
        /// Its treatment while a turn runs.
        when: When,
        /// How long the turn may take that it becomes, if it becomes one.
        limit: Option<Duration>,
        /// Notified once the input is safe, with the turn that has it, if a caller waits for that: the next turn when
        /// the input is stored; the running one when it passes it to Codex, and from then on reports its fate.
        kept: Option<oneshot::Sender<When>>,
    },
}

/// How the turns of a session are run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The model, if another one was chosen than the conversation was started with.
    pub model: Option<String>,
    /// The reasoning effort, sent with each turn.
    pub effort: Option<String>,
    /// After how much silence a person is notified for the first time; `None` never.
    pub quiet_after: Option<Duration>,
    /// Runs the tools that the thread was started with.
    pub tools: ToolRunner,
    /// Asked before a person is, if there is one.
    pub hook: Option<RequestHook>,
    /// Deny and allow rules.
    pub rules: Rules,
    /// Who answers what neither floor nor rules decide.
    pub answers: Answers,
}

/// The content to send, and its context.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The kind of turn.
    pub deed: Deed,
    /// The person's input; empty in a compaction turn.
    pub input: Vec<InputPart>,
    /// Text that is not the person's and is not to be obeyed.
    pub context: Option<String>,
    /// The caller's limit; the time that a person takes to answer does not count.
    pub limit: Option<Duration>,
    /// Our name for the input, if it has one already.
    pub client_id: Option<String>,
    /// Answers from before that may serve this turn.
    pub escrow: Vec<Escrow>,
}

/// A turn that an earlier engine had in flight.
#[derive(Debug)]
pub struct Flown {
    /// Its recorded state.
    pub flight: Flight,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// The thread's response to the resume, if it was requested.
    pub reading: Option<Reading>,
}

/// A thread's report about a turn that was in flight.
#[derive(Debug)]
pub struct Reading {
    /// The thread, or why it cannot be read.
    pub history: Result<History, String>,
    /// From where it was read.
    pub vantage: Vantage,
}

/// Earlier facts about a conversation.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Its last turn.
    pub last_turn: Option<TurnId>,
    /// The tokens that it has cost.
    pub total: Usage,
    /// The newest part of the transcript.
    pub messages: Vec<Message>,
}

impl Past {
    /// The conversation in few words, the newest best; empty if nothing was said.
    pub fn digest(&self) -> String {
        Memory::of(self.messages.clone()).digest()
    }

    /// The same past, of which a new thread knows only what it is sent.
    #[must_use]
    pub fn on_a_new_thread(self) -> Self {
        Self { messages: self.messages, ..Self::default() }
    }
}

/// One conversation.
#[derive(Debug)]
pub struct CodexConversation {
    id: SessionId,
    current: CurrentHost,
    /// The requested thread options, to be repeated on another host.
    asked: ThreadStart,
    options: Options,
    started: Started,
    bounds: ThreadBounds,
    /// Notes for the user before the next turn.
    notices: Vec<String>,
    queue: Arc<ThreadQueue>,
    /// Tokens of the thread so far.
    total: Usage,
    last_turn: Option<TurnId>,
    /// The last turn left doubts whether Codex still answers.
    is_doubtful: bool,
    memory: Memory,
    background: BackgroundWatch,
    epoch: Instant,
}

impl CodexConversation {
    /// Starts a conversation on a host. The caller that passed the host in sees there which one it is later.
    pub async fn start(
        host: impl Into<CurrentHost>,
        asked: ThreadStart,
        options: Options,
    ) -> Result<Self, ThreadError> {
        let current = host.into();
        let thread = current.get().start_thread(&asked).await?;
        Ok(Self::with(new_id(), current, asked, options, thread, Past::default()))
    }

    /// A conversation on a thread that is open already. `asked` is what was asked of it, to be asked again on another
    /// host.
    pub fn with(
        id: SessionId,
        current: CurrentHost,
        asked: ThreadStart,
        options: Options,
        thread: OpenThread,
        past: Past,
    ) -> Self {
        let OpenThread { started, bounds, standing, queue, .. } = thread;
        let notices = notices(&started, &standing);
        let mut session = Self {
            id,
            current,
            asked,
            options: Options::default(),
            started,
            bounds,
            notices,
            queue,
            total: past.total,
            last_turn: past.last_turn,
            is_doubtful: false,
            memory: Memory::of(past.messages),
            background: BackgroundWatch::default(),
            epoch: Instant::now(),
        };
        session.set_options(options);
        session
    }

    /// Changes how further turns are run.
    pub fn set_options(&mut self, options: Options) {
        // Another host is asked for the model that was chosen, not for the first one.
        if options.model.is_some() {
            self.asked.model.clone_from(&options.model);
        }
        self.options = options;
    }

    /// Our id of the conversation.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The settings in force, as reported by Codex.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// The host it is on, whichever that is.
    pub fn host(&self) -> &CurrentHost {
        &self.current
    }

    /// Sends input and follows the turn to its end. `commands` may come at any time, also before anything is sent.
    pub async fn run_turn(
        &mut self,
        input: Vec<InputPart>,
        limit: Option<Duration>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        watcher: &mut impl Watcher,
    ) -> Report {
        let (context, client_id, escrow) = (None, None, Vec::new());
        let prompt = Prompt { deed: Deed::Words, input, context, limit, client_id, escrow };
        self.run(prompt, commands, watcher).await
    }

    /// Sends a prompt and follows the turn to its end.
    pub async fn run(
        &mut self,
        prompt: Prompt,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        watcher: &mut impl Watcher,
    ) -> Report {
        let prompt = self.with_context(prompt);
        let report = Running::new(self, prompt, watcher).run(commands).await;
        self.note_doubts(&report);
        report
    }

    /// Follows a turn to its end that an earlier engine had in flight.
    pub async fn resume_turn(
        &mut self,
        prompt: Prompt,
        flown: Flown,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        watcher: &mut impl Watcher,
    ) -> Report {
        self.hear_agents(&flown.flight).await;
        let prompt = self.with_context(prompt);
        let report = Running::resume(self, prompt, flown, watcher).follow(commands).await;
        self.note_doubts(&report);
        report
    }

    /// Adds context to the input where Codex has no field for it. Codex's echo is compared with the result.
    fn with_context(&self, mut prompt: Prompt) -> Prompt {
        if !self.current.get().version().takes_context()
            && let Some(context) = prompt.context.take()
        {
            prompt.input.push(InputPart::text(hook::fence(&context)));
        }
        prompt
    }

    /// Messages and requests of the sub-agents of a turn in flight arrive with those of their parent.
    async fn hear_agents(&self, flight: &Flight) {
        let host = self.current.get();
        for agent in flight.agents.iter().filter(|agent| agent.phase == AgentPhase::Running) {
            host.adopt(&agent.thread, &self.queue);
            // One that has ended and was unloaded has nothing to say.
            let _ = host.hear_thread(&agent.thread).await;
        }
    }

    /// A Codex that lost a turn, or did not say whether it took one, is asked for a sign of life before the next.
    fn note_doubts(&mut self, report: &Report) {
        self.is_doubtful = matches!(
            report.outcome,
            Outcome::Lost { .. } | Outcome::Failed { code: FailureCode::NotSent, .. }
        );
    }

    fn order(&self, prompt: &Prompt, escrow: Vec<Escrow>) -> Order {
        let host = self.current.get();
        // Codex keeps it with what is said.
        let keeps_id = host.version().echoes_message_ids() && prompt.deed == Deed::Words;
        let mint = || prompt.client_id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        Order {
            thread: self.started.thread.clone(),
            client_id: keeps_id.then(mint),
            after: self.last_turn.clone(),
            baseline: self.total,
            limit: prompt.limit,
            quiet_after: self.options.quiet_after,
            choosing: self.choosing(prompt.deed),
            deed: prompt.deed,
            cwd: self.started.cwd.clone(),
            has_file: self.started.path.is_some(),
            asks_hook: self.options.hook.is_some(),
            escrow: EscrowedAnswers::new(escrow, self.now(), u64::try_from(now_ms()).unwrap_or_default()),
            gate: ThreadGate::new(
                self.bounds.clone(),
                self.options.rules.clone(),
                self.options.answers,
                std::env::var("HOME").ok(),
            )
            .protecting(std::env::var("TALARIA_HOME").ok()),
        }
    }

    /// The options that a turn must send so that the choice is in force.
    fn choosing(&self, deed: Deed) -> Choosing {
        let Started { model, effort, .. } = &self.started;
        let in_force = ModelSettings { model: Some(model.clone()), effort: effort.clone() };
        let wished = match deed {
            Deed::Words => {
                ModelSettings { model: self.options.model.clone(), effort: self.options.effort.clone() }
            }
            // Nothing can be asked for with it.
            Deed::Compaction => ModelSettings::default(),
        };
        let is_told = self.current.get().version().tells_settings();
        Choosing::new(wished, in_force, if is_told { ToldBy::Notice } else { ToldBy::File })
    }

    /// Moves to the host that took the conversation up again.
    fn move_to(&mut self, revived: Revived) {
        self.current.get().forget(&self.queue);
        if revived.thread.started.thread != self.started.thread {
            // A fresh thread has no turns and has spent nothing.
            (self.last_turn, self.total) = (None, Usage::default());
        }
        self.current.replace(revived.host);
        self.notices = notices(&revived.thread.started, &revived.thread.standing);
        self.started = revived.thread.started;
        self.bounds = revived.thread.bounds;
        self.queue = revived.thread.queue;
        self.is_doubtful = false;
    }

    fn now(&self) -> Moment {
        self.epoch.elapsed()
    }
}

impl Drop for CodexConversation {
    fn drop(&mut self) {
        self.current.get().forget(&self.queue);
    }
}

/// Notes for the user about the settings in force.
fn notices(started: &Started, standing: &PowerCheck) -> Vec<String> {
    let mut notices: Vec<String> = standing.differences.iter().map(ToString::to_string).collect();
    if started.approval == ApprovalPolicy::Never.as_str() {
        notices.push(
            "Codex asks about nothing (approval never): neither the hard floor nor deny rules are applied, \
             only the sandbox holds"
                .to_owned(),
        );
    }
    notices
}

/// Mints an id for a conversation; later ones sort after earlier ones.
pub fn new_id() -> SessionId {
    SessionId::new(uuid::Uuid::now_v7().to_string())
}
