//! The section `[web]`: where a model may read pages. Read by the engine at every call of `talaria_web`.

use std::str::FromStr;

use toml_edit::Item;

use super::Config;
use super::keys::Wrong;
use super::notify::{PrivateHost, private_hosts};
use crate::policy::UnknownName;

/// The section `[web]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebConfig {
    /// Which hosts may be read although their addresses are private.
    pub allow: Vec<PrivateHost>,
    /// Whether a person is asked in a conversation whose sandbox has no network. Unset: yes.
    pub network: Option<WebNetwork>,
}

/// When a model may read web pages without a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WebNetwork {
    /// Where its sandbox has the network; elsewhere a person is asked.
    #[default]
    Follow,
    /// Everywhere.
    Always,
}

impl WebNetwork {
    /// Every name.
    pub const NAMES: [&'static str; 2] = ["follow", "always"];
}

impl FromStr for WebNetwork {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "follow" => Ok(Self::Follow),
            "always" => Ok(Self::Always),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}

/// Reads `web.allow`.
pub(super) fn allow(item: &Item, config: &mut Config) -> Vec<Wrong> {
    private_hosts(item, &mut config.web.allow)
}
