//! The built-in loop as a runtime: Talaria asks a model provider itself and runs the tools.
//!
//! A conversation is its stored history (`log`); nothing of it lives in another process, so that opening one starts nothing. A
//! turn is `turn::RunningLoop` around the pure machine of `talaria-agent`; its calls are `calls::CallScene`. `prompt` writes the
//! head of a new conversation.

mod attempt_rows;
mod calls;
mod deadline;
mod doubt;
mod dump;
mod hints;
mod items;
mod log;
mod long_input;
mod lost;
mod prompt;
mod prompt_parts;
mod said;
mod servers;
mod side_question;
mod summarising;
mod turn;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use talaria_agent::encode::{LoopToolSpec, RequestHead, RequestOmissions};
use talaria_agent::fold::IncompleteReason;
use talaria_agent::history::{CallDisposition, CallId, LogEntry, LogItem, LogPart, ModelIssuer};
use talaria_agent::loop_turn::{LeftModel, LeftTurn, LoopSetup, LoopTurn, ModelRoute};
use talaria_agent::profile::{ConfiguredProvider, ProviderProfile, configured_providers};
use talaria_agent::transport::KeyState;
use talaria_codex::conversation::{Command, Flown, Options, Past, Prompt, Watcher as _};
use talaria_codex::revival::framed_digest;
use talaria_codex::secrets::command_profile;
use talaria_codex::spec::Surroundings;
use talaria_codex_proto::settle::Deed;
use talaria_codex_proto::wire::call::SandboxPolicy;
use talaria_core::bounds::Confinement;
use talaria_core::config::Config;
use talaria_core::event::{Event, QueuedInput, Stage, Started, Usage};
use talaria_core::event_redactor::EventRedactor;
use talaria_core::gate::RequestGate;
use talaria_core::hook;
use talaria_core::ids::{ItemId, SessionId, ThreadId, TurnId};
use talaria_core::input::InputPart;
use talaria_core::item::ItemBody;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::policy::{ApprovalPolicy, HideHome, Sandbox};
use talaria_core::provider::FallbackModel;
use talaria_core::tool::ledger::ToolCallState;
use talaria_core::tool::{OfferedTool, ToolConfinement, ToolEffect, ToolSpec, contract};
use talaria_mcp::{OfferedServerTool, ToolAccess};
use talaria_store::{AttemptEnding, Change, ModelAttemptRow, SessionRow, StoreError, ToolCallKey};
use talaria_tools::call::loop_tools;
use talaria_tools::environment::{EnvironmentRules, command_environment};
use talaria_tools::files::{FileBounds, resolve_path, view_image};
use talaria_tools::runner::{LoopScene, LoopToolRunner, ReadFiles};
use talaria_tools::sandbox::{HidingProfile, NetworkAccess, SandboxBounds, SandboxProgram};
use tokio::sync::mpsc;

use crate::engine::Inner;
use crate::engine::journal::Journal;
use crate::engine::run::opening::{Opened, Purpose, earlier_messages, failed};
use crate::engine::run::provider_health::ProviderHealth;
use crate::engine::run::providers::find_provider;
use crate::engine::run::settings::{Settings, Wanted};
use crate::engine::tools::{offered_tools, search_tool};
use calls::CallScene;
use hints::ProjectHints;
use items::LeftSteps;
use log::{LoopHead, StoredLog};
pub(crate) use lost::close_lost_turn;
use prompt::ProjectNote;
pub(crate) use prompt_parts::loop_prompt_parts;
use servers::LoopServers;
pub(super) use side_question::LoopSideQuestion;
use turn::{LoopDeed, LoopStart, RunningLoop};

/// The most model requests of a turn.
const MOST_ROUNDS: u32 = 200;
/// The shell that reads the lines of `run`.
const SHELL: &str = "/bin/bash";
const PLAIN_SHELL: &str = "/bin/sh";

/// An open conversation of the built-in loop.
#[derive(Clone)]
pub(crate) struct LoopRuntime {
    engine: Arc<Inner>,
    session: SessionId,
    cwd: PathBuf,
    wanted: Wanted,
    is_task: bool,
    sandbox: Sandbox,
    approval: ApprovalPolicy,
    options: Options,
    surroundings: Surroundings,
    started: Started,
    /// The Codex whose sandbox commands run in, if there is one.
    program: Option<SandboxProgram>,
    /// The memory that a new conversation is begun with.
    memory: Option<String>,
    /// A digest of what was said before it was imported.
    past: Option<String>,
    tools: Vec<ToolSpec>,
    read: Arc<Mutex<ReadFiles>>,
    /// The provider and the effort without effect there that people were warned of.
    warned_effort: Option<(String, String)>,
    /// The provider without a search of its own that people were warned of.
    warned_search: Option<String>,
    /// The words about models of the fallback chain that people have read.
    warned_fallbacks: Vec<String>,
    /// The last warning about the model that is to summarise.
    warned_summariser: Option<String>,
}

/// The provider of a turn.
#[derive(Clone)]
pub(super) struct LoopProvider {
    pub(super) found: ConfiguredProvider,
    pub(super) model: String,
    pub(super) surroundings: Surroundings,
}

impl LoopProvider {
    /// The name of the model for people: `provider/model`.
    fn name(&self) -> String {
        format!("{}/{}", self.found.profile.name, self.model)
    }

    fn issuer(&self) -> ModelIssuer {
        let profile = &self.found.profile;
        ModelIssuer { provider: profile.name.clone(), base_url: profile.base_url.clone(), account: None }
    }

    /// What it is known to refuse.
    fn omissions(&self, health: &ProviderHealth) -> RequestOmissions {
        let parameters = health.refused(&self.found.profile.base_url, &self.model);
        RequestOmissions { parameters, ..RequestOmissions::default() }
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
) -> Result<(LoopRuntime, Opened), Box<Report>> {
    let not_sent = |why: String| Box::new(failed(FailureCode::NotSent, why));
    let wanted = Wanted::of_row(row)
        .ok_or_else(|| not_sent("the stored request of the session cannot be read".to_owned()))?;
    let config = engine.config();
    // Both are decided when the conversation is recorded.
    let sandbox = wanted.sandbox().unwrap_or(Sandbox::ReadOnly);
    let approval = wanted.approval().unwrap_or(ApprovalPolicy::OnRequest);
    let model = settings.model().map(str::to_owned).or_else(|| wanted.model().map(str::to_owned));
    let started = Started {
        thread: ThreadId::new(row.id.as_str()),
        cwd: row.cwd.clone(),
        model: model.unwrap_or_default(),
        provider: settings.provider().unwrap_or_default().to_owned(),
        effort: settings.effort().map(str::to_owned),
        sandbox: sandbox.to_string(),
        approval: approval.to_string(),
        codex: String::new(),
        path: None,
    };
    let history = engine.shelf.store.model_history(&row.id, 0, 1).await;
    let is_new = history.map_err(|error| not_sent(error.to_string()))?.is_empty() && purpose == Purpose::Send;
    let mut opened = Opened::default();
    let (mut memory, mut past) = (None, None);
    if is_new {
        opened.warnings.extend(wanted.notes().iter().cloned());
        if let Some(program) = imported_from(engine, row).await? {
            past = digest_of_past(engine, row).await?;
            opened.warnings.push(format!(
                "this conversation came from {program}; it continues on the built-in loop with a digest of what was said"
            ));
        }
        let opening = engine.opening_memory(row, &config).await;
        opening.append_to(&mut memory);
        opened.warnings.extend(engine.record_memory(row, &opening).await);
        opened.warnings.extend(opening.warnings);
    }
    let tools = offered_tools(&config);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    opened.contract = is_new.then(|| contract::of_new_thread(&names));
    opened.offered = tools.iter().map(OfferedTool::from).collect();
    let runtime = LoopRuntime {
        engine: Arc::clone(engine),
        session: row.id.clone(),
        cwd: PathBuf::from(&row.cwd),
        is_task: row.alias.is_some(),
        wanted,
        sandbox,
        approval,
        options,
        surroundings,
        started,
        program: settings.sandbox_program(),
        memory,
        past,
        tools,
        read: Arc::default(),
        warned_effort: None,
        warned_search: None,
        warned_fallbacks: Vec::new(),
        warned_summariser: None,
    };
    Ok((runtime, opened))
}

/// The program that a conversation was imported from; none for one that began here.
async fn imported_from(engine: &Inner, row: &SessionRow) -> Result<Option<String>, Box<Report>> {
    let origin = engine.shelf.store.origin(&row.id).await.map_err(|error| unread_past(&error))?;
    Ok(origin.map(|origin| origin.program))
}

async fn digest_of_past(engine: &Inner, row: &SessionRow) -> Result<Option<String>, Box<Report>> {
    let messages = earlier_messages(&engine.shelf, &row.id).await.map_err(|error| unread_past(&error))?;
    Ok(framed_digest(&Past { messages, ..Past::default() }.digest()))
}

fn unread_past(error: &StoreError) -> Box<Report> {
    let why = format!("the earlier messages of the conversation cannot be read: {error}");
    Box::new(failed(FailureCode::NotSent, why))
}

impl LoopRuntime {
    pub(super) fn in_force(&self) -> &Started {
        &self.started
    }

    /// Makes further turns run with these settings and in the environment of the command that asks for them: a person who
    /// corrected a key continues with it.
    pub(super) fn prepare(&mut self, options: Options, settings: &Settings, surroundings: &Surroundings) {
        self.options = options;
        self.surroundings = surroundings.clone();
        self.started.effort = settings.effort().map(str::to_owned);
        if let Some(model) = settings.model() {
            model.clone_into(&mut self.started.model);
        }
        if let Some(provider) = settings.provider() {
            provider.clone_into(&mut self.started.provider);
        }
    }

    /// Sends a prompt and follows the turn to its end.
    pub(super) async fn run(
        &mut self,
        prompt: Prompt,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        journal: &mut Journal,
    ) -> Report {
        match self.begin(prompt, journal).await {
            Ok(running) => running.run(commands).await,
            Err(report) => end(journal, *report).await,
        }
    }

    /// Continues a turn that an earlier engine began.
    pub(super) async fn resume(
        &mut self,
        prompt: Prompt,
        flown: Flown,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        journal: &mut Journal,
    ) -> Report {
        match self.continue_turn(prompt, &flown, journal).await {
            Ok(running) => running.run(commands).await,
            Err(report) => {
                // Requests were sent and calls may have run: this turn did not merely fail to begin.
                let cause = report.message.clone().unwrap_or_default();
                let why = format!("Talaria ended while the turn ran, and it cannot be continued: {cause}");
                let spent = close_lost_turn(&self.engine, journal, &self.session, &flown.events).await;
                end(journal, Report::new(Outcome::Lost { why }, None, spent, 0)).await
            }
        }
    }

    async fn begin<'a>(
        &mut self,
        prompt: Prompt,
        journal: &'a mut Journal,
    ) -> Result<RunningLoop<'a>, Box<Report>> {
        let provider = self.provider().await?;
        // A turn of an earlier engine waits for its key like one that was in the middle of its work.
        let is_asked_here = !self.surroundings.is_own();
        if let KeyState::Missing { variables } =
            self.engine.provider_keys.find(&provider.found, &provider.surroundings, &self.engine.home)
            && is_asked_here
        {
            let name = &provider.found.profile.name;
            let why = format!("there is no key for {name}: set {}", variables.join(" or "));
            return Err(Box::new(failed(FailureCode::Auth, why)));
        }
        let mut parts =
            input_parts(&prompt.input).map_err(|why| Box::new(failed(FailureCode::NotSent, why)))?;
        for message in
            self.shorten_input(&mut parts, provider.found.profile.model(&provider.model).window).await?
        {
            journal.event(Event::Warning { message });
        }
        parts.extend(prompt.context.as_deref().map(|context| LogPart::text(hook::fence(context))));
        let log = self.read_log(journal).await?;
        let mut left = Vec::new();
        for call in log.open_calls() {
            left.push(self.left_result(journal, call).await);
        }
        let is_compaction = prompt.deed == Deed::Compaction;
        let ordinal = journal.ordinal();
        let said_at =
            log.next + u64::from(log.head.is_none()) + u64::try_from(left.len()).unwrap_or_default();
        let request = (!is_compaction).then_some(said_at);
        let (compaction, summarisers) = self.compaction(&provider, &log, request, journal).await;
        let StoredLog { head, mut entries, mut next, prefix_epoch, .. } = log;
        let head = match head {
            Some(head) => head,
            None => {
                let (offer, warnings) = self.servers(&[]).offer().await;
                for message in warnings {
                    journal.event(Event::Warning { message });
                }
                let has_search = self.engine.config().web.searxng_url.is_some();
                let (system, warnings) = self.system_prompt();
                for message in warnings {
                    journal.event(Event::Warning { message });
                }
                let head = LoopHead { system, has_search, server_tools: offer.tools };
                let row = log::head_row(journal.services(), ordinal, next, &head).ok_or_else(unsealed)?;
                journal.change(Change::History(row));
                next += 1;
                if let Some(past) = &self.past {
                    parts.insert(0, LogPart::text(past.clone()));
                }
                head
            }
        };
        let said = (!is_compaction).then_some(LogItem::User { parts });
        for item in left.into_iter().chain(said) {
            let entry = LogEntry::own(next, item);
            let row = log::row(journal.services(), ordinal, prefix_epoch, &entry).ok_or_else(unsealed)?;
            journal.change(Change::History(row));
            entries.push(entry);
            next += 1;
        }
        let turn = self.turn_id(ordinal);
        let client_id = prompt.client_id;
        // A person who asked for a compaction said nothing to the model.
        let shown = (!is_compaction).then(|| {
            let id = client_id.clone().unwrap_or_else(|| turn.to_string());
            said::said(&turn, 0, QueuedInput::of(&prompt.input), Some(id))
        });
        journal.event(Event::Ledger { stage: Stage::Accepted, client_id, after: None });
        journal.event(Event::TurnStarted { turn: turn.clone() });
        if let Some(shown) = shown {
            EventRedactor::default().cover(shown, &mut |event| journal.event(event));
        }
        let profile = &provider.found.profile;
        for message in self.effort_warning(profile).into_iter().chain(self.search_warning(profile)) {
            journal.event(Event::Warning { message });
        }
        if self.warned_summariser != summarisers.warning {
            self.warned_summariser.clone_from(&summarisers.warning);
            for message in summarisers.warning.iter().cloned() {
                journal.event(Event::Warning { message });
            }
        }
        journal.keep().await.map_err(|error| Box::new(failed(FailureCode::Other, error.to_string())))?;
        let known = (self.servers(&head.server_tools), ProjectHints::new(&self.cwd, &entries));
        let models = self.models(&provider, journal);
        let setup =
            LoopSetup { compaction: Some(compaction), ..self.setup_with(&models, turn.clone(), head) };
        let machine = LoopTurn::new(setup, entries, LeftTurn::default());
        let deed = if is_compaction { LoopDeed::Compaction { is_done: false } } else { LoopDeed::Words };
        let start = LoopStart {
            engine: Arc::clone(&self.engine),
            ordinal,
            deed,
            prefix_epoch,
            machine,
            models,
            provider,
            summarisers: summarisers.providers,
            limit: prompt.limit,
            journal,
        };
        Ok(self.running(start, turn, known))
    }

    /// A warning about an effort that the requests of this provider cannot have, once for each.
    fn effort_warning(&mut self, profile: &ProviderProfile) -> Option<String> {
        let effort = self.options.effort.as_ref().filter(|_| !profile.takes_effort())?;
        let warned = Some((profile.name.clone(), effort.clone()));
        let is_new = self.warned_effort != warned;
        self.warned_effort = warned;
        is_new.then(|| {
            format!(
                "the effort {effort} has no effect: {} has no setting for it that Talaria knows",
                profile.title
            )
        })
    }

    /// A warning that a provider which is to search the web cannot, once for each.
    fn search_warning(&mut self, profile: &ProviderProfile) -> Option<String> {
        let is_useless = profile.wants_search && !profile.searches_itself();
        let warned = is_useless.then(|| profile.name.clone());
        let is_new = warned.is_some() && self.warned_search != warned;
        self.warned_search = warned;
        is_new.then(|| {
            let ProviderProfile { name, title, .. } = profile;
            format!(
                "providers.{name}.web_search has no effect: {title} has no search of its own that Talaria knows; a SearXNG \
                 (web.searxng_url) works with every provider"
            )
        })
    }

    async fn continue_turn<'a>(
        &mut self,
        prompt: Prompt,
        flown: &Flown,
        journal: &'a mut Journal,
    ) -> Result<RunningLoop<'a>, Box<Report>> {
        let provider = self.provider().await?;
        let log = self.read_log(journal).await?;
        let ordinal = journal.ordinal();
        let text = log.said_in(ordinal);
        let (compaction, summarisers) =
            self.compaction(&provider, &log, log.request_of(ordinal), journal).await;
        let deed = match prompt.deed {
            Deed::Compaction => LoopDeed::Compaction { is_done: log.is_compacted_in(ordinal) },
            _ => LoopDeed::Words,
        };
        let StoredLog { head, entries, prefix_epoch, .. } = log;
        let head = head.ok_or_else(unsealed)?;
        let attempts = journal.services().store.model_attempts(&self.session, ordinal).await;
        let attempts = attempts.map_err(|error| Box::new(failed(FailureCode::Other, error.to_string())))?;
        let turn = self.turn_id(ordinal);
        let known = (self.servers(&head.server_tools), ProjectHints::new(&self.cwd, &entries));
        let models = self.models(&provider, journal);
        let setup =
            LoopSetup { compaction: Some(compaction), ..self.setup_with(&models, turn.clone(), head) };
        let made = u64::try_from(attempts.len()).unwrap_or(u64::MAX);
        let is_answered = attempts.last().is_some_and(|last| last.ending == Some(AttemptEnding::Completed));
        let last = attempts.last().filter(|last| last.ending == Some(AttemptEnding::Incomplete));
        let incomplete = last.map(|last| last.failure_text.as_deref().unwrap_or_default());
        let incomplete = incomplete.map(IncompleteReason::of_words);
        let model = left_model(&flown.events, &provider.name());
        let left = LeftTurn { attempts: made, usage: spent(&attempts), text, is_answered, incomplete, model };
        let machine = LoopTurn::new(setup, entries, left);
        let start = LoopStart {
            engine: Arc::clone(&self.engine),
            ordinal,
            deed,
            prefix_epoch,
            machine,
            models,
            provider,
            summarisers: summarisers.providers,
            limit: prompt.limit.map(|limit| limit.saturating_sub(flown.flight.used)),
            journal,
        };
        let mut running = self.running(start, turn, known);
        running.scene.left = Arc::new(LeftSteps::of(&flown.events));
        running.replay(&flown.events);
        running.void_unfinished(&flown.events, made);
        Ok(running)
    }

    /// The provider and the model that are in force for this turn.
    async fn provider(&mut self) -> Result<LoopProvider, Box<Report>> {
        let not_sent = |why: String| Box::new(failed(FailureCode::NotSent, why));
        let row = self.engine.shelf.store.session(&self.session).await;
        let row = row.map_err(|error| not_sent(error.to_string()))?;
        let settings = row.as_ref().and_then(Settings::of_row);
        let settings =
            settings.ok_or_else(|| not_sent("the settings of the session cannot be read".to_owned()))?;
        let name = settings.provider().unwrap_or_default();
        let found =
            find_provider(name, &self.engine.config()).map_err(|problem| not_sent(problem.message))?;
        let model = settings.model().or_else(|| self.wanted.model());
        let model = model.ok_or_else(|| not_sent(format!("no model of {name} is named")))?.to_owned();
        self.started.model.clone_from(&model);
        self.started.provider.clone_from(&found.profile.name);
        self.started.effort = settings.effort().map(str::to_owned);
        Ok(LoopProvider { found, model, surroundings: self.surroundings.clone() })
    }

    async fn read_log(&self, journal: &Journal) -> Result<StoredLog, Box<Report>> {
        let read = log::read(journal.services(), &self.session).await;
        let log = read.map_err(|error| Box::new(failed(FailureCode::NotSent, error.to_string())))?;
        let home = self.surroundings.variable("HOME").map(PathBuf::from);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if *read == ReadFiles::default() {
            *read = log::files_seen(&log.entries, &self.cwd, home.as_deref());
        }
        drop(read);
        Ok(log)
    }

    /// The result of a call that a turn before left without one, because it could not be continued.
    async fn left_result(&self, journal: &Journal, (turn, seq, call): (i64, u64, CallId)) -> LogItem {
        let key = ToolCallKey {
            thread: self.started.thread.clone(),
            turn: self.turn_id(turn),
            call: calls::step_of(&self.turn_id(turn), seq),
        };
        let disposition = match journal.services().store.tool_call(&key).await {
            Ok(None) => CallDisposition::NotStarted,
            Ok(Some(row)) => match row.state {
                ToolCallState::Offered => CallDisposition::NotStarted,
                ToolCallState::Done => CallDisposition::Done,
                ToolCallState::Failed => CallDisposition::Failed,
                ToolCallState::Running | ToolCallState::Unknown => CallDisposition::Unknown,
            },
            Err(_) => CallDisposition::Unknown,
        };
        LogItem::Result { call, disposition, parts: vec![LogPart::text(disposition.words())] }
    }

    fn turn_id(&self, ordinal: i64) -> TurnId {
        TurnId::new(format!("{}-{ordinal}", self.session.short()))
    }

    /// The system prompt, and what a person should know about it.
    fn system_prompt(&self) -> (Vec<String>, Vec<String>) {
        let prompt = prompt::system_prompt(&prompt::PromptFacts {
            cwd: &self.cwd,
            sandbox: self.sandbox,
            approval: self.approval,
            further_roots: self.wanted.writable_roots(),
            excluded: self.wanted.excluded(),
            has_network: self.has_network(),
            is_task: self.is_task,
            memory: self.memory.clone(),
            project_chars: self.engine.config().model.project_chars(),
        });
        let mut warnings = Vec::new();
        for ProjectNote { subject, trouble } in prompt.notes {
            match trouble {
                Some(trouble) => warnings.extend(self.engine.memory.report(&subject, trouble)),
                None => self.engine.memory.settle(&subject),
            }
        }
        (prompt.tiers, warnings)
    }

    /// The models that may answer in a turn: the chosen one, and those of the fallback chain that can be asked.
    fn models(&mut self, chosen: &LoopProvider, journal: &mut Journal) -> Vec<LoopProvider> {
        let config = self.engine.config();
        let chain = chosen.found.fallback.as_ref().or(config.model.fallback.as_ref());
        let mut models = vec![chosen.clone()];
        for next in chain.into_iter().flatten() {
            match self.fallback(next, chosen, &config) {
                Ok(model) if models.iter().any(|known| known.name() == model.name()) => {}
                Ok(model) => models.push(model),
                Err(why) => {
                    let message = format!("the fallback {next} is left out: {why}");
                    // Once in a conversation that is open.
                    if !self.warned_fallbacks.contains(&message) {
                        self.warned_fallbacks.push(message.clone());
                        journal.event(Event::Warning { message });
                    }
                }
            }
        }
        models
    }

    /// A model of the fallback chain, or why it cannot be asked.
    fn fallback(
        &self,
        model: &FallbackModel,
        chosen: &LoopProvider,
        config: &Config,
    ) -> Result<LoopProvider, String> {
        let found = find_provider(&model.provider, config).map_err(|problem| problem.message)?;
        let surroundings = chosen.surroundings.clone();
        match self.engine.provider_keys.find(&found, &surroundings, &self.engine.home) {
            KeyState::Missing { variables } => Err(format!("{} is not set", variables.join(" or "))),
            KeyState::Refused { source, why, .. } => Err(format!("the key in {source} {why}")),
            KeyState::NotNeeded | KeyState::Found { .. } => {
                Ok(LoopProvider { found, model: model.model.clone(), surroundings })
            }
        }
    }

    /// A turn in which these models may answer, the first of them before all others.
    fn setup_with(&self, models: &[LoopProvider], turn: TurnId, head: LoopHead) -> LoopSetup {
        let health = &self.engine.provider_keys.health;
        let mut routes = models.iter().map(|model| ModelRoute {
            profile: model.found.profile.clone(),
            issuer: model.issuer(),
            model: model.model.clone(),
            omissions: model.omissions(health),
            rests_until: health.rests_until(&model.name()),
        });
        let rests_until = routes.next().and_then(|chosen| chosen.rests_until);
        let asks_on_refusal = self.engine.config().model.fallback_on_refusal == Some(true);
        let fallbacks = routes.collect();
        LoopSetup { rests_until, fallbacks, asks_on_refusal, ..self.setup(&models[0], turn, head) }
    }

    fn setup(&self, provider: &LoopProvider, turn: TurnId, head: LoopHead) -> LoopSetup {
        let tools = loop_tools().into_iter().chain(self.tools.iter().cloned()).map(tool_spec);
        let of_servers = head.server_tools.into_iter().map(|tool| LoopToolSpec {
            effect: match tool.access {
                ToolAccess::Reads => ToolEffect::Reads,
                ToolAccess::Changes => ToolEffect::Changes,
            },
            name: tool.name,
            description: tool.description,
            schema: tool.schema,
        });
        let search = head.has_search.then(search_tool);
        let tools = tools.chain(search).chain(of_servers).collect();
        let profile = provider.found.profile.clone();
        let mut request = RequestHead::new(&provider.model, head.system, tools, self.session.as_str());
        request.effort = self.options.effort.clone();
        LoopSetup {
            turn,
            issuer: provider.issuer(),
            head: request,
            omissions: provider.omissions(&self.engine.provider_keys.health),
            rounds: MOST_ROUNDS,
            compaction: None,
            profile,
            rests_until: None,
            fallbacks: Vec::new(),
            asks_on_refusal: false,
        }
    }

    fn servers(&self, tools: &[OfferedServerTool]) -> LoopServers {
        LoopServers::new(&self.engine, &self.started.cwd, &self.surroundings, tools)
    }

    fn running<'a>(
        &self,
        start: LoopStart<'a>,
        turn: TurnId,
        (servers, hints): (LoopServers, ProjectHints),
    ) -> RunningLoop<'a> {
        let services = self.engine.shelf.clone();
        let home = self.surroundings.variable("HOME").map(PathBuf::from);
        let config = self.engine.config();
        let keys: Vec<String> = configured_providers(&config.providers)
            .into_iter()
            .flat_map(|provider| provider.profile.key_env)
            .collect();
        let rules = EnvironmentRules { provider_keys: &keys, kept: &config.tools.environment };
        let environment = command_environment(self.surroundings.variables(), rules);
        let (roots, confinement) = self.bounds();
        let network = if self.has_network() { NetworkAccess::On } else { NetworkAccess::Off };
        let hiding = self.hiding(&config, &roots);
        let scene = LoopScene {
            cwd: self.cwd.clone(),
            home: home.clone(),
            sandbox: SandboxBounds {
                mode: self.sandbox,
                writable_roots: roots,
                excluded: self.wanted.excluded(),
                network,
                hiding,
            },
            files: FileBounds {
                confinement,
                talaria: self.engine.home.root().to_owned(),
                workplaces: vec![self.engine.home.worktrees_dir(), self.long_texts()],
            },
            policy: self.approval,
            environment,
            read: ReadFiles::default(),
        };
        let gate = RequestGate::new(
            self.options.rules.clone(),
            self.options.answers,
            home.as_ref().map(|home| home.display().to_string()),
        );
        let gate = gate.protecting(Some(self.engine.home.root().display().to_string()));
        let shell = if Path::new(SHELL).exists() { SHELL } else { PLAIN_SHELL };
        let commands = self.engine.loop_commands.clone();
        let runner = LoopToolRunner::new(commands, self.program.clone(), PathBuf::from(shell))
            .with_long_texts(self.long_texts());
        let (options, read) = (Arc::new(self.options.clone()), Arc::clone(&self.read));
        let (session, thread) = (self.session.clone(), self.started.thread.clone());
        let confinement =
            ToolConfinement { has_network: self.has_network(), asks: self.approval != ApprovalPolicy::Never };
        let engine = Arc::clone(&self.engine);
        RunningLoop::new(start, |messages, stopped| CallScene {
            engine,
            servers,
            hints: Arc::new(hints),
            services,
            session,
            thread,
            turn,
            runner,
            scene: Arc::new(scene),
            read,
            gate: Arc::new(gate),
            options,
            confinement,
            left: Arc::default(),
            messages,
            stopped,
        })
    }

    fn has_network(&self) -> bool {
        self.sandbox == Sandbox::DangerFullAccess || self.wanted.network()
    }

    /// The profile that hides Talaria's own files from commands in the sandbox, unless the user does not want that.
    fn hiding(&self, config: &Config, roots: &[PathBuf]) -> Option<HidingProfile> {
        let network_access = self.has_network();
        let policy = match self.sandbox {
            _ if config.codex.hide_home == Some(HideHome::Never) => return None,
            Sandbox::DangerFullAccess => return None,
            Sandbox::ReadOnly => SandboxPolicy::ReadOnly { network_access },
            Sandbox::WorkspaceWrite => SandboxPolicy::WorkspaceWrite {
                writable_roots: roots.iter().map(|root| root.display().to_string()).collect(),
                network_access,
                exclude_tmpdir_env_var: self.wanted.excluded().tmpdir,
                exclude_slash_tmp: self.wanted.excluded().slash_tmp,
            },
        };
        let tmpdir = self.surroundings.variable("TMPDIR").map(PathBuf::from);
        let (home, version) = (self.engine.home.root(), &self.program.as_ref()?.version);
        let (name, table) = command_profile(home, tmpdir, &policy, self.cwd.to_str()?, version)?;
        Some(HidingProfile { name, table })
    }

    /// Directories that may be written besides the working directory, and what that means for the file tools.
    fn bounds(&self) -> (Vec<PathBuf>, Confinement) {
        let further: Vec<PathBuf> =
            self.wanted.clone().into_writable_roots().into_iter().map(PathBuf::from).collect();
        let confinement = match self.sandbox {
            Sandbox::ReadOnly => Confinement::ReadOnly,
            Sandbox::DangerFullAccess => Confinement::Missing,
            Sandbox::WorkspaceWrite => {
                let roots = std::iter::once(&self.cwd).chain(&further);
                let real = roots.map(|root| std::fs::canonicalize(root).unwrap_or_else(|_| root.clone()));
                Confinement::Workspace { roots: real.collect() }
            }
        };
        (further, confinement)
    }
}

impl RunningLoop<'_> {
    /// What an earlier engine showed of an answer that never ended does not count.
    fn void_unfinished(&mut self, events: &[Event], attempt: u64) {
        let mut open: Vec<ItemId> = Vec::new();
        let mut compacting: Option<ItemId> = None;
        for event in events {
            match event {
                Event::ItemStarted { item } if matches!(item.body, ItemBody::Compaction(_)) => {
                    compacting = Some(item.id.clone());
                }
                Event::ItemStarted { item }
                    if matches!(item.body, ItemBody::AgentMessage { .. } | ItemBody::Reasoning { .. }) =>
                {
                    open.push(item.id.clone());
                }
                Event::ItemCompleted { item } => {
                    open.retain(|id| *id != item.id);
                    compacting = compacting.filter(|id| *id != item.id);
                }
                Event::ItemAbandoned { item, .. } => compacting = compacting.filter(|id| id != item),
                Event::AttemptVoid { items, .. } => open.retain(|id| !items.contains(id)),
                _ => {}
            }
        }
        if let Some(item) = compacting {
            self.tell(Event::ItemAbandoned { item, why: None });
        }
        if !open.is_empty() {
            let why = "Talaria was stopped while the answer arrived".to_owned();
            self.tell(Event::AttemptVoid { attempt, why, shown_chars: 0, items: open });
        }
    }
}

/// The model that answered last in a turn, if another one had failed, and until when the chosen one rests.
fn left_model(events: &[Event], chosen: &str) -> Option<LeftModel> {
    let changes = || {
        events.iter().rev().filter_map(|event| match event {
            Event::ModelRerouted { from, to, until, .. } => Some((from, to, *until)),
            _ => None,
        })
    };
    let (_, name, _) = changes().next()?;
    let until = changes().find(|(from, ..)| from.as_str() == chosen).and_then(|(.., until)| until);
    Some(LeftModel { name: name.clone(), until })
}

/// What the attempts of a turn cost. One that an engine left without an end may have cost more than nothing.
fn spent(attempts: &[ModelAttemptRow]) -> Usage {
    let mut sum = Usage::default();
    for row in attempts {
        match row.usage.as_deref().and_then(|usage| serde_json::from_str::<Usage>(usage).ok()) {
            Some(usage) if usage.total > 0 => sum = sum.plus(usage),
            Some(_) => {}
            None => sum.partial = true,
        }
    }
    sum
}

/// Ends a turn that could not begin.
async fn end(journal: &mut Journal, mut report: Report) -> Report {
    talaria_core::event_redactor::cover_report(&mut report);
    journal.event(Event::Outcome(Box::new(report.clone())));
    // A journal that is broken says so to its owner.
    let _ = journal.keep().await;
    report
}

fn unsealed() -> Box<Report> {
    Box::new(failed(FailureCode::NotSent, "the history of the conversation cannot be sealed or read"))
}

/// A tool as the model sees it.
fn tool_spec(tool: ToolSpec) -> LoopToolSpec {
    LoopToolSpec {
        effect: tool_effect(tool.name),
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        schema: tool.schema,
    }
}

impl LoopRuntime {
    /// Where texts of this conversation are that were too long for its model.
    fn long_texts(&self) -> PathBuf {
        self.engine.home.long_texts_dir().join(self.session.as_str())
    }

    /// Makes files of texts that are too long for the model. Returns what the person reads about them.
    async fn shorten_input(
        &self,
        parts: &mut [LogPart],
        window: Option<u64>,
    ) -> Result<Vec<String>, Box<Report>> {
        let mut messages = Vec::new();
        for part in parts.iter_mut().filter(|part| long_input::is_too_long(part, window)) {
            let LogPart::Text { text } = part else { continue };
            let (text, directory) = (std::mem::take(text), self.long_texts());
            let shortened = tokio::task::spawn_blocking(move || long_input::shorten(&text, &directory)).await;
            let shortened = shortened.unwrap_or_else(|_| Err("internal error".to_owned()));
            let (shorter, message) = shortened.map_err(|why| Box::new(failed(FailureCode::NotSent, why)))?;
            *part = shorter;
            messages.push(message);
        }
        Ok(messages)
    }
}

/// Whether a tool only reads; some providers accept that as a hint.
fn tool_effect(name: &str) -> ToolEffect {
    match name {
        "read" | "search" | "view_image" | "plan" | "talaria_recall" | "talaria_web" => ToolEffect::Reads,
        _ => ToolEffect::Changes,
    }
}

/// The person's input in the form of the history. The error names a file that cannot be sent.
fn input_parts(input: &[InputPart]) -> Result<Vec<LogPart>, String> {
    input
        .iter()
        .map(|part| match part {
            InputPart::Text { text } => Ok(LogPart::text(text.clone())),
            InputPart::LocalImage { path } => {
                let resolved =
                    resolve_path(Path::new("/"), None, path).map_err(|error| format!("{path}: {error}"))?;
                let image = view_image(&resolved).map_err(|error| format!("{path}: {error}"))?;
                Ok(LogPart::Image { mime: image.media_type.to_owned(), data: STANDARD.encode(&image.bytes) })
            }
        })
        .collect()
}
