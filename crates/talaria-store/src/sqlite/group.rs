//! Group commit: many batches in one transaction, with few statements for many rows.
//!
//! Every statement costs a hop to the thread of the connection, so that the events of all batches go in with one
//! statement, and their sessions are read and updated with one each. The cached state of a session after the last
//! commit is used without reading it again; the update checks it, and if it was wrong, the group is written once more
//! with fresh reads. If one batch is at fault, the group is rolled back and each batch is committed separately: the
//! others are not affected.

use std::collections::HashMap;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::batch::{Appended, Batch, Change};
use crate::model::skill::NewSkillUse;
use crate::sqlite::bulk_insert::{Rows, Start, Statements, Then};
use crate::sqlite::{
    audit, background, budget, delegation, model_attempt, model_history, model_usage, outbox, request,
    review, session, skill, task, tool_call, transaction, turn,
};

type Result<T> = std::result::Result<T, StoreError>;

/// Maximum number of remembered sessions.
const REMEMBERED: usize = 4096;

/// Cache between two commits.
#[derive(Default)]
pub(crate) struct Memory {
    statements: Statements,
    known: HashMap<String, Known>,
}

impl Memory {
    /// Clears what is remembered of sessions, because something else was written.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

/// Cached state of a session.
#[derive(Clone)]
struct Known {
    last_seq: i64,
    held: Option<(i64, String)>,
}

/// Commits the batches and returns the result of each.
pub(crate) async fn commit(
    conn: &mut SqliteConnection,
    memory: &mut Memory,
    batches: Vec<Batch>,
) -> Vec<Result<Appended>> {
    match attempt(conn, memory, &batches).await {
        Ok(results) => results,
        Err(error) if error.is_of_one_write() && batches.len() > 1 => {
            let mut results = Vec::with_capacity(batches.len());
            for batch in &batches {
                let alone = attempt(conn, memory, std::slice::from_ref(batch)).await;
                results.push(alone.and_then(|mut results| results.pop().unwrap_or(Err(StoreError::Closed))));
            }
            results
        }
        Err(error) => batches.iter().map(|_| Err(error.clone())).collect(),
    }
}

async fn attempt(
    conn: &mut SqliteConnection,
    memory: &mut Memory,
    batches: &[Batch],
) -> Result<Vec<Result<Appended>>> {
    if let Some(known) = remembered(memory, batches) {
        match write(conn, memory, batches, known, Start::Begin).await {
            // Perhaps only what was remembered was wrong.
            Err(error) if error.is_of_one_write() => give_up(conn, memory).await,
            Err(error) => {
                give_up(conn, memory).await;
                return Err(error);
            }
            results => return results,
        }
    }
    let result = match begin(conn, batches).await {
        Ok(known) => write(conn, memory, batches, known, Start::Begun).await,
        Err(error) => Err(error),
    };
    if result.is_err() {
        give_up(conn, memory).await;
    }
    result
}

async fn give_up(conn: &mut SqliteConnection, memory: &mut Memory) {
    transaction::roll_back(conn).await;
    memory.forget();
}

/// The cached state of the sessions of all batches, if every batch can be admitted with it.
fn remembered(memory: &Memory, batches: &[Batch]) -> Option<HashMap<String, Known>> {
    let known = batches.iter().map(|batch| {
        let known = memory.known.get(batch.session.as_str())?;
        let is_held = known.held.as_ref().is_some_and(|(epoch, _)| *epoch == batch.epoch);
        is_held.then(|| (batch.session.to_string(), known.clone()))
    });
    known.collect()
}

async fn begin(conn: &mut SqliteConnection, batches: &[Batch]) -> Result<HashMap<String, Known>> {
    let ids: Vec<&str> = batches.iter().map(|batch| batch.session.as_str()).collect();
    let found = sqlx::query(
        "begin immediate;
         select session.id, session.last_seq, lease.epoch, lease.owner
         from session left join lease on lease.session = session.id
         where session.id in (select value from json_each($1))",
    )
    .bind(serde_json::json!(ids).to_string())
    .fetch_all(conn)
    .await?;
    let known = found.iter().map(|row| {
        let held = Option::zip(row.try_get("epoch")?, row.try_get("owner")?);
        Ok((row.try_get("id")?, Known { last_seq: row.try_get("last_seq")?, held }))
    });
    known.collect()
}

/// Returns the event numbers of a batch, or why it is refused.
fn admit(known: &mut HashMap<String, Known>, batch: &Batch) -> Result<Appended> {
    let session = known
        .get_mut(batch.session.as_str())
        .ok_or_else(|| StoreError::UnknownSession(batch.session.clone()))?;
    if session.held.as_ref().map(|(epoch, _)| *epoch) != Some(batch.epoch) {
        let (session, held) = (batch.session.clone(), session.held.clone());
        return Err(StoreError::Fenced { session, epoch: batch.epoch, held });
    }
    let first_seq = session.last_seq + 1;
    session.last_seq += i64::try_from(batch.events.len()).unwrap_or(i64::MAX);
    Ok(Appended { first_seq, last_seq: session.last_seq })
}

/// Changes of a group to a session's own row.
struct Progress {
    before: i64,
    last_seq: i64,
    epoch: i64,
    at: i64,
    bytes: usize,
}

async fn write(
    conn: &mut SqliteConnection,
    memory: &mut Memory,
    batches: &[Batch],
    mut known: HashMap<String, Known>,
    start: Start,
) -> Result<Vec<Result<Appended>>> {
    let results: Vec<Result<Appended>> = batches.iter().map(|batch| admit(&mut known, batch)).collect();
    let admitted = || {
        let pairs = batches.iter().zip(&results);
        pairs.filter_map(|(batch, result)| result.as_ref().ok().map(|appended| (batch, *appended)))
    };
    let mut progress: Vec<(&SessionId, Progress)> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    let mut rows = Rows::default();
    for (batch, appended) in admitted() {
        let bytes = rows.add(batch, appended);
        let place = *index.entry(batch.session.as_str()).or_insert(progress.len());
        match progress.get_mut(place) {
            Some((_, progress)) => {
                progress.last_seq = appended.last_seq;
                progress.at = progress.at.max(batch.at);
                progress.bytes += bytes;
            }
            None => {
                let (before, last_seq) = (appended.first_seq - 1, appended.last_seq);
                let (epoch, at) = (batch.epoch, batch.at);
                progress.push((&batch.session, Progress { before, last_seq, epoch, at, bytes }));
            }
        }
    }
    if progress.is_empty() {
        transaction::roll_back(conn).await;
        return Ok(results);
    }
    let progress = progress.iter().map(|(id, p)| (id.as_str(), p.last_seq, p.at, p.bytes, p.before, p.epoch));
    let progress = serde_json::json!(progress.collect::<Vec<_>>()).to_string();
    let is_row_of_its_own = |change: &Change| !matches!(change, Change::Message(_));
    let has_more = admitted().any(|(batch, _)| batch.changes.iter().any(is_row_of_its_own));
    let then = if has_more { Then::Continue } else { Then::Commit };
    rows.insert(conn, &mut memory.statements, &progress, start, then).await?;
    if has_more {
        for (batch, appended) in admitted() {
            for change in &batch.changes {
                apply(conn, batch, appended, change.clone()).await?;
            }
        }
        sqlx::query("commit").execute(conn).await?;
    }
    if memory.known.len() > REMEMBERED {
        memory.forget();
    }
    memory.known.extend(known);
    Ok(results)
}

async fn apply(conn: &mut SqliteConnection, batch: &Batch, appended: Appended, change: Change) -> Result<()> {
    let (session, at) = (&batch.session, batch.at);
    match change {
        Change::Session(patch) => session::update(conn, session, patch).await,
        Change::NewTurn(new) => turn::insert(conn, session, at, appended.first_seq, new).await,
        Change::Turn(patch) => turn::update(conn, session, at, patch).await,
        Change::NewRequest(new) => request::insert(conn, session, at, new).await,
        Change::Request(patch) => request::update(conn, session, at, patch).await,
        Change::TaskWorktree(worktree) => task::set_worktree(conn, session, worktree).await,
        Change::TaskNotify(notify) => task::set_notify(conn, session, &notify).await,
        Change::TakeBack { after } => turn::withdraw_after(conn, session, after).await,
        Change::UndoTurn(ordinal) => turn::undo(conn, session, at, ordinal).await,
        Change::Rebase(basis) => session::rebase(conn, session, &basis).await,
        Change::Background(commands) => background::set(conn, session, commands).await,
        Change::Outbox(new) => outbox::insert(conn, session, new).await,
        Change::ToolOffered(call) => tool_call::offer(conn, session, at, call).await,
        Change::ToolCall(key, step) => tool_call::step(conn, batch, key, step).await,
        Change::ToolDelivered(key) => tool_call::deliver(conn, session, at, key).await,
        Change::ToolsClosed(ordinal) => tool_call::close_turn(conn, session, at, ordinal).await,
        Change::ReviewCount(count) => review::count(conn, session, count).await,
        Change::ReviewDue { last_turn, due } => review::put(conn, session, at, last_turn, due).await,
        Change::Review(id, step) => review::step(conn, batch, id, step).await,
        Change::SkillUse { folder, step } => {
            skill::insert_use(conn, NewSkillUse { folder, session: session.clone(), step, at }).await
        }
        Change::DelegationAnnounced(child) => delegation::announce(conn, session, at, &child).await,
        Change::ResultCarried { child, turn, carrier } => {
            delegation::carry(conn, session, &child, turn, carrier).await
        }
        Change::ResultsDelivered { turn, carrier } => {
            delegation::deliver(conn, session, at, turn, carrier).await
        }
        Change::ModelUsage(new) => model_usage::insert(conn, session, at, new).await,
        Change::BudgetAllowance(new) => budget::allow(conn, at, new).await,
        Change::NewAttempt(new) => model_attempt::insert(conn, batch, new).await,
        Change::AttemptStage(key, state, facts) => {
            model_attempt::advance(conn, batch, key, state, facts).await
        }
        Change::AttemptEnd(key, end) => model_attempt::end(conn, batch, key, *end).await,
        Change::History(entry) => model_history::append(conn, session, at, None, vec![entry]).await,
        Change::Audit(entry) => audit::insert(conn, entry).await,
        // All messages of the group were inserted together.
        Change::Message(_) => Ok(()),
    }
}
