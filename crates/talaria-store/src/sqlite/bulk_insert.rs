//! Inserts many rows with one statement.
//!
//! A statement for 32 rows takes 2 as well: unbound values are null, and null rows are skipped. So there are three
//! statements per table that SQLite keeps prepared, whatever the number of rows. Values are bound, not packed into a
//! JSON text: that text would be written and parsed twice. The placeholders have no numbers, because for each number
//! SQLite walks through all of them.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Type};

use crate::error::StoreError;
use crate::model::batch::{Appended, Batch, Change};
use crate::model::event::NewEvent;
use crate::model::message::NewMessage;

/// For how many rows there are statements.
const SIZES: [usize; 3] = [4, 32, 256];

/// A session that differs from what is remembered of it gets no number, which is an error.
const UPDATE_SESSIONS: &str = "
    update session set
        last_seq = case when last_seq = progress.value ->> 4
                             and (select epoch from lease where lease.session = session.id) = progress.value ->> 5
                        then progress.value ->> 1 end,
        updated_at = max(updated_at, progress.value ->> 2),
        bytes = bytes + (progress.value ->> 3),
        first_at = coalesce(first_at, case when last_seq < (progress.value ->> 1) then progress.value ->> 2 end)
    from json_each(?) as progress where session.id = progress.value ->> 0;";

/// The texts of the statements, made once each.
#[derive(Default, Debug)]
pub(crate) struct Statements {
    made: HashMap<(Start, BulkInsert, usize), Arc<str>>,
}

/// SQL before the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Start {
    /// The beginning of the transaction.
    Begin,
    /// A part of it.
    Begun,
}

/// SQL after the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The end of the transaction.
    Commit,
    /// More of it.
    Continue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BulkInsert {
    Events,
    /// Events and what becomes of their sessions.
    LastEvents,
    /// The same, and the end of the transaction.
    LastEventsAndCommit,
    Messages,
}

impl Statements {
    /// The text of a statement. The transaction is begun with the first one.
    fn text(&mut self, start: &mut Start, insert: BulkInsert, rows: usize) -> Arc<str> {
        let start = std::mem::replace(start, Start::Begun);
        let text = self.made.entry((start, insert, rows)).or_insert_with(|| {
            let begin = match start {
                Start::Begin => "begin immediate;",
                Start::Begun => "",
            };
            match insert {
                BulkInsert::Events => format!("{begin} {}", insert_events(rows)),
                BulkInsert::LastEvents => format!("{begin} {UPDATE_SESSIONS} {}", insert_events(rows)),
                BulkInsert::LastEventsAndCommit => {
                    format!("{begin} {UPDATE_SESSIONS} {} commit", insert_events(rows))
                }
                BulkInsert::Messages => format!("{begin} {}", insert_messages(rows)),
            }
            .into()
        });
        Arc::clone(text)
    }
}

fn insert_events(rows: usize) -> String {
    format!("insert into event (session, seq, turn, at, kind, json) {};", select(rows, 6))
}

fn insert_messages(rows: usize) -> String {
    let select = select(rows, 8);
    format!(
        "insert into message (session, key, turn, seq, role, text, json, at) {select}
         on conflict (session, key) do update
             set turn = excluded.turn, role = excluded.role, text = excluded.text, json = excluded.json,
                 at = excluded.at"
    )
}

/// All rows that are bound.
fn select(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    format!("select * from (values {}) where column1 is not null", vec![row; rows].join(", "))
}

/// The events and messages of a group, with their numbers.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    events: Vec<(&'a Batch, i64, &'a NewEvent)>,
    messages: Vec<(&'a Batch, i64, &'a NewMessage)>,
}

impl<'a> Rows<'a> {
    /// Takes those of a batch; returns their approximate size in bytes.
    pub(crate) fn add(&mut self, batch: &'a Batch, appended: Appended) -> usize {
        let mut bytes = 0;
        for (seq, event) in (appended.first_seq..).zip(&batch.events) {
            bytes += event.json.len();
            self.events.push((batch, seq, event));
        }
        for change in &batch.changes {
            let Change::Message(message) = change else { continue };
            let offset = message.event.and_then(|event| i64::try_from(event).ok());
            // Changes without an event are attributed to the next one.
            let last = appended.last_seq.max(appended.first_seq);
            let seq = offset.map_or(last, |offset| (appended.first_seq + offset).min(last));
            bytes += message.json.len() + message.text.len();
            self.messages.push((batch, seq, message));
        }
        bytes
    }

    /// Inserts them and updates the sessions.
    pub(crate) async fn insert(
        &self,
        conn: &mut SqliteConnection,
        statements: &mut Statements,
        progress: &str,
        mut start: Start,
        then: Then,
    ) -> Result<(), StoreError> {
        for chunk in self.messages.chunks(SIZES[SIZES.len() - 1]) {
            let mut values = Values::default();
            for (batch, seq, message) in chunk {
                values.text(batch.session.as_str())?.text(&message.key)?.number(message.turn)?;
                values.number(Some(*seq))?.text(&message.role)?.text(&searchable(&message.text))?;
                values.text(&message.json)?.number(Some(batch.at))?;
            }
            values
                .execute(conn, statements.text(&mut start, BulkInsert::Messages, size(chunk.len())))
                .await?;
        }
        let most = SIZES[SIZES.len() - 1];
        let (before, last) = self.events.split_at(self.events.len().saturating_sub(1) / most * most);
        for chunk in before.chunks(most) {
            let values = Values::default().events(chunk)?;
            values.execute(conn, statements.text(&mut start, BulkInsert::Events, size(chunk.len()))).await?;
        }
        let mut values = Values::default();
        values.text(progress)?;
        let values = values.events(last)?;
        let insert = match then {
            Then::Commit => BulkInsert::LastEventsAndCommit,
            Then::Continue => BulkInsert::LastEvents,
        };
        values.execute(conn, statements.text(&mut start, insert, size(last.len()))).await
    }
}

/// Values in the order of their placeholders.
#[derive(Default)]
struct Values(SqliteArguments);

impl Values {
    fn text(&mut self, text: &str) -> Result<&mut Self, StoreError> {
        self.add(Arc::<str>::from(text))
    }

    fn number(&mut self, number: Option<i64>) -> Result<&mut Self, StoreError> {
        self.add(number)
    }

    fn add<'q>(&mut self, value: impl Encode<'q, Sqlite> + Type<Sqlite>) -> Result<&mut Self, StoreError> {
        let added = self.0.add(value);
        added.map(|()| self).map_err(|error| StoreError::Refused(error.to_string()))
    }

    fn events(mut self, events: &[(&Batch, i64, &NewEvent)]) -> Result<Self, StoreError> {
        for (batch, seq, event) in events {
            self.text(batch.session.as_str())?.number(Some(*seq))?.number(event.turn)?;
            self.number(Some(batch.at))?.text(&event.kind)?.text(&event.json)?;
        }
        Ok(self)
    }

    async fn execute(self, conn: &mut SqliteConnection, text: Arc<str>) -> Result<(), StoreError> {
        // The SQL consists of placeholders and constants of this file only.
        sqlx::query_with(AssertSqlSafe(text), self.0).execute(conn).await?;
        Ok(())
    }
}

/// Returns the smallest statement that takes this many rows.
fn size(rows: usize) -> usize {
    SIZES.into_iter().find(|size| rows <= *size).unwrap_or(SIZES[SIZES.len() - 1])
}

/// SQLite's functions stop at a zero byte.
fn searchable(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}
