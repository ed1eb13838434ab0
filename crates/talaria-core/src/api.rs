//! The data of the engine's API: what commands ask of it, and what it returns.
//!
//! Every face of Talaria speaks this with the engine, over HTTP on a unix socket or with a token over TCP (`talaria-server`). Fields may be added;
//! names and meanings do not change within one `VERSION`. Nothing here decides or does anything.

mod audit;
mod background;
mod budget;
mod context;
mod engine;
mod import;
mod memory;
mod memory_import;
mod offers;
mod permissions;
mod problem;
mod request;
mod review;
mod session;
mod shell;
mod skills;
mod task;
mod token;
mod tools;
mod usage;

pub use audit::{AuditEntry, AuditQuery};
pub use background::{BackgroundInfo, BackgroundStopped, StopBackground};
pub use budget::BudgetInfo;
pub use context::{ContextPart, ContextReport};
pub use engine::{
    EngineInfo, EngineStatus, HostInfo, Limits, ProviderKeyInfo, ProviderKeyState, RunningTurn, Stop,
    Stopped, TaskCounts, WebStatus,
};
pub use import::{Import, ImportFrom, ImportHow, Imported, ImportedSessions};
pub use memory::{
    MemoryDone, MemoryHistoryQuery, MemoryItem, MemoryList, MemoryPresence, MemoryProposal,
    MemoryProposedChange, MemoryQuery, MemoryRevision, MemoryWish, MemoryWritten, SessionMemory,
};
pub use memory_import::{AgentProgram, MemoryImport, MemoryImportFile, MemoryImported, MemoryImportedFile};
pub use offers::{AccountInfo, EffortOffer, LookAt, ModelOffer, Offers};
pub use permissions::{PermissionsChange, PermissionsInForce, SessionPermissions};
pub use problem::{Problem, ProblemCode};
pub use request::{AnswerRequest, Answered, RequestInfo, RequestState};
pub use review::ReviewInfo;
pub use session::{
    CodexOrigin, CodexProgram, Compact, Fork, ForkOrigin, ForkPoint, Interrupt, Kind, LocalCaller,
    NewSession, NewTurn, Numbered, Prune, Pruned, PrunedSession, RenameSession, Said, Say, SearchHit,
    SessionDetail, SessionInfo, SessionOrigin, SessionQuery, SessionStarted, StoredMessage, TurnInfo, Undo,
    Undone, When,
};
pub use shell::{Shell, ShellNews, ShellStream};
pub use skills::{
    SkillArchived, SkillDone, SkillItem, SkillList, SkillProposal, SkillProposalQuery, SkillQuery, SkillText,
    SkillTextQuery, SkillWish,
};
pub use task::{
    Applied, Changes, Dirty, Discard, Discarded, NewTask, NoticeInfo, NoticeState, Notify, TaskDiff,
    TaskEvent, TaskFileChange, TaskInfo, TaskLine, TaskQuery, TaskSent, TaskStarted, TaskStatus,
    WorktreeInfo,
};
pub use token::{NewToken, TokenInfo, TokenMade, TokenState};
pub use tools::{OutsideCall, OutsideResult};
pub use usage::{UsageBy, UsageQuery, UsageSum};

/// The version of this vocabulary. An engine and a command with different ones do not understand each other.
pub const VERSION: u32 = 1;
