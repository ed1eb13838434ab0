//! Talaria's storage: sessions, turns, events, messages, requests, hosts, leases, tasks, calls of tools, requests to
//! models, memory, skills and the outbox.
//!
//! Map: callers hold a `Store` (`store`), whose methods are the whole interface; each calls the backend that the store was
//! opened with. `model` has the rows, patches and filters as plain data. `sqlite` is the backend with one SQLite file: all
//! SQL, the writer, transactions and migrations. `error` and `open_error` say why something was not done. Dependencies
//! point one way: `store` → `sqlite` → `model` → `error`.
//!
//! Promises, held by the suite in `contract` (feature `contract`), which every backend must pass: events are numbered per
//! session without a gap, together with the rows that change with them; a write under a lease that another engine holds is
//! refused; one answer to a request wins; a call of a tool that changes something begins once; a request to a model ends once,
//! together with what it adds to the history; an acknowledged write is on disk.
//!
//! Nothing here reads a clock or makes an id: times (milliseconds since 1970) and ids come from the caller. Texts are
//! stored unchanged: redaction and sealing happen before.

#[cfg(feature = "contract")]
pub mod contract;
mod error;
mod model;
mod open_error;
mod sqlite;
mod store;

pub use error::StoreError;
pub use model::api_token::{ApiTokenRow, NewApiToken};
pub use model::audit::{AuditRow, NewAudit, REFUSALS_KEPT};
pub use model::batch::{Appended, Batch, Change};
pub use model::budget::{NewAllowance, NewReservation};
pub use model::delegation::{DelegationRow, NewDelegation, ResultCarrier};
pub use model::event::{EventRow, NewEvent};
pub use model::host::{HostProcess, HostRow, NewHost};
pub use model::imported::{
    ConversationPart, ImportResult, ImportedFrom, ImportedMessage, ImportedSession, ImportedTurn, OriginRow,
    UndoneImport,
};
pub use model::inspection::Inspection;
pub use model::lease::{Lease, Takeover};
pub use model::memory::{
    MemoryEntryRow, MemoryMirror, MemoryOrigin, MemoryProposalRow, MemoryRevisionFilter, MemoryRevisionRow,
    MemorySnapshotRow, MemoryWrite, MemoryWriteResult,
};
pub use model::message::{MessageRow, NewMessage};
pub use model::model_attempt::{
    ModelAttemptEnd, ModelAttemptFacts, ModelAttemptKey, ModelAttemptRow, NewModelAttempt,
};
pub use model::model_history::{HistoryEntryRow, NewHistoryEntry};
pub use model::model_usage::{NewModelUsage, UsageFilter, UsageSumRow};
pub use model::open_options::{Durability, OpenOptions};
pub use model::origin::ChangeOrigin;
pub use model::outbox::{NewOutbox, OutboxRow};
pub use model::prune::{PrunableSession, PrunePolicy, PrunePreview, PruneResult};
pub use model::request::{
    AnswerResult, NewAnswer, NewRequest, RequestFilter, RequestOrigin, RequestPatch, RequestRow, UnusedAnswer,
};
pub use model::review::{ReviewRow, ReviewStep};
pub use model::search::{MessageMatch, MessagePlace, SearchFilter, SearchedKind, Snippet};
pub use model::session::{
    Cursor, NewForkRow, NewSessionRow, SessionCandidate, SessionFilter, SessionLookup, SessionPage,
    SessionPatch, SessionRow,
};
pub use model::size::{RowCounts, StoreSize};
pub use model::skill::{
    NewSkillUse, SkillArchiveRow, SkillDecision, SkillDecisionResult, SkillOrigin, SkillProposalRow,
    SkillProposeResult, SkillReviewResult, SkillSourceRow, SkillUsageRow,
};
pub use model::task::{LastTurn, NewTaskRow, TaskFilter, TaskLineRow, TaskPage, TaskRow};
pub use model::tool_call::{NewToolCall, ToolCallKey, ToolCallRow, ToolCallStep};
pub use model::trim::{TrimPolicy, TrimResult};
pub use model::turn::{NewTurnRow, TurnPatch, TurnRow};
pub use model::words::{
    AttemptEnding, AttemptState, AuditOutcome, HostState, MemoryAuthor, MemoryProposalState, OutboxState,
    RequestState, SessionKind, SessionState, SkillAuthor, SkillProposalState, UsagePurpose, UsageSource,
};
pub use open_error::StoreOpenError;
pub use store::Store;
