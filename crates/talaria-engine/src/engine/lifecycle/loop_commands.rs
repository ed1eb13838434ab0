//! The commands of the built-in loop over the life of the engine: which directories are still needed, and their end with
//! `stop`. Commands outlive an engine that is killed or replaced, as Codex does.
//!
//! A directory is needed while its command runs, while its turn does, and for a day after that: the model may ask for the
//! output in a later turn. A command that runs is ended here only with `stop` or with its conversation.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use futures_util::StreamExt as _;
use talaria_core::ids::SessionId;
use talaria_home::clock::now_ms;
use talaria_home::home::TalariaHome;
use talaria_store::{StoreError, ToolCallRow};
use talaria_tools::keeper::{CommandId, CommandRoom, CommandState, KeeperProgram};
use talaria_tools::runner::EffectRecord;

use crate::engine::Inner;
use crate::engine::seal::Seal;

/// How many commands are ended at once.
const AT_ONCE: usize = 8;
/// How long the output of a command is kept after the turn that started it.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// The commands of a home.
pub(crate) fn command_room(home: &TalariaHome) -> CommandRoom {
    let keeper = KeeperProgram { program: own_program(), arguments: vec!["keep-command".into()] };
    CommandRoom::new(&home.commands_dir(), keeper)
}

/// This program, also after its file was replaced.
pub(crate) fn own_program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { own } else { std::env::current_exe().unwrap_or_default() }
}

/// Ends every command of a home with everything below it. Their directories keep output and end.
pub(crate) async fn end_all(room: &CommandRoom) {
    let ids = room.list().unwrap_or_default();
    let ending = ids.into_iter().map(|id| async move {
        let ended = async { room.find(&id)?.stop().await };
        if let Err(error) = ended.await {
            tracing::warn!("command {} could not be ended: {error}", id.as_str());
        }
    });
    futures_util::stream::iter(ending).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

/// The command that a call of the ledger started, if it started one.
pub(crate) fn command_of(seal: &Seal, row: &ToolCallRow) -> Option<CommandId> {
    command_in(seal, row.effect_record.as_deref()?)
}

/// The command that a sealed effect record is about.
fn command_in(seal: &Seal, sealed: &[u8]) -> Option<CommandId> {
    let json = seal.reveal(sealed)?;
    match serde_json::from_str(&json).ok()? {
        EffectRecord::Command { process } => Some(process),
        _ => None,
    }
}

impl Inner {
    /// The commands that the calls of a conversation started.
    pub(crate) async fn commands_of(&self, session: &SessionId) -> Result<HashSet<CommandId>, StoreError> {
        let rows = self.shelf.store.tool_calls(session).await?;
        Ok(rows.iter().filter_map(|row| command_of(&self.shelf.seal, row)).collect())
    }

    /// Ends the commands of a conversation that is removed, and removes what they printed.
    pub(crate) async fn remove_commands(&self, commands: HashSet<CommandId>) {
        for id in commands {
            let removed = async { self.loop_commands.find(&id)?.remove().await };
            if let Err(error) = removed.await {
                tracing::warn!("command {} could not be removed: {error}", id.as_str());
            }
        }
    }

    /// Removes the directories of commands that nothing needs any more. Called before any turn continues.
    pub(crate) async fn sweep_commands(&self) -> Result<(), StoreError> {
        let listed = self.loop_commands.list().unwrap_or_default();
        if listed.is_empty() {
            return Ok(());
        }
        let mut turns = HashMap::new();
        for (closed_at, sealed) in self.shelf.store.effect_records().await? {
            turns.extend(command_in(&self.shelf.seal, &sealed).map(|id| (id, closed_at)));
        }
        let long_ago = now_ms() - KEPT_MS;
        for id in listed {
            let removed = async {
                let command = self.loop_commands.find(&id)?;
                let is_over = match (command.state()?, turns.get(&id)) {
                    (CommandState::Running | CommandState::Starting | CommandState::Copied, _) => false,
                    // No call has this command: its conversation is gone, or it was never recorded and cannot begin.
                    (_, None) => true,
                    (_, Some(closed_at)) => closed_at.is_some_and(|closed_at| closed_at < long_ago),
                };
                if is_over { command.remove().await } else { Ok(()) }
            };
            if let Err(error) = removed.await {
                tracing::warn!("the directory of command {} could not be removed: {error}", id.as_str());
            }
        }
        Ok(())
    }
}
