//! `/resume`: another conversation on the screen.

use std::borrow::Cow;

use jiff::Timestamp;
use talaria_core::api::{SessionInfo, SessionQuery};
use talaria_render::{Look, Paint, cut, plain_line};
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::News;

use unicode_width::UnicodeWidthStr;

use super::super::chat_context::shown_path;
use super::super::errand::{Done, Place};
use crate::amounts::ago;
use crate::engine::{refused, refused_id};
use crate::trouble::{Trouble, exit};

/// At most this many are offered.
const OFFERED: usize = 200;
/// The widths of the columns, besides the last.
const TITLE: usize = 30;
const STATE: usize = 15;
const FOLDER: usize = 14;

/// Opens a conversation, or lists those that can be opened.
pub(super) async fn run(id: Option<String>, place: &Place) -> Result<Vec<Done>, Trouble> {
    let client = &place.context.client;
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
    let waiting = client.requests().await.unwrap_or_default();
    let now = Timestamp::now();
    let row = |info: &SessionInfo| {
        let open = waiting.iter().filter(|request| request.session == info.id).count();
        let id = info.task.clone().unwrap_or_else(|| info.id.short().to_owned());
        (row(info, open, now), SlashCommand::Resume(Some(id)))
    };
    let rows = found.iter().map(row).collect();
    Ok(vec![Done::News(News::Pick { title: "Conversations, the newest first".to_owned(), rows })])
}

/// Title, state, folder and model in columns; what matters least is last, where a narrow window cuts it.
fn row(info: &SessionInfo, open: usize, now: Timestamp) -> String {
    let state = match (open, info.running, info.queued) {
        (1, ..) => "1 request waits".to_owned(),
        (2.., ..) => format!("{open} requests wait"),
        (_, _, true) => "queued".to_owned(),
        (_, true, false) => "running".to_owned(),
        (_, false, false) => ago(info.updated_at, now),
    };
    let task = info.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
    let title = plain_line(info.title.trim());
    let title = if title.is_empty() { Cow::Borrowed("(no title)") } else { title };
    let columns = [
        (format!("{task}{title}"), TITLE),
        (state, STATE),
        (plain_line(&shown_path(&info.cwd)).into_owned(), FOLDER),
        (plain_line(info.model.as_deref().unwrap_or("")).into_owned(), 0),
    ];
    let columns = columns.map(|(text, width)| if width == 0 { text } else { column(&text, width) });
    columns.join("  ").trim_end().to_owned()
}

/// Text in a column of this width.
fn column(text: &str, width: usize) -> String {
    let text = cut(text, width, Paint::new(Look { color: false, width: None, live: true, unicode: true }));
    let fill = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(fill))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_what_where_and_how_it_stands() {
        let info = |title: &str, running: bool, task: Option<&str>, cwd: &str| -> SessionInfo {
            serde_json::from_value(json!({ "id": "s-1", "title": title, "runtime": "codex",
                "updated_at": "2026-01-01T00:00:00Z", "running": running, "kind": "chat", "task": task, "cwd": cwd,
                "model": "gpt-5.5", "created_at": "2026-01-01T00:00:00Z", "last_seq": 9 }))
            .unwrap()
        };
        let now: Timestamp = "2026-01-01T03:00:00Z".parse().unwrap();
        let rows = [
            row(&info("mend\u{1b} the parser", false, None, "/work/shop"), 0, now),
            row(
                &info(
                    "a long title that says everything about it",
                    true,
                    None,
                    "/work/a/long/way/down/there",
                ),
                0,
                now,
            ),
            row(&info("世界 wide", true, None, "/w"), 1, now),
            row(&info("", false, Some("codex-1a"), "/w"), 2, now),
        ];
        expect![[r#"
            mend␛ the parser                3 hours ago      /work/shop      gpt-5.5
            a long title that says everyt…  running          /work/a/long/…  gpt-5.5
            世界 wide                       1 request waits  /w              gpt-5.5
            codex-1a: (no title)            2 requests wait  /w              gpt-5.5
        "#]]
        .assert_eq(&(rows.join("\n") + "\n"));
    }
}
