//! Providers as data: where they are, how they are spoken to, in what they differ, what their models cost.
//!
//! A profile is built in (`builtin`), or made from configuration, which may override every field. No code asks for a
//! provider by name: what differs is a field of `ProviderQuirks`. An unknown model is never refused.

use std::time::Duration;

use serde_json::Value;

use crate::family::ModelFamily;

mod builtin;
mod configured;
mod facts;
mod known_models;
mod quirks;

pub use builtin::{builtin_profile, builtin_profiles};
pub use configured::{ConfiguredProvider, KeyRules, configured_providers};
pub use facts::{ModelFacts, ModelFactsSource, PriceTier};
pub use quirks::{
    CacheMarking, CallIdRule, InlineThinking, OperatorRole, OutputLimitField, ProviderQuirks, ProviderSearch,
    ReasoningField, ReasoningReturn, ThinkingParam, ToolContentForm,
};

/// How a provider wants the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
}

/// How long silence may last before a request counts as cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// From the end of the request to the status line and headers.
    pub headers: Duration,
    /// Between any two bytes.
    pub bytes: Duration,
    /// Between any two events; comments and pings are none. `None`: silence is reported, and cuts nothing.
    pub events: Option<Duration>,
}

impl StreamLimits {
    /// For providers on the network: models may think for minutes, so only real silence is cut.
    pub const REMOTE: Self = Self {
        headers: Duration::from_secs(300),
        bytes: Duration::from_secs(300),
        events: Some(Duration::from_secs(300)),
    };
    /// For servers on this machine or network, which may load a model first.
    pub const LOCAL: Self =
        Self { headers: Duration::from_secs(3600), bytes: Duration::from_secs(3600), events: None };

    /// One limit for every kind of silence.
    pub fn of(limit: Duration) -> Self {
        Self { headers: limit, bytes: limit, events: Some(limit) }
    }
}

/// A provider, with everything that a request to it needs except the key.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderProfile {
    /// Its name in configuration and commands.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// The wire family.
    pub family: ModelFamily,
    /// Where it is, with the version and without a slash at the end.
    pub base_url: String,
    /// Environment variables that may hold the key, in order. Empty: none is needed.
    pub key_env: Vec<String>,
    /// How the key is sent.
    pub key_header: KeyHeader,
    /// Further headers of every request. No secrets.
    pub headers: Vec<(String, String)>,
    /// Members that are added to every request body; they replace members that the codec wrote.
    pub extra_body: Vec<(String, Value)>,
    /// In what it differs.
    pub quirks: ProviderQuirks,
    /// How long silence may last.
    pub limits: StreamLimits,
    /// Does the user want it to search the web itself?
    pub wants_search: bool,
    /// What configuration says about models, by name.
    pub models: Vec<(String, ModelFacts)>,
}

impl ProviderProfile {
    /// Makes a profile for an endpoint that is not built in, with the usual behaviour of its family.
    pub fn custom(name: &str, family: ModelFamily, base_url: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: name.to_owned(),
            family,
            base_url: base_url.trim_end_matches('/').to_owned(),
            key_env: Vec::new(),
            key_header: match family {
                ModelFamily::Messages => KeyHeader::XApiKey,
                ModelFamily::Responses | ModelFamily::Chat => KeyHeader::Bearer,
            },
            headers: Vec::new(),
            extra_body: Vec::new(),
            quirks: ProviderQuirks::of(family),
            limits: if is_local(base_url) { StreamLimits::LOCAL } else { StreamLimits::REMOTE },
            wants_search: false,
            models: Vec::new(),
        }
    }

    /// Moves the profile to another address; silence limits follow it.
    #[must_use]
    pub fn at(mut self, base_url: &str) -> Self {
        self.base_url = base_url.trim_end_matches('/').to_owned();
        self.limits = if is_local(base_url) { StreamLimits::LOCAL } else { StreamLimits::REMOTE };
        self
    }

    /// Returns the models that are known by name: configured ones first, then those of the built-in table.
    pub fn known_models(&self) -> Vec<String> {
        let configured = self.models.iter().map(|(name, _)| name.clone());
        let mut names: Vec<String> = configured.collect();
        for name in known_models::names(&self.name) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns the output limit that the configuration has for a model.
    pub fn configured_output(&self, model: &str) -> Option<u64> {
        self.models.iter().find(|(name, _)| name == model)?.1.max_output
    }

    /// Is it asked to search the web itself?
    pub fn searches_itself(&self) -> bool {
        self.wants_search && self.quirks.search != ProviderSearch::None
    }

    /// Does an effort reach the model?
    pub fn takes_effort(&self) -> bool {
        match self.family {
            ModelFamily::Responses | ModelFamily::Messages => true,
            ModelFamily::Chat => {
                !matches!(self.quirks.thinking, ThinkingParam::None | ThinkingParam::Adaptive)
            }
        }
    }

    /// Returns what is known of a model: configuration first, then the built-in table. Nothing known is an empty value.
    pub fn model(&self, model: &str) -> ModelFacts {
        let configured = self.models.iter().find(|(name, _)| name == model).map(|(_, facts)| facts);
        let built_in = known_models::find(&self.name, model);
        match (configured, built_in) {
            (Some(facts), Some(known)) => facts.clone().or(known),
            (Some(facts), None) => facts.clone(),
            (None, known) => known.unwrap_or_default(),
        }
    }
}

/// Is this address on this machine or in a private network?
pub fn is_local(base_url: &str) -> bool {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(host, _)| host),
    };
    if let Ok(address) = host.parse::<std::net::IpAddr>() {
        return match address {
            std::net::IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
            std::net::IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
        };
    }
    host == "localhost" || host.ends_with(".localhost") || host.ends_with(".local")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_recognised_by_their_host_alone() {
        for local in [
            "http://localhost:11434/v1",
            "http://127.0.0.1:8080/v1",
            "http://[::1]:8000",
            "http://192.168.1.7:1234/v1",
            "http://studio.local/v1",
        ] {
            assert!(is_local(local), "{local}");
        }
        for remote in [
            "https://api.openai.com/v1",
            "https://localhost.example.com/v1",
            "https://example.com/127.0.0.1",
            "https://user@8.8.8.8:443/v1",
        ] {
            assert!(!is_local(remote), "{remote}");
        }
    }

    #[test]
    fn built_in_profiles_are_complete_and_have_names_of_their_own() {
        let names: std::collections::BTreeSet<String> =
            builtin_profiles().into_iter().map(|profile| profile.name).collect();
        let expected = [
            "anthropic",
            "deepseek",
            "gemini",
            "glm",
            "groq",
            "kimi",
            "llamacpp",
            "lmstudio",
            "mimo",
            "minimax",
            "mistral",
            "nvidia",
            "ollama",
            "openai",
            "openrouter",
            "qwen",
            "vllm",
            "xai",
        ];
        assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        for profile in builtin_profiles() {
            assert!(!profile.base_url.ends_with('/') && profile.base_url.starts_with("http"), "{profile:?}");
            let is_local = is_local(&profile.base_url);
            assert_eq!(
                profile.key_env.is_empty(),
                is_local,
                "only local servers need no key: {}",
                profile.name
            );
            assert_eq!(profile.limits.events.is_none(), is_local, "{}", profile.name);
            assert_eq!(profile.quirks.cache == CacheMarking::Marks, profile.family == ModelFamily::Messages);
        }
        assert!(builtin_profile("openai-codex").is_none(), "subscriptions belong to Codex");
    }

    #[test]
    fn configuration_overrides_what_is_built_in_field_by_field() {
        let mut profile = builtin_profile("anthropic").unwrap();
        let known = profile.model("claude-opus-5");
        assert!(known.window.is_some() && !known.prices.is_empty(), "{known:?}");
        profile.models.push((
            "claude-opus-5".to_owned(),
            ModelFacts {
                window: Some(10_000),
                source: ModelFactsSource::Configured,
                ..ModelFacts::default()
            },
        ));
        let facts = profile.model("claude-opus-5");
        assert_eq!((facts.window, facts.max_output), (Some(10_000), known.max_output));
        assert_eq!(
            profile.model("claude-opus-5-20260801").window,
            known.window,
            "a dated name is the same model"
        );
        assert_eq!(profile.model("claude-opus-50"), ModelFacts::default(), "another model is not known");
    }

    #[test]
    fn a_relay_has_the_windows_of_the_models_and_not_their_prices() {
        let facts = builtin_profile("openrouter").unwrap().model("anthropic/claude-opus-5");
        assert!(facts.window.is_some() && facts.prices.is_empty(), "{facts:?}");
    }
}
