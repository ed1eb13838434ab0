//! `Store`, the handle of callers. Its methods are the interface of every backend; each calls the same method of the
//! backend.
//!
//! To add a method: write it here with its promise, in each backend with its SQL, and in `contract` as a test.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use talaria_core::budget::{BudgetShortfall, BudgetState, ScopedLimit};
use talaria_core::ids::{SessionId, ThreadId, TicketId};

use crate::error::StoreError;
use crate::model::api_token::{ApiTokenRow, NewApiToken};
use crate::model::audit::{AuditRow, NewAudit};
use crate::model::batch::{Appended, Batch};
use crate::model::budget::NewReservation;
use crate::model::delegation::DelegationRow;
use crate::model::event::EventRow;
use crate::model::host::{HostProcess, HostRow, NewHost};
use crate::model::imported::{ImportResult, ImportedSession, OriginRow, UndoneImport};
use crate::model::inspection::Inspection;
use crate::model::lease::{Lease, Takeover};
use crate::model::memory::{
    MemoryEntryRow, MemoryMirror, MemoryProposalRow, MemoryRevisionFilter, MemoryRevisionRow,
    MemorySnapshotRow, MemoryWrite, MemoryWriteResult,
};
use crate::model::message::MessageRow;
use crate::model::model_attempt::ModelAttemptRow;
use crate::model::model_history::HistoryEntryRow;
use crate::model::model_usage::{UsageFilter, UsageSumRow};
use crate::model::open_options::OpenOptions;
use crate::model::outbox::OutboxRow;
use crate::model::prune::{PrunePolicy, PrunePreview, PruneResult};
use crate::model::request::{AnswerResult, NewAnswer, RequestFilter, RequestRow, UnusedAnswer};
use crate::model::review::ReviewRow;
use crate::model::search::{MessageMatch, MessagePlace, SearchFilter};
use crate::model::session::{
    Cursor, NewForkRow, NewSessionRow, SessionFilter, SessionLookup, SessionPage, SessionRow,
};
use crate::model::size::{RowCounts, StoreSize};
use crate::model::skill::{
    NewSkillUse, SkillArchiveRow, SkillDecision, SkillDecisionResult, SkillProposalRow, SkillProposeResult,
    SkillReviewResult, SkillSourceRow, SkillUsageRow,
};
use crate::model::task::{TaskFilter, TaskPage, TaskRow};
use crate::model::tool_call::{ToolCallKey, ToolCallRow};
use crate::model::trim::{TrimPolicy, TrimResult};
use crate::model::turn::TurnRow;
use crate::model::words::SkillProposalState;
use crate::open_error::StoreOpenError;
use crate::sqlite::SqliteStore;

/// Everything that Talaria keeps. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store {
    backend: Backend,
}

/// Where the rows are.
#[derive(Clone, Debug)]
enum Backend {
    Sqlite(Arc<SqliteStore>),
}

/// Calls the same method of the backend and waits for it.
macro_rules! dispatch {
    ($store:ident.$method:ident($($argument:expr),*)) => {
        match &$store.backend {
            Backend::Sqlite(sqlite) => sqlite.$method($($argument),*).await,
        }
    };
}

/// Opening, writing, closing.
impl Store {
    /// Opens the database at `path`, and creates it with its directory if there is none. `now` names the copy of a
    /// damaged file.
    pub async fn open(path: &Path, now: i64, options: &OpenOptions) -> Result<Self, StoreOpenError> {
        let sqlite = SqliteStore::open(path, now, options).await?;
        Ok(Self { backend: Backend::Sqlite(Arc::new(sqlite)) })
    }

    /// Inspects the database at `path` for at most about `limit`. The error describes the damage.
    pub async fn inspect(path: &Path, limit: Duration) -> Result<Inspection, StoreOpenError> {
        SqliteStore::inspect(path, limit).await
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.path(),
        }
    }

    /// Appends events and changes rows, all or nothing. When it returns, they are on the disk. A caller that stops
    /// waiting leaves it open whether they are, but never a part of them.
    pub async fn append(&self, batch: Batch) -> Result<Appended, StoreError> {
        dispatch!(self.append(batch))
    }

    /// Finishes pending writes and closes the file. Every later call fails with `Closed`.
    pub async fn close(&self) {
        dispatch!(self.close());
    }

    /// Counts what there is.
    pub async fn counts(&self) -> Result<RowCounts, StoreError> {
        dispatch!(self.counts())
    }

    /// Returns how much room it takes.
    pub async fn size(&self) -> Result<StoreSize, StoreError> {
        dispatch!(self.size())
    }

    /// Limits the file to this many pages of 4 KiB from now on, to see what a full disk does.
    pub async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        dispatch!(self.limit_pages(pages))
    }
}

/// Sessions and leases.
impl Store {
    /// Creates a session and takes its lease. The id and the alias must be new.
    pub async fn create_session(&self, session: NewSessionRow, lease: Lease) -> Result<(), StoreError> {
        dispatch!(self.create_session(session, lease))
    }

    /// Creates a session with the turns of another one up to a turn, with all that happened and was said in them, and takes its
    /// lease. A conflict if there is no such finished turn, or it was undone.
    pub async fn fork_session(&self, fork: NewForkRow, lease: Lease) -> Result<(), StoreError> {
        dispatch!(self.fork_session(fork, lease))
    }

    /// Returns one session.
    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        dispatch!(self.session(id))
    }

    /// Returns the session that has this thread; of several the one that changed last.
    pub async fn session_of_thread(&self, thread: &ThreadId) -> Result<Option<SessionRow>, StoreError> {
        dispatch!(self.session_of_thread(thread))
    }

    /// Finds a session by its id, its alias, or a beginning or an end of one that only one session has.
    pub async fn find_session(&self, typed: &str) -> Result<SessionLookup, StoreError> {
        dispatch!(self.find_session(typed))
    }

    /// Returns up to `limit` sessions after a cursor (or the newest ones), newest first.
    pub async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&Cursor>,
        limit: u32,
    ) -> Result<SessionPage, StoreError> {
        dispatch!(self.sessions(filter, after, limit))
    }

    /// Returns the number of an engine that starts: higher than every number before.
    pub async fn next_epoch(&self) -> Result<i64, StoreError> {
        dispatch!(self.next_epoch())
    }

    /// Takes or renews a lease. A lease that another engine keeps is `Fenced`.
    pub async fn take_lease(&self, lease: Lease, takeover: Takeover) -> Result<(), StoreError> {
        dispatch!(self.take_lease(lease, takeover))
    }

    /// Changes the title of a session; the time of its last activity stays. Returns whether there is such a session.
    pub async fn rename_session(&self, session: &SessionId, title: &str) -> Result<bool, StoreError> {
        dispatch!(self.rename_session(session, title))
    }

    /// Returns the lease of a session.
    pub async fn lease(&self, session: &SessionId) -> Result<Option<Lease>, StoreError> {
        dispatch!(self.lease(session))
    }

    /// Returns what was recorded about the home of this database, as the caller wrote it.
    pub async fn home_record(&self) -> Result<Option<String>, StoreError> {
        dispatch!(self.home_record())
    }

    /// Records the home of this database.
    pub async fn set_home_record(&self, record: &str) -> Result<(), StoreError> {
        dispatch!(self.set_home_record(record))
    }

    /// Ends everything here that the original of a copied home continues: hosts count as ended, notifications are
    /// abandoned, kept answers expire. Turns and their requests are settled by the caller before. Changes rows only.
    pub async fn leave_to_original(&self, why: &str, at: i64) -> Result<(), StoreError> {
        dispatch!(self.leave_to_original(why, at))
    }

    /// Marks every notification that is still owed as a possible repeat: another home may have sent it. Returns how many.
    pub async fn mark_owed_as_repeats(&self) -> Result<u64, StoreError> {
        dispatch!(self.mark_owed_as_repeats())
    }
}

/// Turns.
impl Store {
    /// Returns one turn.
    pub async fn turn(&self, session: &SessionId, ordinal: i64) -> Result<Option<TurnRow>, StoreError> {
        dispatch!(self.turn(session, ordinal))
    }

    /// Returns up to `limit` turns before the ordinal `before` (or the newest), in order.
    pub async fn last_turns(
        &self,
        session: &SessionId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<TurnRow>, StoreError> {
        dispatch!(self.last_turns(session, before, limit))
    }

    /// Returns the first turn of a session that is not settled.
    pub async fn next_unsettled(&self, session: &SessionId) -> Result<Option<TurnRow>, StoreError> {
        dispatch!(self.next_unsettled(session))
    }

    /// Returns the ordinals of the turns of a session that were undone, in order.
    pub async fn undone_turns(&self, session: &SessionId) -> Result<Vec<i64>, StoreError> {
        dispatch!(self.undone_turns(session))
    }

    /// Returns every turn that is not settled, with its session: the work that an engine resumes when it
    /// starts.
    pub async fn unsettled(&self) -> Result<Vec<(SessionRow, TurnRow)>, StoreError> {
        dispatch!(self.unsettled())
    }
}

/// Events and messages.
impl Store {
    /// Returns up to `limit` events after the number `after`, in order. A first number above `after + 1` means that
    /// older events were removed.
    pub async fn events(
        &self,
        session: &SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        dispatch!(self.events(session, after, limit))
    }

    /// Returns the last `limit` events that are not of these kinds, in order.
    pub async fn last_events(
        &self,
        session: &SessionId,
        without: &[&str],
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        dispatch!(self.last_events(session, without, limit))
    }

    /// Returns all events of one turn, in order.
    pub async fn all_events_of_turn(
        &self,
        session: &SessionId,
        ordinal: i64,
    ) -> Result<Vec<EventRow>, StoreError> {
        dispatch!(self.all_events_of_turn(session, ordinal))
    }

    /// Returns the events of these kinds that one turn has, in order: for example the steps that it completed.
    pub async fn events_of_turn(
        &self,
        session: &SessionId,
        ordinal: i64,
        kinds: &[&str],
    ) -> Result<Vec<EventRow>, StoreError> {
        dispatch!(self.events_of_turn(session, ordinal, kinds))
    }

    /// Returns the newest event of this kind.
    pub async fn last_event_of(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<EventRow>, StoreError> {
        dispatch!(self.last_event_of(session, kind))
    }

    /// Returns the events after the number `after` that began a thread or shortened the conversation, in order.
    pub async fn landmarks(&self, session: &SessionId, after: i64) -> Result<Vec<EventRow>, StoreError> {
        dispatch!(self.landmarks(session, after))
    }

    /// Returns up to `limit` messages after the message `after` (or from the beginning), in order.
    pub async fn messages(
        &self,
        session: &SessionId,
        after: Option<&MessageRow>,
        limit: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        dispatch!(self.messages(session, after, limit))
    }

    /// Counts the messages of a session.
    pub async fn count_messages(&self, session: &SessionId) -> Result<i64, StoreError> {
        dispatch!(self.count_messages(session))
    }

    /// Returns the last `limit` messages, in order.
    pub async fn last_messages(
        &self,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        dispatch!(self.last_messages(session, limit))
    }

    /// Finds up to `limit` messages with all these words, newest first, except those of undone turns. Text in quotation marks is one word.
    /// There is no other query syntax, and case is ignored.
    pub async fn search(&self, typed: &str, limit: u32) -> Result<Vec<MessageMatch>, StoreError> {
        self.search_within(typed, &SearchFilter::default(), limit).await
    }

    /// The same, of the messages that the filter lets through.
    pub async fn search_within(
        &self,
        typed: &str,
        filter: &SearchFilter,
        limit: u32,
    ) -> Result<Vec<MessageMatch>, StoreError> {
        dispatch!(self.search_within(typed, filter, limit))
    }

    /// Finds where the same messages are. Reads no text that need not be read: for counting, and for showing a few of many
    /// with [`matches_at`](Self::matches_at).
    pub async fn search_places(
        &self,
        typed: &str,
        filter: &SearchFilter,
        limit: u32,
    ) -> Result<Vec<MessagePlace>, StoreError> {
        dispatch!(self.search_places(typed, filter, limit))
    }

    /// Reads the messages at these places and finds the words in them. A message that was removed meanwhile is left out.
    pub async fn matches_at(
        &self,
        typed: &str,
        places: &[MessagePlace],
    ) -> Result<Vec<MessageMatch>, StoreError> {
        dispatch!(self.matches_at(typed, places))
    }
}

/// Requests.
impl Store {
    /// Returns one request.
    pub async fn request(&self, id: &TicketId) -> Result<Option<RequestRow>, StoreError> {
        dispatch!(self.request(id))
    }

    /// Returns requests, oldest first.
    pub async fn requests(&self, filter: &RequestFilter) -> Result<Vec<RequestRow>, StoreError> {
        dispatch!(self.requests(filter))
    }

    /// Answers a request if it is open. Of many answers one wins; the others learn which.
    pub async fn answer_request(&self, id: &TicketId, answer: NewAnswer) -> Result<AnswerResult, StoreError> {
        dispatch!(self.answer_request(id, answer))
    }

    /// Ends the escrow of requests from before the turn `ordinal`. To be called when that turn is over. Returns the answers
    /// that were not used.
    pub async fn expire_escrow(
        &self,
        session: &SessionId,
        epoch: i64,
        ordinal: i64,
        at: i64,
    ) -> Result<Vec<UnusedAnswer>, StoreError> {
        dispatch!(self.expire_escrow(session, epoch, ordinal, at))
    }
}

/// Tasks and background commands.
impl Store {
    /// Returns what makes a session a task, if it is one.
    pub async fn task(&self, session: &SessionId) -> Result<Option<TaskRow>, StoreError> {
        dispatch!(self.task(session))
    }

    /// Returns up to `limit` tasks after a cursor (or the newest ones), newest first.
    pub async fn tasks(
        &self,
        filter: &TaskFilter,
        after: Option<&Cursor>,
        limit: u32,
    ) -> Result<TaskPage, StoreError> {
        dispatch!(self.tasks(filter, after, limit))
    }

    /// Returns what delegated a task, if a conversation did.
    pub async fn delegation(&self, child: &SessionId) -> Result<Option<DelegationRow>, StoreError> {
        dispatch!(self.delegation(child))
    }

    /// Returns the tasks that a conversation delegated, the oldest first.
    pub async fn delegations(&self, parent: &SessionId) -> Result<Vec<DelegationRow>, StoreError> {
        dispatch!(self.delegations(parent))
    }

    /// Returns whether any conversation has delegated anything.
    pub async fn has_delegations(&self) -> Result<bool, StoreError> {
        dispatch!(self.has_delegations())
    }

    /// Returns the delegated tasks that have ended without their end being reported in the parent's conversation.
    pub async fn unannounced_delegations(&self) -> Result<Vec<DelegationRow>, StoreError> {
        dispatch!(self.unannounced_delegations())
    }

    /// Lists every session that has background commands, with the stored list.
    pub async fn background(&self) -> Result<Vec<(SessionId, String)>, StoreError> {
        dispatch!(self.background())
    }
}

/// Reviews of finished turns.
impl Store {
    /// Returns the reviews of a session, the oldest first.
    pub async fn reviews(&self, session: &SessionId) -> Result<Vec<ReviewRow>, StoreError> {
        dispatch!(self.reviews(session))
    }

    /// Returns the review of a session that has not ended; there is at most one.
    pub async fn open_review(&self, session: &SessionId) -> Result<Option<ReviewRow>, StoreError> {
        dispatch!(self.open_review(session))
    }

    /// Returns every review that has not ended, the oldest first.
    pub async fn open_reviews(&self) -> Result<Vec<ReviewRow>, StoreError> {
        dispatch!(self.open_reviews())
    }

    /// Makes reviews that engines before this epoch left running due again; returns their number. A recorded answer is
    /// kept.
    pub async fn requeue_reviews(&self, epoch: i64) -> Result<u64, StoreError> {
        dispatch!(self.requeue_reviews(epoch))
    }
}

/// Calls of tools.
impl Store {
    /// Returns one call.
    pub async fn tool_call(&self, key: &ToolCallKey) -> Result<Option<ToolCallRow>, StoreError> {
        dispatch!(self.tool_call(key))
    }

    /// Returns the calls of a session, in the order of their turns.
    pub async fn tool_calls(&self, session: &SessionId) -> Result<Vec<ToolCallRow>, StoreError> {
        dispatch!(self.tool_calls(session))
    }

    /// Returns the effect record of every call that has one, sealed, with when its turn was over.
    pub async fn effect_records(&self) -> Result<Vec<(Option<i64>, Vec<u8>)>, StoreError> {
        dispatch!(self.effect_records())
    }

    /// Returns the calls with an effect record that engines with a lower epoch left running, in all sessions. To be settled by an
    /// engine that knows that the others are gone.
    pub async fn unsettled_tool_calls(&self, epoch: i64) -> Result<Vec<ToolCallRow>, StoreError> {
        dispatch!(self.unsettled_tool_calls(epoch))
    }

    /// Makes every call unknown that an engine with a lower epoch left running, except those with an effect record. To be
    /// called by an engine that knows that the others are gone. Returns how many there were.
    pub async fn abandon_tool_calls(&self, epoch: i64, at: i64) -> Result<u64, StoreError> {
        dispatch!(self.abandon_tool_calls(epoch, at))
    }
}

/// The outbox.
impl Store {
    /// Returns one entry.
    pub async fn outbox(&self, id: &str) -> Result<Option<OutboxRow>, StoreError> {
        dispatch!(self.outbox(id))
    }

    /// Returns all entries of a session, in the order of their ids.
    pub async fn outbox_of(&self, session: &SessionId) -> Result<Vec<OutboxRow>, StoreError> {
        dispatch!(self.outbox_of(session))
    }

    /// Returns up to `limit` entries that are pending, failed and will be retried, or have no target and are not marked
    /// so; those of one owner, or all. The entry that has been due for the longest time is first: an entry that failed is
    /// sorted by its next attempt, so that it does not hide newer ones.
    pub async fn outbox_open(&self, owner: Option<&str>, limit: u32) -> Result<Vec<OutboxRow>, StoreError> {
        dispatch!(self.outbox_open(owner, limit))
    }

    /// Claims up to `limit` entries until `until`: due at `at` and without another claim. An entry without a target is
    /// never claimed.
    pub async fn claim_outbox(
        &self,
        by: &str,
        at: i64,
        until: i64,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        dispatch!(self.claim_outbox(by, at, until, limit))
    }

    /// Records that a claimed entry was delivered. A claim that another deliverer has meanwhile is a conflict.
    pub async fn finish_outbox(&self, id: &str, by: &str, at: i64) -> Result<(), StoreError> {
        dispatch!(self.finish_outbox(id, by, at))
    }

    /// Records that an attempt failed; the entry is claimed again at `due_at` or later.
    pub async fn retry_outbox(&self, id: &str, by: &str, due_at: i64, error: &str) -> Result<(), StoreError> {
        dispatch!(self.retry_outbox(id, by, due_at, error))
    }

    /// Records that a claimed entry cannot be delivered and is not retried.
    pub async fn abandon_outbox(&self, id: &str, by: &str, at: i64, error: &str) -> Result<(), StoreError> {
        dispatch!(self.abandon_outbox(id, by, at, error))
    }

    /// Releases a claimed entry without an attempt to deliver it: the claim does not count.
    pub async fn release_outbox(&self, id: &str, by: &str, due_at: i64) -> Result<(), StoreError> {
        dispatch!(self.release_outbox(id, by, due_at))
    }

    /// Ends all claims except those of `by`, which knows that the other deliverers are gone: their entries can be claimed
    /// from `at` on, as possible repeats. Returns how many there were.
    pub async fn end_claims_of_others(&self, by: &str, at: i64) -> Result<u64, StoreError> {
        dispatch!(self.end_claims_of_others(by, at))
    }

    /// Makes pending entries due now, also those that failed. Returns how many there were.
    pub async fn hurry_outbox(&self, ids: &[String], now: i64) -> Result<u64, StoreError> {
        dispatch!(self.hurry_outbox(ids, now))
    }

    /// Marks entries without a target: there is no one to notify. Returns how many there were.
    pub async fn mark_no_target(&self, ids: &[String], at: i64) -> Result<u64, StoreError> {
        dispatch!(self.mark_no_target(ids, at))
    }

    /// Returns when the next entry becomes due if no new one arrives, so that the deliverer can sleep until then.
    pub async fn outbox_due_at(&self) -> Result<Option<i64>, StoreError> {
        dispatch!(self.outbox_due_at())
    }
}

/// Hosts.
impl Store {
    /// Records that a host is about to be started. The nonce must be new.
    pub async fn intend_host(&self, host: NewHost) -> Result<(), StoreError> {
        dispatch!(self.intend_host(host))
    }

    /// Records which process an intended host became. A repeat with the same process changes nothing; a host that has
    /// ended is a conflict.
    pub async fn complete_host(&self, nonce: &str, process: HostProcess) -> Result<(), StoreError> {
        dispatch!(self.complete_host(nonce, process))
    }

    /// Records that a host ended, and why. The first reason is kept.
    pub async fn end_host(&self, nonce: &str, why: &str, at: i64) -> Result<(), StoreError> {
        dispatch!(self.end_host(nonce, why, at))
    }

    /// Returns one host.
    pub async fn host(&self, nonce: &str) -> Result<Option<HostRow>, StoreError> {
        dispatch!(self.host(nonce))
    }

    /// Returns every host whose end was not recorded, oldest first.
    pub async fn living_hosts(&self) -> Result<Vec<HostRow>, StoreError> {
        dispatch!(self.living_hosts())
    }
}

/// The built-in model loop: requests to models, and the history of conversations.
impl Store {
    /// Returns the attempts of a turn, in the order of their numbers.
    pub async fn model_attempts(
        &self,
        session: &SessionId,
        ordinal: i64,
    ) -> Result<Vec<ModelAttemptRow>, StoreError> {
        dispatch!(self.model_attempts(session, ordinal))
    }

    /// Returns the attempts that engines with a lower epoch left open, in all sessions.
    pub async fn open_attempts(&self, epoch: i64) -> Result<Vec<ModelAttemptRow>, StoreError> {
        dispatch!(self.open_attempts(epoch))
    }

    /// Ends every attempt as abandoned that an engine with a lower epoch left open. To be called by an engine that knows that
    /// the others are gone. Returns how many there were.
    pub async fn abandon_attempts(&self, epoch: i64, at: i64) -> Result<u64, StoreError> {
        dispatch!(self.abandon_attempts(epoch, at))
    }

    /// Returns up to `limit` entries of the history of a session, from the number `from` on.
    pub async fn model_history(
        &self,
        session: &SessionId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<HistoryEntryRow>, StoreError> {
        dispatch!(self.model_history(session, from, limit))
    }

    /// Returns how many entries the history of a session has: the number of the next one.
    pub async fn model_history_len(&self, session: &SessionId) -> Result<i64, StoreError> {
        dispatch!(self.model_history_len(session))
    }
}

/// Budgets.
impl Store {
    /// Reserves what a request to a model can cost, in one transaction with the decision: no two requests are granted what fits
    /// only one of them. Returns the limit that it would pass; nothing is reserved then. A reservation ends with the end of its
    /// attempt, in the same transaction. Refused unless the engine holds the session; a conflict if the attempt was sent with one.
    pub async fn reserve_budget(&self, new: NewReservation) -> Result<Option<BudgetShortfall>, StoreError> {
        dispatch!(self.reserve_budget(new))
    }

    /// Returns what was spent and is reserved of these limits, in their order. An unknown part of a cost counts as the most
    /// that it can have been; providers in `uncounted` do not count.
    pub async fn budget_states(
        &self,
        limits: &[ScopedLimit],
        uncounted: &[String],
    ) -> Result<Vec<BudgetState>, StoreError> {
        dispatch!(self.budget_states(limits, uncounted))
    }

    /// Returns the sessions that delegated this one: its parent, the parent of that one, and so on.
    pub async fn budget_owners(&self, session: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        dispatch!(self.budget_owners(session))
    }
}

/// What models cost.
impl Store {
    /// Adds up what models cost, also in sessions that were removed; the latest first.
    pub async fn usage(&self, filter: UsageFilter) -> Result<Vec<UsageSumRow>, StoreError> {
        dispatch!(self.usage(filter))
    }
}

/// The audit log.
impl Store {
    /// Adds a row that belongs to no other write: a refusal. The oldest refusals are removed beyond `REFUSALS_KEPT`.
    pub async fn add_audit(&self, entry: NewAudit) -> Result<(), StoreError> {
        dispatch!(self.add_audit(entry))
    }

    /// Returns rows, newest first: at most `limit`, older than the row `before`, if that is given.
    pub async fn audit(&self, before: Option<i64>, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        dispatch!(self.audit(before, limit))
    }
}

/// Tokens of the API.
impl Store {
    /// Stores a token with its audit row; returns `false`, and stores neither, if the id or the name is in use.
    pub async fn add_api_token(&self, new: NewApiToken, entry: NewAudit) -> Result<bool, StoreError> {
        dispatch!(self.add_api_token(new, entry))
    }

    /// Revokes a token with its audit row; returns `false`, and changes nothing, if there is none or it is revoked already.
    pub async fn revoke_api_token(&self, id: &str, at: i64, entry: NewAudit) -> Result<bool, StoreError> {
        dispatch!(self.revoke_api_token(id, at, entry))
    }

    /// Records a use of a token; an older use changes nothing.
    pub async fn touch_api_token(&self, id: &str, at: i64, from: &str) -> Result<(), StoreError> {
        dispatch!(self.touch_api_token(id, at, from))
    }

    /// Returns every token, the newest first, also revoked ones.
    pub async fn api_tokens(&self) -> Result<Vec<ApiTokenRow>, StoreError> {
        dispatch!(self.api_tokens())
    }
}

/// Memory across conversations.
impl Store {
    /// Returns the entries that are not removed, in the order in which they were made.
    pub async fn memory_entries(&self) -> Result<Vec<MemoryEntryRow>, StoreError> {
        dispatch!(self.memory_entries())
    }

    /// Returns one entry, also a removed one.
    pub async fn memory_entry(&self, id: &str) -> Result<Option<MemoryEntryRow>, StoreError> {
        dispatch!(self.memory_entry(id))
    }

    /// Changes entries, each with its revision, all or nothing. An entry that changed since the caller read it, or a
    /// proposal that was decided before, refuses the whole write.
    pub async fn write_memory(&self, write: MemoryWrite) -> Result<MemoryWriteResult, StoreError> {
        dispatch!(self.write_memory(write))
    }

    /// Returns one revision.
    pub async fn memory_revision(&self, id: i64) -> Result<Option<MemoryRevisionRow>, StoreError> {
        dispatch!(self.memory_revision(id))
    }

    /// Returns up to `limit` revisions, newest first.
    pub async fn memory_revisions(
        &self,
        filter: &MemoryRevisionFilter,
        limit: u32,
    ) -> Result<Vec<MemoryRevisionRow>, StoreError> {
        dispatch!(self.memory_revisions(filter, limit))
    }

    /// Stores changes that wait for a person. The id must be new.
    pub async fn propose_memory(&self, proposal: MemoryProposalRow) -> Result<(), StoreError> {
        dispatch!(self.propose_memory(proposal))
    }

    /// Returns the first proposal that a call of a tool, or a review, made.
    pub async fn memory_proposal_of(&self, call: &str) -> Result<Option<MemoryProposalRow>, StoreError> {
        dispatch!(self.memory_proposal_of(call))
    }

    /// Returns one proposal.
    pub async fn memory_proposal(&self, id: &str) -> Result<Option<MemoryProposalRow>, StoreError> {
        dispatch!(self.memory_proposal(id))
    }

    /// Returns the proposals that wait for a person, oldest first.
    pub async fn pending_memory(&self) -> Result<Vec<MemoryProposalRow>, StoreError> {
        dispatch!(self.pending_memory())
    }

    /// Returns the text that the file of a scope had when it was last written or read.
    pub async fn memory_mirror(&self, scope: &str) -> Result<Option<MemoryMirror>, StoreError> {
        dispatch!(self.memory_mirror(scope))
    }

    /// Returns the texts that people wrote into the file of a scope, newest first.
    pub async fn memory_file_texts(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        dispatch!(self.memory_file_texts(scope))
    }

    /// Records what a conversation was sent of the memory.
    pub async fn add_memory_snapshot(&self, snapshot: MemorySnapshotRow) -> Result<(), StoreError> {
        dispatch!(self.add_memory_snapshot(snapshot))
    }

    /// Returns what a conversation was sent of the memory, oldest first. They are removed with their session.
    pub async fn memory_snapshots(&self, session: &SessionId) -> Result<Vec<MemorySnapshotRow>, StoreError> {
        dispatch!(self.memory_snapshots(session))
    }
}

/// Skills: proposals, origins, uses and archives. The files are the user's.
impl Store {
    /// Stores a change that waits for a person, unless the same change of the same file waits already or `most` changes do.
    pub async fn propose_skill(
        &self,
        proposal: SkillProposalRow,
        most: i64,
    ) -> Result<SkillProposeResult, StoreError> {
        dispatch!(self.propose_skill(proposal, most))
    }

    /// Stores what a review proposes, as a whole. A review that proposed something before proposes nothing more; its proposals
    /// are returned. A file about which a proposal waits gets no second one, and what was rejected is not stored again.
    pub async fn propose_reviewed_skills(
        &self,
        review: &str,
        proposals: Vec<SkillProposalRow>,
        most: i64,
    ) -> Result<SkillReviewResult, StoreError> {
        dispatch!(self.propose_reviewed_skills(review, proposals, most))
    }

    /// Returns one proposal.
    pub async fn skill_proposal(&self, id: &str) -> Result<Option<SkillProposalRow>, StoreError> {
        dispatch!(self.skill_proposal(id))
    }

    /// Returns up to `limit` proposals, newest first; without a state all.
    pub async fn skill_proposals(
        &self,
        state: Option<SkillProposalState>,
        limit: u32,
    ) -> Result<Vec<SkillProposalRow>, StoreError> {
        dispatch!(self.skill_proposals(state, limit))
    }

    /// Decides a proposal that waits; a skill that it made gets its origin in the same write.
    pub async fn decide_skill(&self, decision: SkillDecision) -> Result<SkillDecisionResult, StoreError> {
        dispatch!(self.decide_skill(decision))
    }

    /// Returns the origins of the skills that Talaria wrote.
    pub async fn skill_sources(&self) -> Result<Vec<SkillSourceRow>, StoreError> {
        dispatch!(self.skill_sources())
    }

    /// Records that a step read a skill. The same step again changes nothing.
    pub async fn add_skill_use(&self, new: NewSkillUse) -> Result<(), StoreError> {
        dispatch!(self.add_skill_use(new))
    }

    /// Returns how often each skill was read.
    pub async fn skill_usage(&self) -> Result<Vec<SkillUsageRow>, StoreError> {
        dispatch!(self.skill_usage())
    }

    /// Returns since when every use of a skill is on record.
    pub async fn skill_uses_since(&self) -> Result<i64, StoreError> {
        dispatch!(self.skill_uses_since())
    }

    /// Returns the folders of the skills that a session read, as its steps named them.
    pub async fn skills_read_in(&self, session: &SessionId) -> Result<Vec<String>, StoreError> {
        dispatch!(self.skills_read_in(session))
    }

    /// Records that a skill is moved out of the way. Written before it is moved.
    pub async fn add_skill_archive(&self, archive: SkillArchiveRow) -> Result<(), StoreError> {
        dispatch!(self.add_skill_archive(archive))
    }

    /// Returns every skill that was moved out of the way, also those that were restored, oldest first.
    pub async fn skill_archives(&self) -> Result<Vec<SkillArchiveRow>, StoreError> {
        dispatch!(self.skill_archives())
    }

    /// Records that an archived skill was moved back.
    pub async fn restore_skill(&self, id: &str, at: i64) -> Result<(), StoreError> {
        dispatch!(self.restore_skill(id, at))
    }
}

/// Removing what is old.
impl Store {
    /// Returns what `prune` would remove at `now`.
    pub async fn preview_prune(&self, policy: &PrunePolicy, now: i64) -> Result<PrunePreview, StoreError> {
        dispatch!(self.preview_prune(policy, now))
    }

    /// Removes the sessions that the policy names and frees their space. A session that began to run meanwhile is kept, and
    /// so does one with an undelivered entry in the outbox. An entry that was sent or abandoned, or that has no target,
    /// does not protect its session.
    pub async fn prune(&self, policy: &PrunePolicy, now: i64) -> Result<PruneResult, StoreError> {
        dispatch!(self.prune(policy, now))
    }

    /// Removes the oldest events of every session, in small steps. Their room is used again.
    pub async fn trim(&self, policy: TrimPolicy) -> Result<TrimResult, StoreError> {
        dispatch!(self.trim(policy))
    }
}

/// Imports from other programs.
impl Store {
    /// Imports sessions of another program, all of them or none. The results are in the same order.
    pub async fn import_sessions(
        &self,
        sessions: Vec<ImportedSession>,
    ) -> Result<Vec<ImportResult>, StoreError> {
        dispatch!(self.import_sessions(sessions))
    }

    /// Returns the last message of a conversation that was imported, by its number there; `None` if it is not here.
    pub async fn imported_up_to(&self, program: &str, name: &str) -> Result<Option<i64>, StoreError> {
        dispatch!(self.imported_up_to(program, name))
    }

    /// Returns what a session was before it was imported.
    pub async fn origin(&self, session: &SessionId) -> Result<Option<OriginRow>, StoreError> {
        dispatch!(self.origin(session))
    }

    /// Undoes one page of the import `run`. If that is interrupted, the next call continues.
    pub async fn undo_import(
        &self,
        run: &str,
        after: Option<&SessionId>,
        now: i64,
    ) -> Result<UndoneImport, StoreError> {
        dispatch!(self.undo_import(run, after, now))
    }

    /// Returns what `undo_import` would do with a page.
    pub async fn preview_undo(
        &self,
        run: &str,
        after: Option<&SessionId>,
    ) -> Result<UndoneImport, StoreError> {
        dispatch!(self.preview_undo(run, after))
    }
}
