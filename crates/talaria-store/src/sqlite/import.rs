//! Sessions of other programs: written in one transaction per call, with a note of where they come from. How an import is
//! undone is in `undo_import`.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::imported::{
    ConversationPart, ImportResult, ImportedFrom, ImportedSession, ImportedTurn, OriginRow,
};
use crate::model::session::NewSessionRow;
use crate::sqlite::{SqliteStore, session};

impl SqliteStore {
    pub(crate) async fn import_sessions(
        &self,
        sessions: Vec<ImportedSession>,
    ) -> Result<Vec<ImportResult>, StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                let mut results = Vec::with_capacity(sessions.len());
                for session in sessions {
                    results.push(import(conn, session).await?);
                }
                Ok(results)
            })
        })
        .await
    }

    pub(crate) async fn imported_up_to(&self, program: &str, name: &str) -> Result<Option<i64>, StoreError> {
        let found = sqlx::query(
            "select max(last) as last from origin left join origin_part on origin_part.session = origin.session
             where program = $1 and name = $2",
        )
        .bind(program)
        .bind(name)
        .fetch_one(self.readers())
        .await?;
        Ok(found.try_get("last")?)
    }

    pub(crate) async fn origin(&self, session: &SessionId) -> Result<Option<OriginRow>, StoreError> {
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
        Ok(Some(OriginRow {
            program: row.try_get("program")?,
            name: row.try_get("name")?,
            parent: row.try_get("parent")?,
            parent_session: parent.map(SessionId::new),
        }))
    }
}

async fn import(conn: &mut SqliteConnection, imported: ImportedSession) -> Result<ImportResult, StoreError> {
    let ImportedSession { session, from, turns, updated_at } = imported;
    match from {
        ImportedFrom::Task => import_task(conn, session, &turns, updated_at).await,
        ImportedFrom::Conversation(part) => {
            import_conversation(conn, session, part, &turns, updated_at).await
        }
    }
}

async fn import_task(
    conn: &mut SqliteConnection,
    session: NewSessionRow,
    turns: &[ImportedTurn],
    updated_at: i64,
) -> Result<ImportResult, StoreError> {
    let alias = session.alias.clone().unwrap_or_default();
    let found = sqlx::query(
        "select task.origin from session left join task on task.session = session.id where session.alias = $1",
    )
    .bind(alias.as_str())
    .fetch_optional(&mut *conn)
    .await?;
    if let Some(row) = found {
        let origin: Option<String> = row.try_get("origin")?;
        let is_same = origin.is_some() && session.task.is_some_and(|task| task.origin == origin);
        return Ok(if is_same { ImportResult::Known } else { ImportResult::NameTaken(alias) });
    }
    let id = session.id.clone();
    session::insert(conn, session).await?;
    add_turns(conn, &id, turns, updated_at).await?;
    Ok(ImportResult::New(id))
}

async fn import_conversation(
    conn: &mut SqliteConnection,
    session: NewSessionRow,
    part: ConversationPart,
    turns: &[ImportedTurn],
    updated_at: i64,
) -> Result<ImportResult, StoreError> {
    let found = sqlx::query("select session from origin where program = $1 and name = $2")
        .bind(part.program.as_str())
        .bind(part.name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    let result = match found {
        Some(row) => ImportResult::Grown(SessionId::new(row.try_get::<String, _>("session")?)),
        None => {
            let id = session.id.clone();
            session::insert(conn, session).await?;
            sqlx::query("insert into origin (session, program, name, parent) values ($1, $2, $3, $4)")
                .bind(id.as_str())
                .bind(part.program)
                .bind(part.name)
                .bind(part.parent)
                .execute(&mut *conn)
                .await?;
            ImportResult::New(id)
        }
    };
    if let ImportResult::New(id) | ImportResult::Grown(id) = &result {
        let first = add_turns(conn, id, turns, updated_at).await?;
        sqlx::query(
            "insert into origin_part (session, run, turn, last) values ($1, $2, $3, $4)
                 on conflict (session, run) do update set last = excluded.last",
        )
        .bind(id.as_str())
        .bind(part.run)
        .bind(first)
        .bind(part.last)
        .execute(conn)
        .await?;
    }
    Ok(result)
}

/// Adds turns to a session, each with the event that ended it, and returns the ordinal of the first.
async fn add_turns(
    conn: &mut SqliteConnection,
    id: &SessionId,
    turns: &[ImportedTurn],
    updated_at: i64,
) -> Result<i64, StoreError> {
    let row = sqlx::query(
        "select last_seq, (select coalesce(max(ordinal), 0) from turn where session = $1) as ordinal
         from session where id = $1",
    )
    .bind(id.as_str())
    .fetch_one(&mut *conn)
    .await?;
    let (mut seq, mut ordinal): (i64, i64) = (row.try_get("last_seq")?, row.try_get("ordinal")?);
    let first = ordinal + 1;
    let mut bytes = 0;
    for turn in turns {
        (seq, ordinal) = (seq + 1, ordinal + 1);
        bytes += insert_turn(conn, id, ordinal, seq, turn).await?;
    }
    sqlx::query(
        "update session set last_seq = $2, updated_at = max(created_at, $3), bytes = bytes + $4,
                first_at = coalesce(first_at, (select at from event where session = $1 order by seq limit 1))
         where id = $1",
    )
    .bind(id.as_str())
    .bind(seq)
    .bind(updated_at)
    .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
    .execute(conn)
    .await?;
    Ok(first)
}

/// Inserts a turn and returns about how many bytes it has.
async fn insert_turn(
    conn: &mut SqliteConnection,
    id: &SessionId,
    ordinal: i64,
    seq: i64,
    turn: &ImportedTurn,
) -> Result<usize, StoreError> {
    sqlx::query(
        "insert into turn (session, ordinal, stage, client_id, input_text, ours, outcome, outcome_kind, code, usage,
                           first_seq, created_at, settled_at)
         values ($1, $2, 'settled', $3, $4, 0, $5, $6, $7, $8, $9, $10, $11);
         insert into event (session, seq, turn, at, kind, json) values ($1, $9, $2, $11, 'outcome', $12)",
    )
    .bind(id.as_str())
    .bind(ordinal)
    .bind(turn.client_id.as_str())
    .bind(turn.input_text.as_str())
    .bind(turn.outcome.as_str())
    .bind(turn.outcome_kind.as_str())
    .bind(turn.code.as_deref())
    .bind(turn.usage.as_str())
    .bind(seq)
    .bind(turn.created_at)
    .bind(turn.settled_at)
    .bind(turn.event.as_str())
    .execute(&mut *conn)
    .await?;
    let mut bytes = turn.event.len();
    for message in &turn.messages {
        // SQLite's functions, and with them the search, stop at a zero byte.
        let text = message.text.replace('\0', "\u{fffd}");
        bytes += text.len() + message.json.len();
        sqlx::query(
            "insert into message (session, key, turn, seq, role, text, json, at)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(id.as_str())
        .bind(format!("{ordinal}/{}/{}", message.role, message.key))
        .bind(ordinal)
        .bind(seq)
        .bind(message.role.as_str())
        .bind(text)
        .bind(message.json.as_str())
        .bind(message.at)
        .execute(&mut *conn)
        .await?;
    }
    Ok(bytes)
}
