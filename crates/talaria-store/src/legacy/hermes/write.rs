//! Writing conversations of Hermes down: new ones whole, known ones as far as they went on. Each piece is there whole or
//! not at all, together with the note of how far it goes.

use std::path::Path;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::event::{Event, Stage, Usage};
use talaria_core::hermes::{PROGRAM, PastTurn, turns};
use talaria_core::ids::SessionId;
use talaria_core::redact::redact;
use talaria_core::transcript::Message;

use super::read::{KNOWN_SCHEMA, Reader};
use super::{Conversation, Origin, Page, Piece};
use crate::error::StoreError;
use crate::legacy::LegacyError;
use crate::session::{self, NewSession};
use crate::store::Store;
use crate::words::{SessionKind, Word as _};

/// How many conversations are one page.
const PAGE: u32 = 100;
/// How many messages, and about how many bytes of them, are written at once.
const MESSAGES: usize = 1000;
const BYTES: usize = 4 * 1024 * 1024;
/// How many characters of what was said first are a title.
const TITLE: usize = 80;

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
        let mut reader = Reader::open(path).await?;
        let looked = async {
            let conversations = reader.page(after, PAGE).await?;
            let mut page = start(&mut reader, &conversations).await?;
            for conversation in conversations {
                let known = self.last_of(&conversation.id).await?;
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
        };
        let looked = looked.await;
        reader.close().await;
        looked
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

async fn write(
    conn: &mut SqliteConnection,
    piece: Piece,
    new_id: SessionId,
    run: &Run,
) -> Result<(), StoreError> {
    let Piece { conversation, turns, last } = piece;
    let name = conversation.id.clone();
    let in_time = |time: i64| time.clamp(0, run.now);
    let found = sqlx::query("select session from origin where program = $1 and name = $2")
        .bind(PROGRAM)
        .bind(name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    let ended_at = conversation.ended_at;
    let usage = usage(&conversation);
    let is_new = found.is_none();
    let id = match found {
        Some(row) => SessionId::new(row.try_get::<String, _>("session")?),
        None => {
            let id = new_id.clone();
            insert(conn, conversation, &turns, new_id, run).await?;
            id
        }
    };
    let row = sqlx::query(
        "select last_seq, (select coalesce(max(ordinal), 0) from turn where session = $1) as ordinal
         from session where id = $1",
    )
    .bind(id.as_str())
    .fetch_one(&mut *conn)
    .await?;
    let (mut seq, mut ordinal): (i64, i64) = (row.try_get("last_seq")?, row.try_get("ordinal")?);
    let (first, count) = (ordinal + 1, turns.len());
    let (mut bytes, mut updated_at) = (0, in_time(ended_at.unwrap_or_default()));
    for (n, mut turn) in turns.into_iter().enumerate() {
        (seq, ordinal) = (seq + 1, ordinal + 1);
        // Hermes counts a conversation as a whole.
        if is_new && n + 1 == count {
            turn.report.usage = usage;
        }
        let (began, ended) = turn.times();
        let (began, ended) = (in_time(began), in_time(ended));
        updated_at = updated_at.max(ended);
        bytes += insert_turn(conn, &id, ordinal, seq, (began, ended), &run.name, turn).await?;
    }
    sqlx::query(
        "insert into origin_part (session, run, turn, last) values ($1, $2, $3, $4)
             on conflict (session, run) do update set last = excluded.last;
         update session set last_seq = $5, updated_at = max(created_at, $6), bytes = bytes + $7,
                first_at = coalesce(first_at, (select at from event where session = $1 order by seq limit 1))
             where id = $1",
    )
    .bind(id.as_str())
    .bind(run.name.as_str())
    .bind(first)
    .bind(last)
    .bind(seq)
    .bind(updated_at)
    .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes the session itself down, and where it came from.
async fn insert(
    conn: &mut SqliteConnection,
    conversation: Conversation,
    turns: &[PastTurn],
    id: SessionId,
    run: &Run,
) -> Result<(), StoreError> {
    let clean = |text: &Option<String>| {
        text.as_deref().map(|text| redact(text).into_owned()).filter(|text| !text.trim().is_empty())
    };
    let line = |text: &str| text.lines().next().unwrap_or_default().chars().take(TITLE).collect::<String>();
    let first = turns.iter().map(PastTurn::prompt).find(|prompt| !prompt.is_empty()).map(line);
    let began = turns.first().map(|turn| turn.times().0).unwrap_or_default();
    let created_at = conversation.started_at.unwrap_or(began).clamp(0, run.now);
    let new = NewSession {
        id: id.clone(),
        kind: SessionKind::Chat,
        alias: None,
        title: clean(&conversation.title).map(|title| line(&title)).or(first),
        cwd: clean(&conversation.cwd).unwrap_or_else(|| "/".to_owned()),
        runtime: PROGRAM.to_owned(),
        model: clean(&conversation.model),
        asked: None,
        settings: None,
        task: None,
        first_turn: None,
        created_at,
    };
    session::insert(conn, new).await?;
    sqlx::query("insert into origin (session, program, name, parent) values ($1, $2, $3, $4)")
        .bind(id.as_str())
        .bind(PROGRAM)
        .bind(conversation.id)
        .bind(conversation.parent)
        .execute(conn)
        .await?;
    Ok(())
}

fn usage(conversation: &Conversation) -> Usage {
    let Conversation { input, cached, output, reasoning, .. } = *conversation;
    // There the input does not count what came from the cache.
    let input = input.saturating_add(cached);
    Usage { input, cached, output, reasoning, total: input.saturating_add(output) }
}

/// Keeps a turn; gives about how many bytes it is.
async fn insert_turn(
    conn: &mut SqliteConnection,
    id: &SessionId,
    ordinal: i64,
    seq: i64,
    (began, ended): (i64, i64),
    run: &str,
    turn: PastTurn,
) -> Result<usize, StoreError> {
    let report = &turn.report;
    let event = json(&Event::Outcome(Box::new(report.clone())))?;
    let mut bytes = event.len();
    sqlx::query(
        "insert into turn (session, ordinal, stage, client_id, input_text, ours, outcome, outcome_kind, code, usage,
                           first_seq, created_at, settled_at)
         values ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9, $10, $11, $12);
         insert into event (session, seq, turn, at, kind, json) values ($1, $10, $2, $12, 'outcome', $13)",
    )
    .bind(id.as_str())
    .bind(ordinal)
    .bind(Stage::Settled.word())
    .bind(run)
    .bind(turn.prompt())
    .bind(json(report)?)
    .bind(report.outcome.word())
    .bind(report.code.map(|code| code.to_string()))
    .bind(json(&report.usage)?)
    .bind(seq)
    .bind(began)
    .bind(ended)
    .bind(event)
    .execute(&mut *conn)
    .await?;
    for kept in &turn.messages {
        let role = serde_json::to_value(kept.message.role);
        let role = role.map_err(|error| StoreError::Refused(error.to_string()))?;
        let role = role.as_str().unwrap_or_default().to_owned();
        let (text, json) = (searched(&kept.message), json(&kept.message)?);
        bytes += text.len() + json.len();
        sqlx::query(
            "insert into message (session, key, turn, seq, role, text, json, at)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(id.as_str())
        .bind(format!("{ordinal}/{role}/{PROGRAM}/{}", kept.id))
        .bind(ordinal)
        .bind(seq)
        .bind(role)
        .bind(text)
        .bind(json)
        .bind(kept.at.clamp(0, ended))
        .execute(&mut *conn)
        .await?;
    }
    Ok(bytes)
}

/// Everything in a message that somebody may look for. SQLite's functions, and with them the search, stop at a zero byte.
fn searched(message: &Message) -> String {
    let mut text = message.content.clone().unwrap_or_default();
    for call in &message.tool_calls {
        text += &format!("\n{} {}", call.function.name, call.function.arguments);
    }
    text.trim_start().replace('\0', "\u{fffd}")
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused(error.to_string()))
}
