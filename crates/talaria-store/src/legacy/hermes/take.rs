//! Taking conversations of Hermes over, page by page: new ones whole, known ones as far as they went on. How they are
//! written is in `write`.

use std::path::Path;

use sqlx::Row as _;
use talaria_core::hermes::{PROGRAM, turns};
use talaria_core::ids::SessionId;
use talaria_core::transcript::Message;

use super::read::{KNOWN_SCHEMA, Reader};
use super::write::write;
use super::{Conversation, Origin, Page, Piece};
use crate::error::StoreError;
use crate::legacy::LegacyError;
use crate::store::Store;

/// How many conversations are one page.
const PAGE: u32 = 100;
/// How many messages, and about how many bytes of them, are written at once.
const MESSAGES: usize = 1000;
const BYTES: usize = 4 * 1024 * 1024;

/// Why a page could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file of the other program.
    #[error(transparent)]
    Legacy(#[from] LegacyError),
    /// Our own.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an import is called, and the latest time that anything in it can have.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// Now.
    pub now: i64,
}

impl Store {
    /// Takes over one page of conversations behind `after`. If it is broken off, what came stays, and the next call with
    /// the same place goes on.
    pub async fn import_hermes(
        &self,
        path: &Path,
        after: Option<&str>,
        run: &Run,
        mut new_id: impl FnMut() -> SessionId + Send,
    ) -> Result<Page, ImportError> {
        let mut reader = Reader::open(path).await?;
        let taken = self.take(&mut reader, after, run, &mut new_id).await;
        reader.close().await;
        taken
    }

    async fn take(
        &self,
        reader: &mut Reader<'_>,
        after: Option<&str>,
        run: &Run,
        new_id: &mut (impl FnMut() -> SessionId + Send),
    ) -> Result<Page, ImportError> {
        let conversations = reader.page(after, PAGE).await?;
        let mut page = start(reader, &conversations).await?;
        let mut shelf = Vec::new();
        let (mut held, mut bytes) = (0, 0);
        for conversation in conversations {
            let known = self.last_of(&conversation.id).await?;
            let mut last = known.unwrap_or_default();
            let mut came = 0;
            loop {
                let part = reader.messages(&conversation.id, last, MESSAGES, BYTES).await?;
                last = part.last;
                came += part.messages.len();
                page.left_out += part.left_out;
                if !part.messages.is_empty() {
                    held += part.messages.len();
                    bytes += size(part.messages.iter().map(|kept| &kept.message));
                    let turns = turns(part.messages);
                    shelf.push((Piece { conversation: conversation.clone(), turns, last }, new_id()));
                }
                if held >= MESSAGES || bytes >= BYTES || part.is_cut {
                    self.keep(std::mem::take(&mut shelf), run).await?;
                    (held, bytes) = (0, 0);
                }
                if !part.is_cut {
                    break;
                }
            }
            count(&mut page, known, came);
        }
        self.keep(shelf, run).await?;
        Ok(page)
    }

    /// Says what `import_hermes` would do with a page.
    pub async fn preview_hermes(&self, path: &Path, after: Option<&str>) -> Result<Page, ImportError> {
        preview(Some(self), path, after).await
    }

    /// What a session was before it came here.
    pub async fn origin(&self, session: &SessionId) -> Result<Option<Origin>, StoreError> {
        let found = sqlx::query(
            "select program, name, parent, (select session from origin as earlier where earlier.program = origin.program
                                            and earlier.name = origin.parent) as parent_session
             from origin where session = $1",
        )
        .bind(session.as_str())
        .fetch_optional(self.readers())
        .await?;
        let Some(row) = found else { return Ok(None) };
        let parent: Option<String> = row.try_get("parent_session")?;
        Ok(Some(Origin {
            program: row.try_get("program")?,
            name: row.try_get("name")?,
            parent: row.try_get("parent")?,
            parent_session: parent.map(SessionId::new),
        }))
    }

    /// The last message of a conversation that is here; `None` if nothing of it is.
    async fn last_of(&self, name: &str) -> Result<Option<i64>, StoreError> {
        let found = sqlx::query(
            "select max(last) as last from origin left join origin_part on origin_part.session = origin.session
             where program = $1 and name = $2",
        )
        .bind(PROGRAM)
        .bind(name)
        .fetch_one(self.readers())
        .await?;
        Ok(found.try_get("last")?)
    }

    /// Writes pieces in one transaction.
    async fn keep(&self, pieces: Vec<(Piece, SessionId)>, run: &Run) -> Result<(), StoreError> {
        if pieces.is_empty() {
            return Ok(());
        }
        let run = run.clone();
        self.write(move |conn| {
            Box::pin(async move {
                for (piece, id) in pieces {
                    write(conn, piece, id, &run).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// Says what would come of a page if nothing is here yet.
pub async fn preview_all(path: &Path, after: Option<&str>) -> Result<Page, ImportError> {
    preview(None, path, after).await
}

async fn preview(store: Option<&Store>, path: &Path, after: Option<&str>) -> Result<Page, ImportError> {
    let mut reader = Reader::open(path).await?;
    let looked = look_through(store, &mut reader, after).await;
    reader.close().await;
    looked
}

async fn look_through(
    store: Option<&Store>,
    reader: &mut Reader<'_>,
    after: Option<&str>,
) -> Result<Page, ImportError> {
    let conversations = reader.page(after, PAGE).await?;
    let mut page = start(reader, &conversations).await?;
    for conversation in conversations {
        let known = match store {
            Some(store) => store.last_of(&conversation.id).await?,
            None => None,
        };
        let (mut last, mut came) = (known.unwrap_or_default(), 0);
        loop {
            let part = reader.messages(&conversation.id, last, MESSAGES, BYTES).await?;
            (last, came) = (part.last, came + part.messages.len());
            page.left_out += part.left_out;
            if !part.is_cut {
                break;
            }
        }
        count(&mut page, known, came);
    }
    Ok(page)
}

async fn start(reader: &mut Reader<'_>, conversations: &[Conversation]) -> Result<Page, LegacyError> {
    let is_full = u32::try_from(conversations.len()).is_ok_and(|count| count == PAGE);
    Ok(Page {
        total: reader.total().await?,
        seen: conversations.len(),
        newer: reader.version.filter(|version| *version > KNOWN_SCHEMA),
        next: conversations.last().filter(|_| is_full).map(|last| last.id.clone()),
        ..Page::default()
    })
}

/// Counts a conversation of which so much was known, and so many messages came.
fn count(page: &mut Page, known: Option<i64>, came: usize) {
    page.messages += came;
    match (known, came) {
        (Some(_), 0) => page.known += 1,
        (Some(_), _) => page.grown += 1,
        (None, 0) => page.empty += 1,
        (None, _) => page.new += 1,
    }
}

fn size<'a>(messages: impl Iterator<Item = &'a Message>) -> usize {
    messages.map(|message| message.content.as_ref().map_or(0, String::len) + 200).sum()
}
