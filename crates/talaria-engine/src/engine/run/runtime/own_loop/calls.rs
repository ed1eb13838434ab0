//! The calls of one answer: planned, judged, asked about where that is needed, recorded, performed, and answered once each.
//!
//! They run in a task of their own and touch neither journal nor machine: every durable step is a `CallMessage` to the turn,
//! which writes it down and confirms. Calls that do not touch the same things run together (`talaria_tools::batch`). After a
//! crash the next engine settles what the ledger says was running, and repeats only what reads.

mod grants;
mod judging;
mod searching;
mod serving;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use serde_json::Value;
use talaria_agent::history::{CallDisposition, LogPart};
use talaria_agent::loop_turn::RequestedCall;
use talaria_codex::conversation::{Options, ToolRunner};
use talaria_core::event::Event;
use talaria_core::gate::RequestGate;
use talaria_core::ids::{ItemId, SessionId, ThreadId, TurnId};
use talaria_core::item::Status;
use talaria_core::request::{Answer, Ask, Content, Question, Who};
use talaria_core::tool::ledger::ToolCallState;
use talaria_core::tool::{ToolCaller, ToolConfinement, ToolEffect, ToolInvocation, ToolOutcome, ToolVerdict};
use talaria_guard::place::Place;
use talaria_home::faults;
use talaria_mcp::{OfferedServerTool, ToolAccess};
use talaria_store::{Change, ToolCallKey, ToolCallRow, ToolCallStep};
use talaria_tools::batch::{CallTouches, plan_rounds};
use talaria_tools::call::{CommandWait, LoopCall, MachineCall};
use talaria_tools::files::resolve_path;
use talaria_tools::keeper::{CommandEnding, CommandId, CommandState};
use talaria_tools::runner::{
    EffectRecord, LoopScene, LoopToolRunner, ReadFiles, SettledCall, ToolPlan, ToolReport,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::hints::{ProjectHints, touched_path};
use super::items::{CallFace, LeftSteps, StepEnd, disposition, status};
use super::log::digest_in;
use super::servers::LoopServers;
use crate::engine::Inner;
use crate::engine::journal::EngineServices;
use crate::engine::tools::SEARCH_TOOL;
use judging::Judged;

/// The first letters of Talaria's own tools, which the engine's registry runs.
const ENGINE_TOOLS: &str = "talaria_";
/// How often the output of a command is looked at for people.
const LOOK: Duration = Duration::from_millis(100);
/// How much output is shown at once.
const SHOWN_AT_ONCE: usize = 16 * 1024;
/// How long a tool of the engine may take to end after the turn was stopped.
const STOPPING: Duration = Duration::from_secs(1);
/// How long a command that survived an engine is waited for, if it is not known how long its call waited.
const SETTLE_WAIT: CommandWait = CommandWait::Foreground(Duration::from_secs(120));

/// Something that the turn does for a call.
pub(super) enum CallMessage {
    /// Reports this.
    Show(Event),
    /// Writes these down, and confirms.
    Record {
        offered: Option<Box<ToolInvocation>>,
        changes: Vec<Change>,
        events: Vec<Event>,
        done: oneshot::Sender<()>,
    },
    /// Opens a request, or reports the decision that was made without a person; answers with the decision.
    Ask {
        item: ItemId,
        ask: Box<Ask>,
        place: Option<Place>,
        decided: Option<(Answer, Who, String)>,
        done: oneshot::Sender<Decided>,
    },
    /// The call has its result.
    Ended { requested: RequestedCall, disposition: CallDisposition, parts: Vec<LogPart>, key: ToolCallKey },
}

/// The decision about a request.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) answer: Answer,
    pub(super) by: Who,
}

/// Whether an earlier engine may have run a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallHistory {
    /// The model has just asked for it.
    New,
    /// An earlier engine may have begun it.
    Left,
}

/// Everything that calls of a turn use.
#[derive(Clone)]
pub(super) struct CallScene {
    pub(super) services: EngineServices,
    pub(super) session: SessionId,
    pub(super) thread: ThreadId,
    pub(super) turn: TurnId,
    pub(super) runner: LoopToolRunner,
    pub(super) scene: Arc<LoopScene>,
    /// What the model has read, for all calls of the conversation.
    pub(super) read: Arc<Mutex<ReadFiles>>,
    pub(super) gate: Arc<RequestGate>,
    pub(super) options: Arc<Options>,
    pub(super) confinement: ToolConfinement,
    /// What an earlier engine reported of this turn.
    pub(super) left: Arc<LeftSteps>,
    pub(super) engine: Arc<Inner>,
    /// The user's MCP servers.
    pub(super) servers: LoopServers,
    /// Which instructions of projects the conversation has.
    pub(super) hints: Arc<ProjectHints>,
    pub(super) messages: mpsc::Sender<CallMessage>,
    /// The turn is being stopped.
    pub(super) stopped: watch::Receiver<bool>,
}

/// The result of a call for the machine and for people.
struct CallEnd {
    disposition: CallDisposition,
    parts: Vec<LogPart>,
    exit_code: Option<i32>,
    is_running: bool,
}

impl CallEnd {
    fn text(disposition: CallDisposition, text: impl Into<String>) -> Self {
        Self { disposition, parts: vec![LogPart::text(text)], exit_code: None, is_running: false }
    }

    fn of(outcome: &ToolOutcome) -> Self {
        Self::text(disposition(outcome.verdict()), outcome.text())
    }
}

/// A call before it runs.
struct ReadyCall {
    requested: RequestedCall,
    item: ItemId,
    arguments: Value,
    kind: CallKind,
}

enum CallKind {
    /// A tool of the engine.
    Engine,
    /// A search of the web.
    Search,
    /// A tool of an MCP server.
    Server(OfferedServerTool),
    Parsed(LoopCall),
    /// Its arguments are wrong: the model reads why.
    Wrong(String),
}

impl CallScene {
    /// Runs calls to their ends, in rounds of calls that do not touch the same things.
    pub(super) async fn run(self, calls: Vec<RequestedCall>, history: CallHistory) {
        let calls: Vec<ReadyCall> = calls.into_iter().map(|call| self.ready(call)).collect();
        let mut touches = Vec::with_capacity(calls.len());
        for call in &calls {
            touches.push(self.touches(call).await);
        }
        let mut calls: Vec<Option<ReadyCall>> = calls.into_iter().map(Some).collect();
        for round in plan_rounds(&touches) {
            let round = round.into_iter().filter_map(|index| calls[index].take());
            join_all(round.map(|call| self.run_call(call, history))).await;
        }
    }

    fn ready(&self, requested: RequestedCall) -> ReadyCall {
        let item = step_of(&self.turn, requested.seq);
        let arguments = Value::Object(requested.input.arguments().unwrap_or_default());
        let kind = if requested.name.starts_with(ENGINE_TOOLS) {
            CallKind::Engine
        } else if requested.name == SEARCH_TOOL {
            CallKind::Search
        } else if let Some(tool) = self.servers.tool(&requested.name) {
            CallKind::Server(tool.clone())
        } else {
            match LoopCall::parse(&requested.name, &arguments) {
                Ok(call) => CallKind::Parsed(call),
                Err(why) => CallKind::Wrong(why),
            }
        };
        ReadyCall { requested, item, arguments, kind }
    }

    /// What a call touches. One that cannot be planned yet may depend on an earlier one, so it runs alone.
    async fn touches(&self, call: &ReadyCall) -> CallTouches {
        match &call.kind {
            CallKind::Parsed(LoopCall::Machine(machine)) => match self.plan(machine.clone()).await {
                Ok(plan) => plan.touches().clone(),
                Err(_) => CallTouches::Everything,
            },
            CallKind::Server(tool) if tool.access == ToolAccess::Changes => CallTouches::Everything,
            _ => CallTouches::Nothing,
        }
    }

    /// The path that a call names, which may be in a directory with instructions of its own.
    fn touched(&self, kind: &CallKind) -> Option<PathBuf> {
        let CallKind::Parsed(LoopCall::Machine(call)) = kind else { return None };
        let resolved = resolve_path(&self.scene.cwd, self.scene.home.as_deref(), touched_path(call)?);
        Some(resolved.ok()?.real)
    }

    async fn plan(&self, call: MachineCall) -> Result<ToolPlan, String> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let scene = LoopScene { read, ..(*self.scene).clone() };
        let runner = self.runner.clone();
        let planned = tokio::task::spawn_blocking(move || runner.plan(&call, &scene)).await;
        planned.unwrap_or_else(|_| Err("the call could not be planned: internal error".to_owned()))
    }

    async fn run_call(&self, call: ReadyCall, history: CallHistory) {
        let begun = Instant::now();
        let ReadyCall { requested, item, arguments, kind } = call;
        let key = ToolCallKey { thread: self.thread.clone(), turn: self.turn.clone(), call: item.clone() };
        let invocation = ToolInvocation {
            thread: self.thread.clone(),
            turn: self.turn.clone(),
            item: item.clone(),
            tool: requested.name.clone(),
            arguments,
            caller: ToolCaller::Session,
            confinement: self.confinement,
        };
        let row = match history {
            CallHistory::New => None,
            CallHistory::Left => self.services.store.tool_call(&key).await.ok().flatten(),
        };
        let (name, arguments) = (requested.name.clone(), invocation.arguments.to_string());
        let mut face = Some(CallFace::Tool { name, arguments });
        let is_begun = row.as_ref().is_some_and(|row| row.state != ToolCallState::Offered);
        let touched = self.touched(&kind);
        let end = match kind {
            _ if *self.stopped.borrow() && !is_begun => not_started(),
            CallKind::Wrong(why) => CallEnd::text(CallDisposition::Failed, why),
            CallKind::Engine => {
                let began = face.as_ref().and_then(|face| self.began(&item, face));
                self.record(Some(invocation.clone()), Vec::new(), began.into_iter().collect()).await;
                self.run_engine_tool(invocation, begun).await
            }
            CallKind::Search => self.run_search(&invocation, &key, row).await,
            CallKind::Server(tool) => {
                face = Some(serving::server_face(&invocation, &tool));
                self.run_server(&invocation, &key, &tool, row).await
            }
            CallKind::Parsed(LoopCall::Plan { explanation, steps }) => {
                face = None;
                self.show(Event::PlanUpdated { explanation, steps }).await;
                CallEnd::text(CallDisposition::Done, "The plan is shown, complete.")
            }
            CallKind::Parsed(LoopCall::Ask(questions)) => {
                face = None;
                self.ask_person(&item, questions).await
            }
            CallKind::Parsed(LoopCall::Machine(machine)) => {
                let (shown, end) = self.run_machine(&invocation, &key, machine, row).await;
                face = shown.or(face);
                end
            }
        };
        self.finish(requested, &item, key, (face, touched), end, begun.elapsed()).await;
    }

    /// Reports the end of the step and passes the result to the machine.
    async fn finish(
        &self,
        requested: RequestedCall,
        item: &ItemId,
        key: ToolCallKey,
        (face, touched): (Option<CallFace>, Option<PathBuf>),
        end: CallEnd,
        took: Duration,
    ) {
        let CallEnd { disposition, mut parts, exit_code, is_running } = end;
        if let Some(face) = face.filter(|_| !self.left.has_ended(item)) {
            let images = parts.iter().filter(|part| matches!(part, LogPart::Image { .. })).count();
            let status = match (status(disposition), exit_code) {
                // It still runs: how it ends is not known.
                _ if is_running => Status::Unknown,
                (Status::Completed, Some(code)) if code != 0 => Status::Failed,
                (status, _) => status,
            };
            let text = talaria_agent::history::plain_text(&parts);
            let end =
                StepEnd { status, text, exit_code, took, images: u32::try_from(images).unwrap_or(u32::MAX) };
            self.show(Event::ItemCompleted { item: Box::new(face.end(item, &end)) }).await;
        }
        if let (CallDisposition::Done, Some(path)) = (disposition, touched) {
            parts.extend(self.hints.take(&path));
        }
        // The turn is gone if this fails; the next engine continues from the ledger.
        let _ = self.messages.send(CallMessage::Ended { requested, disposition, parts, key }).await;
    }

    /// Runs a call that does something on this machine, or finds out what became of it.
    async fn run_machine(
        &self,
        invocation: &ToolInvocation,
        key: &ToolCallKey,
        machine: MachineCall,
        row: Option<ToolCallRow>,
    ) -> (Option<CallFace>, CallEnd) {
        let wait = match &machine {
            MachineCall::Run { wait, .. } => *wait,
            _ => SETTLE_WAIT,
        };
        if let Some(row) = row
            && let Some(end) = self.settle(key, row, wait).await
        {
            self.note_settled(&machine, &end);
            return (self.left.face(&invocation.item).cloned(), end);
        }
        if let Some(process) = process_of(&machine)
            && !self.is_own_process(process).await
        {
            let why = format!("there is no process {} in this conversation", process.as_str());
            return (None, CallEnd::text(CallDisposition::Failed, why));
        }
        let command = match &machine {
            MachineCall::Run { command, .. } => Some(command.clone()),
            _ => None,
        };
        let plan = match self.plan(machine).await {
            Ok(plan) => plan,
            Err(why) => return (None, CallEnd::text(CallDisposition::Failed, why)),
        };
        let face = match (command, plan.change()) {
            (Some(line), _) => Some(CallFace::Command { line, cwd: self.scene.cwd.display().to_string() }),
            (None, Some(change)) => Some(CallFace::Patch(change.clone())),
            (None, None) => None,
        };
        let tool =
            CallFace::Tool { name: invocation.tool.clone(), arguments: invocation.arguments.to_string() };
        let began = self.began(&invocation.item, face.as_ref().unwrap_or(&tool));
        self.record(Some(invocation.clone()), Vec::new(), began.into_iter().collect()).await;
        let end = match self.judge(invocation, &plan).await {
            Judged::Run if *self.stopped.borrow() => not_started(),
            Judged::Run => self.perform(invocation, key, plan).await,
            Judged::Refuse(end) => {
                faults::point("before:loop-call-declined").await;
                self.step(key, ToolCallStep::Decline { result_sealed: self.sealed(&end) }).await;
                faults::point("after:loop-call-declined").await;
                end
            }
        };
        (face, end)
    }

    /// The beginning of a step, unless an earlier engine reported it.
    fn began(&self, item: &ItemId, face: &CallFace) -> Option<Event> {
        let is_known = self.left.face(item).is_some();
        (!is_known).then(|| Event::ItemStarted { item: Box::new(face.begin(item)) })
    }

    /// Runs a tool of the engine. Its ledger finishes what it began, also when the turn is stopped meanwhile.
    async fn run_engine_tool(&self, invocation: ToolInvocation, begun: Instant) -> CallEnd {
        let tools: ToolRunner = self.options.tools.clone();
        let mut stopped = self.stopped.clone();
        let given_up = async {
            let _ = stopped.wait_for(|stopped| *stopped).await.map(drop);
            tokio::time::sleep(STOPPING).await;
        };
        tokio::select! {
            outcome = tools.run(invocation) => CallEnd::of(&outcome),
            () = given_up => stopped_end(begun),
        }
    }

    async fn perform(&self, invocation: &ToolInvocation, key: &ToolCallKey, plan: ToolPlan) -> CallEnd {
        let effect = plan.effect();
        let runner = self.runner.clone();
        let ticket = format!("{}/{}", self.session, invocation.item.as_str());
        let prepared = tokio::task::spawn_blocking(move || runner.prepare(plan, &ticket)).await;
        let prepared = match prepared {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(why)) => return CallEnd::text(CallDisposition::Failed, why),
            Err(_) => return CallEnd::text(CallDisposition::Failed, "internal error; nothing was done"),
        };
        let record = prepared.record().clone();
        let json = serde_json::to_string(&record).unwrap_or_default();
        let Ok(sealed) = self.services.seal.close(&json) else {
            return CallEnd::text(CallDisposition::Failed, "the call cannot be recorded, so it was not run");
        };
        faults::point("before:loop-call-running").await;
        self.step(key, ToolCallStep::Run { effect, effect_record: Some(sealed) }).await;
        faults::point("after:loop-call-running").await;
        let process = match &record {
            EffectRecord::Command { process } => Some(process.clone()),
            _ => None,
        };
        let work = self.runner.perform(prepared);
        let followed = match &process {
            Some(process) => self.follow_command(&invocation.item, process, work).await,
            None if effect == ToolEffect::Reads => {
                let begun = Instant::now();
                let mut stopped = self.stopped.clone();
                let is_stopped = async {
                    let _ = stopped.wait_for(|stopped| *stopped).await.map(drop);
                };
                tokio::select! {
                    report = work => FollowedCall::ended(report),
                    // Nothing but reading is cut off; a command that was polled continues.
                    () = is_stopped => {
                        let end = stopped_end(begun);
                        let state = ToolCallState::Failed;
                        self.step(key, ToolCallStep::End { state, result_sealed: self.sealed(&end) }).await;
                        return end;
                    }
                }
            }
            None => FollowedCall::ended(work.await),
        };
        let mut end = self.end_machine(key, followed).await;
        end.exit_code = process.and_then(|process| exit_code(&self.runner, &process));
        end
    }

    /// Shows the output of a command while its end is waited for. A turn that is stopped ends the command.
    async fn follow_command(
        &self,
        item: &ItemId,
        process: &CommandId,
        work: impl Future<Output = ToolReport>,
    ) -> FollowedCall {
        let begun = Instant::now();
        let mut stopped = self.stopped.clone();
        let mut position = 0;
        tokio::pin!(work);
        loop {
            let is_stopped = async {
                // The guard of the value must not live longer.
                let _ = stopped.wait_for(|stopped| *stopped).await.map(drop);
            };
            tokio::select! {
                report = &mut work => return FollowedCall::ended(report),
                () = is_stopped => break,
                () = tokio::time::sleep(LOOK) => self.show_output(item, process, &mut position).await,
            }
        }
        let report = self.runner.stop(process).await;
        let state = self.runner.commands().find(process).and_then(|command| command.state());
        let interruption = match state {
            Ok(CommandState::Ended(end)) if end.is_stopped => Some(stopped_after(begun)),
            Ok(CommandState::NotStarted | CommandState::Missing) => Some(CallDisposition::NotStarted),
            // It had ended by itself, or how it ended is not known: the report says so.
            _ => None,
        };
        FollowedCall { report, interruption }
    }

    async fn show_output(&self, item: &ItemId, process: &CommandId, position: &mut u64) {
        let Ok(command) = self.runner.commands().find(process) else { return };
        let mut reader = command.output(*position);
        let Ok(piece) = reader.read(SHOWN_AT_ONCE) else { return };
        *position = reader.position();
        if !piece.bytes.is_empty() {
            let delta = String::from_utf8_lossy(&piece.bytes).into_owned();
            self.show(Event::OutputDelta { item: item.clone(), delta }).await;
        }
    }

    /// Records the result of a call that ran here.
    async fn end_machine(&self, key: &ToolCallKey, followed: FollowedCall) -> CallEnd {
        let end = self.read_report(&followed);
        let state = followed.state();
        faults::point("before:loop-call-done").await;
        self.step(key, ToolCallStep::End { state, result_sealed: self.sealed(&end) }).await;
        faults::point("after:loop-call-done").await;
        end
    }

    fn read_report(&self, followed: &FollowedCall) -> CallEnd {
        let FollowedCall { report, interruption } = followed;
        if let Some((path, digest)) = &report.seen {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.note(PathBuf::clone(path), digest.clone());
        }
        let mut end = CallEnd::of(&report.outcome);
        if let Some(interruption) = *interruption {
            end.disposition = interruption;
        }
        if let Some(image) = &report.image {
            let (mime, data) = (image.media_type.to_owned(), STANDARD.encode(&image.bytes));
            end.parts.push(LogPart::Image { mime, data });
        }
        end.is_running = report.running.is_some();
        end
    }

    /// What the model sees of a file in a result that an earlier engine made, it may build on.
    fn note_settled(&self, machine: &MachineCall, end: &CallEnd) {
        let (MachineCall::Read { path, .. }
        | MachineCall::Edit { path, .. }
        | MachineCall::Write { path, .. }) = machine
        else {
            return;
        };
        let digest = digest_in(&talaria_agent::history::plain_text(&end.parts));
        let path = resolve_path(&self.scene.cwd, self.scene.home.as_deref(), path);
        if let (CallDisposition::Done, Some(digest), Ok(path)) = (end.disposition, digest, path) {
            self.read.lock().unwrap_or_else(PoisonError::into_inner).note(path.real, digest);
        }
    }

    /// Settles a call that an earlier engine may have run; `None` if it did not run and may run now.
    async fn settle(&self, key: &ToolCallKey, row: ToolCallRow, wait: CommandWait) -> Option<CallEnd> {
        match row.state {
            ToolCallState::Offered => return None,
            ToolCallState::Running => {}
            _ => return Some(self.stored_end(&row)),
        }
        let json = row.effect_record.as_deref().and_then(|sealed| self.services.seal.reveal(sealed));
        let record: Option<EffectRecord> = json.and_then(|json| serde_json::from_str(&json).ok());
        let process = match &record {
            Some(EffectRecord::Command { process }) => Some(process.clone()),
            _ => None,
        };
        let followed = match record {
            None => FollowedCall::ended(
                ToolOutcome::unknown(
                    "Talaria was stopped while the call ran, and no record of it can be read",
                )
                .into(),
            ),
            Some(record) => match self.runner.settle(&record).await {
                SettledCall::MayRepeat => return None,
                SettledCall::Running(process) => {
                    let work = self.runner.collect(&process, wait);
                    self.follow_command(&key.call, &process, work).await
                }
                SettledCall::Answered(report) => FollowedCall::ended(*report),
            },
        };
        let mut end = self.read_report(&followed);
        end.exit_code = process.and_then(|process| exit_code(&self.runner, &process));
        let state = followed.state();
        faults::point("before:loop-call-settled").await;
        self.step(key, ToolCallStep::Settle { state, result_sealed: self.sealed(&end) }).await;
        faults::point("after:loop-call-settled").await;
        Some(end)
    }

    fn stored_end(&self, row: &ToolCallRow) -> CallEnd {
        let json = row.result_sealed.as_deref().and_then(|sealed| self.services.seal.reveal(sealed));
        let stored: Option<(CallDisposition, Vec<LogPart>)> =
            json.and_then(|json| serde_json::from_str(&json).ok());
        if let Some((disposition, parts)) = stored {
            return CallEnd { disposition, parts, exit_code: None, is_running: false };
        }
        let disposition = match row.state {
            ToolCallState::Done => CallDisposition::Done,
            ToolCallState::Failed => CallDisposition::Failed,
            _ => CallDisposition::Unknown,
        };
        CallEnd::text(disposition, disposition.words())
    }

    fn sealed(&self, end: &CallEnd) -> Option<Vec<u8>> {
        let json = serde_json::to_string(&(end.disposition, &end.parts)).ok()?;
        self.services.seal.close(&json).ok()
    }

    /// Asks the person. No time limit decides for them.
    async fn ask_person(&self, item: &ItemId, questions: Vec<Question>) -> CallEnd {
        if !self.confinement.asks {
            let why =
                "no one is asked in this conversation (approval policy never); decide yourself and say so";
            return CallEnd::text(CallDisposition::Refused, why);
        }
        let ask = Ask::Input {
            thread: self.thread.clone(),
            item: Some(item.clone()),
            questions: questions.clone(),
            blocking: Some(true),
        };
        let Some(Decided { answer, .. }) = self.request(item, ask, None, None).await else {
            return CallEnd::text(CallDisposition::NotStarted, CallDisposition::NotStarted.words());
        };
        match &answer.content {
            Content::Answers(_) if answer.decision.is_yes() => {
                CallEnd::text(CallDisposition::Done, answers_text(&questions, &answer))
            }
            _ => {
                let reason = answer.given_reason().map(|reason| format!(": {reason}")).unwrap_or_default();
                CallEnd::text(CallDisposition::Refused, format!("The user did not answer{reason}."))
            }
        }
    }

    /// Does this process belong to the conversation? A model may name only its own.
    async fn is_own_process(&self, process: &CommandId) -> bool {
        self.services.store.tool_calls(&self.session).await.unwrap_or_default().iter().any(|row| {
            let json = row.effect_record.as_deref().and_then(|sealed| self.services.seal.reveal(sealed));
            let record: Option<EffectRecord> = json.and_then(|json| serde_json::from_str(&json).ok());
            matches!(record, Some(EffectRecord::Command { process: own }) if own == *process)
        })
    }

    async fn step(&self, key: &ToolCallKey, step: ToolCallStep) {
        self.record(None, vec![Change::ToolCall(key.clone(), step)], Vec::new()).await;
    }

    /// Has the turn write something down, and waits until that is done. A turn that is gone answers nothing: the call stops
    /// here, and the next engine continues from what is stored.
    async fn record(&self, offered: Option<ToolInvocation>, changes: Vec<Change>, events: Vec<Event>) {
        let (done, is_done) = oneshot::channel();
        let message = CallMessage::Record { offered: offered.map(Box::new), changes, events, done };
        if self.messages.send(message).await.is_err() || is_done.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Opens a request and returns the decision; `None` if the turn is stopped meanwhile.
    async fn request(
        &self,
        item: &ItemId,
        ask: Ask,
        place: Option<Place>,
        decided: Option<(Answer, Who, String)>,
    ) -> Option<Decided> {
        let (done, is_decided) = oneshot::channel();
        let message = CallMessage::Ask { item: item.clone(), ask: Box::new(ask), place, decided, done };
        self.messages.send(message).await.ok()?;
        is_decided.await.ok()
    }

    async fn show(&self, event: Event) {
        let _ = self.messages.send(CallMessage::Show(event)).await;
    }
}

/// The step of a call: the same before and after a crash.
pub(super) fn step_of(turn: &TurnId, seq: u64) -> ItemId {
    ItemId::new(format!("{}-call-{seq}", turn.as_str()))
}

fn process_of(call: &MachineCall) -> Option<&CommandId> {
    match call {
        MachineCall::Poll { process, .. }
        | MachineCall::Input { process, .. }
        | MachineCall::Kill { process } => Some(process),
        _ => None,
    }
}

fn not_started() -> CallEnd {
    CallEnd::text(CallDisposition::NotStarted, CallDisposition::NotStarted.words())
}

fn stopped_after(begun: Instant) -> CallDisposition {
    let after_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    CallDisposition::Stopped { after_ms }
}

fn stopped_end(begun: Instant) -> CallEnd {
    let disposition = stopped_after(begun);
    CallEnd::text(disposition, disposition.words())
}

/// What a call returned that ran on this machine.
struct FollowedCall {
    report: ToolReport,
    /// What the stop of the turn did to it, where its keeper confirms that.
    interruption: Option<CallDisposition>,
}

impl FollowedCall {
    fn ended(report: ToolReport) -> Self {
        Self { report, interruption: None }
    }

    /// Its state in the ledger.
    fn state(&self) -> ToolCallState {
        match self.interruption {
            Some(CallDisposition::NotStarted) => ToolCallState::Failed,
            _ => ended_state(self.report.outcome.verdict()),
        }
    }
}

fn ended_state(verdict: ToolVerdict) -> ToolCallState {
    match verdict {
        ToolVerdict::Done => ToolCallState::Done,
        ToolVerdict::Failed => ToolCallState::Failed,
        ToolVerdict::Unknown => ToolCallState::Unknown,
    }
}

/// The exit code of a command that has ended.
fn exit_code(runner: &LoopToolRunner, process: &CommandId) -> Option<i32> {
    match runner.commands().find(process).ok()?.state().ok()? {
        CommandState::Ended(end) => match end.ending {
            CommandEnding::Exited(code) => Some(code),
            CommandEnding::Signalled(_) | CommandEnding::NotStarted(_) => None,
        },
        _ => None,
    }
}

fn answers_text(questions: &[Question], answer: &Answer) -> String {
    let revealed = answer.revealed();
    let answers = &revealed["content"]["given"];
    let mut text = "The user answered, complete.".to_owned();
    for question in questions {
        let given = answers[&question.id].as_array().map(|given| {
            let words: Vec<String> =
                given.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
            words.join("; ")
        });
        text.push_str(&format!("\n{}\n  {}", question.question, given.unwrap_or_default()));
    }
    text
}
