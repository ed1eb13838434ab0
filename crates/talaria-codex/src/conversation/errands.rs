//! Slow operations of a turn: calls to Codex, reading the thread, ending a host, starting another.
//!
//! Each runs concurrently with the loop of the turn and returns its result. Dropping the set ends them; none of them
//! holds a resource that others wait for.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use talaria_codex_proto::rollout::Untold;
use talaria_codex_proto::settle::{Deed, RecordedInput, Settlement, Vantage, settle};
use talaria_codex_proto::turn::Input;
use talaria_codex_proto::wire::call::{
    ThreadCompact, ThreadStart, TurnInterrupt, TurnStart, TurnSteer, UserInput,
};
use talaria_codex_proto::wire::history::History;
use talaria_codex_proto::wire::reply;
use talaria_core::background::UnendedCommand;
use talaria_core::event::{Escalation, Event, Started};
use talaria_core::hook::HookVerdict;
use talaria_core::ids::{ItemId, RequestId, ThreadId, TicketId, TurnId};
use talaria_core::input::InputPart;
use talaria_core::tool::ToolOutcome;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::rollout;
use super::tools::{HookWork, ToolWork};
use crate::client::CallError;
use crate::host::{Host, Probe};
use crate::permit::SendPermit;
use crate::revival::{self, Revived};
use crate::source::HostSource;
use crate::terminals::TerminalsEnded;

/// How often a thread is read again that does not have the input yet.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// For how long.
const READS: u32 = 60;
/// How long a Codex that lost a turn may take for a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Result of an errand.
pub(super) enum Done {
    /// Something for the machine.
    Input(Input),
    /// An event to publish.
    Event(Event),
    /// The running turn took further input.
    Steered { turn: TurnId },
    /// Further input that the running turn did not take.
    NotTaken { input: Vec<InputPart>, why: String },
    /// The host is fit for a turn.
    Ready,
    /// Another host is ready, with its report about the turn, if that was read.
    Moved(Box<Revived>, Option<Settlement>),
    /// No host is available.
    NoHost { why: String, while_settling: bool },
    /// Nothing that anyone waits for.
    Nothing,
}

/// The record of a turn before it was sent, with the data to find it again.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) deed: Deed,
    pub(super) thread: ThreadId,
    pub(super) client_id: Option<String>,
    pub(super) last_turn: Option<TurnId>,
    pub(super) input: Vec<InputPart>,
    pub(super) turn: Option<TurnId>,
    /// The file in which Codex keeps the conversation.
    pub(super) path: Option<String>,
}

impl Recorded {
    /// The thread's record of the input, completed from its file.
    pub(super) async fn settle_with_file(&self, history: History, vantage: Vantage) -> Settlement {
        let history = rollout::complete(history, self.turn.as_ref(), self.path.as_deref()).await;
        self.settle(&history, vantage)
    }

    pub(super) fn settle(&self, history: &History, vantage: Vantage) -> Settlement {
        let sent = RecordedInput {
            deed: self.deed,
            client_id: self.client_id.as_deref(),
            last_turn: self.last_turn.as_ref(),
            input: &self.input,
            turn: self.turn.as_ref(),
        };
        settle(&sent, history, vantage)
    }
}

/// How to get another host, and what to send it.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    pub(super) source: Arc<dyn HostSource>,
    pub(super) asked: ThreadStart,
    pub(super) before: Started,
    pub(super) digest: String,
}

/// The errands of a turn.
#[derive(Default)]
pub(super) struct Errands {
    running: JoinSet<Done>,
    /// Further input on its way: what became of it is reported before the turn is over.
    steering: JoinSet<Done>,
    /// The calls of tools that run.
    calls: Vec<OpenCall>,
}

/// A call of a tool, to be answered on the host that asked for it.
struct OpenCall {
    host: Arc<Host>,
    id: RequestId,
    work: AbortHandle,
}

impl Errands {
    /// The next finished one; never resolves if there is none.
    pub(super) async fn next(&mut self) -> Done {
        loop {
            let done = tokio::select! {
                Some(done) = self.running.join_next() => done,
                Some(done) = self.steering.join_next() => done,
                else => std::future::pending().await,
            };
            // A cancelled one has no result.
            if let Ok(done) = done {
                return done;
            }
        }
    }

    /// Result of further input, until all of it is reported or it is time.
    pub(super) async fn steered(&mut self, deadline: Instant) -> Option<Done> {
        while !self.steering.is_empty() {
            match tokio::time::timeout_at(deadline, self.steering.join_next()).await {
                Ok(Some(Ok(done))) => return Some(done),
                Ok(_) => {}
                Err(_) => {
                    self.steering.abort_all();
                    self.steering.detach_all();
                    let message =
                        "the turn ended before Codex confirmed that it received the further input".to_owned();
                    return Some(Done::Event(Event::Warning { message }));
                }
            }
        }
        None
    }

    pub(super) fn start_turn(&mut self, host: Arc<Host>, start: TurnStart, permit: Option<SendPermit>) {
        self.running.spawn(async move {
            let reply = host.call_permitted(&start, permit).await;
            Done::Input(admission(reply.map(|reply| Input::Accepted(reply.turn.id))))
        });
    }

    /// Has the conversation shortened.
    pub(super) fn compact(&mut self, host: Arc<Host>, thread_id: ThreadId, permit: Option<SendPermit>) {
        self.running.spawn(async move {
            let reply = host.call_permitted(&ThreadCompact { thread_id }, permit).await;
            Done::Input(admission(reply.map(|_| Input::Taken)))
        });
    }

    /// Polls the rollout file for the settings of a turn, until they appear or time is up.
    pub(super) fn look_up_settings(&mut self, path: Option<String>, turn: Option<TurnId>) {
        self.running.spawn(async move {
            let found = match path.zip(turn) {
                Some((path, turn)) => rollout::settings(&path, &turn).await,
                None => None,
            };
            Done::Input(Input::SettingsFound(found))
        });
    }

    /// Looks into the file of the conversation for what Codex did not report of a turn that has ended.
    pub(super) fn look_up_untold(&mut self, path: Option<String>, turn: Option<TurnId>) {
        self.running.spawn(async move {
            let untold = match path.zip(turn) {
                Some((path, turn)) => rollout::untold(&path, &turn).await,
                None => Untold::default(),
            };
            Done::Input(Input::UntoldFound(untold))
        });
    }

    /// Asks Codex to stop a turn. Only how the turn ends shows whether it did, so an answer that is missing or not
    /// understood is no news. A refusal is reported: a turn that has not ended by then may run on.
    pub(super) fn interrupt(&mut self, host: Arc<Host>, thread_id: ThreadId, turn_id: TurnId) {
        self.running.spawn(async move {
            let interrupt = TurnInterrupt { thread_id, turn_id };
            match host.call(&interrupt).await {
                Err(CallError::Refused { error, .. }) => {
                    Done::Input(Input::InterruptRefused { turn: interrupt.turn_id, why: error.message })
                }
                Ok(_) | Err(_) => Done::Nothing,
            }
        });
    }

    pub(super) fn steer(
        &mut self,
        host: Arc<Host>,
        thread_id: ThreadId,
        turn: TurnId,
        input: Vec<InputPart>,
    ) {
        let steer = TurnSteer { thread_id, expected_turn_id: turn, input: UserInput::of(input.clone()) };
        self.steering.spawn(async move {
            match host.call(&steer).await {
                Ok(reply) => Done::Steered { turn: reply.turn_id },
                Err(CallError::Refused { error, .. }) => Done::NotTaken { input, why: error.message },
                // It may have been taken; saying it again in the next turn would be saying it twice.
                Err(error) => Done::Event(Event::Warning {
                    message: format!(
                        "it is not known whether the running turn received the further input: {error}"
                    ),
                }),
            }
        });
    }

    /// Runs a call of a tool and answers with its outcome. One that panics is answered too: Codex would wait
    /// indefinitely.
    pub(super) fn run_tool(&mut self, host: Arc<Host>, id: RequestId, work: ToolWork) {
        self.calls.retain(|call| !call.work.is_finished());
        let (asking, asked) = (Arc::clone(&host), id.clone());
        let work = self.running.spawn(async move {
            let outcome = AssertUnwindSafe(work).catch_unwind().await;
            let broken = "the tool stopped with an internal error";
            let outcome = outcome.unwrap_or_else(|_| ToolOutcome::unknown(broken));
            asking.respond_at("tool-sent", &asked, &reply::tool_result(&outcome));
            Done::Nothing
        });
        self.calls.push(OpenCall { host, id, work });
    }

    /// Asks the user's hook about a request. One that breaks leaves the request to a person.
    pub(super) fn consult(&mut self, ticket: TicketId, asked: HookWork) {
        self.running.spawn(async move {
            let broken =
                |_| HookVerdict::Ask { reason: Some("asking it stopped with an internal error".to_owned()) };
            let verdict = AssertUnwindSafe(asked).catch_unwind().await.unwrap_or_else(broken);
            Done::Input(Input::Consulted { ticket, verdict })
        });
    }

    /// Answers the calls that still run when the turn is over. A Codex that ended the turn ignores that; one that was only
    /// disconnected would block its thread indefinitely.
    pub(super) fn end_calls(&mut self) {
        let result = reply::tool_result(&ToolOutcome::unknown("the turn ended before the tool returned"));
        for OpenCall { host, id, work } in self.calls.drain(..).filter(|call| !call.work.is_finished()) {
            work.abort();
            host.respond(&id, &result);
        }
    }

    /// Reads the thread on a host that lives. The one that was just given the input is read until it says something or
    /// time is up: it may still be about to take it.
    pub(super) fn read(&mut self, host: Arc<Host>, recorded: Recorded, vantage: Vantage) {
        self.running.spawn(async move {
            let may_come = recorded.turn.is_none() && vantage == Vantage::SameHost;
            let reads = if may_come { READS } else { 1 };
            let mut settlement = Settlement::Unknown { why: "the thread was not read".to_owned() };
            for read in 0..reads {
                if read > 0 {
                    tokio::time::sleep(READ_AGAIN).await;
                }
                settlement = match host.read_thread(&recorded.thread).await {
                    Ok(history) => recorded.settle_with_file(history, vantage).await,
                    Err(error) => Settlement::Unknown { why: error.to_string() },
                };
                if !matches!(settlement, Settlement::Unknown { .. }) {
                    break;
                }
            }
            Done::Input(Input::Settled(settlement))
        });
    }

    /// Starts another host after the death of one, takes the thread up again there and reads what became of the turn.
    pub(super) fn revive_and_read(&mut self, ground: Ground, recorded: Recorded) {
        self.running.spawn(async move {
            let revived = match revive(&ground).await {
                Ok(revived) => revived,
                Err(why) => return Done::NoHost { why, while_settling: true },
            };
            let settlement = match revived.host.read_thread(&recorded.thread).await {
                Ok(history) => recorded.settle_with_file(history, Vantage::AfterItsEnd).await,
                Err(error) => Settlement::Unknown { why: error.to_string() },
            };
            Done::Moved(Box::new(revived), Some(settlement))
        });
    }

    /// Sees to it that the next turn has a host that answers.
    pub(super) fn make_ready(&mut self, host: Arc<Host>, ground: Ground) {
        self.running.spawn(async move {
            if host.is_alive() && host.probe(SIGN_OF_LIFE).await == Probe::Answers {
                return Done::Ready;
            }
            // Codex lets only one process at a time write to a conversation.
            let why = "Codex did not answer any more";
            if host.is_retired() {
                host.close().await;
            } else if host.has_other_turns(&ground.before.thread) {
                host.drain(why);
            } else {
                host.terminate(why).await;
            }
            match revive(&ground).await {
                Ok(revived) => Done::Moved(Box::new(revived), None),
                Err(why) => Done::NoHost { why, while_settling: false },
            }
        });
    }

    /// Ends a host that does not stop a turn, unless other turns run there.
    pub(super) fn escalate(&mut self, host: Arc<Host>, thread: ThreadId) {
        self.running.spawn(async move {
            if host.has_other_turns(&thread) {
                return Done::Input(Input::Escalated(Escalation::Abandoned));
            }
            host.terminate("Codex did not stop the turn and was ended").await;
            Done::Input(Input::Escalated(Escalation::HostEnded))
        });
    }

    pub(super) fn find_terminals(
        &mut self,
        host: Arc<Host>,
        thread: ThreadId,
        commands: Vec<UnendedCommand>,
    ) {
        self.running.spawn(async move {
            // A Codex that does not say leaves the end of the commands unknown.
            let found = host.find_terminals(&thread, commands).await.unwrap_or_default();
            Done::Input(Input::TerminalsFound(found))
        });
    }

    pub(super) fn end_terminals(&mut self, host: Arc<Host>, thread: ThreadId, items: Vec<ItemId>) {
        self.running.spawn(async move {
            let message = match host.end_terminals(&thread, &items).await {
                Ok(TerminalsEnded::Nothing) => None,
                Ok(ended) => Some(ended.to_string()),
                Err(error) => Some(format!("commands of the turn may still be running: {error}")),
            };
            Done::Input(Input::TerminalsEnded(message))
        });
    }
}

/// Reported when Codex does not say whether it took a reason.
pub(super) const UNTOLD: &str =
    "Codex did not confirm that the model got the reason for the declined request";

/// Sends a text to the model of a running turn; returns a note if it was not accepted.
pub(super) async fn tell_model(host: &Host, thread: ThreadId, turn: TurnId, text: String) -> Option<String> {
    let input = vec![UserInput::Text { text }];
    let steer = TurnSteer { thread_id: thread, expected_turn_id: turn, input };
    let refused = host.call(&steer).await.err()?;
    Some(format!("the model did not get the reason for the declined request: {refused}"))
}

async fn revive(ground: &Ground) -> Result<Revived, String> {
    let Ground { source, asked, before, digest } = ground;
    revival::revive(&**source, asked, before, digest)
        .await
        .map_err(|error| format!("{error}; {}", error.next_step().in_shell()))
}

/// Interprets the response to `turn/start`. No response is not a refusal: whether the turn runs is then
/// unknown.
fn admission(reply: Result<Input, CallError>) -> Input {
    match reply {
        Ok(taken) => taken,
        Err(CallError::Refused { error, .. }) => Input::Refused(error),
        Err(CallError::Gone { why }) => Input::Gone(why),
        Err(error @ (CallError::TimedOut { .. } | CallError::Shape { .. })) => {
            Input::Unanswered(error.to_string())
        }
    }
}
