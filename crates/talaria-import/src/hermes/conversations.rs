//! Conversations of Hermes, page by page: new ones whole, known ones from where they were. `read` reads its database
//! `state.db`, `past` makes finished turns of its rows, `convert` makes sessions of them for the store.
//!
//! They are imported in pages, so that a person sees the progress and other writers do not wait long. An
//! interrupted import continues: the store has the last imported message. Nothing is stored without redaction.

mod convert;
mod past;
mod read;
#[cfg(test)]
mod tests;

use std::path::Path;

use talaria_core::api::ImportedSessions;
use talaria_core::ids::SessionId;
use talaria_core::transcript::Message;
use talaria_store::{ImportedSession, Store, StoreError};

use super::PROGRAM;
use crate::error::{DatabaseError, ImportError};
use past::{PastTurn, turns};
use read::{KNOWN_SCHEMA, Reader};

/// How many conversations are one page.
const PAGE: u32 = 100;
/// How many messages, and about how many bytes of them, are written at once.
const MESSAGES: usize = 1000;
const BYTES: usize = 4 * 1024 * 1024;

/// The name of an import, and the latest time that anything in it can have.
#[derive(Clone, Debug)]
pub struct ImportRun {
    /// Its name, by which it can be undone.
    pub name: String,
    /// Now.
    pub now: i64,
}

/// A conversation as its row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Conversation {
    id: String,
    title: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    parent: Option<String>,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
}

/// A piece of a conversation that is written at once.
struct Piece {
    conversation: Conversation,
    /// Nothing of the conversation is in the store yet.
    is_first: bool,
    turns: Vec<PastTurn>,
    /// The last row that was read.
    last: i64,
}

/// Imports one page of conversations after `after`. After an interruption imported conversations are kept, and the
/// next call with the same arguments continues.
pub async fn import_page(
    store: &Store,
    path: &Path,
    after: Option<&str>,
    run: &ImportRun,
    mut new_id: impl FnMut() -> SessionId + Send,
) -> Result<ImportedSessions, ImportError> {
    let mut reader = Reader::open(path).await?;
    let taken = take(store, &mut reader, after, run, &mut new_id).await;
    reader.close().await;
    taken
}

async fn take(
    store: &Store,
    reader: &mut Reader<'_>,
    after: Option<&str>,
    run: &ImportRun,
    new_id: &mut (impl FnMut() -> SessionId + Send),
) -> Result<ImportedSessions, ImportError> {
    let conversations = reader.page(after, PAGE).await?;
    let mut page = start(reader, &conversations).await?;
    let mut ready = Vec::new();
    let (mut held, mut bytes) = (0, 0);
    for conversation in conversations {
        let known = last_of(store, &conversation.id).await?;
        let mut last = known.unwrap_or_default();
        let mut new = 0;
        loop {
            let part = reader.messages(&conversation.id, last, MESSAGES, BYTES).await?;
            let is_first = known.is_none() && new == 0;
            last = part.last;
            new += part.messages.len();
            page.left_out += part.left_out;
            if !part.messages.is_empty() {
                held += part.messages.len();
                bytes += size(part.messages.iter().map(|kept| &kept.message));
                let turns = turns(part.messages);
                let piece = Piece { conversation: conversation.clone(), is_first, turns, last };
                ready.push(convert::session(piece, new_id(), run)?);
            }
            if held >= MESSAGES || bytes >= BYTES || part.is_cut {
                keep(store, std::mem::take(&mut ready)).await?;
                (held, bytes) = (0, 0);
            }
            if !part.is_cut {
                break;
            }
        }
        count(&mut page, known, new);
    }
    keep(store, ready).await?;
    Ok(page)
}

/// The last message of a conversation that is here; `None` if nothing of it is.
async fn last_of(store: &Store, name: &str) -> Result<Option<i64>, StoreError> {
    store.imported_up_to(PROGRAM, name).await
}

async fn keep(store: &Store, pieces: Vec<ImportedSession>) -> Result<(), StoreError> {
    if !pieces.is_empty() {
        store.import_sessions(pieces).await?;
    }
    Ok(())
}

/// Returns what `import_page` would do with a page; without a store, as if nothing was imported yet.
pub async fn preview_page(
    store: Option<&Store>,
    path: &Path,
    after: Option<&str>,
) -> Result<ImportedSessions, ImportError> {
    let mut reader = Reader::open(path).await?;
    let looked = look_through(store, &mut reader, after).await;
    reader.close().await;
    looked
}

async fn look_through(
    store: Option<&Store>,
    reader: &mut Reader<'_>,
    after: Option<&str>,
) -> Result<ImportedSessions, ImportError> {
    let conversations = reader.page(after, PAGE).await?;
    let mut page = start(reader, &conversations).await?;
    for conversation in conversations {
        let known = match store {
            Some(store) => last_of(store, &conversation.id).await?,
            None => None,
        };
        let (mut last, mut new) = (known.unwrap_or_default(), 0);
        loop {
            let part = reader.messages(&conversation.id, last, MESSAGES, BYTES).await?;
            (last, new) = (part.last, new + part.messages.len());
            page.left_out += part.left_out;
            if !part.is_cut {
                break;
            }
        }
        count(&mut page, known, new);
    }
    Ok(page)
}

async fn start(
    reader: &mut Reader<'_>,
    conversations: &[Conversation],
) -> Result<ImportedSessions, DatabaseError> {
    let is_full = u32::try_from(conversations.len()).is_ok_and(|count| count == PAGE);
    Ok(ImportedSessions {
        total: reader.total().await?,
        seen: conversations.len(),
        newer: reader.version.filter(|version| *version > KNOWN_SCHEMA),
        next: conversations.last().filter(|_| is_full).map(|last| last.id.clone()),
        ..ImportedSessions::default()
    })
}

/// Counts a conversation: `known` is the last message that was here, `new` how many are new.
fn count(page: &mut ImportedSessions, known: Option<i64>, new: usize) {
    page.messages += new;
    match (known, new) {
        (Some(_), 0) => page.known += 1,
        (Some(_), _) => page.grown += 1,
        (None, 0) => page.empty += 1,
        (None, _) => page.new += 1,
    }
}

fn size<'a>(messages: impl Iterator<Item = &'a Message>) -> usize {
    messages.map(|message| message.content.as_ref().map_or(0, String::len) + 200).sum()
}
