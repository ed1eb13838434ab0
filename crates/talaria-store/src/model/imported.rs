//! Imported sessions: conversations and tasks of another program, as an importer hands them over. All their turns are over.
//! Texts are redacted and times are plausible before they come here.

use talaria_core::ids::SessionId;

use crate::model::session::NewSessionRow;

/// A session of another program, or the next part of one that is here already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSession {
    /// The session, for when it is not here yet. Its own `first_turn` is `None`.
    pub session: NewSessionRow,
    /// Its origin, which decides whether it is new here.
    pub from: ImportedFrom,
    /// The turns to be added, in order.
    pub turns: Vec<ImportedTurn>,
    /// When the other program last changed it.
    pub updated_at: i64,
}

/// Origin of an imported session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedFrom {
    /// A task, which is imported once and whole. It is here if a task of the same origin has its alias.
    Task,
    /// A part of a conversation, which may have grown since an earlier import.
    Conversation(ConversationPart),
}

/// Which part of which conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationPart {
    pub program: String,
    /// The name of the conversation there.
    pub name: String,
    /// The conversation that it continues, by its name there.
    pub parent: Option<String>,
    /// The import, by which it can be undone.
    pub run: String,
    /// The last message of the part, by its number there.
    pub last: i64,
}

/// A turn of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedTurn {
    /// Our id for its input.
    pub client_id: String,
    /// The prompt.
    pub input_text: String,
    /// Its outcome, as JSON.
    pub outcome: String,
    /// Its outcome, as a word.
    pub outcome_kind: String,
    /// Why it failed, as a word.
    pub code: Option<String>,
    /// Its token usage, as JSON.
    pub usage: String,
    /// The event that ended it, as JSON; its kind is `outcome`.
    pub event: String,
    pub created_at: i64,
    pub settled_at: i64,
    /// The messages, in order.
    pub messages: Vec<ImportedMessage>,
}

/// A message of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMessage {
    /// Unique among the messages of the same role in its turn.
    pub key: String,
    pub role: String,
    /// The indexed text.
    pub text: String,
    /// The message as JSON.
    pub json: String,
    /// When it was said.
    pub at: i64,
}

/// Result of an imported session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportResult {
    /// It is new here.
    New(SessionId),
    /// It was here, and the turns were added.
    Grown(SessionId),
    /// The task was imported before and is unchanged.
    Known,
    /// The alias of the task belongs to another session.
    NameTaken(String),
}

/// Identity of a session in the program that it was imported from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginRow {
    pub program: String,
    pub name: String,
    /// The conversation that it continues, by its name there.
    pub parent: Option<String>,
    /// The same, if it was imported too.
    pub parent_session: Option<SessionId>,
}

/// Result of one page of an import that is undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoneImport {
    /// How many sessions are, or would be, removed.
    pub removed: usize,
    /// How many sessions are, or would be, as they were before the import.
    pub shortened: usize,
    /// Sessions that were used since, and stay.
    pub left: Vec<SessionId>,
    /// Where the next page begins, if there is one.
    pub next: Option<SessionId>,
}
