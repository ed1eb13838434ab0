//! `/resume`: another conversation on the screen.

use jiff::Timestamp;
use talaria_core::api::{SessionInfo, SessionQuery};
use talaria_render::plain_line;
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::News;

use super::super::errand::{Done, Place};
use crate::amounts::ago;
use crate::engine::{refused, refused_id};
use crate::trouble::{Trouble, exit};

/// At most this many are offered.
const OFFERED: usize = 50;

/// Opens a conversation, or lists those that can be opened.
pub(super) async fn run(id: Option<String>, place: &Place) -> Result<Vec<Done>, Trouble> {
    let client = &place.desk.client;
    if let Some(id) = id {
        return match client.session(&id).await {
            Ok(detail) => Ok(vec![Done::Open(Box::new(detail.info))]),
            Err(error) => Err(refused_id("cannot open this conversation", &error)),
        };
    }
    let query = SessionQuery { limit: OFFERED, ..SessionQuery::default() };
    let found = client.sessions(&query).await;
    let found = found.map_err(|error| refused("cannot list conversations", &error))?;
    if found.is_empty() {
        return Err(Trouble::new(exit::USAGE, "there are no conversations"));
    }
    let rows = found.iter().map(|info| row(info, Timestamp::now())).collect();
    Ok(vec![Done::News(News::Pick { title: "Conversations, the newest first".to_owned(), rows })])
}

fn row(info: &SessionInfo, now: Timestamp) -> (String, SlashCommand) {
    let id = info.task.clone().unwrap_or_else(|| info.id.short().to_owned());
    let running = match (info.running, info.queued) {
        (_, true) => ", queued",
        (true, false) => ", running",
        (false, false) => "",
    };
    let task = info.task.as_ref().map(|task| format!("task {task}, ")).unwrap_or_default();
    let text = format!("{}  ({task}{}{running})", info.title.trim(), ago(info.updated_at, now));
    (plain_line(&text).into_owned(), SlashCommand::Resume(Some(id)))
}
