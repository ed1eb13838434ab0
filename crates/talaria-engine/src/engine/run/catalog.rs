//! The settings that a conversation would start with, and the choices: asked of the host that would run it.
//!
//! No conversation is started. A running host is asked if there is one; a host started for this serves the next
//! conversation, or ends like every other unused one. If Codex does not report something, that is a note and no error.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::confine::Trust;
use talaria_codex_proto::project;
use talaria_codex_proto::wire::call::{
    AccountReadReply, ConfigRead, EffectiveConfig, ModelList, RateLimitsRead, WireModel,
};
use talaria_core::api::{AccountInfo, EffortOffer, LookAt, ModelOffer, Offers, Problem, ProblemCode};
use talaria_core::event::{RateLimits, Started};
use talaria_core::input::InputPart;
use talaria_core::model_choice::{ModelChoice, UnlistedModel, check_choice, check_images};
use talaria_core::runtime::Runtime;
use talaria_guard::plain::one_line;
use talaria_guard::redact::redact;
use talaria_store::SessionRow;

use crate::engine::Engine;
use crate::engine::Inner;
use crate::engine::access::caller::Needs;
use crate::engine::run::resolve::CodexChoice;
use crate::engine::run::servers::HostLogging;
use crate::engine::run::settings::Settings;
use talaria_codex::host::{Host, HostSpec};
use talaria_codex::login::MISSED_LOGIN;
use talaria_codex::spec::Surroundings;
use talaria_codex::trust;

/// How many pages of models are read at most: a Codex that always names another page must not block its caller.
const PAGES: usize = 50;
/// The kind of a login with an API key.
const KEY: &str = "apiKey";
/// The provider that Codex uses where none is named.
const OPENAI: &str = "openai";
/// The modality of images.
const IMAGE: &str = "image";
/// How long a turn waits for Codex's list of models; a list that is fetched may be slow.
const PATIENCE: Duration = Duration::from_secs(5);

impl Engine {
    /// Asks the Codex of a caller what a conversation in a folder would start with.
    pub async fn offers(&self, look: LookAt) -> Result<Offers, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "offers", "ask what Codex offers").await?;
        if !Path::new(&look.cwd).is_absolute() {
            let message = format!("{:?} is not an absolute path", look.cwd);
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        let codex = self.inner.codex_of(&look.caller).await?;
        let spec = self.inner.host_spec(&codex)?;
        let get = || async {
            self.inner.hosts.get(&spec).await.map_err(|error| {
                Problem::new(ProblemCode::Codex, format!("cannot start Codex: {error}"))
                    .next(error.next_step())
            })
        };
        let host = get().await?;
        let offers = ask(&host, look.cwd.clone(), &codex.surroundings).await;
        if !offers.account.needed || !host.missed_login() {
            return Ok(offers);
        }
        host.drain(MISSED_LOGIN);
        Ok(ask(&*get().await?, look.cwd, &codex.surroundings).await)
    }
}

/// A turn whose model, effort and images are validated.
pub(crate) struct CheckedTurn<'a> {
    pub(crate) cwd: &'a str,
    pub(crate) model: Option<&'a str>,
    pub(crate) effort: Option<&'a str>,
    pub(crate) input: &'a [InputPart],
    pub(crate) runtime: Runtime,
    pub(crate) codex: Option<&'a CodexChoice>,
    /// The conversation that it continues.
    pub(crate) session: Option<&'a SessionRow>,
}

impl Engine {
    /// Refuses a model or an effort that Codex would not run, and images that the model cannot see, before the turn is
    /// recorded. If Codex cannot be asked, nothing is refused: the turn reports the problem.
    pub(crate) async fn check_choice(&self, turn: CheckedTurn<'_>) -> Result<(), Problem> {
        // A provider of the built-in loop says itself what it refuses.
        let Some(codex) = turn.codex.filter(|_| turn.runtime == Runtime::CodexAppServer) else {
            return Ok(());
        };
        let started = turn.session.and_then(|session| session.started.as_deref()).and_then(read_started);
        // Values that Codex reported as in force were validated before.
        let is_new_model = |model: &&str| started.as_ref().is_none_or(|started| started.model != **model);
        let model = turn.model.filter(is_new_model);
        let in_force = started.as_ref().and_then(|started| started.effort.as_deref());
        let effort = turn.effort.filter(|effort| model.is_some() || in_force != Some(*effort));
        let has_image = has_image(turn.input);
        if model.is_none() && effort.is_none() && !has_image {
            return Ok(());
        }
        let Some(host) = self.host_to_ask(&turn, codex).await else { return Ok(()) };
        let Some(offers) = listed_models(&host, turn.cwd, &codex.surroundings).await else {
            return Ok(());
        };
        let asked = || turn.session.and_then(|session| session.model.as_deref());
        let in_use = started.as_ref().map(|started| started.model.as_str()).or_else(asked);
        check_choice(&offers, ModelChoice { model, effort, in_use, unlisted: self.unlisted_model() })?;
        if !has_image {
            return Ok(());
        }
        let next = turn.session.and_then(next_model);
        let choice = ModelChoice { model: turn.model, in_use: next.as_deref(), ..ModelChoice::default() };
        check_images(&offers, choice)
    }

    /// Refuses images for a turn that runs, or for the one after it, if its model cannot see them.
    pub(crate) async fn check_further_images(
        &self,
        session: &SessionRow,
        input: &[InputPart],
    ) -> Result<(), Problem> {
        if !has_image(input) {
            return Ok(());
        }
        let Some(model) = next_model(session) else { return Ok(()) };
        let host = session.host.as_deref().and_then(|host| self.inner.hosts.named(host));
        let Some(host) = host.filter(|host| host.is_alive()) else { return Ok(()) };
        // The environment only says which model a new conversation has.
        let Some(offers) = listed_models(&host, &session.cwd, &Surroundings::own()).await else {
            return Ok(());
        };
        check_images(&offers, ModelChoice { in_use: Some(&model), ..ModelChoice::default() })
    }

    fn unlisted_model(&self) -> UnlistedModel {
        match self.inner.config().model.allow_unlisted {
            Some(true) => UnlistedModel::Accept,
            Some(false) | None => UnlistedModel::Refuse,
        }
    }

    /// The host that would run the turn.
    async fn host_to_ask(&self, turn: &CheckedTurn<'_>, codex: &CodexChoice) -> Option<Arc<Host>> {
        let own = turn.session.and_then(|session| self.inner.hosts.named(session.host.as_deref()?));
        if let Some(host) = own.filter(|host| host.is_alive()) {
            return Some(host);
        }
        let spec = self.inner.host_spec(codex).ok()?;
        self.inner.hosts.get(&spec).await.ok()
    }
}

impl Inner {
    /// The same kind of host as for a conversation, so that the one that follows finds it running.
    pub(crate) fn host_spec(&self, codex: &CodexChoice) -> Result<HostSpec, Problem> {
        let mut spec = Settings::by(codex).spec(&self.home, codex.surroundings.clone())?;
        spec.referred = self.servers.read(&self.home, HostLogging::of(&spec)).variables;
        Ok(spec)
    }
}

fn has_image(input: &[InputPart]) -> bool {
    input.iter().any(|part| matches!(part, InputPart::LocalImage { .. }))
}

/// The model that the next turn of a conversation runs on where none is chosen for it: one that was chosen before is sent
/// to Codex again, whatever Codex reported last.
fn next_model(session: &SessionRow) -> Option<String> {
    let chosen = Settings::of_row(session).and_then(|settings| settings.model().map(str::to_owned));
    let started = || Some(session.started.as_deref().and_then(read_started)?.model);
    chosen.or_else(started).filter(|model| !model.is_empty()).or_else(|| session.model.clone())
}

/// Codex's list, and the model in the user's configuration. `None` if Codex does not respond in time.
async fn listed_models(host: &Host, cwd: &str, surroundings: &Surroundings) -> Option<Offers> {
    let listed = async {
        let read = ConfigRead { cwd: cwd.to_owned(), include_layers: false };
        tokio::join!(host.call(&read), models(host))
    };
    let Ok((Ok(config), Ok(models))) = tokio::time::timeout(PATIENCE, listed).await else {
        return None;
    };
    let config = config.config;
    let lists_every_model = is_openai_itself(&config, surroundings) && !models.is_empty();
    let (hidden_models, models) = offered(models);
    Some(Offers { models, hidden_models, lists_every_model, model: config.model, ..Offers::default() })
}

fn read_started(json: &str) -> Option<Started> {
    serde_json::from_str(json).ok()
}

/// Does OpenAI itself run the models? Only then Codex knows which there are. A profile may name another provider.
fn is_openai_itself(config: &EffectiveConfig, surroundings: &Surroundings) -> bool {
    let other = surroundings.variable("OPENAI_BASE_URL").unwrap_or_default();
    config.model_provider.as_deref().is_none_or(|provider| provider == OPENAI)
        && config.openai_base_url.is_none()
        && config.profile.is_none()
        && other.to_string_lossy().trim().is_empty()
}

/// Separates the models that Codex does not show.
fn offered(models: Vec<WireModel>) -> (Vec<ModelOffer>, Vec<ModelOffer>) {
    let (hidden, shown): (Vec<_>, Vec<_>) = models.into_iter().partition(|model| model.hidden);
    let offers = |models: Vec<WireModel>| models.into_iter().map(offer).collect();
    (offers(hidden), offers(shown))
}

/// Asks everything at once; the answers do not depend on each other.
async fn ask(host: &Host, cwd: String, surroundings: &Surroundings) -> Offers {
    let read = ConfigRead { cwd: cwd.clone(), include_layers: false };
    let (config, models, account) = tokio::join!(host.call(&read), models(host), host.account());
    let mut notes = Vec::new();
    let config = note_missing(config, "its configuration", &mut notes).map(|reply| reply.config);
    let is_openai = config.as_ref().is_some_and(|config| is_openai_itself(config, surroundings));
    // Only a configuration that was read says that nothing is said in it.
    let defaults = config.as_ref().map(|config| trust::defaults(config, &cwd));
    let is_trust_unknown = config.as_ref().is_some_and(|config| trust::of(config, &cwd) == Trust::Unknown);
    let config = config.unwrap_or_default();
    let untrusted = is_trust_unknown && config.sandbox_mode.is_none() && config.default_permissions.is_none();
    let models = note_missing(models, "its models", &mut notes).unwrap_or_default();
    let account = note_missing(account, "who is logged in", &mut notes);
    let limits = limits(host, account.as_ref(), &mut notes).await;
    let EffectiveConfig { model, model_reasoning_effort, model_provider, sandbox_mode, .. } = config;
    let lists_every_model = is_openai && !models.is_empty();
    let (hidden_models, models) = offered(models);
    Offers {
        codex: host.version().to_string(),
        account: account.map(described).unwrap_or_default(),
        models,
        hidden_models,
        lists_every_model,
        model,
        effort: model_reasoning_effort,
        provider: model_provider,
        untrusted,
        // A permission profile is the user's choice too, where no sandbox is asked for.
        sandbox: sandbox_mode
            .or(config.default_permissions)
            .or_else(|| defaults.map(|(sandbox, _)| sandbox.as_str().to_owned())),
        approval: config
            .approval_policy
            .as_ref()
            .map(project::approval_word)
            .or_else(|| defaults.map(|(_, approval)| approval.as_str().to_owned())),
        limits,
        notes,
    }
}

async fn models(host: &Host) -> Result<Vec<WireModel>, talaria_codex::client::CallError> {
    let mut models = Vec::new();
    let mut list = ModelList { cursor: None, include_hidden: true };
    for _ in 0..PAGES {
        let page = host.call(&list).await?;
        models.extend(page.data);
        list.cursor = page.next_cursor;
        if list.cursor.is_none() {
            break;
        }
    }
    Ok(models)
}

/// Who is not logged in has no allowance, nor has a key, which is paid for by use: Codex would refuse to say.
async fn limits(
    host: &Host,
    account: Option<&AccountReadReply>,
    notes: &mut Vec<String>,
) -> Option<RateLimits> {
    account?.account.as_ref().filter(|account| account.kind != KEY)?;
    let reply = note_missing(host.call(&RateLimitsRead).await, "how much of the allowance is used", notes)?;
    Some(project::rate_limits(reply.rate_limits))
}

/// Codex's response; a missing part becomes a note.
fn note_missing<T>(told: Result<T, impl Display>, what: &str, notes: &mut Vec<String>) -> Option<T> {
    told.map_err(|error| {
        let why = error.to_string();
        notes.push(format!("Codex does not say {what}: {}", one_line(&redact(&why))));
    })
    .ok()
}

fn described(reply: AccountReadReply) -> AccountInfo {
    let needed = reply.requires_openai_auth && reply.account.is_none();
    match reply.account {
        Some(account) => {
            AccountInfo { needed, kind: Some(account.kind), name: account.email, plan: account.plan_type }
        }
        None => AccountInfo { needed, ..AccountInfo::default() },
    }
}

fn offer(model: WireModel) -> ModelOffer {
    let effort = |told: talaria_codex_proto::wire::call::WireEffort| EffortOffer {
        effort: told.reasoning_effort,
        description: told.description,
    };
    ModelOffer {
        name: Some(model.display_name).filter(|name| !name.is_empty()).unwrap_or_else(|| model.model.clone()),
        id: model.model,
        description: model.description,
        efforts: model.supported_reasoning_efforts.into_iter().map(effort).collect(),
        default_effort: model.default_reasoning_effort,
        takes_images: model.input_modalities.map(|kinds| kinds.iter().any(|kind| kind == IMAGE)),
        is_default: model.is_default,
    }
}
