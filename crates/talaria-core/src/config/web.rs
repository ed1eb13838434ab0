//! The section `[web]`: where a model may read pages, and where the engine can be reached over TCP (`listen`). The first is
//! read by the engine at every call of `talaria_web`, the second when it starts.

use std::str::FromStr;

use toml_edit::Item;

use super::Config;
use super::keys::{Wrong, text};
use super::listen::ListenConfig;
use super::notify::{PrivateHost, private_hosts};
use crate::policy::UnknownName;

/// The section `[web]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebConfig {
    /// Which hosts may be read although their addresses are private.
    pub allow: Vec<PrivateHost>,
    /// Whether a person is asked in a conversation whose sandbox has no network. Unset: yes.
    pub network: Option<WebNetwork>,
    /// The SearXNG that the built-in loop searches with, without a slash at the end.
    pub searxng_url: Option<String>,
    /// Where the engine can be reached over TCP.
    pub listen: ListenConfig,
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

/// Reads `web.searxng_url`.
pub(super) fn search_address(item: &Item) -> Result<String, Wrong> {
    let text = text(item)?;
    let address = text.trim().trim_end_matches('/');
    let is_address = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    if is_address.is_none_or(str::is_empty) || address.contains(['?', '#', ' ']) {
        return Err(Wrong {
            message: "must be the address of a SearXNG, with http:// or https://".to_owned(),
            hint: Some("write searxng_url = \"http://127.0.0.1:8888\"".to_owned()),
            start: None,
        });
    }
    Ok(address.to_owned())
}

/// Reads `web.allow`.
pub(super) fn allow(item: &Item, config: &mut Config) -> Vec<Wrong> {
    private_hosts(item, &mut config.web.allow)
}
