//! What Talaria keeps: sessions, turns, events, messages, requests, hosts, leases, tasks and the outbox, in one SQLite file.
//!
//! Map: `Store` (`store`) is what everybody holds; `open` makes one and refuses files it must not touch. Every write
//! goes to one `writer` task, which commits many callers' batches together (`group`); reads have connections of their
//! own and never wait for it. One file per kind of row holds its shape and its reads: `session`, `turn`, `event`,
//! `message`, `request`, `host`, `lease`, `task`, `outbox`, `audit`. `identity` says whose database it is, `inspect` looks at it
//! from outside. `search` finds words in messages, `prune` and `trim` forget,
//! and `reclaim` gives the room back. `legacy` reads a database of the old bridge and takes its tasks over.
//!
//! Promises, held by the suite in `contract` (feature `contract`), which a second store must pass as well:
//! events are numbered per session without a gap, together with the rows that change with them; a write under a lease
//! that somebody else holds is refused; one answer to a request wins; what was acknowledged is on the disk.
//!
//! Nothing here reads a clock or makes an id: times (milliseconds since 1970) and ids come from the caller. Texts are
//! kept as they come: redaction and sealing are done before.

mod audit;
mod background;
mod batch;
#[cfg(feature = "contract")]
pub mod contract;
mod error;
mod escrow;
mod event;
mod fat;
mod files;
mod group;
mod health;
mod host;
mod identity;
mod inspect;
mod lease;
pub mod legacy;
mod message;
mod open;
mod open_error;
mod outbox;
mod outbox_claim;
mod prune;
mod reclaim;
mod request;
mod rows;
mod schema;
mod search;
mod session;
mod session_list;
mod store;
mod task;
mod task_list;
mod transaction;
mod trim;
mod turn;
mod words;
mod writer;

pub use audit::{AuditRow, NewAudit, REFUSALS_KEPT};
pub use batch::{Appended, Batch, Change};
pub use error::StoreError;
pub use escrow::UnusedAnswer;
pub use event::{Event, NewEvent};
pub use host::{Host, HostProcess, NewHost};
pub use inspect::Inspection;
pub use lease::{Lease, Takeover};
pub use message::{Message, NewMessage};
pub use open::{Durability, OpenOptions};
pub use open_error::OpenError;
pub use outbox::{NewOutbox, Outbox};
pub use prune::{Doomed, Prunable, PrunePolicy, Pruned};
pub use request::{Answer, AnswerResult, NewRequest, PeerRequest, Request, RequestFilter, RequestPatch};
pub use search::{Hit, Snippet};
pub use session::{Candidate, Found, NewSession, Session, SessionPatch};
pub use session_list::{Cursor, SessionFilter, SessionPage};
pub use store::{Counts, Size, Store};
pub use task::{NewTask, TaskRow};
pub use task_list::{LastTurn, TaskFilter, TaskLine, TaskPage};
pub use trim::{TrimPolicy, Trimmed};
pub use turn::{NewTurn, Turn, TurnPatch};
pub use words::{AuditOutcome, HostState, OutboxState, RequestState, SessionKind, SessionState};
