//! `talaria providers`: lists model providers. No engine is started; keys are read and never shown.

mod page;

use talaria_agent::profile::{ConfiguredProvider, configured_providers};
use talaria_agent::transport::KeyState;

use crate::args::{Providers, ProvidersAction};
use crate::look;
use crate::output::{encoded, print};
use crate::settings::Settings;
use crate::trouble::Trouble;

/// A provider, and whether there is a key for it.
pub(crate) struct KeyedProvider {
    pub(crate) provider: ConfiguredProvider,
    pub(crate) key: KeyState,
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
pub(crate) fn run(options: &Providers) -> Result<u8, Trouble> {
    // A mistake in a section is shown with its provider.
    let providers = keyed_providers(&Settings::load()?);
    match &options.action {
        ProvidersAction::List { json: true } => print(&providers.iter().map(page::json).collect::<String>())?,
        ProvidersAction::List { json: false } => print(&encoded(&page::list(&providers, look::of_stdout())))?,
    }
    Ok(0)
}
