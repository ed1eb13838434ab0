//! What a conversation on the built-in loop would begin with, and what it lacks: from the configuration and the environment of
//! the chat. Nothing is asked of a provider.

use talaria_agent::transport::KeyState;
use talaria_core::provider::OPENAI_PROVIDER;
use talaria_tui::chat::contract::{LoopOffers, News};

use super::chat_context::{ChatContext, Chosen};
use crate::providers::{KeyedProvider, keyed_providers};
use crate::settings::Settings;

/// The providers with their keys, as the configuration is now.
pub(super) fn providers(context: &ChatContext) -> Vec<KeyedProvider> {
    let settings = &context.settings;
    let config = match settings.home.load_config() {
        Ok((config, _)) => config,
        Err(_) => settings.config.clone(),
    };
    keyed_providers(&Settings { home: settings.home.clone(), config, problems: Vec::new() })
}

/// Finds a provider by its name.
pub(super) fn find<'a>(providers: &'a [KeyedProvider], name: &str) -> Option<&'a KeyedProvider> {
    providers.iter().find(|known| known.provider.profile.name.eq_ignore_ascii_case(name.trim()))
}

/// What a conversation with this provider begins with, and what it lacks.
pub(super) fn look(context: &ChatContext, provider: Option<String>, chosen: &Chosen) -> Vec<News> {
    let providers = providers(context);
    let name = provider.unwrap_or_else(|| OPENAI_PROVIDER.to_owned());
    let usable = providers.iter().filter(|known| known.is_usable());
    let offered = usable.map(|known| {
        let profile = &known.provider.profile;
        (profile.name.clone(), profile.known_models())
    });
    let offers = LoopOffers {
        model: chosen
            .model
            .clone()
            .or_else(|| context.wanted.model.clone())
            .or_else(|| context.usual_model(chosen)),
        providers: offered.collect(),
        provider: find(&providers, &name)
            .map_or_else(|| name.clone(), |known| known.provider.profile.name.clone()),
    };
    let mut news = vec![News::LoopOffers(Box::new(offers))];
    news.extend(lack(&providers, &name).map(|(what, remedy)| News::Missing { what, remedy }));
    news
}

/// Why this provider cannot be asked from here, and what to do.
pub(super) fn lack(providers: &[KeyedProvider], name: &str) -> Option<(String, String)> {
    let list = || "run `talaria providers list`".to_owned();
    let Some(known) = find(providers, name) else {
        return Some((format!("there is no provider {name:?}"), list()));
    };
    let name = &known.provider.profile.name;
    if let Some(wrong) = known.provider.wrong.first() {
        return Some((format!("the provider {name} cannot be used: {wrong}"), list()));
    }
    match &known.key {
        KeyState::NotNeeded | KeyState::Found { .. } => None,
        KeyState::Missing { variables } => {
            let names = variables.join(" or ");
            let remedy = format!("set {names} where you start talaria, or providers.{name}.key_file");
            Some((format!("there is no key for {name}: {names} is not set"), remedy))
        }
        KeyState::Refused { source, why, remedy } => {
            Some((format!("there is no key for {name}: {source} {why}"), remedy.clone()))
        }
    }
}
