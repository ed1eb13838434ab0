//! Codex as a runtime: opens the conversation of a session on a host (a new thread, one that a host of an earlier engine still
//! has loaded, or one that has to be resumed on another host), and follows background commands between turns.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex::attach::AttachThreadError;
use talaria_codex::branch::{self, BranchError};
use talaria_codex::client::{CallError, pause};
use talaria_codex::conversation::{BackgroundNews, CodexConversation, Options, Past, Reading};
use talaria_codex::current::CurrentHost;
use talaria_codex::host::{Host, HostError, HostSpec};
use talaria_codex::login::MISSED_LOGIN;
use talaria_codex::queue::{Delivery, ThreadQueue};
use talaria_codex::revival::{self, Revival, RevivalError};
use talaria_codex::spec::Surroundings;
use talaria_codex::threads::{OpenThread, ThreadError};
use talaria_codex::users_servers;
use talaria_codex_proto::settle::Vantage;
use talaria_codex_proto::wire::call::{DynamicTool, ThreadStart};
use talaria_codex_proto::wire::history::History;
use talaria_core::background::{BackgroundCommand, BackgroundEnd};
use talaria_core::event::{Started, Usage};
use talaria_core::outcome::{FailureCode, Report};
use talaria_core::tool::{OfferedTool, contract};
use talaria_store::{SessionRow, StoreError, TurnRow};

use crate::engine::Inner;
use crate::engine::run::background::KeptCommand;
use crate::engine::run::basis::ConversationBasis;
use crate::engine::run::opening::{self, Opened, Purpose, failed};
use crate::engine::run::runtime::FollowedAgain;
use crate::engine::run::servers::HostLogging;
use crate::engine::run::settings::{Settings, Wanted};
use crate::engine::tools::offered_tools;

/// How often a thread is asked for that its host does not have: the input may be on its way.
const ASKS: u32 = 3;

/// The pause before a Codex is ended that did not resume its conversation.
const MOMENT: Duration = Duration::from_millis(250);

/// A conversation on a thread of Codex.
pub(crate) struct CodexRuntime {
    pub(super) conversation: CodexConversation,
    /// Frames that arrived between turns and concern no background command.
    held: VecDeque<Delivery<'static>>,
}

/// The frames of a conversation, as they arrive.
pub(crate) struct CodexQueue(Arc<ThreadQueue>);

/// Frames that arrived.
pub(crate) struct CodexFrames(VecDeque<Delivery<'static>>);

impl CodexQueue {
    /// Waits for frames. Cancel-safe.
    pub(super) async fn next(&self) -> CodexFrames {
        CodexFrames(self.0.take().await)
    }
}

impl CodexRuntime {
    pub(super) fn host(&self) -> Option<String> {
        self.conversation.host().get().nonce().map(str::to_owned)
    }

    pub(super) async fn release(self) {
        let thread = self.conversation.started().thread.clone();
        self.conversation.host().get().release_thread(&thread).await;
    }

    pub(super) fn background(&self) -> Option<CodexQueue> {
        self.conversation.has_background().then(|| CodexQueue(self.conversation.queue()))
    }

    pub(super) async fn overhear(&mut self, CodexFrames(frames): CodexFrames) -> Vec<BackgroundNews> {
        let mut news = Vec::new();
        for frame in frames {
            if let Some(more) = self.conversation.overhear(&frame) {
                news.extend(more);
                continue;
            }
            if matches!(frame, Delivery::Gone(_)) {
                // A Codex that was killed leaves processes; they are ended before their end is reported.
                self.conversation.host().get().kill().await;
                news.extend(self.conversation.lose_background(BackgroundEnd::WithCodex));
            }
            self.held.push_back(frame);
        }
        news
    }

    pub(super) fn give_back(&mut self) {
        if !self.held.is_empty() {
            self.conversation.queue().give_back(std::mem::take(&mut self.held));
        }
    }

    /// Those of another host, and those that the host does not have any more, have ended.
    pub(super) async fn watch_again(&mut self, kept: Vec<KeptCommand>) -> FollowedAgain {
        if kept.is_empty() {
            return FollowedAgain::default();
        }
        let (host, thread) = (self.conversation.host().get(), self.conversation.started().thread.clone());
        let is_there = |one: &KeptCommand| {
            one.host.as_deref() == host.nonce() && one.thread == thread && host.is_alive()
        };
        let (there, elsewhere): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_there);
        let gone = |one: &KeptCommand| BackgroundNews::unreported(&one.command, BackgroundEnd::WithCodex);
        let mut news: Vec<BackgroundNews> = elsewhere.iter().map(gone).collect();
        let commands: Vec<BackgroundCommand> = there.into_iter().map(|one| one.command).collect();
        let answer = host.still_running(&thread, &commands).await;
        let confirmed = answer.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        // Without an answer they are followed, and not known to run: a Codex that died is reported as gone.
        let running = answer.unwrap_or_else(|_| commands.iter().map(|command| command.id.clone()).collect());
        for command in commands {
            if running.contains(&command.id) {
                news.push(BackgroundNews::gap(&command));
                self.conversation.watch_background(command);
            } else {
                news.push(BackgroundNews::unreported(&command, BackgroundEnd::Unseen));
            }
        }
        FollowedAgain { news, confirmed }
    }
}

/// Opens the conversation of a session.
pub(super) async fn open(
    engine: &Arc<Inner>,
    row: &SessionRow,
    settings: &Settings,
    options: Options,
    surroundings: Surroundings,
    purpose: Purpose,
) -> Result<(CodexRuntime, Opened), Box<Report>> {
    let mut spec = settings
        .spec(&engine.home, surroundings)
        .map_err(|problem| Box::new(failed(FailureCode::Other, problem.message)))?;
    let wanted: Option<Wanted> = row.asked.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let wanted = wanted.ok_or_else(|| {
        Box::new(failed(FailureCode::NotSent, "the stored request of the session cannot be read"))
    })?;
    let mut asked = wanted.thread();
    if let Some(model) = settings.model() {
        asked.model = Some(model.to_owned());
    }
    let brought = engine.servers.read(&engine.home, HostLogging::of(&spec));
    if !brought.config.is_empty() {
        asked.config.insert(users_servers::KEY.to_owned(), brought.config.into());
    }
    spec.referred = brought.variables;
    asked.hide_home = engine.hide_home();
    let config = engine.config();
    let memory = engine.opening_memory(row, &config).await;
    memory.append_to(&mut asked.developer_instructions);
    // Codex fixes the tools of a thread when it starts; one that is resumed keeps its own, whatever is sent.
    let tools = offered_tools(&config);
    asked.dynamic_tools = tools.iter().map(DynamicTool::of).collect();
    let started: Option<Started> = row.started.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let is_changed = wanted.is_changed() && purpose == Purpose::Send;
    let opening = Opening { engine, row, spec, asked, options, purpose, is_changed };
    let (conversation, mut opened) = match started {
        // A thread on which no turn was accepted may have vanished with its host.
        Some(before) => opening.resume(before).await?,
        None => opening.start().await?,
    };
    // A thread that was still loaded was sent nothing.
    let is_attached = |reading: &Reading| matches!(reading.vantage, Vantage::Reconnected);
    if !opened.reading.as_ref().is_some_and(is_attached) {
        opened.warnings.extend(engine.record_memory(row, &memory).await);
    }
    opened.offered = tools.iter().map(OfferedTool::from).collect();
    opened.warnings.splice(..0, brought.warnings.into_iter().chain(memory.warnings));
    Ok((conversation, opened))
}

struct Opening<'a> {
    engine: &'a Arc<Inner>,
    row: &'a SessionRow,
    spec: HostSpec,
    asked: ThreadStart,
    options: Options,
    purpose: Purpose,
    /// A person changed the permissions of the conversation: a thread that is loaded may have the earlier ones.
    is_changed: bool,
}

impl Opening<'_> {
    async fn start(self) -> Result<(CodexRuntime, Opened), Box<Report>> {
        let host = self.logged_in().await?;
        let basis = ConversationBasis::of_row(self.row);
        let mut impossible = None;
        if let Some(point) = basis.clone().and_then(ConversationBasis::branch_point) {
            self.refuse_older(&host)?;
            match branch::branch(&host, &point, &self.asked).await {
                Ok(thread) => {
                    let (warnings, past) = (thread.warnings.clone(), self.past().await);
                    let conversation = self.conversation(host, thread, past);
                    return Ok((conversation, Opened { warnings, ..Opened::default() }));
                }
                Err(BranchError::Impossible(why)) => impossible = Some(why),
                Err(BranchError::Thread(error)) => return Err(Box::new(no_thread(&error))),
            }
        }
        let thread = host.start_thread(&self.asked).await.map_err(|error| Box::new(no_thread(&error)))?;
        let mut warnings = thread.warnings.clone();
        if basis.is_some() {
            let past = self.earlier().await.map_err(|error| Box::new(unread(&error)))?;
            let seeded = revival::seed(&host, &thread.started.thread, &past.digest()).await;
            let bytes = seeded.map_err(|error| Box::new(no_thread(&error.into())))?;
            warnings.extend(digest_note(bytes, impossible));
            let conversation = self.conversation(host, thread, past);
            return Ok((
                conversation,
                Opened { warnings, contract: Some(self.contract()), ..Opened::default() },
            ));
        }
        let past = match self.imported().await.map_err(|error| Box::new(unread(&error)))? {
            Some((program, past)) => {
                let seeded = revival::seed(&host, &thread.started.thread, &past.digest()).await;
                seeded.map_err(|error| Box::new(no_thread(&error.into())))?;
                warnings.push(format!(
                    "this conversation came from {program}; it continues on a new thread of Codex that has a digest of what \
                     was said"
                ));
                past
            }
            None => Past::default(),
        };
        let conversation = self.conversation(host, thread, past);
        Ok((conversation, Opened { warnings, contract: Some(self.contract()), ..Opened::default() }))
    }

    /// A Codex that someone is logged in to. It reads that when it starts: one that missed a login is replaced.
    async fn logged_in(&self) -> Result<Arc<Host>, Box<Report>> {
        let get =
            || async { self.engine.hosts.get(&self.spec).await.map_err(|error| Box::new(no_host(&error))) };
        let host = get().await?;
        let refused = match check_login(&host).await {
            Ok(()) => return Ok(host),
            Err(refused) => refused,
        };
        if !host.missed_login() {
            return Err(refused);
        }
        host.drain(MISSED_LOGIN);
        let host = get().await?;
        check_login(&host).await?;
        Ok(host)
    }

    /// Resumes a conversation that an engine had open.
    async fn resume(self, before: Started) -> Result<(CodexRuntime, Opened), Box<Report>> {
        let known = self.row.host.as_deref().and_then(|nonce| self.engine.hosts.named(nonce));
        if let Some(host) = known.filter(|host| host.is_alive()) {
            match self.attach(&host, &before).await {
                Ok(Some((thread, reading))) => {
                    let warnings = thread.warnings.clone();
                    let past = self.past().await;
                    let conversation = self.conversation(host, thread, past);
                    let reading = reading
                        .map(|history| Reading { history: Ok(history), vantage: Vantage::Reconnected });
                    return Ok((conversation, Opened { reading, warnings, ..Opened::default() }));
                }
                Ok(None) => {}
                // Nothing was ever accepted there, and there is nothing to be resumed.
                Err(error) if self.row.thread.is_none() && self.is_over(&error) => {
                    return self.start().await;
                }
                Err(error) => {
                    // An engine that is being shut down loses its connections first. It must not end Codex, which waits
                    // for the next engine, and a moment later it is gone itself.
                    tokio::time::sleep(MOMENT).await;
                    tracing::warn!("session {}: its host does not resume it: {error}", self.row.id);
                    // Codex lets only one process at a time write to a conversation.
                    if host.has_other_turns(&before.thread) {
                        host.drain("it could not resume a conversation");
                    } else {
                        host.terminate("Codex could no longer resume a conversation").await;
                    }
                }
            }
        } else if self.row.thread.is_none() && self.purpose == Purpose::Send {
            return self.start().await;
        }
        // An engine that died before it could record that Codex took the input may have left a whole turn there.
        self.revive(&before).await
    }

    /// Does it follow that the thread has nothing that is worth looking for? A Codex that died meanwhile says nothing.
    fn is_over(&self, error: &ThreadError) -> bool {
        self.purpose == Purpose::Send || matches!(error, ThreadError::Call(CallError::Refused { .. }))
    }

    /// Resumes a thread on the host that has it; without a change if it is loaded there. None if it is not, and its MCP
    /// servers need another host: one with the variables that they refer to.
    async fn attach(
        &self,
        host: &Arc<Host>,
        before: &Started,
    ) -> Result<Option<(OpenThread, Option<History>)>, ThreadError> {
        let mut asks = 1;
        let thread = &before.thread;
        loop {
            let taken = match host.attach_thread(thread).await {
                Ok(attached)
                    if self.is_changed && !host.is_as_asked(&attached.thread.standing, &self.asked) =>
                {
                    host.unload_thread(thread).await?;
                    self.resume_on(host, before).await
                }
                Ok(mut attached) => {
                    attached.thread.warnings.extend(host.shown_files(&attached.thread.standing, &self.asked));
                    Ok(Some((attached.thread, Some(attached.history.resumed_warm()))))
                }
                Err(AttachThreadError::NotLoaded) if self.needs_another(host) => Ok(None),
                Err(AttachThreadError::NotLoaded) => {
                    if self.is_changed {
                        // An engine may have ended in the middle of unloading it.
                        host.restore_thread(thread).await?;
                    }
                    self.resume_on(host, before).await
                }
                Err(AttachThreadError::Call(error)) => Err(error.into()),
            };
            match taken {
                Err(ThreadError::Call(CallError::Refused { .. })) if asks < ASKS => {
                    tokio::time::sleep(pause(asks)).await;
                    asks += 1;
                }
                taken => return taken,
            }
        }
    }

    async fn resume_on(
        &self,
        host: &Arc<Host>,
        before: &Started,
    ) -> Result<Option<(OpenThread, Option<History>)>, ThreadError> {
        let resumed = host.resume_thread(&before.thread, &self.asked_again(before)).await;
        resumed.map(|thread| Some((thread, None)))
    }

    /// Codex forgets the effort of a conversation that is resumed with a model (0.130 and 0.166).
    fn asked_again(&self, before: &Started) -> ThreadStart {
        let mut asked = self.asked.clone();
        if let (Some(_), None, Some(effort)) = (&asked.model, asked.effort(), &before.effort) {
            asked.set_effort(effort.clone());
        }
        asked
    }

    fn needs_another(&self, host: &Arc<Host>) -> bool {
        let can_move = self.purpose == Purpose::Send && self.row.thread.is_some();
        can_move && !self.spec.referred.is_empty() && !self.engine.hosts.is_fit(host, &self.spec)
    }

    async fn revive(self, before: &Started) -> Result<(CodexRuntime, Opened), Box<Report>> {
        let past = self.past().await;
        let digest = past.digest();
        let source = self.engine.hosts.source(self.spec.clone());
        let revived = revival::revive(&*source, &self.asked, before, &digest).await;
        let revived = revived.map_err(|error| Box::new(not_revived(&error)))?;
        let (past, notice, contract) = match &revived.how {
            Revival::Resumed => (past, None, None),
            // A fresh thread has no turns and has spent nothing.
            Revival::Seeded { .. } => {
                (past.on_a_new_thread(), Some(revived.how.to_string()), Some(self.contract()))
            }
        };
        let reading = match self.purpose {
            Purpose::Send => None,
            Purpose::TakeUp => {
                let history = match &revived.how {
                    Revival::Resumed => {
                        let read = revived.host.read_thread(&before.thread).await;
                        read.map_err(|error| error.to_string())
                    }
                    // Another thread says nothing about what the first one took.
                    Revival::Seeded { why, .. } => Err(format!("the conversation cannot be read: {why}")),
                };
                Some(Reading { history, vantage: Vantage::AfterItsEnd })
            }
        };
        let is_stopped = self.row.host.as_ref().is_some_and(|host| self.engine.stopped_hosts.contains(host));
        let gone = match is_stopped {
            true => "`talaria stop` ended Codex while the turn ran and no engine lived",
            false => "Codex ended while the turn ran",
        };
        let gone = Some(gone.to_owned());
        let warnings = revived.thread.warnings.clone();
        let conversation = self.conversation(revived.host, revived.thread, past);
        Ok((conversation, Opened { notice, warnings, gone, reading, contract, ..Opened::default() }))
    }

    fn conversation(&self, host: Arc<Host>, thread: OpenThread, past: Past) -> CodexRuntime {
        let current = CurrentHost::new(host, self.engine.hosts.source(self.spec.clone()));
        let (id, asked, options) = (self.row.id.clone(), self.asked.clone(), self.options.clone());
        let conversation = CodexConversation::with(id, current, asked, options, thread, past);
        CodexRuntime { conversation, held: VecDeque::new() }
    }

    /// The contract of a thread that is started.
    fn contract(&self) -> i64 {
        let names: Vec<&str> = self.asked.dynamic_tools.iter().map(|tool| tool.name.as_str()).collect();
        contract::of_new_thread(&names)
    }

    /// The program that a conversation was imported from, with its transcript; none for one that began here.
    async fn imported(&self) -> Result<Option<(String, Past)>, StoreError> {
        let shelf = &self.engine.shelf;
        let Some(origin) = shelf.store.origin(&self.row.id).await? else { return Ok(None) };
        Ok(Some((origin.program, self.earlier().await?)))
    }

    /// The messages of the turns that count, for a thread that does not have them.
    async fn earlier(&self) -> Result<Past, StoreError> {
        let messages = opening::earlier_messages(&self.engine.shelf, &self.row.id, 0).await?;
        Ok(Past { messages, ..Past::default() })
    }

    /// An older Codex never opens a thread of a newer one.
    fn refuse_older(&self, host: &Host) -> Result<(), Box<Report>> {
        let kept = self.row.codex_version.as_deref().and_then(|version| version.parse().ok());
        match kept {
            Some(kept) if *host.version() < kept => {
                let found = host.version().clone();
                Err(Box::new(not_revived(&RevivalError::Older { kept, found })))
            }
            _ => Ok(()),
        }
    }

    /// Earlier facts about the conversation.
    async fn past(&self) -> Past {
        let store = &self.engine.shelf.store;
        let turns = store.last_turns(&self.row.id, None, u32::MAX).await.unwrap_or_default();
        let settled = turns.iter().filter(|turn| turn.settled_at.is_some() && turn.undone_at.is_none());
        let last_turn = settled.clone().filter_map(|turn| turn.codex_turn.clone()).next_back();
        let usage = |turn: &TurnRow| serde_json::from_str::<Usage>(turn.usage.as_deref()?).ok();
        let mut total = settled.filter_map(usage).fold(Usage::default(), Usage::plus);
        // Codex's own total of a copy, or of a thread that began with a digest, is another one: its first report says which.
        total.partial |= self.row.basis.is_some();
        let messages = opening::messages(&self.engine.shelf, &self.row.id).await;
        Past { last_turn, total, messages }
    }
}

/// Codex would notice only after minutes of retries that there is no login.
async fn check_login(host: &Host) -> Result<(), Box<Report>> {
    let account = host.account().await.map_err(|error| {
        Box::new(failed(FailureCode::NotSent, format!("cannot ask Codex who is logged in: {error}")))
    })?;
    if account.requires_openai_auth && account.account.is_none() {
        let why =
            "Codex is not logged in: the configured model provider needs an OpenAI login, and there is none";
        return Err(Box::new(failed(FailureCode::Auth, why)));
    }
    Ok(())
}

/// What a person should know about a conversation that continues from a digest.
fn digest_note(bytes: usize, impossible: Option<String>) -> Option<String> {
    let why = impossible.map(|why| format!(" (Codex could not copy its thread: {why})")).unwrap_or_default();
    (bytes > 0).then(|| {
        format!(
            "this conversation continues on a new thread of Codex that has a digest of what was said before; results of \
             tools, reasoning and images are not in it{why}"
        )
    })
}

fn unread(error: &StoreError) -> Report {
    failed(FailureCode::NotSent, format!("the earlier messages of the conversation cannot be read: {error}"))
}

fn no_host(error: &HostError) -> Report {
    let code = match error {
        HostError::Spawn { .. } => FailureCode::Codex,
        _ => FailureCode::NotSent,
    };
    failed(code, format!("cannot start Codex: {error}")).with_next(error.next_step())
}

fn no_thread(error: &ThreadError) -> Report {
    failed(FailureCode::NotSent, format!("Codex did not start the conversation: {error}"))
        .with_next(error.next_step())
}

fn not_revived(error: &RevivalError) -> Report {
    failed(FailureCode::NotSent, error.to_string()).with_next(error.next_step())
}
