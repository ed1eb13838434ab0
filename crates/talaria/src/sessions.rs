//! `talaria sessions`: stored conversations. Each command renders the engine's response as text.

use jiff::Timestamp;
use serde::Serialize;
use talaria_core::api::{SearchHit, SessionInfo, SessionQuery};
use talaria_core::json_line::json_line;
use talaria_core::next_step::NextStep;
use talaria_server::client::Client;
use talaria_tui::chat::folder;

use crate::advice::Reader;
use crate::amounts::ago;
use crate::args::{Search, Sessions, SessionsAction};
use crate::engine::{self, refused, refused_id};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::settings::Settings;
use crate::trouble::Trouble;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, Paint, Style, StyledText, cut, plain_line, with_exit};

/// From this width on folders are shown whole.
const WIDE: usize = 100;

mod compact;
mod export;
mod fork;
mod prune;
mod show;
mod undo;

pub(crate) use compact::not_shortened;
pub(crate) use export::to_file;
pub(crate) use fork::{fork, forked_words};
pub(crate) use undo::{not_repeated, undo, undone_words};

pub(crate) async fn run(options: &Sessions) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    match &options.action {
        SessionsAction::List { limit, json } => {
            let query = SessionQuery { limit: *limit as usize, ..SessionQuery::default() };
            let sessions = with_progress("listing", client.sessions(&query)).await;
            let sessions = sessions.map_err(|error| refused("cannot list conversations", &error))?;
            print(&if *json {
                json_lines(&sessions)
            } else {
                encoded(&list(&sessions, Timestamp::now(), look::of_stdout(), Reader::Shell))
            })?;
        }
        SessionsAction::Show { id, json } => {
            let detail = match with_progress("reading", client.session(id)).await {
                Ok(detail) => detail,
                Err(error) => {
                    return Err(refused_id("cannot show this conversation", &error));
                }
            };
            print(&if *json {
                let reports = detail.turns.iter().filter_map(|turn| turn.outcome.as_ref());
                with_exit(json_lines(&[&detail]), reports)
            } else {
                encoded(&show::page(&detail, Timestamp::now(), look::of_stdout()))
            })?;
        }
        SessionsAction::Search(options) => search(&client, options).await?,
        SessionsAction::Export(options) => export::run(&client, options).await?,
        SessionsAction::Compact(options) => return compact::run(&client, options).await,
        SessionsAction::Fork(options) => fork::run(&client, options).await?,
        SessionsAction::Undo { id, json } => undo::run(&client, id, *json).await?,
        SessionsAction::Retry(options) => return undo::again(&client, options).await,
        SessionsAction::Rename { id, title } => {
            let renamed = rename(&client, id, &title.join(" ")).await?;
            print(&format!(
                "{}  {}\n",
                look::session_id(&renamed.id, look::of_stdout()),
                plain_line(&renamed.title)
            ))?;
        }
        SessionsAction::Prune(options) => prune::run(&client, options).await?,
    }
    Ok(0)
}

/// Changes the title of a conversation.
pub(crate) async fn rename(client: &Client, id: &str, title: &str) -> Result<SessionInfo, Trouble> {
    let renamed = with_progress("renaming", client.rename(id, title)).await;
    renamed.map_err(|error| refused_id("the conversation was not renamed", &error))
}

/// One JSON object per line.
pub(crate) fn json_lines(rows: &[impl Serialize]) -> String {
    rows.iter().map(json_line).collect()
}

/// Conversations as a table.
pub(crate) fn list(sessions: &[SessionInfo], now: Timestamp, look: Look, reader: Reader) -> StyledText {
    if sessions.is_empty() {
        return format!("no conversations; {}\n", reader.says(&NextStep::StartSession)).into();
    }
    let mut sheet = Sheet::new(&["id", "", "updated", "title", "folder", "model"], "title");
    let is_wide = look.width.is_none_or(|width| width >= WIDE);
    let home = std::env::var("HOME").ok();
    for info in sessions {
        let folder = folder::shown(&info.cwd, home.as_deref());
        // Where there is little room, its own name says most.
        let name = || folder.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&folder).to_owned();
        let folder = if is_wide { folder.clone() } else { name() };
        let model = info.model.clone().unwrap_or_default();
        let id = info.task.clone().unwrap_or_else(|| look::session_id(&info.id, look).to_owned());
        let running = match (info.running, info.queued) {
            (_, true) => "queued",
            (true, false) => "running",
            (false, false) => "",
        };
        sheet.row([id, running.to_owned(), ago(info.updated_at, now), info.title.clone(), folder, model]);
    }
    sheet.show(look)
}

async fn search(client: &Client, options: &Search) -> Result<(), Trouble> {
    let words = options.words.join(" ");
    let found = with_progress("searching", client.search(&words, options.limit as usize)).await;
    let found = found.map_err(|error| refused("cannot search", &error))?;
    print(&if options.json { json_lines(&found) } else { encoded(&hits(&found, &words, look::of_stdout())) })
}

/// Where words were found, grouped by conversation.
pub(crate) fn hits(found: &[SearchHit], words: &str, look: Look) -> StyledText {
    if found.is_empty() {
        return format!("no match for {}\n", plain_line(words)).into();
    }
    let paint = Paint::new(look);
    let (mut out, mut last) = (StyledText::default(), None);
    for hit in found {
        if last != Some(&hit.session) {
            let gap = if last.is_some() { "\n" } else { "" };
            let id = look::session_id(&hit.session, look);
            let title = fitted(&hit.title, look, id.len() + 2, paint);
            out += gap;
            out += paint.text(Style::BOLD, id) + format!("  {title}\n");
            last = Some(&hit.session);
        }
        let who = format!("  {:<9} ", plain_line(&hit.role));
        let snippet = fitted(&hit.snippet, look, who.len(), paint);
        out += paint.text(Style::DIM, &who) + format!("{snippet}\n");
    }
    out
}

/// Text of others on one line that fits into the rest of the row.
fn fitted(text: &str, look: Look, before: usize, paint: Paint) -> String {
    let line = plain_line(text.trim());
    match look.width {
        Some(width) => cut(&line, width.saturating_sub(before).max(10), paint),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;
    use talaria_core::api::Kind;
    use talaria_core::ids::SessionId;

    use super::*;

    fn info(id: &str, title: &str, running: bool) -> SessionInfo {
        let at = |second| Timestamp::from_second(second).unwrap();
        SessionInfo {
            id: SessionId::new(id),
            title: title.to_owned(),
            runtime: "codex_app_server".to_owned(),
            updated_at: at(1000),
            running,
            queued: false,
            kind: Kind::Exec,
            task: None,
            cwd: "/work".to_owned(),
            provider: None,
            model: None,
            created_at: at(900),
            last_seq: 7,
        }
    }

    fn narrow() -> Look {
        Look { color: false, width: Some(60), live: true, unicode: true }
    }

    #[test]
    fn a_list_is_cut_to_the_window_and_shows_what_runs() {
        let sessions = [
            info("0199a000-0000-7000-8000-000000000001", "为什么构建这么慢，请看一下日志", true),
            info("0199a000-0000-7000-8000-000000000002", "hello\u{1b}[2J", false),
        ];
        let now = Timestamp::from_second(4700).unwrap();
        expect![[r#"
            ID                 UPDATED     TITLE                           FOLDER  MODEL
            00000001  running  1 hour ago  为什么构建这么慢，请看一下日志  work
            00000002           1 hour ago  hello␛[2J                       work
        "#]]
        .assert_eq(&list(&sessions, now, Look { width: Some(80), ..narrow() }, Reader::Shell).text());
        expect![[r#"
            ID                 UPDATED     TITLE           FOLDER  MODEL
            00000001  running  1 hour ago  为什么构建这…   work
            00000002           1 hour ago  hello␛[2J       work
        "#]]
        .assert_eq(&list(&sessions, now, narrow(), Reader::Shell).text());
        assert!(list(&[], now, narrow(), Reader::Shell).text().contains("talaria exec"));
    }

    #[test]
    fn json_has_the_promised_fields() {
        let line = json_lines(&[info("a", "t", true)]);
        let value: Value = serde_json::from_str(&line).unwrap();
        for field in ["id", "title", "runtime", "updated_at", "running"] {
            assert!(!value[field].is_null(), "{field}");
        }
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn places_are_grouped_by_conversation_and_harmless() {
        let hit = |session: &str, role: &str, snippet: &str| SearchHit {
            session: SessionId::new(session),
            seq: 1,
            snippet: snippet.to_owned(),
            title: format!("about {session}"),
            role: role.to_owned(),
        };
        let found = [
            hit("s-1", "user", "run [cargo] test please"),
            hit(
                "s-1",
                "tool",
                "[cargo] test\nerror: \u{1b}]0;x\u{7} a line that is much longer than the window is wide",
            ),
            hit("s-2", "assistant", "用 [cargo] 构建"),
        ];
        expect![[r#"
            s-1  about s-1
              user      run [cargo] test please
              tool      [cargo] test␊error: ␛]0;x␇ a line that is much …

            s-2  about s-2
              assistant 用 [cargo] 构建
        "#]]
        .assert_eq(&hits(&found, "cargo", narrow()).text());
        assert_eq!(hits(&[], "a\nb", narrow()).text(), "no match for a␊b\n");
    }
}
