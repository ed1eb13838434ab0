//! Profiles with the user's configuration applied: `[providers.NAME]` over what is built in.
//!
//! Every configured field replaces the built-in one. A provider that is spoken to in another family than its built-in one
//! has the usual behaviour of that family: the built-in quirks were observed in the other.

use talaria_core::provider::{
    FallbackModel, KeyStrategy, ModelPrice, ProviderApi, ProviderConfig, ProviderModelConfig,
};

use super::{
    ModelFacts, ModelFactsSource, PriceTier, ProviderProfile, StreamLimits, builtin_profile, builtin_profiles,
};
use crate::family::ModelFamily;

/// How a provider's keys are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRules {
    /// Which one a turn begins with.
    pub strategy: KeyStrategy,
    /// The most requests at once with one key.
    pub max_concurrent: Option<u64>,
}

/// A provider that can be asked, or the reasons why not.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredProvider {
    /// The profile; built-in values where the configuration has a mistake.
    pub profile: ProviderProfile,
    /// The files with the keys, as written; `key_env` of the profile is then empty.
    pub key_files: Vec<String>,
    /// Whether each variable or file has a key of its own. The variables of a built-in provider are other names of one key.
    pub has_pool: bool,
    /// How several keys are used.
    pub key_rules: KeyRules,
    /// The models that take over from one of this provider, if it has a list of its own.
    pub fallback: Option<Vec<FallbackModel>>,
    /// Is there a section for it in the configuration?
    pub is_configured: bool,
    /// Mistakes in that section. Requests would not be those that the user wants.
    pub wrong: Vec<String>,
}

/// Returns every provider: the built-in ones in their order, then the user's own in the order of the file.
pub fn configured_providers(configured: &[ProviderConfig]) -> Vec<ConfiguredProvider> {
    let find = |name: &str| configured.iter().find(|config| config.name == name);
    let mut providers: Vec<ConfiguredProvider> = builtin_profiles()
        .into_iter()
        .map(|profile| match find(&profile.name) {
            Some(config) => apply(profile, config),
            None => ConfiguredProvider {
                profile,
                key_files: Vec::new(),
                has_pool: false,
                key_rules: KeyRules::default(),
                fallback: None,
                is_configured: false,
                wrong: Vec::new(),
            },
        })
        .collect();
    for config in configured.iter().filter(|config| builtin_profile(&config.name).is_none()) {
        let family = config.api.map_or(ModelFamily::Chat, family_of);
        let base_url = config.base_url.as_deref().unwrap_or_default();
        providers.push(apply(ProviderProfile::custom(&config.name, family, base_url), config));
    }
    providers
}

fn apply(mut profile: ProviderProfile, config: &ProviderConfig) -> ConfiguredProvider {
    if let Some(family) = config.api.map(family_of).filter(|family| *family != profile.family) {
        let usual = ProviderProfile::custom(&profile.name, family, &profile.base_url);
        profile = ProviderProfile { title: profile.title, key_env: profile.key_env, ..usual };
    }
    if let Some(base_url) = &config.base_url {
        profile = profile.at(base_url);
    }
    if !config.key_env.is_empty() {
        profile.key_env.clone_from(&config.key_env);
    }
    if !config.key_file.is_empty() {
        profile.key_env = Vec::new();
    }
    if let Some(limit) = config.idle_timeout {
        profile.limits = StreamLimits::of(limit);
    }
    profile.wants_search = config.web_search;
    profile.headers.extend(config.headers.iter().cloned());
    profile.extra_body.extend(config.extra_body.iter().map(|(name, value)| (name.clone(), value.clone())));
    profile.models = config.models.iter().map(|model| (model.name.clone(), facts_of(model))).collect();
    ConfiguredProvider {
        profile,
        key_files: config.key_file.clone(),
        has_pool: config.key_env.len() + config.key_file.len() > 1,
        key_rules: KeyRules { strategy: config.key_strategy, max_concurrent: config.max_concurrent },
        fallback: config.fallback.clone(),
        is_configured: true,
        wrong: config.wrong.clone(),
    }
}

fn family_of(api: ProviderApi) -> ModelFamily {
    match api {
        ProviderApi::Responses => ModelFamily::Responses,
        ProviderApi::Chat => ModelFamily::Chat,
        ProviderApi::Messages => ModelFamily::Messages,
    }
}

fn facts_of(model: &ProviderModelConfig) -> ModelFacts {
    let tier = |price: ModelPrice| PriceTier {
        above_input: 0,
        input: price.input,
        cached: price.cached,
        cache_write_short: price.cache_write,
        cache_write_long: None,
        output: price.output,
    };
    ModelFacts {
        window: model.context,
        max_output: model.max_output,
        prices: model.price.map(tier).into_iter().collect(),
        source: ModelFactsSource::Configured,
        ..ModelFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::provider::BUILT_IN_PROVIDERS;

    use super::*;

    fn providers(text: &str) -> Vec<ConfiguredProvider> {
        configured_providers(&talaria_core::config::parse(text).unwrap().config.providers)
    }

    fn named(text: &str, name: &str) -> ConfiguredProvider {
        providers(text).into_iter().find(|provider| provider.profile.name == name).unwrap()
    }

    #[test]
    fn the_configuration_accepts_exactly_the_names_that_are_built_in() {
        let names: Vec<String> = builtin_profiles().into_iter().map(|profile| profile.name).collect();
        assert_eq!(names, BUILT_IN_PROVIDERS);
    }

    #[test]
    fn configured_fields_replace_built_in_ones_and_the_others_stay() {
        let text = "[providers.anthropic]\nkey_env = \"WORK\"\nheaders = { x-team = \"a\" }\n\
                    [providers.anthropic.models.claude-opus-5]\ncontext = 1000\n\
                    price = { input = 1, output = 2 }\n";
        let found = named(text, "anthropic");
        assert_eq!(found.profile.key_env, ["WORK"]);
        assert_eq!(found.profile.base_url, "https://api.anthropic.com/v1");
        assert!(found.profile.headers.contains(&("x-team".to_owned(), "a".to_owned())));
        let facts = found.profile.model("claude-opus-5");
        assert_eq!((facts.window, facts.prices[0].output), (Some(1000), 2_000_000));
        assert!(found.is_configured && !named(text, "openai").is_configured);
        assert!(!found.has_pool && !named("", "kimi").has_pool, "two names of one key are no pool");
        let pool = named("[providers.kimi]\nkey_env = [\"A\", \"B\"]\nfallback = [\"groq/x\"]\n", "kimi");
        assert!(pool.has_pool && pool.profile.key_env == ["A", "B"]);
        assert_eq!(pool.fallback.unwrap()[0].to_string(), "groq/x");
    }

    #[test]
    fn another_family_has_its_own_behaviour_and_a_file_replaces_variables() {
        let found = named("[providers.openai]\napi = \"chat\"\nkey_file = \"k\"\n", "openai");
        assert_eq!(found.profile.quirks, crate::profile::ProviderQuirks::of(ModelFamily::Chat));
        assert_eq!((found.profile.key_env.len(), &*found.key_files), (0, &["k".to_owned()][..]));
        assert_eq!(found.profile.title, "OpenAI");
    }

    #[test]
    fn own_providers_follow_the_built_in_ones() {
        let text = "[providers.house]\nbase_url = \"http://10.0.0.7/v1/\"\napi = \"messages\"\n";
        let found = providers(text).pop().unwrap();
        assert_eq!((found.profile.name.as_str(), found.profile.family), ("house", ModelFamily::Messages));
        assert_eq!(found.profile.base_url, "http://10.0.0.7/v1");
        assert!(found.profile.limits.events.is_none(), "a private address is a local server");
    }
}
