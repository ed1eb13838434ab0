//! Initial data of the chat.

use talaria_core::config::{Enter, Theme};

use super::known::RequestedSettings;
use talaria_render::Look;

/// Initial data of the chat.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Capabilities of the terminal. Its width is passed with every frame; styles are always written.
    pub look: Look,
    /// The theme.
    pub theme: Theme,
    /// What Enter does while a turn runs.
    pub enter: Enter,
    /// The version of Talaria.
    pub version: String,
    /// Where a new conversation works.
    pub cwd: String,
    /// The home of the person, if it is known: folders below it are shown with `~`.
    pub home: Option<String>,
    /// Values requested with flags.
    pub asked: RequestedSettings,
    /// The history, oldest first.
    pub history: Vec<String>,
}
