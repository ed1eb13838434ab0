//! `talaria providers`: lists model providers, and asks one. No engine is started; one that runs is asked what became of the
//! keys. Keys are read and never shown.

mod page;
mod probe;

use talaria_agent::profile::{ConfiguredProvider, ProviderProfile, configured_providers};
use talaria_agent::transport::KeyState;
use talaria_core::api::ProviderKeyInfo;
use talaria_core::next_step::NextStep;
use talaria_core::provider::OPENAI_PROVIDER;

use crate::args::{ProviderTest, Providers, ProvidersAction};
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::settings::Settings;
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, exit};
use crate::{engine, look};
use probe::ProbeVerdict;

/// A provider, and whether there is a key for it.
pub(crate) struct KeyedProvider {
    pub(crate) provider: ConfiguredProvider,
    /// Whether it can be asked.
    pub(crate) key: KeyState,
    /// Each of its keys, where it may have several.
    pub(crate) pool: Vec<KeyState>,
}

impl KeyedProvider {
    /// Can it be asked from here?
    pub(crate) fn is_usable(&self) -> bool {
        self.provider.wrong.is_empty() && matches!(self.key, KeyState::Found { .. } | KeyState::NotNeeded)
    }
}

/// Every provider with the state of its key in this environment.
pub(crate) fn keyed_providers(settings: &Settings) -> Vec<KeyedProvider> {
    let with_key = |provider: ConfiguredProvider| {
        let files: Vec<_> = provider.key_files.iter().map(|file| settings.home.user_path(file)).collect();
        let states = KeyState::find_all(&files, &provider.profile.key_env, provider.has_pool, variable);
        let pool = if provider.has_pool { states.clone() } else { Vec::new() };
        KeyedProvider { provider, key: KeyState::best(states), pool }
    };
    configured_providers(&settings.config.providers).into_iter().map(with_key).collect()
}

/// A variable that is not text cannot be a key.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs the command.
pub(crate) async fn run(options: &Providers) -> Result<u8, Trouble> {
    // A mistake in a section is shown with its provider.
    let settings = Settings::load()?;
    let providers = keyed_providers(&settings);
    match &options.action {
        ProvidersAction::Test(wanted) => return test(wanted, &settings, &providers).await,
        ProvidersAction::List { json } => {
            let used = used_keys(&settings).await;
            let lines = || providers.iter().map(|known| page::json(known, &used)).collect::<String>();
            match json {
                true => print(&lines())?,
                false => print(&encoded(&page::list(&providers, &used, look::of_stdout())))?,
            }
        }
    }
    Ok(0)
}

/// What the running engine knows about keys. Without an engine, or without the right to ask it, nothing is known.
async fn used_keys(settings: &Settings) -> Vec<ProviderKeyInfo> {
    let asking = async {
        match engine::find(&settings.home).await? {
            Some(client) => client.status().await.map(|status| status.keys),
            None => Ok(Vec::new()),
        }
    };
    with_progress("asking the engine", asking).await.unwrap_or_default()
}

/// Sends one small request to a provider and shows what came of it.
async fn test(
    wanted: &ProviderTest,
    settings: &Settings,
    providers: &[KeyedProvider],
) -> Result<u8, Trouble> {
    let what = || format!("cannot test the provider {}", wanted.name);
    let known = providers
        .iter()
        .find(|known| known.provider.profile.name.eq_ignore_ascii_case(wanted.name.trim()))
        .ok_or_else(|| {
            Trouble::new(exit::USAGE, what())
                .because("there is no such provider")
                .try_this(NextStep::ListProviders)
        })?;
    if let Some(wrong) = known.provider.wrong.first() {
        return Err(Trouble::new(exit::USAGE, what()).because(wrong).try_this("run `talaria config check`"));
    }
    let profile = &known.provider.profile;
    let key = match &known.key {
        KeyState::NotNeeded => None,
        KeyState::Found { key, .. } => Some(key),
        KeyState::Missing { variables } => {
            let names = variables.join(" or ");
            let cause = format!("there is no key: {names} is not set");
            return Err(Trouble::new(exit::CODEX, what()).because(cause).try_this(format!("set {names}")));
        }
        KeyState::Refused { source, why, remedy } => {
            let cause = format!("{source} {why}");
            return Err(Trouble::new(exit::CODEX, what()).because(cause).try_this(remedy.clone()));
        }
    };
    let model = model_of(wanted, settings, profile).ok_or_else(|| {
        Trouble::new(exit::USAGE, what())
            .because("no model of it is known by name")
            .try_this("add --model NAME")
    })?;
    let mut stops = Stops::listen()?;
    let asking = async { Ok(probe::probe(profile, &model, key).await) };
    let found =
        unless_stopped(&mut stops, asking, stopped("stopped; the provider may have counted the request"))
            .await?;
    let code = found.exit_code();
    if wanted.json {
        print(&page::probe_json(&profile.name, &found))?;
        return Ok(code);
    }
    match found.verdict {
        ProbeVerdict::Works => {
            print(&encoded(&page::probe(profile, &found)))?;
            Ok(code)
        }
        ProbeVerdict::Fails { message, next, .. } => {
            Err(Trouble::new(code, what()).because(message).try_this(next))
        }
    }
}

/// The model to ask: the named one, the configured one if it belongs to this provider, the first that is known.
fn model_of(wanted: &ProviderTest, settings: &Settings, profile: &ProviderProfile) -> Option<String> {
    let configured = &settings.config.model;
    let usual = configured.provider.as_deref().unwrap_or(OPENAI_PROVIDER);
    let configured = configured.default.clone().filter(|_| usual.eq_ignore_ascii_case(&profile.name));
    wanted.model.clone().or(configured).or_else(|| profile.known_models().into_iter().next())
}
