//! `talaria providers`: lists model providers, and asks one. No engine is started; keys are read and never shown.

mod page;
mod probe;

use talaria_agent::profile::{ConfiguredProvider, ProviderProfile, configured_providers};
use talaria_agent::transport::KeyState;
use talaria_core::next_step::NextStep;
use talaria_core::provider::OPENAI_PROVIDER;

use crate::args::{ProviderTest, Providers, ProvidersAction};
use crate::look;
use crate::output::{encoded, print};
use crate::settings::Settings;
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, exit};
use probe::ProbeVerdict;

/// A provider, and whether there is a key for it.
pub(crate) struct KeyedProvider {
    pub(crate) provider: ConfiguredProvider,
    pub(crate) key: KeyState,
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
        let file = provider.key_file.as_deref().map(|file| settings.home.user_path(file));
        let key = KeyState::find(file.as_deref(), &provider.profile.key_env, variable);
        KeyedProvider { provider, key }
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
        ProvidersAction::List { json: true } => print(&providers.iter().map(page::json).collect::<String>())?,
        ProvidersAction::List { json: false } => print(&encoded(&page::list(&providers, look::of_stdout())))?,
    }
    Ok(0)
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
