//! States and kinds as words: the database, JSON and the code use the same word.

use serde::{Deserialize, Serialize};
use talaria_core::event::Stage;
use talaria_core::review::ReviewState;
use talaria_core::tool::ledger::ToolCallState;

use crate::error::StoreError;

/// A value that is stored as a word.
pub(crate) trait Word: Sized {
    /// Name of the type, for messages.
    const NAME: &'static str;
    fn word(self) -> &'static str;
    fn from_word(word: &str) -> Option<Self>;

    fn read(word: &str) -> Result<Self, StoreError> {
        Self::from_word(word).ok_or_else(|| StoreError::Unreadable(format!("{} `{word}`", Self::NAME)))
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident ($what:literal) { $($(#[$of:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$of])* $variant,)* }

        impl $name {
            /// The stored word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl Word for $name {
            const NAME: &'static str = $what;
            fn word(self) -> &'static str {
                self.as_str()
            }
            fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// Purpose of a session.
    SessionKind ("kind of session") {
        /// A conversation in a terminal.
        Chat = "chat",
        /// One prompt from a command line.
        Exec = "exec",
        /// Work in the background.
        Task = "task",
    }
}
words! {
    /// Whether a session has a turn that runs.
    SessionState ("state of a session") {
        /// Nothing runs.
        Idle = "idle",
        /// A turn runs.
        Running = "running",
    }
}
words! {
    /// How far a question and its answer are.
    RequestState ("state of a request") {
        /// Waits for a person.
        Open = "open",
        /// Answered; Codex has not received the answer yet.
        Answered = "answered",
        /// The answer is being written to Codex.
        Delivering = "delivering",
        /// Codex has the answer.
        Delivered = "delivered",
        /// Codex does not ask any more.
        Void = "void",
        /// Codex died before the answer was written; it is kept for the same question.
        Escrowed = "escrowed",
        /// Codex died while the answer was written; whether it got it is not known.
        Undelivered = "undelivered",
        /// The same question did not come again in time.
        Expired = "expired",
    }
}

impl RequestState {
    /// Returns whether it can still change.
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Open | Self::Answered | Self::Delivering | Self::Escrowed)
    }
}

words! {
    /// How far a Codex process is.
    HostState ("state of a host") {
        /// It is about to be started, or was just started.
        Intended = "intended",
        /// It runs, as far as is known.
        Running = "running",
        /// It is gone.
        Ended = "ended",
    }
}

words! {
    /// The delivery state of an outbox entry.
    OutboxState ("state of an entry of the outbox") {
        /// No delivery was attempted.
        Pending = "pending",
        /// A deliverer has claimed it.
        Sending = "sending",
        /// It was delivered.
        Sent = "sent",
        /// The last attempt failed; there will be another.
        Failed = "failed",
        /// Delivery is not retried.
        Abandoned = "abandoned",
        /// It has no target.
        NoTarget = "no_target",
    }
}

words! {
    /// Whether something that a caller wanted was done.
    AuditOutcome ("outcome in the audit log") {
        /// It was done.
        Done = "done",
        /// The caller had no right to it.
        Refused = "refused",
    }
}

/// A state that core names.
macro_rules! known_words {
    ($name:ident ($what:literal)) => {
        impl Word for $name {
            const NAME: &'static str = $what;
            fn word(self) -> &'static str {
                self.as_str()
            }
            fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|state| state.as_str() == word)
            }
        }
    };
}

known_words!(ToolCallState("state of a call of a tool"));
known_words!(ReviewState("state of a review"));

words! {
    /// Who changed the memory.
    MemoryAuthor ("author of a memory") {
        /// A person, by a command.
        Person = "person",
        /// A model, by the tool.
        Model = "model",
        /// An edit of the file, by an unverified author.
        File = "file",
        /// An import from another program.
        Import = "import",
        /// The review of finished turns.
        Review = "review",
    }
}

words! {
    /// How far a proposed change of the memory is.
    MemoryProposalState ("state of a proposal") {
        /// Waits for a person.
        Pending = "pending",
        /// A person approved it; its changes were made.
        Approved = "approved",
        /// A person rejected it.
        Rejected = "rejected",
    }
}

words! {
    /// Who proposed a change of a skill.
    SkillAuthor ("author of a skill") {
        /// A model, by the tool.
        Model = "model",
        /// The review of finished turns.
        Review = "review",
    }
}

words! {
    /// What a model was asked for.
    UsagePurpose ("purpose of a model request") {
        /// A turn.
        Turn = "turn",
        /// A review of finished turns.
        Review = "review",
        /// A title of a conversation.
        Title = "title",
        /// A summary that replaces older entries of a conversation.
        Compaction = "compaction",
    }
}

words! {
    /// Where the tokens of a model request come from.
    UsageSource ("source of a usage") {
        /// The provider reported them.
        Provider = "provider",
        /// They are estimated from bytes.
        Estimated = "estimated",
        /// Nothing is known.
        Unknown = "unknown",
    }
}

words! {
    /// How far a request of the model loop is.
    AttemptState ("state of a model request") {
        /// It is recorded; no byte was sent.
        Planned = "planned",
        /// It was sent, perhaps only a part of it.
        Sent = "sent",
        /// The provider answered with a status.
        Accepted = "accepted",
        /// An event of the answer came.
        Speaking = "speaking",
        /// It is over.
        Ended = "ended",
    }
}

words! {
    /// How a request of the model loop ended.
    AttemptEnding ("end of a model request") {
        /// The provider said that the answer is complete.
        Completed = "completed",
        /// The provider said that it is not.
        Incomplete = "incomplete",
        /// The model or the provider refused.
        Refused = "refused",
        /// The provider or the transport reported an error.
        Failed = "failed",
        /// The answer stopped without the provider's word.
        Cut = "cut",
        /// It was stopped here.
        Cancelled = "cancelled",
        /// Its engine died; how it ended is not known.
        Abandoned = "abandoned",
    }
}

impl AttemptEnding {
    /// Returns whether its items become history: a refusal adds what people saw.
    pub fn adds_history(self) -> bool {
        matches!(self, Self::Completed | Self::Incomplete | Self::Refused)
    }
}

words! {
    /// How far a proposed change of a skill is.
    SkillProposalState ("state of a proposal about a skill") {
        /// Waits for a person.
        Pending = "pending",
        /// A person accepted it; it was made.
        Accepted = "accepted",
        /// A person rejected it.
        Rejected = "rejected",
    }
}

impl Word for Stage {
    const NAME: &'static str = "stage of a turn";

    fn word(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Sent => "sent",
            Self::Accepted => "accepted",
            Self::Settled => "settled",
            Self::Unknown => "unknown",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Prepared, Self::Sent, Self::Accepted, Self::Settled, Self::Unknown]
            .into_iter()
            .find(|stage| stage.word() == word)
    }
}
