//! `/theme`: how the conversation looks, now and the next time.

use talaria_core::config::Theme;
use talaria_core::edit::{self, KeyPath};
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::News;

use super::super::errand::Done;
use crate::config::{FIRST_LINE, lock, replace, text_trouble};
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};

/// Lists the looks, or chooses one and keeps it.
pub(super) fn run(wanted: Option<&str>, settings: &Settings) -> Result<Vec<Done>, Trouble> {
    let Some(wanted) = wanted else {
        let row = |theme: Theme| (theme.line(), SlashCommand::Theme(Some(theme.name().to_owned())));
        let rows = Theme::ALL.map(row).to_vec();
        return Ok(vec![Done::News(News::Pick { title: "Theme".to_owned(), rows })]);
    };
    let theme: Theme = wanted
        .to_lowercase()
        .parse()
        .map_err(|unknown| Trouble::new(exit::USAGE, "there is no such theme").because(unknown))?;
    let file = settings.home.config_file();
    let locked = lock(&settings.home)?;
    if let Some(path) = KeyPath::new(["chat", "theme"]) {
        let new = edit::set(locked.text().unwrap_or(FIRST_LINE), &path, theme.name())
            .map_err(|problem| text_trouble(&file, &problem))?;
        replace(locked, &new)?;
    }
    let reply = format!("theme {}, also next time\n", theme.name());
    Ok(vec![Done::News(News::Theme(theme)), Done::News(News::Reply(reply.into()))])
}
