//! Search in everything that was said and done, newest first.
//!
//! The index holds trigrams, so that any part of a word is found in any script. A word of one or two characters has no
//! trigram: it expands to the trigrams that begin with it (each text is followed by two more characters, so that every
//! character begins one). If those are too many the word is everywhere, and reading the newest messages finds it soon.

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::search::{MessageMatch, MessagePlace, SearchFilter, SearchedKind, Snippet, Word, parse};
use crate::sqlite::SqliteStore;

/// Maximum number of trigrams that a short word expands to.
const TRIGRAMS: i64 = 200;
/// How many messages are read at a time when the index alone does not decide.
const PAGE: i64 = 200;

impl SqliteStore {
    pub(crate) async fn search_within(
        &self,
        typed: &str,
        filter: &SearchFilter,
        limit: u32,
    ) -> Result<Vec<MessageMatch>, StoreError> {
        let words = parse(typed);
        let found = self.matching(&words, filter, limit, MatchColumns::Text).await?;
        found.iter().map(|row| hit(row, &words)).collect()
    }

    pub(crate) async fn search_places(
        &self,
        typed: &str,
        filter: &SearchFilter,
        limit: u32,
    ) -> Result<Vec<MessagePlace>, StoreError> {
        let found = self.matching(&parse(typed), filter, limit, MatchColumns::Place).await?;
        found.iter().map(place).collect()
    }

    pub(crate) async fn matches_at(
        &self,
        typed: &str,
        places: &[MessagePlace],
    ) -> Result<Vec<MessageMatch>, StoreError> {
        let words = parse(typed);
        let mut hits = Vec::with_capacity(places.len());
        for place in places {
            let text = "select id, session, seq, turn, role, at, text from message where id = $1";
            let row = sqlx::query(text).bind(place.message).fetch_optional(self.readers()).await?;
            hits.extend(row.map(|row| hit(&row, &words)).transpose()?);
        }
        Ok(hits)
    }

    /// The newest messages with all words.
    async fn matching(
        &self,
        words: &[Word],
        filter: &SearchFilter,
        limit: u32,
        columns: MatchColumns,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut hits = Vec::new();
        if words.is_empty() {
            return Ok(hits);
        }
        let (mut indexed, mut unindexed) = (Vec::new(), Vec::new());
        for word in words {
            match self.ask(word).await? {
                Ask::Index(expression) => indexed.push(expression),
                Ask::Texts => unindexed.push(word),
                Ask::NoMatch => return Ok(hits),
            }
        }
        let expression = indexed.join(" AND ");
        // If the index alone decides, one page is enough, and no text is read that is not shown.
        let (page, columns) = match unindexed.is_empty() {
            true => (i64::try_from(limit).unwrap_or(PAGE), columns),
            false => (PAGE, MatchColumns::Text),
        };
        let mut before = i64::MAX;
        loop {
            let found = self.candidates(&expression, filter, before, page, columns).await?;
            let is_last = i64::try_from(found.len()).unwrap_or(0) < page;
            for row in found {
                before = row.try_get("id")?;
                let is_hit = unindexed.is_empty() || {
                    let text: &str = row.try_get("text")?;
                    unindexed.iter().all(|word| word.occurs_in(text))
                };
                if is_hit && hits.len() < limit {
                    hits.push(row);
                }
            }
            if is_last || hits.len() >= limit {
                return Ok(hits);
            }
        }
    }

    /// Decides how to find a word.
    async fn ask(&self, word: &Word) -> Result<Ask, StoreError> {
        if !word.is_short() {
            return Ok(Ask::Index(quoted(word.as_str())));
        }
        let found = sqlx::query("select term from message_trigram where term >= $1 and term < $2 limit $3")
            .bind(word.as_str())
            .bind(format!("{}{}", word.as_str(), char::MAX))
            .bind(TRIGRAMS)
            .fetch_all(self.readers())
            .await?;
        if found.is_empty() {
            return Ok(Ask::NoMatch);
        }
        if i64::try_from(found.len()).unwrap_or(TRIGRAMS) >= TRIGRAMS {
            return Ok(Ask::Texts);
        }
        let terms = found.iter().map(|row| Ok(quoted(row.try_get("term")?)));
        let terms = terms.collect::<Result<Vec<String>, StoreError>>()?;
        Ok(Ask::Index(format!("({})", terms.join(" OR "))))
    }

    async fn candidates(
        &self,
        expression: &str,
        filter: &SearchFilter,
        before: i64,
        limit: i64,
        columns: MatchColumns,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let (source, row) = if expression.is_empty() {
            ("message join session on session.id = message.session where $1 = ''", "message.id")
        } else {
            let source = "message_index
                      join message on message.id = message_index.rowid
                      join session on session.id = message.session
                 where message_index match $1";
            // By its own number the index need not be sorted.
            (source, "message_index.rowid")
        };
        let kind = filter.kind.map_or_else(|| "true".to_owned(), kind);
        let columns = match columns {
            MatchColumns::Place => "message.id, session, seq, turn",
            MatchColumns::Text => "message.id, session, seq, turn, role, at, message.text",
        };
        let text = format!(
            "select {columns} from {source} and {row} < $2 and ({kind}) and {PLACE}
             order by {row} desc limit $3"
        );
        let found = sqlx::query(AssertSqlSafe(text))
            .bind(expression)
            .bind(before)
            .bind(limit)
            .bind(filter.session.as_ref().map(SessionId::as_str))
            .bind(filter.directory.as_deref())
            .fetch_all(self.readers())
            .await?;
        Ok(found)
    }
}

/// The condition for where a message was said. The engine keeps a worktree as JSON that names the repository.
const PLACE: &str =
    "not exists (select 1 from turn where turn.session = message.session and turn.ordinal = message.turn
                                    and turn.undone_at is not null)
    and ($4 is null or session.id = $4)
    and ($5 is null or session.cwd = $5 or substr(session.cwd, 1, length($5) + 1) = $5 || '/'
         or exists (select 1 from task
                    where task.session = session.id
                          and json_extract(task.worktree, '$.made.repository') = $5))";

/// The text of a message, and the tool that it calls; null if none.
const CONTENT: &str = "iif(json_valid(message.json), json_extract(message.json, '$.content'), null)";
const CALLED: &str =
    "iif(json_valid(message.json), json_extract(message.json, '$.tool_calls[0].function.name'), null)";

/// The condition for a kind of message.
fn kind(kind: SearchedKind) -> String {
    match kind {
        SearchedKind::SaidAndDone => {
            format!("role <> 'tool' and ({CONTENT} is not null or substr({CALLED}, 1, 8) <> 'talaria_')")
        }
        SearchedKind::Words => format!("role <> 'tool' and {CONTENT} is not null"),
        SearchedKind::Answers => format!("role = 'assistant' and {CONTENT} is not null"),
        SearchedKind::Commands => format!("{CALLED} = 'exec_command'"),
        SearchedKind::Patches => format!("{CALLED} = 'apply_patch'"),
        SearchedKind::Outputs => "role = 'tool'".to_owned(),
    }
}

/// The columns that are read of a message with the words. A text may have megabytes.
#[derive(Clone, Copy)]
enum MatchColumns {
    /// Where it is.
    Place,
    /// Its text, too.
    Text,
}

/// How to find a word.
enum Ask {
    /// The index, with this expression.
    Index(String),
    /// The texts themselves: it is in too many for the index.
    Texts,
    /// No message contains it.
    NoMatch,
}

/// Quotes a text so that the index takes it literally.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn place(row: &SqliteRow) -> Result<MessagePlace, StoreError> {
    Ok(MessagePlace {
        message: row.try_get("id")?,
        session: SessionId::new(row.try_get::<String, _>("session")?),
        seq: row.try_get("seq")?,
        turn: row.try_get("turn")?,
    })
}

fn hit(row: &SqliteRow, words: &[Word]) -> Result<MessageMatch, StoreError> {
    Ok(MessageMatch {
        session: SessionId::new(row.try_get::<String, _>("session")?),
        seq: row.try_get("seq")?,
        turn: row.try_get("turn")?,
        role: row.try_get("role")?,
        at: row.try_get("at")?,
        snippet: Snippet::of(row.try_get("text")?, words),
    })
}
