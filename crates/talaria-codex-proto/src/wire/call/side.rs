//! Calls that ask the model of a conversation a side question, which is not stored in the conversation, and copies of threads.

use serde::{Deserialize, Serialize};

use talaria_core::ids::{RequestId, ThreadId, TurnId};

use super::{ThreadResume, ThreadStart};

/// Asks the model of a finished thread one question, with the tools and the prompt cache of the thread. Refused while a turn
/// runs, or when the thread has a later turn than the one that is named.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSample {
    pub thread_id: ThreadId,
    pub expected_turn_id: TurnId,
    pub prompt: String,
}

/// The model's answer, and its token usage.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSampleReply {
    /// None if it called a tool.
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub input_tokens: Option<u64>,
    #[serde(default)]
    pub cached_input_tokens: Option<u64>,
    #[serde(default)]
    pub output_tokens: Option<u64>,
}

/// Ends a question that was asked with this request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSampleCancel {
    pub request_id: RequestId,
}

/// Copies a thread into a new one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadFork {
    pub thread_id: ThreadId,
    /// Whether Codex keeps it in memory alone.
    pub ephemeral: bool,
    /// The last turn that is copied; only newer versions read it (`Version::forks_at_turns`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_turn_id: Option<TurnId>,
    /// Leaves the earlier turns out of the answer; 0.166 refuses a long thread otherwise.
    pub exclude_turns: bool,
    #[serde(flatten)]
    pub settings: ThreadStart,
}

impl ThreadFork {
    /// Copies a thread for as long as Codex runs, with what is asked of the copy. Who is asked, instructions and tools come from
    /// the source.
    pub fn new(thread_id: ThreadId, asked: &ThreadStart) -> Self {
        let settings = ThreadStart {
            approvals_reviewer: None,
            base_instructions: None,
            developer_instructions: None,
            ..ThreadResume::new(thread_id.clone(), asked).settings
        };
        Self { thread_id, ephemeral: true, last_turn_id: None, exclude_turns: true, settings }
    }

    /// The same for a copy that is kept, up to this turn or whole.
    pub fn kept(thread_id: ThreadId, asked: &ThreadStart, last_turn_id: Option<TurnId>) -> Self {
        Self { ephemeral: false, last_turn_id, ..Self::new(thread_id, asked) }
    }
}

/// Removes turns from the end of a thread. Only older versions have it (`Version::forks_at_turns`).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollback {
    pub thread_id: ThreadId,
    pub num_turns: u32,
}
