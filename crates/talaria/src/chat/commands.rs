//! What each slash command does: the one implementation for the screen and for the plain mode.
//!
//! Where `talaria` has the same command, it is asked for the same words. What changes the conversation on the screen is
//! handed back to the driver.

use std::sync::Arc;

use jiff::Timestamp;
use talaria_core::api::{Compact, ForkPoint, SessionQuery, TaskQuery};
use talaria_render::{StyledText, plain_line};
use talaria_tui::chat::commands::{self, SlashCommand};
use talaria_tui::chat::contract::News;

use super::chat_context::typed_path;
use super::errand::{Done, Place};
use crate::advice::Reader;
use crate::args::{CodexRuntime, TaskAction};
use crate::caller;
use crate::engine::refused;
use crate::trouble::{Trouble, exit};
use crate::{context, runtime, sessions, tasks};
use talaria_core::ids::SessionId;

mod answer;
mod choice;
mod copy;
mod diff;
mod line;
mod memory;
mod permissions;
mod ps;
mod resume;
mod skills;
mod status;
mod task;
mod theme;
mod usage;

pub(super) use answer::accept;

/// At most this many conversations are listed.
const SESSIONS: usize = 30;
/// At most this many matches are shown.
const HITS: usize = 30;

/// Carries a command out.
pub(super) async fn run(command: SlashCommand, place: &Place) -> Result<Vec<Done>, Trouble> {
    let client = &place.context.client;
    let look = place.context.look();
    let text = match command {
        SlashCommand::Resume(id) => return resume::run(id, place).await,
        SlashCommand::Model(model) => return choice::model(model, place).await,
        SlashCommand::Reasoning(effort) => return choice::effort(effort, place).await,
        SlashCommand::Permissions(words) => return permissions::run(&words, place).await,
        SlashCommand::Theme(theme) => {
            // Another process may hold the file for a while.
            let context = Arc::clone(&place.context);
            let chosen = tokio::task::spawn_blocking(move || theme::run(theme.as_deref(), &context.settings));
            let cannot = |error| Trouble::new(exit::FAILED, "the theme was not saved").because(error);
            return chosen.await.map_err(cannot)?;
        }
        SlashCommand::Task(typed) => return task::run(&typed, place).await,
        SlashCommand::Compact => return compact(place).await,
        SlashCommand::Fork(words) => {
            let info = sessions::fork(client, session(place)?.as_str(), fork_point(&words)?).await?;
            let told = StyledText::from(format!("forked: {}", sessions::forked_words(&info, look)));
            return Ok(vec![Done::Open(Box::new(info)), Done::News(News::Reply(told))]);
        }
        SlashCommand::Undo => {
            let undone = sessions::undo(client, session(place)?.as_str()).await?;
            sessions::undone_words(&undone).into()
        }
        SlashCommand::Retry => return repeat(place).await,
        SlashCommand::Rename(title) => {
            let renamed = sessions::rename(client, session(place)?.as_str(), &title).await?;
            format!("renamed: {}\n", plain_line(&renamed.title)).into()
        }
        SlashCommand::Sessions => {
            let query = SessionQuery { limit: SESSIONS, ..SessionQuery::default() };
            let found = client.sessions(&query).await;
            let found = found.map_err(|error| refused("cannot list conversations", &error))?;
            let how = if found.is_empty() { "" } else { "open one with: /resume ID\n" };
            sessions::list(&found, Timestamp::now(), look, Reader::Chat) + how
        }
        SlashCommand::Search(words) => {
            let found = client.search(&words, HITS).await;
            sessions::hits(&found.map_err(|error| refused("cannot search", &error))?, &words, look)
        }
        SlashCommand::Usage => usage::page(place).await?,
        SlashCommand::Context => {
            let report = context::read(client, session(place)?.as_str()).await?;
            context::page(&report, look)
        }
        SlashCommand::Memory(typed) => memory::run(&typed, place).await?,
        SlashCommand::Diff => diff::run(place).await?,
        SlashCommand::Copy => copy::run(place).await?.into(),
        SlashCommand::Status => status::page(place).await?,
        SlashCommand::Tasks => {
            let TaskQuery { limit, active, .. } = TaskQuery::default();
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            tasks::carry_out(&TaskAction::List { active, limit, json: false }, client, look, Reader::Chat)
                .await?
        }
        SlashCommand::Ps(words) => ps::run(&words, place).await?,
        SlashCommand::Skills(typed) => skills::run(&typed, place).await?,
        SlashCommand::Requests => answer::list(place).await?,
        SlashCommand::Approve { request, decision } => return answer::show(request, decision, place).await,
        SlashCommand::Deny { request, reason } => return answer::deny(request, reason, place).await,
        SlashCommand::CodexRuntime(wanted) => {
            let wanted = wanted.map(|word| talaria_core::runtime::RuntimeChoice::typed(&word)).transpose();
            let wanted = wanted.map_err(|problem| {
                Trouble::new(exit::USAGE, "the runtime was not changed").because(problem)
            })?;
            runtime::show_or_switch(&CodexRuntime { wanted, json: false }).await?.into()
        }
        SlashCommand::Export(path) => export(path, place).await?.into(),
        SlashCommand::Help(about) => {
            let help = commands::help(about.as_deref(), look);
            help.map_err(|mistake| Trouble::new(exit::USAGE, mistake.to_string()))?
        }
        // These are the driver's, the errand's, or the face's own.
        SlashCommand::New
        | SlashCommand::Login(_)
        | SlashCommand::Stop
        | SlashCommand::Steer(_)
        | SlashCommand::Queue(_)
        | SlashCommand::Quit => {
            return Ok(Vec::new());
        }
    };
    Ok(vec![Done::News(News::Reply(text))])
}

/// The conversation on the screen; some commands are about nothing else.
fn session(place: &Place) -> Result<&SessionId, Trouble> {
    place.session.as_ref().ok_or_else(|| {
        Trouble::new(exit::USAGE, "there is no conversation yet")
            .try_this("send a message first, or /resume an old one")
    })
}

async fn compact(place: &Place) -> Result<Vec<Done>, Trouble> {
    let id = session(place)?.as_str();
    let compact = Compact { caller: caller::describe() };
    match place.context.client.compact(id, &compact).await {
        Ok(started) => Ok(vec![Done::Started { started, epoch: place.epoch }]),
        Err(error) => Err(sessions::not_shortened(&error)),
    }
}

/// Up to where a conversation is forked, as it was typed.
fn fork_point(words: &[String]) -> Result<ForkPoint, Trouble> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let at = |turn: &str| turn.parse().ok().map(|turn| ForkPoint::Turn { turn });
    let point = match words.as_slice() {
        [] => Some(ForkPoint::Last),
        ["--before-compaction"] => Some(ForkPoint::BeforeCompaction),
        ["--at", turn] => at(turn),
        [word] => word.strip_prefix("--at=").and_then(at),
        _ => None,
    };
    point.ok_or_else(|| {
        Trouble::new(exit::USAGE, "the conversation was not forked: it is not clear up to where")
            .try_this("/fork, /fork --at 3 or /fork --before-compaction")
    })
}

async fn repeat(place: &Place) -> Result<Vec<Done>, Trouble> {
    let id = session(place)?.as_str();
    match place.context.client.retry(id, &place.context.turn_again(&place.chosen)).await {
        Ok(started) => Ok(vec![Done::Started { started, epoch: place.epoch }]),
        Err(error) => Err(sessions::not_repeated(&error)),
    }
}

/// Without a name the file is called after the conversation.
async fn export(path: Option<String>, place: &Place) -> Result<String, Trouble> {
    let id = session(place)?;
    let path = path.unwrap_or_else(|| format!("talaria-{id}.md"));
    let path = typed_path(&path, &place.cwd);
    if path.exists() {
        return Err(Trouble::new(
            exit::USAGE,
            format!("{} already exists", plain_line(&path.display().to_string())),
        )
        .try_this("name another file: /export FILE"));
    }
    sessions::to_file(&place.context.client, id.as_str(), path).await
}
