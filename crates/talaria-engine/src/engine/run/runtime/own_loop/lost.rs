//! The end of a turn of the loop that cannot be continued: what it left open is closed, the person's unread words come back,
//! its cost is known, and no command of it runs on without anyone who waits for it.

use std::sync::Arc;

use talaria_codex::conversation::Watcher as _;
use talaria_core::event::{Event, Usage};
use talaria_core::ids::SessionId;
use talaria_core::tool::ledger::ToolCallState;
use talaria_store::{Change, ToolCallRow, ToolCallStep};

use super::spent;
use super::turn::{close_left_asks, unread_steering};
use crate::engine::Inner;
use crate::engine::journal::Journal;
use crate::engine::lifecycle::loop_commands::command_of;

/// Prepares the end of a turn of which `events` are recorded, and returns what it cost. The caller writes the outcome.
pub(crate) async fn close_lost_turn(
    engine: &Arc<Inner>,
    journal: &mut Journal,
    session: &SessionId,
    events: &[Event],
) -> Usage {
    journal.count_attempts();
    close_left_asks(journal, session).await;
    let inputs = unread_steering(events);
    if !inputs.is_empty() {
        journal.event(Event::Unqueued { inputs, was_sent: false });
    }
    let ordinal = journal.ordinal();
    let (store, epoch) = (&engine.shelf.store, engine.shelf.epoch);
    let left = store.unsettled_tool_calls(epoch).await.unwrap_or_default();
    for row in left.into_iter().filter(|row| row.session == *session && row.ordinal == ordinal) {
        stop_command(engine, &row).await;
        let step = ToolCallStep::Settle { state: ToolCallState::Unknown, result_sealed: None };
        journal.change(Change::ToolCall(row.key, step));
    }
    match store.model_attempts(session, ordinal).await {
        Ok(attempts) => spent(&attempts),
        Err(_) => Usage { partial: true, ..Usage::default() },
    }
}

/// Ends the command of a call. One that was left in the background belongs to a call that has ended, and continues.
async fn stop_command(engine: &Inner, row: &ToolCallRow) {
    let Some(id) = command_of(&engine.shelf.seal, row) else { return };
    let stopped = async { engine.loop_commands.find(&id)?.stop().await };
    if let Err(error) = stopped.await {
        tracing::warn!("command {} could not be ended: {error}", id.as_str());
    }
}
