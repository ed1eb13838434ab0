//! `talaria_memory`: the model saves, corrects, removes and reads what is remembered across conversations.
//!
//! Rights are checked at every call: sub-agents and tasks that a model started only read, other tasks write if
//! `memory.tasks` permits it. A batch is applied as a whole or not at all. Refused and pending changes, and calls with wrong arguments,
//! are reported to the person in one line, too.

mod arguments;
mod page;

use std::time::Duration;

use serde_json::{Value, json};
use talaria_core::config::Config;
use talaria_core::ids::SessionId;
use talaria_core::memory::MemoryScope;
use talaria_core::memory::draft::MemoryOperation;
use talaria_core::tool::{ToolCaller, ToolEffect, ToolInvocation, ToolRights, ToolSpec};
use talaria_store::{MemoryAuthor, MemoryOrigin, StoreError, TaskRow};

use super::EngineTool;
use super::ledger::{ToolFailure, ToolReturn};
use crate::engine::Inner;
use crate::engine::memory::{MemoryRefused, approval_reason, project_of, scopes_of, why_task_only_reads};
use arguments::MemoryArguments;

/// Description for the model.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "talaria_memory",
        description: "Save, correct, remove or read lasting notes; later conversations start with them. Save what stays \
                      useful: who the user is and prefers (user), facts and conventions of this project (project), lessons \
                      about the machine and its tools (notes). Short, one fact an entry, no secrets, no passing state of \
                      the work. Correct an entry rather than adding a second one.",
        schema: json!({
            "type": "object",
            "properties": {
                "operations": {
                    "type": "array",
                    "description": "Done together or not at all.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "op": { "type": "string", "enum": ["add", "replace", "remove", "read"] },
                            "scope": {
                                "type": "string",
                                "enum": ["user", "project", "notes"],
                                "description": "May be left out for read: all.",
                            },
                            "text": { "type": "string", "description": "add, replace: the whole new entry." },
                            "find": {
                                "type": "string",
                                "description": "replace, remove: a part that only this entry has. read: only entries \
                                                with it.",
                            },
                        },
                        "required": ["op"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["operations"],
            "additionalProperties": false,
        }),
        limit: Duration::from_secs(20),
    }
}

/// Whether a call with these arguments only reads. One that cannot be understood is taken for a change.
pub(super) fn effect(arguments: &Value) -> ToolEffect {
    let operations = arguments.get("operations").and_then(Value::as_array);
    let is_read = |operation: &Value| operation.get("op").and_then(Value::as_str) == Some("read");
    match operations.is_some_and(|operations| operations.iter().all(is_read)) {
        true => ToolEffect::Reads,
        false => ToolEffect::Changes,
    }
}

impl Inner {
    /// Answers one call; `Err` says to the model why nothing was done.
    pub(super) async fn use_memory(
        &self,
        session: &SessionId,
        call: &ToolInvocation,
        config: &Config,
    ) -> ToolReturn {
        let read =
            async { Ok((self.shelf.store.session(session).await?, self.shelf.store.task(session).await?)) };
        let (row, task) = read.await.map_err(|error| unread(&error))?;
        let row = row.ok_or_else(|| "this conversation no longer exists".to_owned())?;
        let project = project_of(&row, task.as_ref());
        let parsed = MemoryArguments::parse(&call.arguments, &project);
        let MemoryArguments { operations, looks } =
            self.accept_arguments(session, EngineTool::Memory, parsed)?;
        let mut text = String::new();
        if !operations.is_empty() {
            if let Some(why) = only_reads(task.as_ref(), call, config) {
                self.report_call(
                    session,
                    EngineTool::Memory,
                    &format!("a change of the memory was refused: {why}"),
                );
                return Err(format!("nothing was changed: {why}; op read works").into());
            }
            let origin = MemoryOrigin {
                author: MemoryAuthor::Model,
                session: Some(session.clone()),
                turn: Some(call.turn.to_string()),
                call: Some(call.item.to_string()),
            };
            text = self.save_memory(Some(session), origin, config, operations).await?;
        }
        let (entries, notes) = match self.read_memory(&scopes_of(&project)).await {
            Ok(read) => read,
            // The changes are done: the call must not run again.
            Err(error) if !text.is_empty() => return Ok(unread_after(text, &error)),
            Err(error) => return Err(unread(&error)),
        };
        notes.iter().for_each(|note| self.report_call(session, EngineTool::Memory, note));
        Ok(page::answer(text, &entries, &looks, config))
    }

    /// The same for an agent that works for no conversation: no project, and changes only with this right.
    pub(super) async fn use_memory_outside(
        &self,
        arguments: &Value,
        config: &Config,
        rights: ToolRights,
    ) -> ToolReturn {
        let MemoryArguments { operations, looks } = MemoryArguments::parse(arguments, "")?;
        let is_project = |scope: &MemoryScope| matches!(scope, MemoryScope::Project(_));
        let scope = |operation: &MemoryOperation| match operation {
            MemoryOperation::Add { scope, .. }
            | MemoryOperation::Replace { scope, .. }
            | MemoryOperation::Remove { scope, .. } => is_project(scope),
        };
        if operations.iter().any(scope) || looks.iter().filter_map(|look| look.scope.as_ref()).any(is_project)
        {
            return Err("the scope project needs a conversation of Talaria; user and notes work here".into());
        }
        let mut text = String::new();
        if !operations.is_empty() {
            if !rights.permit(ToolEffect::Changes) {
                return Err("nothing was changed: outside of a conversation of Talaria the memory is only read; op read \
                            works. The user can permit changes with bridge.memory = true"
                    .into());
            }
            let origin = MemoryOrigin { author: MemoryAuthor::Model, session: None, turn: None, call: None };
            text = self.save_memory(None, origin, config, operations).await?;
        }
        let scopes = [MemoryScope::User, MemoryScope::Notes];
        let entries = match self.read_memory(&scopes).await {
            Ok((entries, _)) => entries,
            Err(error) if !text.is_empty() => return Ok(unread_after(text, &error)),
            Err(error) => return Err(unread(&error)),
        };
        Ok(page::answer(text, &entries, &looks, config))
    }

    /// Does the changes of a call; returns what the model reads of them.
    async fn save_memory(
        &self,
        session: Option<&SessionId>,
        origin: MemoryOrigin,
        config: &Config,
        operations: Vec<MemoryOperation>,
    ) -> ToolReturn {
        let report = |note: &str| {
            if let Some(session) = session {
                self.report_call(session, EngineTool::Memory, note);
            }
        };
        let waits = approval_reason(config);
        match self.change_memory(operations.clone(), origin, waits).await {
            Ok(outcome) => {
                outcome.notes.iter().for_each(|note| report(note));
                if let Some((id, reason)) = &outcome.proposal {
                    report(&format!(
                        "a change of the memory waits for you ({reason}): talaria memory approve {id}"
                    ));
                }
                Ok(page::changed(&operations, &outcome))
            }
            Err(MemoryRefused::Operations(reasons)) => {
                let text = page::refused(&operations, &reasons);
                let why = reasons.iter().flatten().next().map_or("", String::as_str);
                report(&format!("the model's change of the memory was refused: {why}"));
                Err(text.into())
            }
            Err(MemoryRefused::Conflict(why)) => {
                report(&format!("the model's change of the memory was refused: {why}"));
                Err(format!("nothing was changed: {why}").into())
            }
            Err(MemoryRefused::Store(error)) => {
                let why = format!("nothing was changed: the memory cannot be written now: {error}");
                Err(ToolFailure::of_store(why, &error))
            }
        }
    }
}

/// Why a call may only read; none if it may write.
fn only_reads(task: Option<&TaskRow>, call: &ToolInvocation, config: &Config) -> Option<&'static str> {
    match call.caller {
        ToolCaller::SubAgent => Some("a sub-agent only reads the memory"),
        _ => why_task_only_reads(task.map(|task| task.owner.as_str()), config),
    }
}

fn unread_after(text: String, error: &StoreError) -> String {
    format!("{text}\nThe memory cannot be read back now: {error}")
}

fn unread(error: &StoreError) -> ToolFailure {
    ToolFailure::of_store(format!("the memory cannot be read now: {error}"), error)
}
