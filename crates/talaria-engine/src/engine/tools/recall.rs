//! `talaria_recall`: the model searches what was said and done in earlier conversations, and reads on where it found something.
//!
//! Reads only. Stored messages are masked already. The visible conversations are determined at every call: the configured
//! scope, else all of them for a person's conversations and the task alone for one that a model started. Messages of the
//! current turn are left out and counted, because the question itself would be found first; messages that a compaction
//! removed from the prompt are found. Hits outside of the scope are not counted: their number alone would answer questions
//! about them.

mod arguments;
mod page;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use talaria_core::config::RecallScope;
use talaria_core::ids::SessionId;
use talaria_core::principal::{Principal, PrincipalKind};
use talaria_core::tool::ToolSpec;
use talaria_store::{MessagePlace, MessageRow, SearchFilter, SearchedKind, SessionRow, StoreError, TaskRow};

use super::EngineTool;
use crate::engine::Inner;
use crate::engine::memory::project_of;
use arguments::{RecallArguments, RecallWish};
use page::{FoundPassage, FoundPassages, ReadPassage};

/// Maximum number of passages; a model that needs more searches with rarer words.
const MOST: u32 = 200;
/// How many passages in outputs of tools are counted.
const COUNTED: u32 = 50;
/// How many messages are read at once from a conversation.
const READ: u32 = 400;
/// How many messages before the wanted one are shown.
const BEFORE: usize = 4;

/// Description for the model.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "talaria_recall",
        description: "Search what was said and done in earlier conversations with this user, or read one of them. Use it \
                      when the user refers to something that is not in this conversation.",
        schema: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Words that must all occur in one message; parts of words count. Put a phrase in \
                                    quotation marks. One to three rare words find most.",
                },
                "kind": {
                    "type": "string",
                    "enum": ["words", "answers", "commands", "patches", "outputs"],
                    "description": "Search only what was said, what the model answered, commands, file changes, or what \
                                    tools printed.",
                },
                "session": {
                    "type": "string",
                    "description": "Search or read only this conversation; its id is in every result.",
                },
                "around": {
                    "type": "integer",
                    "description": "Without query: read the session at this position; it is in every result.",
                },
                "page": { "type": "integer", "description": "The page of a long result, from 1." },
            },
            "additionalProperties": false,
        }),
        limit: Duration::from_secs(20),
    }
}

/// The conversations that a session may see.
struct RecallRights {
    scope: RecallScope,
    /// The directory of its project.
    project: String,
}

impl Inner {
    /// Answers one call; `Err` says to the model why there is no answer.
    pub(super) async fn recall(
        &self,
        session: &SessionId,
        arguments: &Value,
        scope: Option<RecallScope>,
    ) -> Result<String, String> {
        let parsed = RecallArguments::parse(arguments);
        let arguments = self.accept_arguments(session, EngineTool::Recall, parsed)?;
        let rights = self.recall_rights(session, scope).await?;
        self.recall_within(session, &rights, arguments).await
    }

    /// The same for a program of the person without a conversation: it sees all.
    pub(super) async fn recall_outside(&self, arguments: &Value) -> Result<String, String> {
        let arguments = RecallArguments::parse(arguments)?;
        let rights = RecallRights { scope: RecallScope::All, project: String::new() };
        self.recall_within(&SessionId::new(""), &rights, arguments).await
    }

    async fn recall_within(
        &self,
        session: &SessionId,
        rights: &RecallRights,
        arguments: RecallArguments,
    ) -> Result<String, String> {
        match &arguments.wish {
            RecallWish::Search { query, kind, session: within } => {
                let within = match within {
                    Some(id) => Some(self.seen(session, rights, id).await?.id),
                    None => None,
                };
                self.search_for(session, rights, query, *kind, within, arguments.page).await
            }
            RecallWish::Read { session: id, around } => {
                let row = self.seen(session, rights, id).await?;
                let read = async {
                    let undone = self.shelf.store.undone_turns(&row.id).await?;
                    let mut messages = self.passage(&row.id, *around).await?;
                    let is_full = messages.len() >= READ as usize;
                    messages.retain(|message| message.turn.is_none_or(|turn| !undone.contains(&turn)));
                    Ok((messages, is_full))
                };
                let (messages, is_full) = read.await.map_err(|error| unread(&error))?;
                ReadPassage { session: &row, messages: &messages, is_full }.page(arguments.page)
            }
        }
    }

    async fn recall_rights(
        &self,
        session: &SessionId,
        scope: Option<RecallScope>,
    ) -> Result<RecallRights, String> {
        let read =
            async { Ok((self.shelf.store.session(session).await?, self.shelf.store.task(session).await?)) };
        let (row, task) = read.await.map_err(|error| unread(&error))?;
        let row = row.ok_or_else(|| "this conversation no longer exists".to_owned())?;
        let scope = scope.unwrap_or(match &task {
            Some(task) if is_of_a_model(task) => RecallScope::Own,
            _ => RecallScope::All,
        });
        Ok(RecallRights { scope, project: project_of(&row, task.as_ref()) })
    }

    /// The conversation of this id, if it may be seen. One that may not be seen does not exist.
    async fn seen(&self, own: &SessionId, rights: &RecallRights, id: &str) -> Result<SessionRow, String> {
        let id = SessionId::new(id);
        let read = async { Ok((self.shelf.store.session(&id).await?, self.shelf.store.task(&id).await?)) };
        let (row, task) = read.await.map_err(|error| unread(&error))?;
        let is_seen = |row: &SessionRow| match rights.scope {
            RecallScope::All => true,
            RecallScope::Own => row.id == *own,
            RecallScope::Project => Path::new(&project_of(row, task.as_ref())).starts_with(&rights.project),
        };
        row.filter(is_seen)
            .ok_or_else(|| format!("no conversation {id} (recall.scope is {})", rights.scope.name()))
    }

    async fn search_for(
        &self,
        own: &SessionId,
        rights: &RecallRights,
        query: &str,
        kind: SearchedKind,
        within: Option<SessionId>,
        page: usize,
    ) -> Result<String, String> {
        let store = &self.shelf.store;
        let filter = SearchFilter {
            session: match rights.scope {
                RecallScope::Own => Some(own.clone()),
                _ => within,
            },
            directory: (rights.scope == RecallScope::Project).then(|| rights.project.clone()),
            kind: Some(kind),
        };
        let hits = store.search_places(query, &filter, MOST).await.map_err(|error| unread(&error))?;
        let is_complete = hits.len() < MOST as usize;
        let present = self.present_passage(own).await.map_err(|error| unread(&error))?;
        let is_present = |hit: &MessagePlace| {
            hit.session == *own
                && present.is_some_and(|(turn, after)| hit.turn == Some(turn) && hit.seq > after)
        };
        let (left_out, hits): (Vec<MessagePlace>, Vec<MessagePlace>) = hits.into_iter().partition(is_present);
        let printed = match kind {
            SearchedKind::SaidAndDone => {
                let filter = SearchFilter { kind: Some(SearchedKind::Outputs), ..filter };
                let hits = store.search_places(query, &filter, COUNTED).await;
                let hits = hits.map_err(|error| unread(&error))?;
                hits.iter().filter(|hit| !is_present(hit)).count()
            }
            _ => 0,
        };
        let found = FoundPassages {
            query,
            scope: rights.scope,
            count: hits.len(),
            left_out: left_out.len(),
            printed,
            is_complete,
        };
        let shown = store.matches_at(query, found.on_page(&hits, page)?).await;
        let shown = shown.map_err(|error| unread(&error))?;
        let mut passages = Vec::new();
        for hit in &shown {
            let session = store.session(&hit.session).await.map_err(|error| unread(&error))?;
            let title = session.and_then(|row| row.title);
            passages.push(FoundPassage { hit, title, is_own: hit.session == *own });
        }
        Ok(found.page(&passages, page))
    }

    /// The turn that runs, and the event after which its messages are still in the model's prompt.
    async fn present_passage(&self, own: &SessionId) -> Result<Option<(i64, i64)>, StoreError> {
        let store = &self.shelf.store;
        let Some(turn) = store.next_unsettled(own).await? else { return Ok(None) };
        let before = turn.first_seq - 1;
        let landmarks = store.landmarks(own, before).await?;
        let compaction = landmarks.iter().rfind(|event| event.kind != "session_started");
        Ok(Some((turn.ordinal, compaction.map_or(before, |event| event.seq))))
    }

    /// The messages around a position: a few of its turn before it, and what follows. Without a position, from the beginning.
    async fn passage(&self, session: &SessionId, around: Option<i64>) -> Result<Vec<MessageRow>, StoreError> {
        let store = &self.shelf.store;
        let Some(around) = around else { return store.messages(session, None, READ).await };
        let rest = store.messages(session, Some(&cursor(around - 1)), READ).await?;
        let Some(turn) = rest.first().and_then(|message| message.turn) else { return Ok(rest) };
        // Few messages precede most positions of a turn; in a turn with more, the position decides.
        let first = store.turn(session, turn).await?.map_or(around, |turn| turn.first_seq);
        let before = store.messages(session, Some(&cursor(first - 1)), READ).await?;
        let before: Vec<MessageRow> = before.into_iter().take_while(|message| message.seq < around).collect();
        let skipped = match before.len() >= READ as usize {
            true => before.len(),
            false => before.len().saturating_sub(BEFORE),
        };
        Ok(before.into_iter().skip(skipped).chain(rest).collect())
    }
}

/// A position directly after all messages with this number.
fn cursor(seq: i64) -> MessageRow {
    MessageRow {
        id: i64::MAX,
        key: String::new(),
        turn: None,
        seq,
        role: String::new(),
        text: String::new(),
        json: String::new(),
        at: 0,
    }
}

/// Whether the task is not a person's. An owner that cannot be read is none.
fn is_of_a_model(task: &TaskRow) -> bool {
    task.owner.parse::<Principal>().map_or(true, |owner| owner.kind() != PrincipalKind::Person)
}

fn unread(error: &StoreError) -> String {
    format!("earlier conversations cannot be read now: {error}")
}
