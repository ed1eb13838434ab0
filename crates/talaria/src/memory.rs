//! `talaria memory`: what is remembered across conversations, where it came from, and the way back from every change.

use std::io::Read;

use jiff::Timestamp;
use serde::Serialize;
use talaria_core::api::{
    MemoryDone, MemoryHistoryQuery, MemoryItem, MemoryList, MemoryProposal, MemoryQuery, MemoryRevision,
    MemoryWish,
};
use talaria_guard::shorten::shorten_line;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, plain_line};
use talaria_server::client::Client;

use crate::amounts::ago;
use crate::args::{Memory, MemoryAction};
use crate::engine::{self, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::patience::patiently;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// The longest text that is read from standard input.
const TEXT_LIMIT: u64 = 1024 * 1024;

/// Runs the command.
pub(crate) async fn run(options: &Memory) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    let now = Timestamp::now();
    match &options.action {
        MemoryAction::List { json } => {
            let list = list(&client).await?;
            show(*json, &list.entries, || listed(&list, now, look::of_stdout()))?;
        }
        MemoryAction::Show { entry, json } => {
            let item = entry_named(list(&client).await?, entry)?;
            let changes = history(&client, Some(item.id.clone()), 1000).await?;
            show(*json, &changes, || shown(&item, &changes, now))?;
        }
        MemoryAction::History { entry, limit, json } => {
            let changes = history(&client, entry.clone(), *limit as usize).await?;
            show(*json, &changes, || match changes.is_empty() {
                true => "the memory never changed\n".into(),
                false => revisions(&changes, now).show(look::of_stdout()),
            })?;
        }
        MemoryAction::Pending { json } => {
            let pending = patiently("asking the engine", client.memory_pending()).await;
            let pending = pending.map_err(|error| refused("cannot list what waits", &error))?;
            show(*json, &pending, || proposals(&pending, now))?;
        }
        MemoryAction::Add { text, scope, json } => {
            let cwd = std::env::current_dir()
                .map_err(|error| Trouble::new(exit::FAILED, "cannot find the project").because(error))?;
            let cwd = cwd.to_string_lossy().into_owned();
            let wish = MemoryWish::Add { scope: scope.word().to_owned(), text: read_text(text)?, cwd };
            change(&client, &wish, *json, "remembered").await?;
        }
        MemoryAction::Edit { entry, text, json } => {
            let wish = MemoryWish::Replace { entry: entry.clone(), text: read_text(text)? };
            change(&client, &wish, *json, "replaced").await?;
        }
        MemoryAction::Remove { entry, json } => {
            change(&client, &MemoryWish::Remove { entry: entry.clone() }, *json, "removed").await?;
        }
        MemoryAction::Undo { revision, json } => {
            change(&client, &MemoryWish::Undo { revision: *revision }, *json, "taken back").await?;
        }
        MemoryAction::Approve { proposal, json } => {
            change(&client, &MemoryWish::Approve { proposal: proposal.clone() }, *json, "approved").await?;
        }
        MemoryAction::Reject { proposal, json } => {
            change(&client, &MemoryWish::Reject { proposal: proposal.clone() }, *json, "rejected").await?;
        }
    }
    Ok(0)
}

fn show<T: Serialize>(json: bool, rows: &[T], text: impl FnOnce() -> StyledText) -> Result<(), Trouble> {
    print(&if json { json_lines(rows) } else { encoded(&text()) })
}

async fn list(client: &Client) -> Result<MemoryList, Trouble> {
    // A directory that is gone is no project; the memory is listed all the same.
    let cwd = std::env::current_dir().ok().map(|cwd| cwd.to_string_lossy().into_owned());
    let list = patiently("asking the engine", client.memory(&MemoryQuery { cwd })).await;
    let list = list.map_err(|error| refused("cannot list the memory", &error))?;
    notes(&list.notes);
    Ok(list)
}

async fn history(
    client: &Client,
    entry: Option<String>,
    limit: usize,
) -> Result<Vec<MemoryRevision>, Trouble> {
    let query = MemoryHistoryQuery { entry, before: None, limit };
    let changes = patiently("asking the engine", client.memory_history(&query)).await;
    changes.map_err(|error| refused("cannot read the history of the memory", &error))
}

async fn change(client: &Client, wish: &MemoryWish, json: bool, what: &str) -> Result<(), Trouble> {
    let done = patiently("asking the engine", client.change_memory(wish)).await;
    let done = done.map_err(|error| refused("cannot change the memory", &error))?;
    notes(&done.notes);
    print(&if json { json_lines(&[&done]) } else { done_words(&done, what) })
}

fn done_words(done: &MemoryDone, what: &str) -> String {
    let line = |(entry, revision): (&str, Option<i64>)| match revision {
        Some(revision) => format!("{what}: {entry}, change {revision} (talaria memory undo {revision})\n"),
        None => format!("unchanged: {entry} has this text already\n"),
    };
    match done.changed.is_empty() {
        true => format!("{what}\n"),
        false => done.changed.iter().map(|written| line((&written.entry, written.revision))).collect(),
    }
}

fn notes(notes: &[String]) {
    for note in notes {
        complain(&format!("note: {}\n", plain_line(note)));
    }
}

/// The text of an argument, or of standard input.
fn read_text(text: &str) -> Result<String, Trouble> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    let result = std::io::stdin().take(TEXT_LIMIT).read_to_string(&mut read);
    result.map_err(|error| Trouble::new(exit::FAILED, "cannot read the text").because(error))?;
    Ok(read)
}

/// The entry that an id, a beginning of it or a part of a text means.
fn entry_named(list: MemoryList, typed: &str) -> Result<MemoryItem, Trouble> {
    let means = |item: &&MemoryItem| item.id.starts_with(typed) || item.text.contains(typed);
    let mut meant = list.entries.iter().filter(means);
    match (meant.next(), meant.next()) {
        (Some(item), None) => Ok(item.clone()),
        (found, _) => {
            let why = if found.is_some() { "several entries match" } else { "no entry matches" };
            Err(Trouble::new(exit::USAGE, "cannot show this entry")
                .because(format!("{why} {typed:?}"))
                .try_this("name its id; see `talaria memory list`"))
        }
    }
}

/// `project:/path` without the path of this project.
fn scope_words<'a>(scope: &'a str, project: Option<&str>) -> &'a str {
    match scope.split_once(':') {
        Some((word, directory)) if Some(directory) == project => word,
        _ => scope,
    }
}

fn listed(list: &MemoryList, now: Timestamp, look: Look) -> StyledText {
    let waits = match list.pending {
        0 => String::new(),
        1 => "1 change waits for you: talaria memory pending\n".to_owned(),
        count => format!("{count} changes wait for you: talaria memory pending\n"),
    };
    if list.entries.is_empty() {
        return format!("nothing is remembered yet; talaria memory add TEXT\n{waits}").into();
    }
    let mut sheet = Sheet::new(&["", "id", "scope", "by", "changed", "text"], "text").to_be_read();
    for item in &list.entries {
        sheet.row([
            if item.is_shown { "*" } else { "" }.to_owned(),
            item.id.clone(),
            scope_words(&item.scope, list.project.as_deref()).to_owned(),
            item.author.clone(),
            ago(item.updated_at, now),
            shorten_line(&item.text, 200),
        ]);
    }
    sheet.show(look) + format!("* a new conversation here starts with it\n{waits}")
}

fn shown(item: &MemoryItem, changes: &[MemoryRevision], now: Timestamp) -> StyledText {
    let from = item.session.as_deref().map(|id| format!(" in {id}")).unwrap_or_default();
    let head = format!("{}\n\n{} {}, by {}{from}\n", item.text, item.id, item.scope, item.author);
    StyledText::from(head) + revisions(changes, now).show(look::of_stdout())
}

fn revisions(changes: &[MemoryRevision], now: Timestamp) -> Sheet {
    let mut sheet = Sheet::new(&["change", "when", "by", "entry", "what"], "what").to_be_read();
    for change in changes {
        let what = match (&change.before, &change.after) {
            (None, Some(after)) => format!("+ {after}"),
            (Some(before), None) => format!("- {before}"),
            (before, after) => format!(
                "{} -> {}",
                before.as_deref().unwrap_or_default(),
                after.as_deref().unwrap_or_default()
            ),
        };
        let undoes = change.undoes.map(|revision| format!("undo {revision}: ")).unwrap_or_default();
        sheet.row([
            change.id.to_string(),
            ago(change.at, now),
            change.author.clone(),
            change.entry.clone(),
            shorten_line(&format!("{undoes}{what}"), 300),
        ]);
    }
    sheet
}

fn proposals(pending: &[MemoryProposal], now: Timestamp) -> StyledText {
    if pending.is_empty() {
        return "nothing waits for you\n".into();
    }
    let mut sheet = Sheet::new(&["proposal", "when", "why", "what"], "what").to_be_read();
    for proposal in pending {
        for change in &proposal.changes {
            let what = match (&change.before, &change.after) {
                (Some(before), Some(after)) => format!("{before} -> {after}"),
                (Some(before), None) => format!("- {before}"),
                (None, after) => format!("+ {}", after.as_deref().unwrap_or_default()),
            };
            sheet.row([
                proposal.id.clone(),
                ago(proposal.at, now),
                proposal.reason.clone(),
                format!("{}: {what}", change.scope),
            ]);
        }
    }
    let first = pending.first().map(|proposal| proposal.id.as_str()).unwrap_or_default();
    sheet.show(look::of_stdout()) + format!("approve with: talaria memory approve {first}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_memory_and_its_changes_read_plainly() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let item = |scope: &str, text: &str, is_shown| MemoryItem {
            id: "mem-0123456789ab".to_owned(),
            scope: scope.to_owned(),
            text: text.to_owned(),
            revision: 3,
            author: "model".to_owned(),
            session: None,
            updated_at: now,
            is_shown,
        };
        let entries = vec![
            item("user", "Prefers tabs", true),
            item("project:/p", "Build: make\nTest: make check", true),
            item("project:/q", "other", false),
        ];
        let list = MemoryList { project: Some("/p".to_owned()), entries, pending: 1, notes: Vec::new() };
        let look = Look { color: false, width: Some(120), live: false, unicode: true };
        let change = |before: Option<&str>, after: Option<&str>, undoes| MemoryRevision {
            id: 4,
            entry: "mem-0123456789ab".to_owned(),
            scope: "user".to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            author: "person".to_owned(),
            session: None,
            turn: None,
            call: None,
            undoes,
            at: now,
        };
        let changes = [
            change(None, Some("a"), None),
            change(Some("a"), Some("b"), None),
            change(Some("b"), None, Some(4)),
        ];
        expect![[r#"
               ID                SCOPE       BY     CHANGED  TEXT
            *  mem-0123456789ab  user        model  now      Prefers tabs
            *  mem-0123456789ab  project     model  now      Build: make Test: make check
               mem-0123456789ab  project:/q  model  now      other
            * a new conversation here starts with it
            1 change waits for you: talaria memory pending
            CHANGE  WHEN  BY      ENTRY             WHAT
            4       now   person  mem-0123456789ab  + a
            4       now   person  mem-0123456789ab  a -> b
            4       now   person  mem-0123456789ab  undo 4: - b
        "#]]
        .assert_eq(&format!(
            "{}{}",
            listed(&list, now, look).text(),
            revisions(&changes, now).show(look).text()
        ));
    }
}
