//! Reading a database of Hermes, of any version: missing columns are empty, unknown ones are ignored.

use std::collections::HashSet;
use std::path::Path;

use futures_util::TryStreamExt as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use talaria_store::StoreError;

use super::Conversation;
use super::past::{PastMessage, Row, message};
use crate::database::{SourceDatabase, column_or_null, columns, text, time};
use crate::error::{DatabaseError, SourceProgram};

/// The newest schema version that was examined.
pub(super) const KNOWN_SCHEMA: i64 = 22;
/// Longer messages are left out: they cannot be redacted in parts.
const LONGEST: usize = 16 * 1024 * 1024;

/// An open database of Hermes.
pub(super) struct Reader<'a> {
    database: SourceDatabase<'a>,
    conn: SqliteConnection,
    sessions: HashSet<String>,
    messages: HashSet<String>,
    pub(super) version: Option<i64>,
}

impl<'a> Reader<'a> {
    pub(super) async fn open(path: &'a Path) -> Result<Self, DatabaseError> {
        let database = SourceDatabase { path, program: SourceProgram::Hermes };
        let mut conn = database.open().await?;
        let shape = async {
            let sessions = columns(&mut conn, "sessions").await?;
            let messages = columns(&mut conn, "messages").await?;
            let version = columns(&mut conn, "schema_version").await?;
            let version = match version.contains("version") {
                true => sqlx::query("select max(cast(version as integer)) from schema_version")
                    .fetch_one(&mut conn)
                    .await?
                    .try_get(0)?,
                false => None,
            };
            Ok::<_, StoreError>((sessions, messages, version))
        };
        let (sessions, messages, version) = shape.await.map_err(|error| database.failed(error))?;
        for (table, found, needed) in [
            ("sessions", &sessions, &["id"][..]),
            ("messages", &messages, &["id", "session_id", "role", "content"][..]),
        ] {
            if found.is_empty() {
                return Err(database.foreign(&format!("it has no table {table}")));
            }
            if let Some(missing) = needed.iter().find(|name| !found.contains(**name)) {
                return Err(database.foreign(&format!("its table {table} has no column {missing}")));
            }
        }
        Ok(Self { database, conn, sessions, messages, version })
    }

    pub(super) async fn close(self) {
        let _ = self.conn.close().await;
    }

    /// How many conversations there are.
    pub(super) async fn total(&mut self) -> Result<u64, DatabaseError> {
        let database = self.database;
        let count = async {
            let row = sqlx::query("select count(*) from sessions").fetch_one(&mut self.conn).await?;
            Ok::<i64, StoreError>(row.try_get(0)?)
        };
        let count = count.await.map_err(|error| database.failed(error))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// The conversations after this name, by name.
    pub(super) async fn page(
        &mut self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Conversation>, DatabaseError> {
        let database = self.database;
        self.conversations(after, limit).await.map_err(|error| database.failed(error))
    }

    async fn conversations(
        &mut self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Conversation>, StoreError> {
        let texts = ["title", "model", "cwd", "parent_session_id"]
            .map(|name| column_or_null(&self.sessions, name, "blob"));
        let times = ["started_at", "ended_at"].map(|name| column_or_null(&self.sessions, name, "real"));
        let counts = ["input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens"]
            .map(|name| column_or_null(&self.sessions, name, "integer"));
        let select = format!(
            "select cast(id as blob) as id, {}, {}, {} from sessions
             where typeof(id) = 'text' and id > $1 order by id limit $2",
            texts.join(", "),
            times.join(", "),
            counts.join(", ")
        );
        // The names are ours.
        let query = sqlx::query(AssertSqlSafe(select)).bind(after.unwrap_or_default()).bind(limit);
        let found = query.fetch_all(&mut self.conn).await?;
        found.iter().map(conversation).collect()
    }

    /// The messages of a conversation after this number, as many as `most` or `bytes` says; how many were left out; and
    /// where the next part begins, if there may be one.
    pub(super) async fn messages(
        &mut self,
        conversation: &str,
        after: i64,
        most: usize,
        bytes: usize,
    ) -> Result<Part, DatabaseError> {
        let database = self.database;
        self.part(conversation, after, most, bytes).await.map_err(|error| database.failed(error))
    }

    async fn part(
        &mut self,
        conversation: &str,
        after: i64,
        most: usize,
        bytes: usize,
    ) -> Result<Part, StoreError> {
        let whole = |name: &str| {
            // A text that is too long is not even fetched.
            match self.messages.contains(name) {
                true => format!(
                    "case when length(cast({name} as blob)) <= {LONGEST} then cast({name} as blob) end as {name},
                     coalesce(length(cast({name} as blob)), 0) > {LONGEST} as {name}_is_long"
                ),
                false => format!("null as {name}, 0 as {name}_is_long"),
            }
        };
        // Undone messages are not shown in Hermes either. Summarised messages are imported.
        let told = match (self.messages.contains("active"), self.messages.contains("compacted")) {
            (true, true) => "and (coalesce(active, 1) <> 0 or coalesce(compacted, 0) <> 0)",
            (true, false) => "and coalesce(active, 1) <> 0",
            (false, _) => "",
        };
        let is_copy = match self.messages.contains("compacted") && self.messages.contains("timestamp") {
            // Hermes rewrites the messages that remain after a summary, with their original time.
            true => {
                "exists (select 1 from messages as earlier where earlier.session_id = messages.session_id
                         and earlier.compacted <> 0 and earlier.id < messages.id
                         and earlier.timestamp = messages.timestamp and earlier.role = messages.role
                         and earlier.content is messages.content)"
            }
            false => "0",
        };
        let select = format!(
            "select id, cast(role as blob) as role, {}, {}, {}, {}, {}, {is_copy} as is_copy from messages
             where session_id = $1 and id > $2 {told} order by id",
            whole("content"),
            whole("tool_calls"),
            whole("reasoning"),
            column_or_null(&self.messages, "tool_call_id", "blob"),
            column_or_null(&self.messages, "timestamp", "real"),
        );
        let mut part = Part { last: after, ..Part::default() };
        let mut size = 0;
        let mut rows =
            sqlx::query(AssertSqlSafe(select)).bind(conversation).bind(after).fetch(&mut self.conn);
        while let Some(found) = rows.try_next().await? {
            let row = row(&found)?;
            let is_person = row.role == "user";
            // Between two turns if possible; but a turn without end must not fill the memory.
            let is_full = part.messages.len() >= most || size >= bytes;
            let is_overfull = part.messages.len() >= most * 4 || size >= bytes * 4;
            if (is_full && is_person) || is_overfull {
                part.is_cut = true;
                break;
            }
            part.last = row.id;
            let is_long = ["content_is_long", "tool_calls_is_long", "reasoning_is_long"];
            let is_long = is_long.iter().any(|name| found.try_get::<bool, _>(*name).unwrap_or_default());
            if found.try_get::<bool, _>("is_copy")? {
                continue;
            }
            match message(&row) {
                Some(kept) => {
                    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                    size += length(&kept.message.content) + length(&kept.message.reasoning) + 200;
                    part.messages.push(kept);
                    part.left_out += usize::from(is_long);
                }
                None => part.left_out += 1,
            }
        }
        Ok(part)
    }
}

/// Some messages of a conversation.
#[derive(Default)]
pub(super) struct Part {
    pub(super) messages: Vec<PastMessage>,
    pub(super) left_out: usize,
    /// The last row that was read.
    pub(super) last: i64,
    /// There is more.
    pub(super) is_cut: bool,
}

fn conversation(row: &SqliteRow) -> Result<Conversation, StoreError> {
    let count = |name: &str| -> Result<u64, StoreError> {
        let count: Option<i64> = row.try_get(name)?;
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default())
    };
    Ok(Conversation {
        id: text(row, "id")?.unwrap_or_default(),
        title: text(row, "title")?,
        model: text(row, "model")?,
        cwd: text(row, "cwd")?,
        parent: text(row, "parent_session_id")?,
        started_at: time(row, "started_at")?,
        ended_at: time(row, "ended_at")?,
        input: count("input_tokens")?,
        cached: count("cache_read_tokens")?,
        output: count("output_tokens")?,
        reasoning: count("reasoning_tokens")?,
    })
}

fn row(row: &SqliteRow) -> Result<Row, StoreError> {
    Ok(Row {
        id: row.try_get("id")?,
        role: text(row, "role")?.unwrap_or_default(),
        content: text(row, "content")?,
        calls: text(row, "tool_calls")?,
        call: text(row, "tool_call_id")?,
        reasoning: text(row, "reasoning")?,
        at: time(row, "timestamp")?.unwrap_or_default(),
    })
}
