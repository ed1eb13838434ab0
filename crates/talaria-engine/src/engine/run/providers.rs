//! Which runtime and which model provider a turn has, and where the keys of providers come from.
//!
//! A new conversation gets its runtime from its provider and the configuration; a prompt can change it (`switching`). Keys stay in memory: an engine
//! learns them from the environment of the commands that call it, and forgets them when it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_agent::key_pool::PooledKey;
use talaria_agent::profile::{ConfiguredProvider, configured_providers};
use talaria_agent::transport::KeyState;
use talaria_codex::spec::Surroundings;
use talaria_core::api::{LocalCaller, NewTurn, Problem, ProblemCode};
use talaria_core::config::Config;
use talaria_core::ids::SessionId;
use talaria_core::next_step::NextStep;
use talaria_core::provider::{CODEX_PROVIDER, OPENAI_PROVIDER};
use talaria_core::runtime::{Runtime, RuntimeChoice, is_rerouted, runtime_for};
use talaria_home::home::TalariaHome;
use talaria_store::SessionRow;
use tokio::sync::watch;

use crate::engine::Inner;
use crate::engine::run::provider_health::{KeyLease, ProviderHealth, TakenKey};
use crate::engine::run::runtime::runtime_of;
use crate::engine::run::settings::Settings;

/// How many models an error names at most.
const NAMED_MODELS: usize = 5;

/// The runtime that the next turn of a conversation has: its own, unless the turn names another one, or a provider that only the
/// other one can ask.
pub(crate) fn next_runtime(session: &SessionRow, turn: &NewTurn) -> Result<Runtime, Problem> {
    let runtime = runtime_of(session).ok_or_else(|| {
        let message = format!("this version does not run conversations of {}", session.runtime);
        Problem::new(ProblemCode::Conflict, message)
    })?;
    let provider = turn.provider.as_deref();
    match (provider, turn.runtime) {
        (Some(name), Some(RuntimeChoice::CodexAppServer)) if !is_rerouted(provider) => {
            Err(not_for_codex(name))
        }
        (Some(_), _) if !is_rerouted(provider) => Ok(Runtime::OwnLoop),
        (_, Some(RuntimeChoice::Off)) => Ok(Runtime::OwnLoop),
        (_, Some(RuntimeChoice::CodexAppServer)) => Ok(Runtime::CodexAppServer),
        (Some(name), _) if name.trim().eq_ignore_ascii_case(CODEX_PROVIDER) => Ok(Runtime::CodexAppServer),
        _ => Ok(runtime),
    }
}

/// The runtime of a conversation, for a turn that must not change it.
pub(crate) fn kept_runtime(session: &SessionRow, turn: &NewTurn) -> Result<Runtime, Problem> {
    let next = next_runtime(session, turn)?;
    if runtime_of(session) == Some(next) {
        return Ok(next);
    }
    let message = format!("{} runs on {}, and keeps that for this", session.id.short(), session.runtime);
    Err(Problem::new(ProblemCode::Conflict, message)
        .try_this("send a prompt with the other provider or runtime; a task keeps what it has"))
}

fn not_for_codex(provider: &str) -> Problem {
    let message = format!("Codex cannot ask {provider}; only the built-in loop can");
    Problem::new(ProblemCode::BadRequest, message)
        .try_this(format!("leave out --runtime, or name the provider {OPENAI_PROVIDER}"))
}

impl Inner {
    /// Decides the runtime of a new conversation.
    pub(crate) fn new_runtime(
        &self,
        turn: &NewTurn,
        config: &Config,
        has_codex: bool,
    ) -> Result<Runtime, Problem> {
        let provider = turn.provider.as_deref().or(config.model.provider.as_deref());
        let choice = turn.runtime.or(config.model.openai_runtime).unwrap_or_default();
        if let (Some(name), Some(RuntimeChoice::CodexAppServer)) = (provider, turn.runtime)
            && !is_rerouted(provider)
        {
            return Err(not_for_codex(name));
        }
        let selected = runtime_for(provider, choice, has_codex).map_err(|refused| {
            Problem::new(ProblemCode::BadRequest, refused.to_string())
                .try_this("use the provider openai with an API key, or set model.openai_runtime to auto")
        })?;
        Ok(selected.runtime)
    }

    /// The provider that a turn of the built-in loop asks: one that is known and configured without a mistake.
    pub(crate) fn loop_provider(
        &self,
        turn: &NewTurn,
        session: Option<&SessionRow>,
        config: &Config,
    ) -> Result<String, Problem> {
        let earlier = session.and_then(Settings::of_row);
        let earlier = earlier.as_ref().and_then(Settings::provider);
        let name = turn.provider.as_deref().or(earlier).or(config.model.provider.as_deref());
        find_provider(name.unwrap_or(OPENAI_PROVIDER), config).map(|found| found.profile.name)
    }

    /// The model of a new conversation of the built-in loop. The configured one belongs to the configured provider.
    pub(crate) fn loop_model(
        &self,
        provider: &str,
        asked: Option<&str>,
        config: &Config,
    ) -> Result<String, Problem> {
        let usual = config.model.provider.as_deref().unwrap_or(OPENAI_PROVIDER);
        let configured = config.model.default.as_deref().filter(|_| usual.eq_ignore_ascii_case(provider));
        if let Some(model) = asked.or(configured) {
            return Ok(model.to_owned());
        }
        let known = find_provider(provider, config)?.profile.known_models();
        let problem = Problem::new(ProblemCode::BadRequest, format!("no model of {provider} is named"));
        Err(match known.is_empty() {
            true => problem.try_this("add --model NAME"),
            false => {
                let known: Vec<&str> = known.iter().take(NAMED_MODELS).map(String::as_str).collect();
                problem.try_this(format!("add --model NAME, for example {}", known.join(", ")))
            }
        })
    }
}

/// Finds a provider that can be asked.
pub(crate) fn find_provider(name: &str, config: &Config) -> Result<ConfiguredProvider, Problem> {
    let providers = configured_providers(&config.providers);
    let found = providers.into_iter().find(|found| found.profile.name.eq_ignore_ascii_case(name.trim()));
    let found = found.ok_or_else(|| {
        Problem::new(ProblemCode::BadRequest, format!("there is no provider {name:?}"))
            .next(NextStep::ListProviders)
    })?;
    match found.wrong.first() {
        None => Ok(found),
        Some(wrong) => {
            let message = format!("the provider {} cannot be used: {wrong}", found.profile.name);
            Err(Problem::new(ProblemCode::BadRequest, message).next(NextStep::ListProviders))
        }
    }
}

/// Keys of providers that callers brought, by the name of their variable. In memory only.
#[derive(Default)]
pub(crate) struct ProviderKeys {
    known: Mutex<HashMap<String, String>>,
    /// Their health, and that of the models that they are for.
    pub(crate) health: Arc<ProviderHealth>,
    /// The conversations whose turn waits for a key, each with the variables that may contain it.
    waiting: Mutex<HashMap<SessionId, String>>,
}

/// Says that a turn waits for a key, and how it gets one.
pub(crate) fn key_wait_words(variables: &str) -> String {
    format!(
        "waiting for {variables}: start a chat or a task where that variable is set, and the turn continues"
    )
}

/// A turn that waits for a key. It is shown as waiting until this is dropped.
pub(crate) struct KeyWait {
    engine: Arc<Inner>,
    session: SessionId,
}

impl KeyWait {
    /// Shows a turn as waiting for one of these variables.
    pub(crate) fn begin(engine: &Arc<Inner>, session: &SessionId, variables: &[String]) -> Self {
        engine.provider_keys.waiting_turns().insert(session.clone(), variables.join(" or "));
        Self { engine: Arc::clone(engine), session: session.clone() }
    }
}

impl Drop for KeyWait {
    fn drop(&mut self) {
        self.engine.provider_keys.waiting_turns().remove(&self.session);
    }
}

impl ProviderKeys {
    /// Learns the keys in the environment of a caller.
    pub(crate) fn learn(&self, caller: &LocalCaller, config: &Config) {
        if caller.environment.is_empty() {
            return;
        }
        let mut is_new = false;
        {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for provider in configured_providers(&config.providers) {
                for name in provider.profile.key_env {
                    let Some(value) = caller.variable(&name).filter(|value| !value.trim().is_empty()) else {
                        continue;
                    };
                    let before = known.insert(name, value.to_owned());
                    is_new |= before.as_deref() != Some(value);
                }
            }
        }
        if is_new {
            self.health.take_new_keys();
        }
    }

    /// Looks for the keys of a provider: in its files, in the environment of the conversation, among what callers brought.
    fn find_all(
        &self,
        provider: &ConfiguredProvider,
        surroundings: &Surroundings,
        home: &TalariaHome,
    ) -> Vec<KeyState> {
        let files: Vec<_> = provider.key_files.iter().map(|file| home.user_path(file)).collect();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        KeyState::find_all(&files, &provider.profile.key_env, provider.has_pool, |name| {
            let own = surroundings.variable(name).and_then(|value| value.into_string().ok());
            own.filter(|value| !value.trim().is_empty()).or_else(|| known.get(name).cloned())
        })
    }

    /// Whether a provider can be asked.
    pub(crate) fn find(
        &self,
        provider: &ConfiguredProvider,
        surroundings: &Surroundings,
        home: &TalariaHome,
    ) -> KeyState {
        KeyState::best(self.find_all(provider, surroundings, home))
    }

    /// Takes a key for a request. `kept` is the key that the turn has so far.
    pub(crate) fn take(
        &self,
        provider: &ConfiguredProvider,
        surroundings: &Surroundings,
        home: &TalariaHome,
        kept: Option<&PooledKey>,
    ) -> RequestKey {
        let mut states = self.find_all(provider, surroundings, home);
        let keys: Vec<PooledKey> = states.iter().filter_map(|state| pooled(provider, state)).collect();
        if !keys.is_empty() {
            return match self.health.take(&keys, provider.key_rules, kept) {
                TakenKey::Leased(lease, spare) => RequestKey::Leased { lease, spare },
                TakenKey::Busy => RequestKey::Busy,
            };
        }
        states.retain(|state| !matches!(state, KeyState::Found { .. }));
        match KeyState::best(states) {
            KeyState::Missing { variables } => RequestKey::Missing { variables },
            KeyState::Refused { source, why, remedy } => {
                RequestKey::Refused(format!("the key in {source} {why}; {remedy}"))
            }
            KeyState::NotNeeded | KeyState::Found { .. } => RequestKey::NotNeeded,
        }
    }

    /// The variables that the turn of a conversation waits for.
    pub(crate) fn awaited_by(&self, session: &SessionId) -> Option<String> {
        self.waiting_turns().get(session).cloned()
    }

    fn waiting_turns(&self) -> MutexGuard<'_, HashMap<SessionId, String>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes when a caller brought a key that was not known, and when a key is free. Mark it as seen before looking for a key, so that none is missed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.health.subscribe()
    }
}

/// The key of a request.
pub(crate) enum RequestKey {
    /// The provider asks for none.
    NotNeeded,
    /// This one, and how many others may work.
    Leased {
        /// The key.
        lease: KeyLease,
        /// How many others may work.
        spare: usize,
    },
    /// Every key has as many requests as it may have.
    Busy,
    /// It is in none of these variables.
    Missing {
        /// Their names.
        variables: Vec<String>,
    },
    /// It is there and is not used; why, and what to do.
    Refused(String),
}

/// The key of a state as one of a pool.
fn pooled(provider: &ConfiguredProvider, state: &KeyState) -> Option<PooledKey> {
    let KeyState::Found { key, source } = state else { return None };
    let provider = provider.profile.name.clone();
    Some(PooledKey { provider, source: source.clone(), key: key.clone() })
}
