//! The plugins of the user's Codex, by asking it.
//!
//! A Codex is started for one question. It keeps its own logs in its home as at every start, but `config.toml` stays as
//! it is. A home on which no Codex ever ran has no plugins, and none is started there: it would fill the home.

use std::time::Duration;

use talaria_codex_proto::wire::call::{PluginList, PluginListReply};
use talaria_guard::plain::one_line;
use talaria_guard::redact::redact;

use super::MigrationTarget;
use crate::host::{Host, HostSpec};

/// How long start and answer may take together. A marketplace that is asked over the network may be slow.
const LIMIT: Duration = Duration::from_secs(30);

/// Result of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plugins {
    /// Installed and enabled plugins, as `name@marketplace`, sorted.
    pub names: Vec<String>,
    /// What could not be found out, in words for people.
    pub warnings: Vec<String>,
    /// True if there may be more that could not be listed.
    pub is_incomplete: bool,
}

/// Asks the Codex of `spec` for its plugins. A failure is a warning.
pub async fn discover(target: &MigrationTarget, spec: HostSpec) -> Plugins {
    if !target.was_used() {
        return Plugins::default();
    }
    let failed = |why: String| {
        let why = redact(&why).into_owned();
        let warnings = vec![format!("plugins were not listed: {why}")];
        Plugins { warnings, is_incomplete: true, ..Plugins::default() }
    };
    let spec = HostSpec { codex_home: Some(target.home().to_owned()), ..spec };
    let asked = async {
        let host = Host::start(spec).await.map_err(|error| error.to_string())?;
        let reply = host.call(&PluginList {}).await.map_err(|error| error.to_string());
        host.close().await;
        reply
    };
    match tokio::time::timeout(LIMIT, asked).await {
        Ok(Ok(reply)) => installed(reply),
        Ok(Err(why)) => failed(why),
        Err(_) => failed(format!("Codex did not answer within {} s", LIMIT.as_secs())),
    }
}

/// Disabled plugins stay disabled: the user decided so.
fn installed(reply: PluginListReply) -> Plugins {
    let of_all = reply.marketplaces.into_iter().flat_map(|marketplace| marketplace.plugins);
    let mut names: Vec<String> =
        of_all.filter(|plugin| plugin.installed && plugin.enabled).map(|plugin| plugin.id).collect();
    names.sort();
    names.dedup();
    let is_incomplete = !reply.marketplace_load_errors.is_empty();
    let warnings = reply.marketplace_load_errors.into_iter().map(|error| {
        let words =
            format!("Codex cannot read the marketplace {}: {}", error.marketplace_path, error.message);
        redact(&one_line(&words)).into_owned()
    });
    Plugins { names, warnings: warnings.collect(), is_incomplete }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_installed_plugins_of_all_marketplaces_are_found_and_the_switched_off_ones_are_not() {
        let plugin = |id: &str, installed: bool, enabled: bool| json!({ "id": id, "name": "x", "installed": installed, "enabled": enabled });
        let reply = json!({
            "marketplaces": [
                { "name": "b", "plugins": [plugin("two@b", true, true), plugin("off@b", true, false)] },
                { "name": "a", "plugins": [plugin("one@a", true, true), plugin("new@a", false, false)] },
            ],
            "marketplaceLoadErrors": [{ "marketplacePath": "/m", "message": "no\u{1b}[2J" }],
            "featuredPluginIds": [],
        });
        let found = installed(serde_json::from_value(reply).unwrap());
        assert_eq!(found.names, ["one@a", "two@b"]);
        assert!(found.is_incomplete, "the plugins of that marketplace are not known");
        assert_eq!(found.warnings, ["Codex cannot read the marketplace /m: no␛[2J"]);
    }
}
