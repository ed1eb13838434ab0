//! `talaria_delegate`: the model hands work to background tasks and collects their results.
//!
//! Only the main conversation delegates, and finds only its own tasks. Starting and stopping change something, so the ledger
//! runs them once; waiting, results and lists read. `engine/delegation` decides the rights of a task. A result that a call
//! returns is recorded as carried by that call before the model gets it, so that it is not delivered a second time.

mod arguments;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use talaria_codex::conversation::Command;
use talaria_codex::spec::Surroundings;
use talaria_core::api::TaskInfo;
use talaria_core::config::Config;
use talaria_core::ids::{ItemId, SessionId};
use talaria_core::request::Who;
use talaria_core::tool::{ToolCaller, ToolEffect, ToolInvocation, ToolSpec};
use talaria_guard::shorten::shorten_line;
use talaria_home::faults;
use talaria_store::{Change, DelegationRow, ResultCarrier, StoreError, ToolCallKey};
use tokio::time::Instant;

use super::EngineTool;
use super::ledger::{ToolFailure, ToolReturn};
use crate::engine::Inner;
use crate::engine::delegation::pages;
use arguments::DelegateWish;

/// The name of the tool.
pub(crate) const NAME: &str = "talaria_delegate";
/// Begins the ids of calls over MCP.
pub(super) const OUTSIDE_CALL: &str = "mcp-";
/// How many characters all results of one call may have together.
const ROOM: usize = 9_000;
/// How much of an id that a model made up is shown.
const SHOWN_ID: usize = 40;
/// How long a task that is stopped may take until the answer says that it has not ended yet.
const STOPPING: Duration = Duration::from_secs(10);

/// Description for the model.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME,
        description: "Hand self-contained work to background tasks that run beside this conversation, and collect their \
                      results. start returns ids at once; wait returns when a task has ended or the time is up. A task \
                      knows nothing of this conversation but its goal and context, has at most your sandbox, and asks the \
                      user itself. A result that you do not collect arrives with the user's next message.",
        schema: json!({
            "type": "object",
            "properties": {
                "op": { "type": "string", "enum": ["start", "wait", "result", "stop", "list"] },
                "goals": {
                    "type": "array",
                    "description": "start: one task for each.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "goal": { "type": "string", "description": "The work to do, and the facts to report." },
                            "context": { "type": "string", "description": "What it has to know: files, decisions." },
                            "worktree": {
                                "type": "boolean",
                                "description": "Work in a git worktree of its own. Use it for tasks that change files.",
                            },
                        },
                        "required": ["goal"],
                        "additionalProperties": false,
                    },
                },
                "id": { "type": "string", "description": "result, stop: the task. wait: only this one." },
                "seconds": { "type": "integer", "description": "wait: how long, at most 60." },
            },
            "required": ["op"],
            "additionalProperties": false,
        }),
        // A wait takes a minute at most, starting several worktrees less.
        limit: Duration::from_secs(90),
    }
}

/// Whether a call with these arguments only reads. One that cannot be understood is taken for a change.
pub(super) fn effect(arguments: &Value) -> ToolEffect {
    match arguments.get("op").and_then(Value::as_str) {
        Some("wait" | "result" | "list") => ToolEffect::Reads,
        _ => ToolEffect::Changes,
    }
}

impl Inner {
    /// Answers one call; `Err` says to the model why nothing was done. The person reads that in one line.
    pub(super) async fn delegate(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        config: &Config,
        surroundings: Surroundings,
    ) -> ToolReturn {
        let wish = DelegateWish::parse(&call.arguments);
        let wish = self.accept_arguments(session, EngineTool::Delegate, wish)?;
        let answer = self.answer_delegate(session, call, config, surroundings, wish).await;
        if let Err(ToolFailure::Refused(why)) = &answer {
            let note = format!("a call of the model was refused: {why}");
            self.report_call(session, EngineTool::Delegate, &note);
        }
        answer
    }

    async fn answer_delegate(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        config: &Config,
        surroundings: Surroundings,
        wish: DelegateWish,
    ) -> ToolReturn {
        if call.caller == ToolCaller::SubAgent {
            return Err(
                "a sub-agent neither delegates nor collects results; the main conversation does".into()
            );
        }
        match wish {
            DelegateWish::Start(goals) => {
                self.start_delegated(session, call, &config.delegation, surroundings, goals).await
            }
            DelegateWish::Wait { id, seconds } => {
                self.wait_delegated(session, call, id.as_deref(), seconds).await
            }
            DelegateWish::Result { id } => {
                let row = self.own_delegation(session, &id).await?;
                let info = self.delegated_task(&row).await?;
                if row.ended_at.is_none() {
                    return Ok(pages::state(&info));
                }
                self.carry_in_call(session, call, std::slice::from_ref(&row)).await?;
                Ok(pages::result(&info, ROOM))
            }
            DelegateWish::Stop { id } => self.stop_delegated(session, &id).await,
            DelegateWish::List => {
                let rows = self.delegations_of(session).await?;
                let mut lines = vec![pages::list_heading(rows.len())];
                for row in &rows {
                    lines.push(pages::line(&self.delegated_task(row).await?, row.delivered_at.is_some()));
                }
                Ok(lines.join("\n"))
            }
        }
    }

    /// Waits until a task has ended, or the time is up. Without an id, until one has ended whose result is owed.
    async fn wait_delegated(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        id: Option<&str>,
        seconds: u64,
    ) -> ToolReturn {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let rows = loop {
            let ended = self.shelf.task_ended.notified();
            tokio::pin!(ended);
            // Subscribe first: a task that ends while the rows are read is not missed.
            ended.as_mut().enable();
            let rows = match id {
                Some(id) => vec![self.own_delegation(session, id).await?],
                None => self.delegations_of(session).await?,
            };
            let is_over = match id {
                Some(_) => rows.iter().all(|row| row.ended_at.is_some()),
                None => {
                    rows.iter().any(DelegationRow::is_owed) || rows.iter().all(|row| row.ended_at.is_some())
                }
            };
            if is_over {
                break rows;
            }
            tokio::select! {
                () = ended => {}
                () = tokio::time::sleep_until(deadline) => break rows,
            }
        };
        let is_shown = |row: &DelegationRow| id.is_some() || row.delivered_at.is_none();
        let rows: Vec<DelegationRow> = rows.into_iter().filter(is_shown).collect();
        let (ended, unfinished): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.ended_at.is_some());
        self.carry_in_call(session, call, &ended).await?;
        let room = ROOM / ended.len().max(1);
        let mut parts = vec![pages::wait_heading(ended.len(), unfinished.len())];
        for row in &ended {
            parts.push(pages::result(&self.delegated_task(row).await?, room));
        }
        for row in &unfinished {
            parts.push(pages::state(&self.delegated_task(row).await?));
        }
        Ok(parts.join("\n\n"))
    }

    async fn stop_delegated(self: &Arc<Self>, session: &SessionId, id: &str) -> ToolReturn {
        let row = self.own_delegation(session, id).await?;
        if row.ended_at.is_some() {
            return Ok(format!("{id} had ended before (complete); op result has its result."));
        }
        self.ready(&row.child).await;
        self.desk.tell(&row.child, Command::Interrupt { by: Who::Model });
        let deadline = Instant::now() + STOPPING;
        loop {
            let ended = self.shelf.task_ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            let now = self.own_delegation(session, id).await?;
            if now.ended_at.is_some() {
                let info = self.delegated_task(&now).await?;
                return Ok(format!(
                    "{id} (complete): {}. op result names what it did.",
                    pages::ending(&info)
                ));
            }
            tokio::select! {
                () = ended => {}
                () = tokio::time::sleep_until(deadline) => {
                    return Ok(format!("{id} was asked to stop (complete) and has not ended yet; op wait says when."));
                }
            }
        }
    }

    /// Records that this call carries these results, before the model gets them.
    async fn carry_in_call(
        &self,
        session: &SessionId,
        call: &ToolInvocation,
        ended: &[DelegationRow],
    ) -> Result<(), ToolFailure> {
        if ended.iter().all(|row| row.delivered_at.is_some()) {
            return Ok(());
        }
        let key =
            ToolCallKey { thread: call.thread.clone(), turn: call.turn.clone(), call: call.item.clone() };
        let write = async {
            let Some(row) = self.shelf.store.tool_call(&key).await? else { return Ok(()) };
            let carried = |ended: &DelegationRow| Change::ResultCarried {
                child: ended.child.clone(),
                turn: row.ordinal,
                carrier: carrier_of(&call.item),
            };
            faults::point("before:result-carried").await;
            self.write(session, ended.iter().map(carried).collect()).await?;
            faults::point("after:result-carried").await;
            Ok(())
        };
        write.await.map_err(|error: StoreError| unread(&error))
    }

    async fn delegations_of(&self, session: &SessionId) -> Result<Vec<DelegationRow>, ToolFailure> {
        self.shelf.store.delegations(session).await.map_err(|error| unread(&error))
    }

    /// A task of this conversation, by its whole id. Any other does not exist for it.
    async fn own_delegation(&self, session: &SessionId, id: &str) -> Result<DelegationRow, ToolFailure> {
        for row in self.delegations_of(session).await? {
            let child = self.shelf.store.session(&row.child).await.map_err(|error| unread(&error))?;
            if child.is_some_and(|child| child.alias.as_deref() == Some(id)) {
                return Ok(row);
            }
        }
        let id = shorten_line(id, SHOWN_ID);
        Err(format!("this conversation delegated no task {id:?}; op list names its tasks").into())
    }

    pub(crate) async fn delegated_task(
        self: &Arc<Self>,
        row: &DelegationRow,
    ) -> Result<TaskInfo, ToolFailure> {
        Ok(self.as_owner().task(row.child.as_str()).await.map_err(|problem| problem.message)?)
    }
}

/// What carries a result that this call returns. A runtime does not name the call of an MCP tool, so that those of one turn
/// count as one.
fn carrier_of(call: &ItemId) -> ResultCarrier {
    match call.as_str().starts_with(OUTSIDE_CALL) {
        true => outside_carrier(),
        false => ResultCarrier::Call(call.clone()),
    }
}

/// What carries the results of calls over MCP.
pub(crate) fn outside_carrier() -> ResultCarrier {
    ResultCarrier::Call(ItemId::new(OUTSIDE_CALL))
}

fn unread(error: &StoreError) -> ToolFailure {
    ToolFailure::of_store(format!("delegated tasks cannot be read now: {error}"), error)
}
