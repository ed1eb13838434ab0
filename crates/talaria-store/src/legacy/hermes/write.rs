//! Writing conversations of Hermes down. A piece is there whole or not at all, together with the note of how far it goes.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::event::{Event, Stage, Usage};
use talaria_core::hermes::{PROGRAM, PastTurn};
use talaria_core::ids::SessionId;
use talaria_core::redact::redact;
use talaria_core::transcript::Message;

use super::take::Run;
use super::{Conversation, Piece};
use crate::error::StoreError;
use crate::session::{self, NewSession};
use crate::words::{SessionKind, Word as _};

/// How many characters of what was said first are a title.
const TITLE: usize = 80;

/// Writes a piece: of a conversation that is here behind what is here, otherwise under the new id.
pub(super) async fn write(
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
        audit: None,
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
