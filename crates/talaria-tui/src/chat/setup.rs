//! What the chat knows before it begins.

use talaria_core::config::{Enter, Theme};

use super::known::RequestedSettings;
use talaria_render::Look;

/// What the chat begins with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the terminal can do. Its width comes with every frame; styles are always written.
    pub look: Look,
    /// How it looks.
    pub theme: Theme,
    /// What Enter does while a turn runs.
    pub enter: Enter,
    /// The version of Talaria.
    pub version: String,
    /// Where a new conversation works.
    pub cwd: String,
    /// The home of the person, if it is known: folders below it are shown with `~`.
    pub home: Option<String>,
    /// What was asked for with flags.
    pub asked: RequestedSettings,
    /// What was said before, the oldest first.
    pub history: Vec<String>,
}
