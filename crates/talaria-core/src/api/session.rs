//! Conversations: how they are started, continued, followed, found and thrown away.

use super::{BudgetInfo, ReviewInfo};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::{Event, Stage, Usage};
use crate::ids::SessionId;
use crate::input::InputPart;
use crate::outcome::Report;
use crate::policy::{Answers, ApprovalPolicy, Mode, Sandbox};
use crate::request::Who;
use crate::runtime::RuntimeChoice;
use crate::transcript::Message;

/// Purpose of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One prompt on the command line.
    Exec,
    /// A person at a terminal.
    Chat,
    /// Work in the background.
    Task,
}

/// Facts that only a client on the engine's machine has. A remote client (a web page, a chat platform) sends none of
/// it: the engine then uses its own environment and the configured Codex. Kept in memory only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LocalCaller {
    /// A Codex program to run instead of the configured one; absolute. Only a person may name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codex: Option<String>,
    /// The `CODEX_HOME` to use instead of the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codex_home: Option<String>,
    /// The environment that Codex runs in, except variables that are not UTF-8. Empty: the engine's own.
    pub environment: Vec<(String, String)>,
}

impl LocalCaller {
    /// The value of an environment variable, if it is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(existing, _)| existing == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// The Codex program that runs a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodexProgram {
    /// The file.
    pub path: String,
    /// The version that it reported.
    pub version: String,
    /// How it was located.
    pub origin: CodexOrigin,
}

/// How a Codex program was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CodexOrigin {
    /// The user named it.
    Configured,
    /// It is the first on PATH.
    Path,
    /// `talaria setup` installed it.
    Installed,
}

/// A new conversation, with its first turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewSession {
    /// What for.
    pub kind: Kind,
    /// Where it works; absolute.
    pub cwd: String,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// The sandbox.
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
    /// When Codex asks.
    #[serde(default)]
    pub approval: Option<ApprovalPolicy>,
    /// Its first turn.
    pub turn: NewTurn,
}

/// One turn to be run. The configuration decides what is left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewTurn {
    /// The input.
    pub input: Vec<InputPart>,
    /// The model provider. It decides the runtime of a new conversation. This turn and later ones may name another provider; where
    /// that needs the other runtime (`openai-codex` names Codex), the conversation continues there with a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Who runs a new conversation, if not the configuration decides; of a conversation that exists, who runs it from this turn
    /// on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeChoice>,
    /// The model for this turn and later ones; without it, the previous one is kept.
    #[serde(default)]
    pub model: Option<String>,
    /// How much the model thinks.
    #[serde(default)]
    pub effort: Option<String>,
    /// The caller's limit in milliseconds; the time that a person takes to answer does not count.
    #[serde(default)]
    pub limit_ms: Option<u64>,
    /// After how much silence a person is notified, in milliseconds.
    #[serde(default)]
    pub quiet_after_ms: Option<u64>,
    /// Who answers what neither floor nor rules decide; without it, the mode says so, and for a task it is a person.
    #[serde(default)]
    pub answers: Option<Answers>,
    /// The mode. A new conversation takes its sandbox and approval policy from it where none are named.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// What only a client on this machine knows.
    #[serde(default)]
    pub caller: LocalCaller,
}

/// A turn was recorded and will be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionStarted {
    /// The conversation.
    pub id: SessionId,
    /// The task, if it is one.
    pub task: Option<String>,
    /// Which turn of it, from 1.
    pub turn: i64,
    /// Events of this turn have greater numbers.
    pub after: i64,
    /// The Codex that runs it.
    #[serde(default)]
    pub codex: Option<CodexProgram>,
}

/// More input for a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Say {
    /// The text.
    pub text: String,
    /// Image files that go with it; absolute paths on the machine of the engine.
    #[serde(default)]
    pub images: Vec<String>,
    /// Its treatment while a turn runs.
    pub when: When,
}

/// When a turn gets input that arrives while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// It is sent to the running turn. If that does not accept it, it is queued for the next.
    Now,
    /// It waits for the next turn.
    Next,
}

/// Result of further input; whether the turn took it is reported by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Said {
    /// Was it handed to a running turn?
    pub to_running_turn: bool,
}

/// A request to stop a turn. Queued input is cancelled with it: it is not run, and [`Event::Unqueued`] returns
/// it, so that the sender can send it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interrupt {
    /// Who.
    pub by: Who,
}

/// Another title for a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RenameSession {
    /// The title. Its first line counts, shortened like the title that every conversation has at first.
    pub title: String,
}

/// A request to compact the conversation, to free space in the model's context.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compact {
    /// What only a client on this machine knows.
    #[serde(default)]
    pub caller: LocalCaller,
}

/// A request to begin another conversation with the beginning of this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fork {
    /// Up to where.
    #[serde(flatten)]
    pub point: ForkPoint,
}

/// Where a conversation is forked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "point", rename_all = "snake_case")]
pub enum ForkPoint {
    /// After the last turn.
    #[default]
    Last,
    /// After this turn, from 1.
    Turn {
        /// Which.
        turn: i64,
    },
    /// Before the turn in which the conversation was last shortened.
    BeforeCompaction,
}

/// The original of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForkOrigin {
    /// The conversation. It may have been deleted.
    pub session: SessionId,
    /// The last turn that the fork has of it.
    pub turn: i64,
}

/// A request to undo the last turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Undo {
    /// The turn that must be the last one; without it, the last one is undone, whichever that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<i64>,
}

/// A turn that was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Undone {
    /// The conversation.
    pub id: SessionId,
    /// Which turn, from 1.
    pub turn: i64,
    /// Its input, secrets masked.
    pub prompt: String,
}

/// An event with its place in the conversation: one line of `--json`, one message of the event stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Numbered {
    /// The conversation.
    pub session: SessionId,
    /// Its number, from 1, without gaps among the stored events.
    pub seq: i64,
    /// When it was recorded.
    pub at: Timestamp,
    /// The turn it belongs to, from 1. In JSON `turn` is a word of the events: Codex's name for a turn.
    #[serde(rename = "turn_number", default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<i64>,
    /// What happened.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Referenced<Event>"))]
    pub event: Event,
}

/// Which conversations are listed, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SessionQuery {
    /// The maximum number.
    pub limit: usize,
    /// Only entries after this one: the id of the last conversation of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Only those that were started for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Only those in which a turn runs.
    pub running: bool,
}

impl Default for SessionQuery {
    fn default() -> Self {
        Self { limit: 50, before: None, kind: None, running: false }
    }
}

/// One conversation in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfo {
    /// Its name.
    pub id: SessionId,
    /// Title: the beginning of the first input.
    pub title: String,
    /// Who runs its turns.
    pub runtime: String,
    /// When something happened last.
    pub updated_at: Timestamp,
    /// Does a turn run, or is one to run?
    pub running: bool,
    /// Does that turn wait for a place among the tasks that run?
    #[serde(default)]
    pub queued: bool,
    /// Its purpose.
    pub kind: Kind,
    /// The task that it is, if it is one.
    pub task: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// The model provider, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// The number of its last event.
    pub last_seq: i64,
}

/// One conversation with what was said and done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionDetail {
    /// Its list entry.
    #[serde(flatten)]
    pub info: SessionInfo,
    /// Codex's name for it, once a turn was accepted.
    pub thread: Option<String>,
    /// The version of Codex that wrote it last.
    pub codex: Option<String>,
    /// Its origin, if it was imported from another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
    /// Its original, if it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkOrigin>,
    /// Its turns, the oldest first.
    pub turns: Vec<TurnInfo>,
    /// Its reviews, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewInfo>,
    /// The budgets that its requests count for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetInfo>,
    /// The transcript, oldest first.
    pub messages: Vec<Message>,
    /// The places in `messages` of what was said and done in turns that were undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone_messages: Vec<usize>,
    /// How many older messages are not in here.
    pub older_messages: usize,
}

/// Origin of an imported conversation. It can be read, but not continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionOrigin {
    /// The program.
    pub program: String,
    /// Its name there.
    pub name: String,
    /// The conversation that it continued from, by its name there.
    pub parent: Option<String>,
    /// The same conversation here.
    pub parent_session: Option<SessionId>,
}

impl SessionOrigin {
    /// The `program` of conversations that were imported from Hermes.
    pub const HERMES: &str = "hermes";
}

/// A message with its place in the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredMessage {
    /// The number of its event.
    pub seq: i64,
    /// The turn it belongs to, from 1.
    pub turn: i64,
    /// Was the turn undone? Then the model does not know the message any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// The message.
    pub message: Message,
}

/// One turn of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnInfo {
    /// Which, from 1.
    pub turn: i64,
    /// How far it is.
    pub stage: Stage,
    /// Its outcome.
    pub outcome: Option<Report>,
    /// The input, secrets masked.
    pub prompt: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it was sent to Codex; one that waits for another turn or for a place has not been.
    #[serde(default)]
    pub sent_at: Option<Timestamp>,
    /// When it had an outcome.
    pub settled_at: Option<Timestamp>,
    /// Tokens used.
    pub usage: Option<Usage>,
    /// When it was undone: the conversation continues without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<Timestamp>,
}

/// A place where searched words were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchHit {
    /// The conversation.
    pub session: SessionId,
    /// The number of its event.
    pub seq: i64,
    /// The text around the words, which are between `[` and `]`.
    pub snippet: String,
    /// Title of the conversation.
    pub title: String,
    /// Who said it or what did it: `user`, `assistant`, `tool`.
    pub role: String,
}

/// A request to delete conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prune {
    /// Conversations in which nothing happened for this many milliseconds.
    #[serde(default)]
    pub older_than_ms: Option<u64>,
    /// All but the newest; this many stay.
    #[serde(default)]
    pub keep: Option<u64>,
    /// The oldest, until the stored data is at most this many bytes.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// Only say what would go.
    #[serde(default)]
    pub dry_run: bool,
}

/// The deleted conversations, or those that would be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pruned {
    /// The conversations.
    pub sessions: Vec<PrunedSession>,
    /// How many events.
    pub events: u64,
    /// How large the file was.
    pub bytes_before: u64,
    /// How large it is now; of a preview, about how large it would be.
    pub bytes_after: u64,
    /// Nothing was thrown away: this only says what would be.
    pub dry_run: bool,
}

/// A deleted conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrunedSession {
    /// Its name.
    pub id: SessionId,
    /// Its title.
    pub title: String,
    /// When something happened last.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;
    use crate::ids::TurnId;

    #[test]
    fn events_with_a_turn_of_their_own_are_read_back() {
        let usage = Event::UsageUpdated { turn: Usage::default(), context: 1, window: None, input: None };
        for event in [Event::TurnStarted { turn: TurnId::new("t-1") }, usage] {
            for turn in [None, Some(3)] {
                let (session, at) = (SessionId::new("s"), Timestamp::UNIX_EPOCH);
                let numbered = Numbered { session, seq: 7, at, turn, event: event.clone() };
                let text = serde_json::to_string(&numbered).unwrap();
                let back: Numbered = serde_json::from_str(&text).unwrap();
                assert_eq!(serde_json::to_string(&back).unwrap(), text);
                assert_eq!(back.turn, turn);
            }
        }
    }
}
