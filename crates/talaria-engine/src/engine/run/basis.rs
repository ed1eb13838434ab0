//! What the next thread of a conversation begins with, if that is not what it always has: after a fork, after an undone turn, and
//! on another runtime. Stored with the session as JSON; used when a thread is opened that has not had a turn of its own yet.

use serde::{Deserialize, Serialize};
use talaria_codex::branch::BranchPoint;
use talaria_core::ids::{ThreadId, TurnId};
use talaria_core::runtime::Runtime;
use talaria_store::{SessionRow, TurnRow};

use crate::engine::run::runtime::runtime_of;

/// What a thread begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub(crate) enum ConversationBasis {
    /// The turns of a thread of Codex up to this one.
    Thread {
        thread: ThreadId,
        last_turn: TurnId,
        /// The thread was shortened in a later turn.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_compacted_after: bool,
    },
    /// A digest of what was said in the turns that count.
    Digest {
        /// The first turn on the runtime that the conversation has now, if it had the other one before. The built-in loop keeps its
        /// own history, and has a digest only of what it missed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        joined: Option<i64>,
    },
}

impl ConversationBasis {
    /// The stored one.
    pub(crate) fn of_row(row: &SessionRow) -> Option<Self> {
        serde_json::from_str(row.basis.as_deref()?).ok()
    }

    /// What a thread begins with that is to have the turns of a conversation up to this one. `compactions` are the turns in which
    /// it was shortened.
    pub(crate) fn up_to(row: &SessionRow, turns: &[TurnRow], last: i64, compactions: &[i64]) -> Self {
        let earlier = Self::of_row(row);
        if runtime_of(row) == Some(Runtime::OwnLoop) {
            let joined = earlier.and_then(|basis| basis.joined());
            return Self::Digest { joined: joined.map(|joined| joined.min(last + 1)) };
        }
        let before = earlier.filter(|_| row.thread.is_none()).and_then(Self::branch_point);
        let thread = row.thread.clone().or_else(|| Some(before.as_ref()?.thread.clone()));
        let mut kept = turns.iter().rev().filter(|turn| turn.ordinal <= last && turn.undone_at.is_none());
        let last_turn = kept.find_map(|turn| turn.codex_turn.clone());
        // Without the events of a later turn it is not known.
        let is_unknown = turns.iter().any(|turn| turn.ordinal > last && turn.first_seq < row.first_seq);
        let is_compacted_after = is_unknown
            || compactions.iter().any(|turn| *turn > last)
            || before.is_some_and(|before| before.is_compacted_after);
        match (thread, last_turn) {
            (Some(thread), Some(last_turn)) => Self::Thread { thread, last_turn, is_compacted_after },
            _ => Self::Digest { joined: None },
        }
    }

    /// The first turn on the built-in loop after turns on Codex.
    pub(crate) fn joined(&self) -> Option<i64> {
        match self {
            Self::Thread { .. } => None,
            Self::Digest { joined } => *joined,
        }
    }

    /// The turn of Codex's thread up to which it is copied.
    pub(crate) fn branch_point(self) -> Option<BranchPoint> {
        match self {
            Self::Thread { thread, last_turn, is_compacted_after } => {
                Some(BranchPoint { thread, last_turn, is_compacted_after })
            }
            Self::Digest { .. } => None,
        }
    }

    /// The stored form.
    pub(crate) fn to_json(&self) -> String {
        // Plain data; it always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}
