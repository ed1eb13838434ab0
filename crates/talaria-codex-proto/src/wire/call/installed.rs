//! Calls about what the user's Codex has: its own configuration file, and its plugins. Not every version need have them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Reads Codex's configuration as its own file has it, without that of any directory.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserConfigRead {
    /// Whether to list its source files.
    pub include_layers: bool,
}

/// Codex's configuration.
#[derive(Clone, Debug, Deserialize)]
pub struct UserConfigReadReply {
    pub config: UserConfig,
}

/// The part of it that a migration looks at.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct UserConfig {
    /// The MCP servers by name.
    #[serde(default)]
    pub mcp_servers: Option<Map<String, Value>>,
}

/// Asks for the plugins of every marketplace that belongs to the user and not to a directory.
#[derive(Clone, Debug, Serialize)]
pub struct PluginList {}

/// The plugins.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginListReply {
    /// Where they come from.
    pub marketplaces: Vec<Marketplace>,
    /// Marketplaces that Codex could not read.
    #[serde(default)]
    pub marketplace_load_errors: Vec<MarketplaceError>,
}

/// One source of plugins.
#[derive(Clone, Debug, Deserialize)]
pub struct Marketplace {
    pub plugins: Vec<WirePlugin>,
}

/// A plugin, installed or not.
#[derive(Clone, Debug, Deserialize)]
pub struct WirePlugin {
    /// `name@marketplace`, as the configuration calls it.
    pub id: String,
    pub installed: bool,
    /// Is it switched on?
    pub enabled: bool,
}

/// Why a marketplace could not be read.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceError {
    pub marketplace_path: String,
    pub message: String,
}
