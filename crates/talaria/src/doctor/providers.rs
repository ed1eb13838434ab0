//! The line of each model provider that has a key or a section in the configuration. Nothing is sent.

use talaria_agent::transport::KeyState;

use super::Check;
use crate::providers::{KeyedProvider, keyed_providers};
use crate::settings::Settings;

/// A check for each provider that a person has set up.
pub(super) fn providers(settings: &Settings) -> Vec<Check> {
    keyed_providers(settings).iter().filter_map(check).collect()
}

fn check(known: &KeyedProvider) -> Option<Check> {
    let profile = &known.provider.profile;
    let name = &profile.name;
    if let Some(wrong) = known.provider.wrong.first() {
        // The check of the configuration is the one that counts as a problem.
        return Some(Check::warning("provider", format!("{name}: {wrong}"), "run `talaria config check`"));
    }
    let address = &profile.base_url;
    match &known.key {
        KeyState::Found { source, .. } => {
            Some(Check::ok("provider", format!("{name}: {address}, key from {source}")))
        }
        KeyState::Refused { source, why, remedy } => {
            Some(Check::warning("provider", format!("{name}: {source} {why}"), remedy.clone()))
        }
        // A provider without a key is one that is not used, unless the configuration names it.
        KeyState::Missing { variables } if known.provider.is_configured => {
            let names = variables.join(" or ");
            Some(Check::warning("provider", format!("{name}: {names} is not set"), format!("set {names}")))
        }
        KeyState::NotNeeded if known.provider.is_configured => {
            Some(Check::ok("provider", format!("{name}: {address}, no key needed")))
        }
        KeyState::Missing { .. } | KeyState::NotNeeded => None,
    }
}
