//! `talaria memory`: entries across conversations, their origin, and the undo of every change.

use std::io::Read;

use jiff::Timestamp;
use serde::Serialize;
use talaria_core::api::{
    MemoryDone, MemoryHistoryQuery, MemoryItem, MemoryList, MemoryPresence, MemoryProposal, MemoryQuery,
    MemoryRevision, MemoryWish, SessionMemory,
};
use talaria_core::ids::SessionId;
use talaria_core::next_step::NextStep;
use talaria_guard::shorten::shorten_line;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, plain_line};
use talaria_server::client::Client;

use crate::advice::Reader;
use crate::amounts::ago;
use crate::args::{Memory, MemoryAction};
use crate::engine::{self, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// The longest text that is read from standard input.
const TEXT_LIMIT: u64 = 1024 * 1024;

/// Who asks, and about what.
pub(crate) struct MemoryClient<'a> {
    pub(crate) client: &'a Client,
    pub(crate) look: Look,
    pub(crate) reader: Reader,
    /// A directory of the project; missing where it is gone: the memory is listed all the same.
    pub(crate) cwd: Option<String>,
    /// The conversation that it is about.
    pub(crate) session: Option<String>,
}

/// Output of a command.
pub(crate) struct MemoryPage {
    pub(crate) text: StyledText,
    /// Note for the user.
    pub(crate) notes: Vec<String>,
}

impl MemoryPage {
    fn of(text: impl Into<StyledText>) -> Self {
        Self { text: text.into(), notes: Vec::new() }
    }

    fn rows<T: Serialize>(json: bool, rows: &[T], text: impl FnOnce() -> StyledText) -> Self {
        Self::of(if json { json_lines(rows).into() } else { text() })
    }
}

pub(crate) async fn run(options: &Memory) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    let session = match &options.action {
        MemoryAction::List { session, .. } => session.clone(),
        _ => None,
    };
    let asks = MemoryClient {
        client: &client,
        look: look::of_stdout(),
        reader: Reader::Shell,
        cwd: std::env::current_dir().ok().map(|cwd| cwd.to_string_lossy().into_owned()),
        session,
    };
    let page = carry_out(&options.action, &asks).await?;
    for note in &page.notes {
        complain(&format!("note: {}\n", plain_line(note)));
    }
    print(&encoded(&page.text))?;
    Ok(0)
}

/// Carries an action out and returns what it prints.
pub(crate) async fn carry_out(action: &MemoryAction, asks: &MemoryClient<'_>) -> Result<MemoryPage, Trouble> {
    let now = Timestamp::now();
    Ok(match action {
        MemoryAction::List { json, session } => {
            let list = asks.list(session.as_ref().or(asks.session.as_ref())).await?;
            let page = MemoryPage::rows(*json, &list.entries, || listed(&list, now, asks.look, asks.reader));
            MemoryPage { notes: list.notes, ..page }
        }
        MemoryAction::Show { entry, json } => {
            let mut list = asks.list(None).await?;
            let notes = std::mem::take(&mut list.notes);
            let item = entry_named(list, entry)?;
            let changes = asks.history(Some(item.id.clone()), 1000).await?;
            let page = MemoryPage::rows(*json, &changes, || shown(&item, &changes, now, asks.look));
            MemoryPage { notes, ..page }
        }
        MemoryAction::History { entry, limit, json } => {
            let changes = asks.history(entry.clone(), *limit as usize).await?;
            MemoryPage::rows(*json, &changes, || match changes.is_empty() {
                true => "the memory never changed\n".into(),
                false => revisions(&changes, now).show(asks.look),
            })
        }
        MemoryAction::Pending { json } => {
            let pending = with_progress("asking the engine", asks.client.memory_pending()).await;
            let pending = pending.map_err(|error| refused("cannot list pending changes", &error))?;
            MemoryPage::rows(*json, &pending, || proposals(&pending, now, asks.look, asks.reader))
        }
        MemoryAction::Add { text, scope, json } => {
            let no_project = || Trouble::new(exit::FAILED, "cannot find the project of this directory");
            let cwd = asks.cwd.clone().ok_or_else(no_project)?;
            let wish = MemoryWish::Add { scope: scope.word().to_owned(), text: read_text(text)?, cwd };
            asks.change(&wish, *json, "remembered").await?
        }
        MemoryAction::Edit { entry, text, json } => {
            let wish = MemoryWish::Replace { entry: entry.clone(), text: read_text(text)? };
            asks.change(&wish, *json, "replaced").await?
        }
        MemoryAction::Remove { entry, json } => {
            asks.change(&MemoryWish::Remove { entry: entry.clone() }, *json, "removed").await?
        }
        MemoryAction::Undo { revision, json } => {
            asks.change(&MemoryWish::Undo { revision: *revision }, *json, "undone").await?
        }
        MemoryAction::Approve { proposal, json } => {
            asks.change(&MemoryWish::Approve { proposal: proposal.clone() }, *json, "approved").await?
        }
        MemoryAction::Reject { proposal, json } => {
            asks.change(&MemoryWish::Reject { proposal: proposal.clone() }, *json, "rejected").await?
        }
    })
}

impl MemoryClient<'_> {
    async fn list(&self, session: Option<&String>) -> Result<MemoryList, Trouble> {
        let query = MemoryQuery { cwd: self.cwd.clone(), session: session.cloned() };
        let list = with_progress("asking the engine", self.client.memory(&query)).await;
        list.map_err(|error| refused("cannot list the memory", &error))
    }

    async fn history(&self, entry: Option<String>, limit: usize) -> Result<Vec<MemoryRevision>, Trouble> {
        let query = MemoryHistoryQuery { entry, before: None, limit };
        let changes = with_progress("asking the engine", self.client.memory_history(&query)).await;
        changes.map_err(|error| refused("cannot read the history of the memory", &error))
    }

    async fn change(&self, wish: &MemoryWish, json: bool, what: &str) -> Result<MemoryPage, Trouble> {
        let done = with_progress("asking the engine", self.client.change_memory(wish)).await;
        let done = done.map_err(|error| refused("cannot change the memory", &error))?;
        let text = if json { json_lines(&[&done]) } else { done_words(&done, what, self.reader) };
        Ok(MemoryPage { notes: done.notes, text: text.into() })
    }
}

/// A command of the memory, as the reader types it.
fn typed(reader: Reader, words: &str) -> String {
    match reader {
        Reader::Shell => format!("talaria memory {words}"),
        Reader::Chat => format!("/memory {words}"),
    }
}

fn done_words(done: &MemoryDone, what: &str, reader: Reader) -> String {
    let line = |(entry, revision): (&str, Option<i64>)| match revision {
        Some(revision) => {
            format!("{what}: {entry}, change {revision} ({})\n", typed(reader, &format!("undo {revision}")))
        }
        None => format!("unchanged: {entry} has this text already\n"),
    };
    match done.changed.is_empty() {
        true => format!("{what}\n"),
        false => done.changed.iter().map(|written| line((&written.entry, written.revision))).collect(),
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
                .try_this(NextStep::ListMemory))
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

/// Who wrote an entry, and in which conversation.
fn origin(author: &str, session: Option<&String>) -> String {
    session.map_or_else(
        || author.to_owned(),
        |id| format!("{author} in {}", SessionId::new(id.as_str()).short()),
    )
}

/// Who wrote an entry, in which conversation or for which agent.
fn item_origin(item: &MemoryItem) -> String {
    match item.source.as_deref().and_then(|source| source.split_once(':')) {
        Some((agent, _)) => format!("{} from {agent}", item.author),
        None => origin(&item.author, item.session.as_ref()),
    }
}

fn listed(list: &MemoryList, now: Timestamp, look: Look, reader: Reader) -> StyledText {
    let waits = match list.pending {
        0 => String::new(),
        1 => format!("1 change waits for you: {}\n", typed(reader, "pending")),
        count => format!("{count} changes wait for you: {}\n", typed(reader, "pending")),
    };
    let removed = list.session.iter().flat_map(|session| &session.removed);
    if list.entries.is_empty() && removed.clone().next().is_none() {
        return format!("nothing is remembered yet; {}\n{waits}", typed(reader, "add TEXT")).into();
    }
    let mut columns = vec!["", "id", "scope", "by", "changed", "text"];
    if list.session.is_some() {
        columns.insert(1, "here");
    }
    let mut sheet = Sheet::new(&columns, "text").to_be_read();
    let mut row = |item: &MemoryItem, here: &str| {
        let mut cells = vec![
            if item.is_shown { "*" } else { "" }.to_owned(),
            item.id.clone(),
            scope_words(&item.scope, list.project.as_deref()).to_owned(),
            item_origin(item),
            ago(item.updated_at, now),
            shorten_line(&item.text, 200),
        ];
        if list.session.is_some() {
            cells.insert(1, here.to_owned());
        }
        sheet.row(cells);
    };
    for item in &list.entries {
        row(item, item.in_session.map_or("", here));
    }
    removed.for_each(|item| row(item, "removed"));
    let mut text = sheet.show(look) + "* a new conversation here starts with it\n";
    if let Some(session) = &list.session {
        text += legend(session);
    }
    text + waits
}

/// Whether the conversation has an entry, in a word.
fn here(presence: MemoryPresence) -> &'static str {
    match presence {
        MemoryPresence::Current => "yes",
        MemoryPresence::Earlier => "earlier",
        MemoryPresence::Missing => "no",
    }
}

fn legend(session: &SessionMemory) -> &'static str {
    match session.since {
        Some(_) => {
            "here: this conversation has it; earlier: with an earlier text; removed: it has it, but the next one does not. A \
             conversation keeps what it started with until it is opened again and shortened\n"
        }
        None => "here: this conversation started without the memory\n",
    }
}

fn shown(item: &MemoryItem, changes: &[MemoryRevision], now: Timestamp, look: Look) -> StyledText {
    let source = item.source.as_deref().map(|source| format!(" from {source}"));
    let from = source.or_else(|| Some(format!(" in {}", item.session.as_deref()?))).unwrap_or_default();
    let turn = changes.first().and_then(|change| change.turn.as_deref());
    let turn = turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
    let head = format!("{}\n\n{} {}, by {}{from}{turn}\n", item.text, item.id, item.scope, item.author);
    StyledText::from(head) + revisions(changes, now).show(look)
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
            origin(&change.author, change.session.as_ref()),
            change.entry.clone(),
            shorten_line(&format!("{undoes}{what}"), 300),
        ]);
    }
    sheet
}

fn proposals(pending: &[MemoryProposal], now: Timestamp, look: Look, reader: Reader) -> StyledText {
    if pending.is_empty() {
        return "nothing waits for you\n".into();
    }
    let mut sheet = Sheet::new(&["proposal", "when", "by", "why", "what"], "what").to_be_read();
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
                origin(&proposal.author, proposal.session.as_ref()),
                proposal.reason.clone(),
                format!("{}: {what}", change.scope),
            ]);
        }
    }
    let first = pending.first().map(|proposal| proposal.id.as_str()).unwrap_or_default();
    let (approve, reject) =
        (typed(reader, &format!("approve {first}")), typed(reader, &format!("reject {first}")));
    sheet.show(look) + format!("decide with: {approve}\n             {reject}\n")
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
            source: None,
            updated_at: now,
            is_shown,
            in_session: None,
        };
        let entries = vec![
            item("user", "Prefers tabs", true),
            item("project:/p", "Build: make\nTest: make check", true),
            item("project:/q", "other", false),
        ];
        let project = Some("/p".to_owned());
        let mut list = MemoryList { project, entries, session: None, pending: 1, notes: Vec::new() };
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
            listed(&list, now, look, Reader::Shell).text(),
            revisions(&changes, now).show(look).text()
        ));
        let presences = [MemoryPresence::Current, MemoryPresence::Earlier, MemoryPresence::Missing];
        for (item, presence) in list.entries.iter_mut().zip(presences) {
            item.in_session = Some(presence);
            item.session = Some("0198c0de-0000-7000-8000-000000000000".to_owned());
        }
        let removed = vec![item("user", "Likes cranes", false)];
        list.session = Some(SessionMemory { id: "s".to_owned(), since: Some(now), removed });
        expect![[r#"
               HERE     ID                SCOPE       BY                 CHANGED  TEXT
            *  yes      mem-0123456789ab  user        model in 00000000  now      Prefers tabs
            *  earlier  mem-0123456789ab  project     model in 00000000  now      Build: make Test: make check
               no       mem-0123456789ab  project:/q  model in 00000000  now      other
               removed  mem-0123456789ab  user        model              now      Likes cranes
            * a new conversation here starts with it
            here: this conversation has it; earlier: with an earlier text; removed: it has it, but the next one does not. A conversation keeps what it started with until it is opened again and shortened
            1 change waits for you: /memory pending
        "#]].assert_eq(&listed(&list, now, look, Reader::Chat).text());
        let session = Some(SessionMemory { id: "s".to_owned(), since: None, removed: Vec::new() });
        let none = MemoryList { session, entries: list.entries.split_off(2), ..list };
        expect![[r#"
              HERE  ID                SCOPE       BY                 CHANGED  TEXT
              no    mem-0123456789ab  project:/q  model in 00000000  now      other
            * a new conversation here starts with it
            here: this conversation started without the memory
            1 change waits for you: /memory pending
        "#]]
        .assert_eq(&listed(&none, now, look, Reader::Chat).text());
    }
}
