//! What a conversation would start with, and what there is to choose from: asked of the host that would run it.
//!
//! No conversation is started. A host that is there already is asked; one that is started for it serves the conversation
//! that follows, or ends like every other one that nobody uses. What Codex does not tell is a note and nothing worse.

use std::fmt::Display;
use std::path::Path;

use talaria_core::api::{Account, EffortOffer, LookAt, ModelOffer, Offers, Problem, ProblemCode};
use talaria_core::event::RateLimits;
use talaria_core::plain::one_line;
use talaria_core::project;
use talaria_core::redact::redact;
use talaria_core::wire::call::{
    AccountReadReply, ConfigRead, EffectiveConfig, ModelList, RateLimitsRead, WireModel,
};

use super::Engine;
use super::caller::Needs;
use super::servers::Ears;
use super::settings::{self, Settings};
use crate::codex::host::Host;
use crate::codex::trust;

/// How many pages of models are read at most: a Codex that always names another page must not hold anybody up.
const PAGES: usize = 50;
/// The kind of a login with an API key.
const KEY: &str = "apiKey";

impl Engine {
    /// Asks the Codex of a caller what a conversation in a folder would start with.
    pub async fn offers(&self, look: LookAt) -> Result<Offers, Problem> {
        let _caller = self.0.enter()?;
        self.require(Needs::StartAnything, "offers", "ask what Codex offers").await?;
        if !Path::new(&look.cwd).is_absolute() {
            let message = format!("{:?} is not an absolute path", look.cwd);
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        let surroundings = settings::surroundings(&look.caller);
        let mut spec = Settings::by(&look.caller).spec(&self.0.home, surroundings)?;
        // The same kind of host as for a conversation, so that the one that follows finds it running.
        spec.referred = self.0.servers.read(&self.0.home, Ears::of(&spec)).variables;
        let host = self.0.hosts.get(&spec).await.map_err(|error| {
            Problem::new(ProblemCode::Codex, format!("cannot start Codex: {error}"))
                .try_this(error.next_step())
        })?;
        Ok(ask(&host, look.cwd).await)
    }
}

/// Asks everything at once; the answers do not depend on each other.
async fn ask(host: &Host, cwd: String) -> Offers {
    let read = ConfigRead { cwd: cwd.clone(), include_layers: false };
    let (config, models, account) = tokio::join!(host.call(&read), models(host), host.account());
    let mut notes = Vec::new();
    let config = known(config, "its configuration", &mut notes).map(|reply| reply.config);
    // Only a configuration that was read says that nothing is said in it.
    let defaults = config.as_ref().map(|config| trust::defaults(config, &cwd));
    let config = config.unwrap_or_default();
    let models = known(models, "its models", &mut notes).unwrap_or_default();
    let account = known(account, "who is logged in", &mut notes);
    let limits = limits(host, account.as_ref(), &mut notes).await;
    let EffectiveConfig { model, model_reasoning_effort, model_provider, sandbox_mode, .. } = config;
    Offers {
        codex: host.version().to_string(),
        account: account.map(described).unwrap_or_default(),
        models: models.into_iter().filter(|model| !model.hidden).map(offer).collect(),
        model,
        effort: model_reasoning_effort,
        provider: model_provider,
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

async fn models(host: &Host) -> Result<Vec<WireModel>, crate::codex::client::CallError> {
    let mut models = Vec::new();
    let mut list = ModelList::default();
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
    let reply = known(host.call(&RateLimitsRead).await, "how much of the allowance is used", notes)?;
    Some(project::rate_limits(reply.rate_limits))
}

/// What Codex said; what it did not say is noted.
fn known<T>(told: Result<T, impl Display>, what: &str, notes: &mut Vec<String>) -> Option<T> {
    told.map_err(|error| {
        let why = error.to_string();
        notes.push(format!("Codex does not say {what}: {}", one_line(&redact(&why))));
    })
    .ok()
}

fn described(reply: AccountReadReply) -> Account {
    let needed = reply.requires_openai_auth && reply.account.is_none();
    match reply.account {
        Some(account) => {
            Account { needed, kind: Some(account.kind), name: account.email, plan: account.plan_type }
        }
        None => Account { needed, ..Account::default() },
    }
}

fn offer(model: WireModel) -> ModelOffer {
    let effort = |told: talaria_core::wire::call::WireEffort| EffortOffer {
        effort: told.reasoning_effort,
        description: told.description,
    };
    ModelOffer {
        name: Some(model.display_name).filter(|name| !name.is_empty()).unwrap_or_else(|| model.model.clone()),
        id: model.model,
        description: model.description,
        efforts: model.supported_reasoning_efforts.into_iter().map(effort).collect(),
        default_effort: model.default_reasoning_effort,
        is_default: model.is_default,
    }
}
