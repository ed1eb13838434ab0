//! Which commands run in the background, in every conversation of the home: listed, stopped, and found again by the next
//! engine.
//!
//! The list changes with its events, in the same transaction (`journal`). `actor` follows the commands between turns. After
//! the end of an engine the next one decides: it asks an adopted host; the commands of every other host ended with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use talaria_core::api::{BackgroundInfo, BackgroundStopped, Problem, ProblemCode, StopBackground};
use talaria_core::background::BackgroundCommand;
use talaria_core::ids::{BackgroundId, ItemId, SessionId, ThreadId};
use talaria_core::next_step::NextStep;
use talaria_store::{Change, Store, StoreError};

use crate::engine::Engine;
use crate::engine::Inner;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;
use crate::engine::run::session_directory::Work;
use talaria_codex::client::CallError;
use talaria_codex::terminals::{OtherCommands, TerminalStop};
use talaria_home::clock::now_ms;

/// A background command as stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptCommand {
    #[serde(flatten)]
    pub(crate) command: BackgroundCommand,
    /// The turn that started it.
    pub(crate) turn: i64,
    pub(crate) thread: ThreadId,
    /// The nonce of the host that runs it.
    pub(crate) host: Option<String>,
    /// When it was left running, in milliseconds since 1970.
    pub(crate) since: i64,
    /// Was Codex asked to stop it?
    #[serde(default)]
    pub(crate) stopping: bool,
    /// Did Codex report to this engine that it runs? What it reported to another engine is no evidence.
    #[serde(skip)]
    pub(crate) confirmed: bool,
}

/// The background commands of every session.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackgroundList(Arc<Mutex<BTreeMap<SessionId, Vec<KeptCommand>>>>);

impl BackgroundList {
    /// Reads the commands that an earlier engine stored. Unreadable entries are skipped.
    pub(crate) async fn load(store: &Store) -> Result<Self, StoreError> {
        let rows = store.background().await?;
        let read = |(session, json): (SessionId, String)| Some((session, serde_json::from_str(&json).ok()?));
        Ok(Self(Arc::new(Mutex::new(rows.into_iter().filter_map(read).collect()))))
    }

    /// Adds a command, and says what changes in the store.
    pub(crate) fn add(&self, session: &SessionId, command: KeptCommand) -> Change {
        let mut list = self.lock();
        let commands = list.entry(session.clone()).or_default();
        commands.push(command);
        Change::Background(serde_json::to_string(commands).ok())
    }

    /// Removes a command, and says what changes in the store.
    pub(crate) fn remove(&self, session: &SessionId, id: &BackgroundId) -> Change {
        let mut list = self.lock();
        let Some(commands) = list.get_mut(session) else { return Change::Background(None) };
        commands.retain(|kept| kept.command.id != *id);
        if commands.is_empty() {
            list.remove(session);
            return Change::Background(None);
        }
        Change::Background(serde_json::to_string(commands).ok())
    }

    /// Remembers that Codex is asked to stop these commands: an end that follows is that stop, whatever its exit code.
    fn mark_stopping(&self, session: &SessionId, commands: &[KeptCommand]) {
        let mut list = self.lock();
        let kept = list.get_mut(session).into_iter().flatten();
        for one in kept.filter(|one| commands.iter().any(|stopped| stopped.command.id == one.command.id)) {
            one.stopping = true;
        }
    }

    /// Remembers that Codex said that this command runs.
    pub(crate) fn confirm(&self, session: &SessionId, id: &BackgroundId) {
        let mut list = self.lock();
        let kept = list.get_mut(session).into_iter().flatten();
        kept.filter(|one| one.command.id == *id).for_each(|one| one.confirmed = true);
    }

    /// Was Codex asked to stop this command?
    pub(crate) fn is_stopping(&self, session: &SessionId, id: &BackgroundId) -> bool {
        self.lock().get(session).into_iter().flatten().any(|kept| kept.command.id == *id && kept.stopping)
    }

    /// The background commands of a session.
    pub(crate) fn of(&self, session: &SessionId) -> Vec<KeptCommand> {
        self.lock().get(session).cloned().unwrap_or_default()
    }

    /// The turn that started a command, by the step.
    pub(crate) fn turn_of(&self, session: &SessionId, item: &ItemId) -> Option<i64> {
        let list = self.lock();
        list.get(session)?.iter().find(|kept| kept.command.item == *item).map(|kept| kept.turn)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn all(&self) -> Vec<(SessionId, KeptCommand)> {
        let list = self.lock();
        let each = |(session, commands): (&SessionId, &Vec<KeptCommand>)| {
            commands.iter().map(|kept| (session.clone(), kept.clone())).collect::<Vec<_>>()
        };
        list.iter().flat_map(each).collect()
    }

    fn sessions(&self) -> Vec<SessionId> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Vec<KeptCommand>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// The commands that run in the background, those first that have run longest.
    pub async fn background(&self) -> Result<Vec<BackgroundInfo>, Problem> {
        self.require(Needs::SeeAll, "background", "list background commands").await?;
        let mut found = Vec::new();
        for (session, kept) in self.inner.shelf.background.all() {
            found.push(self.inner.background_info(&session, &kept).await?);
        }
        found.sort_by_key(|info| info.since);
        Ok(found)
    }

    /// Stops a background command, named by its id or a unique beginning or end of it. An event reports its end.
    pub async fn stop_background(
        &self,
        id: &str,
        stop: StopBackground,
    ) -> Result<BackgroundStopped, Problem> {
        self.require(Needs::Admin, "stop_background", "stop background commands").await?;
        let (session, kept) = self.inner.find_background(id)?;
        let host = kept.host.as_deref().and_then(|nonce| self.inner.hosts.named(nonce));
        let Some(host) = host.filter(|host| host.is_alive()) else {
            let message = format!("{} ended with Codex", kept.command.id);
            return Err(Problem::new(ProblemCode::Conflict, message));
        };
        let all = self.inner.shelf.background.of(&session);
        let mut stopped = Vec::new();
        let wanted = if stop.all { all.clone() } else { vec![kept.clone()] };
        for one in &wanted {
            stopped.push(self.inner.background_info(&session, one).await?);
        }
        self.inner.shelf.background.mark_stopping(&session, &wanted);
        if stop.all {
            host.stop_terminals(&kept.thread).await.map_err(|error| not_stopped(&error))?;
            return Ok(BackgroundStopped { stopped, ended_before: false });
        }
        // A running turn may have its own commands.
        let is_alone = all.len() == 1
            && self.inner.last_turn(&session).await?.is_none_or(|turn| turn.settled_at.is_some());
        let others = if is_alone { OtherCommands::None } else { OtherCommands::Some };
        match host
            .stop_terminal(&kept.thread, &kept.command, others)
            .await
            .map_err(|error| not_stopped(&error))?
        {
            TerminalStop::Stopped => Ok(BackgroundStopped { stopped, ended_before: false }),
            TerminalStop::EndedBefore => Ok(BackgroundStopped { stopped, ended_before: true }),
            TerminalStop::OnlyAll => {
                let message = format!(
                    "Codex {} cannot stop {} alone: it stops every command of the conversation at once",
                    host.version(),
                    kept.command.id
                );
                let step = NextStep::StopAllBackground { command: kept.command.id.to_string() };
                Err(Problem::new(ProblemCode::Conflict, message).next(step))
            }
        }
    }
}

impl Inner {
    /// Lets the task of each session with background commands find out which of them still run.
    pub(crate) async fn take_up_background(self: &Arc<Self>) -> Result<(), StoreError> {
        for session in self.shelf.background.sessions() {
            self.shelf.store.take_lease(self.lease(&session), crate::engine::Takeover::Older).await?;
            self.give(&session, Work::Background);
        }
        Ok(())
    }

    fn find_background(&self, id: &str) -> Result<(SessionId, KeptCommand), Problem> {
        let all = self.shelf.background.all();
        let matching: Vec<_> = all
            .into_iter()
            .filter(|(_, kept)| {
                let name = kept.command.id.as_str();
                !id.is_empty() && (name.starts_with(id) || name.ends_with(id))
            })
            .collect();
        match <[_; 1]>::try_from(matching) {
            Ok([one]) => Ok(one),
            Err(none) if none.is_empty() => {
                let message = format!("no background command {id:?} is running");
                Err(Problem::new(ProblemCode::Unknown, message).next(NextStep::ListBackground))
            }
            Err(several) => {
                let names: Vec<&str> = several.iter().map(|(_, kept)| kept.command.id.as_str()).collect();
                let message = format!("{id:?} could be any of {}", names.join(", "));
                Err(Problem::new(ProblemCode::Ambiguous, message).try_this("type more of the id"))
            }
        }
    }

    async fn background_info(
        &self,
        session: &SessionId,
        kept: &KeptCommand,
    ) -> Result<BackgroundInfo, Problem> {
        let store = &self.shelf.store;
        let read = async {
            let row = store.session(session).await?;
            let turn = store.last_turns(session, Some(kept.turn + 1), 1).await?.pop();
            Ok::<_, StoreError>((row, turn))
        };
        let (row, turn) = read.await.map_err(|error| views::problem(&error))?;
        let host = kept.host.as_deref().and_then(|nonce| self.hosts.named(nonce)).map(|host| host.pid());
        Ok(BackgroundInfo {
            id: kept.command.id.clone(),
            session: session.clone(),
            task: row.and_then(|row| row.alias),
            turn: kept.turn,
            item: kept.command.item.clone(),
            command: kept.command.command.clone(),
            cwd: kept.command.cwd.clone(),
            since: views::time(kept.since),
            host,
            confirmed: kept.confirmed,
            after: turn.map_or(0, |turn| turn.first_seq - 1),
        })
    }
}

/// Keeps a command that was left running now.
pub(crate) fn keep(
    command: &BackgroundCommand,
    turn: i64,
    thread: ThreadId,
    host: Option<String>,
) -> KeptCommand {
    let command = command.clone();
    KeptCommand { command, turn, thread, host, since: now_ms(), stopping: false, confirmed: true }
}

fn not_stopped(error: &CallError) -> Problem {
    Problem::new(ProblemCode::Codex, format!("Codex did not stop the command: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(list: &BackgroundList) -> Vec<(String, bool)> {
        let all = list.all().into_iter();
        all.map(|(_, kept)| (kept.command.id.to_string(), kept.confirmed)).collect()
    }

    #[test]
    fn what_an_earlier_engine_left_is_not_known_to_run_before_codex_says_so() {
        let session = SessionId::new("s-1");
        let command = |id: &str| BackgroundCommand {
            id: BackgroundId::new(id),
            item: ItemId::new(id),
            command: "make serve".to_owned(),
            cwd: "/".to_owned(),
            process: None,
        };
        let list = BackgroundList::default();
        list.add(&session, keep(&command("bg-1"), 1, ThreadId::new("t"), None));
        let change = list.add(&session, keep(&command("bg-2"), 1, ThreadId::new("t"), None));
        assert!(list.all().iter().all(|(_, kept)| kept.confirmed), "its turn has just said that they run");
        let Change::Background(Some(json)) = change else { panic!("{change:?}") };

        let kept: Vec<KeptCommand> = serde_json::from_str(&json).unwrap();
        let next = BackgroundList(Arc::new(Mutex::new([(session.clone(), kept)].into())));
        assert_eq!(commands(&next), [("bg-1".to_owned(), false), ("bg-2".to_owned(), false)]);
        next.confirm(&session, &BackgroundId::new("bg-2"));
        assert_eq!(commands(&next), [("bg-1".to_owned(), false), ("bg-2".to_owned(), true)]);
    }
}
