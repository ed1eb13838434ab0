//! Commands that outlive their turn: which of them still run, and how they are ended.
//!
//! An interrupt alone does not end them. A newer Codex lists background commands, and only those of this turn are
//! ended. An older one can only end everything of the thread, older commands included; that is reported, and not done
//! when the turn left nothing. Both report output and end of such a command after its turn. Commands that the older one
//! does not list are searched in the process table: a command that is not found there is not reported as running.

use std::fmt;

use talaria_codex_proto::wire::call::{TerminalsClean, TerminalsList, TerminalsTerminate, WireTerminal};
use talaria_core::background::{BackgroundCommand, UnendedCommand};
use talaria_core::ids::{BackgroundId, ItemId, ThreadId};
use talaria_guard::redact::redact;

use super::client::CallError;
use super::host::Host;
use talaria_home::descendants;

/// Maximum number of pages that are read of a list.
const PAGES: usize = 32;

/// Ended commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalsEnded {
    /// The turn had left nothing running.
    Nothing,
    /// These, and no others.
    Own {
        /// Their command lines.
        commands: Vec<String>,
    },
    /// Everything of the thread that ran in the background: this Codex does not report which turn started a command.
    All,
}

impl Host {
    /// Ends what runs in the background because of these items, the commands that a turn began and that did not end.
    /// Call it when the turn has ended; before that, Codex counts them as the turn's own.
    pub async fn end_terminals(
        &self,
        thread: &ThreadId,
        opened: &[ItemId],
    ) -> Result<TerminalsEnded, CallError> {
        if opened.is_empty() {
            return Ok(TerminalsEnded::Nothing);
        }
        if !self.version().lists_terminals() {
            self.call(&TerminalsClean { thread_id: thread.clone() }).await?;
            return Ok(TerminalsEnded::All);
        }
        let mut commands = Vec::new();
        for terminal in self.terminals(thread).await? {
            if !opened.contains(&terminal.item_id) {
                continue;
            }
            let end = TerminalsTerminate { thread_id: thread.clone(), process_id: terminal.process_id };
            if self.call(&end).await?.terminated {
                commands.push(terminal.command);
            }
        }
        Ok(if commands.is_empty() { TerminalsEnded::Nothing } else { TerminalsEnded::Own { commands } })
    }

    /// Returns which of these commands still run now that their turn has ended.
    pub async fn find_terminals(
        &self,
        thread: &ThreadId,
        commands: Vec<UnendedCommand>,
    ) -> Result<Vec<BackgroundCommand>, CallError> {
        let background = |UnendedCommand { item, command, cwd }: UnendedCommand, process| BackgroundCommand {
            id: mint_id(),
            item,
            command,
            cwd,
            process,
        };
        if !self.version().lists_terminals() {
            let lines = self.command_lines().await;
            let running = commands.into_iter().filter(|command| is_among(&command.command, &lines));
            return Ok(running.map(|command| background(command, None)).collect());
        }
        let listed = self.terminals(thread).await?;
        let found = commands.into_iter().filter_map(|command| {
            let process = listed.iter().find(|one| one.item_id == command.item)?.process_id.clone();
            Some(background(command, Some(process)))
        });
        Ok(found.collect())
    }

    /// The command lines of everything below this Codex.
    async fn command_lines(&self) -> Vec<String> {
        let pid = self.pid();
        tokio::task::spawn_blocking(move || descendants::command_lines_below(pid)).await.unwrap_or_default()
    }

    /// Returns which of these background commands still run, after a time without a connection to Codex.
    pub async fn still_running(
        &self,
        thread: &ThreadId,
        commands: &[BackgroundCommand],
    ) -> Result<Vec<BackgroundId>, CallError> {
        if self.version().lists_terminals() {
            let listed = self.terminals(thread).await?;
            let is_listed =
                |command: &&BackgroundCommand| listed.iter().any(|one| one.item_id == command.item);
            return Ok(commands.iter().filter(is_listed).map(|command| command.id.clone()).collect());
        }
        let lines = self.command_lines().await;
        let runs = |command: &&BackgroundCommand| is_among(&command.command, &lines);
        Ok(commands.iter().filter(runs).map(|command| command.id.clone()).collect())
    }

    /// Stops one background command. `others` says whether the thread has further ones: an older Codex can only stop
    /// all of them, so it then stops none.
    pub async fn stop_terminal(
        &self,
        thread: &ThreadId,
        command: &BackgroundCommand,
        others: OtherCommands,
    ) -> Result<TerminalStop, CallError> {
        match (&command.process, others) {
            (Some(process), _) => {
                let end = TerminalsTerminate { thread_id: thread.clone(), process_id: process.clone() };
                let reply = self.call(&end).await?;
                Ok(if reply.terminated { TerminalStop::Stopped } else { TerminalStop::EndedBefore })
            }
            (None, OtherCommands::None) => {
                self.call(&TerminalsClean { thread_id: thread.clone() }).await?;
                Ok(TerminalStop::Stopped)
            }
            (None, OtherCommands::Some) => Ok(TerminalStop::OnlyAll),
        }
    }

    /// Stops every background command of a thread.
    pub async fn stop_terminals(&self, thread: &ThreadId) -> Result<(), CallError> {
        self.call(&TerminalsClean { thread_id: thread.clone() }).await.map(drop)
    }

    async fn terminals(&self, thread: &ThreadId) -> Result<Vec<WireTerminal>, CallError> {
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let reply = self.call(&TerminalsList { thread_id: thread.clone(), cursor }).await?;
            all.extend(reply.data);
            cursor = reply.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(all)
    }
}

/// Whether a thread has further commands that would be stopped along with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherCommands {
    /// It has none.
    None,
    /// It has.
    Some,
}

/// The result of stopping one background command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalStop {
    /// Codex ended it; its end is reported.
    Stopped,
    /// It had ended already.
    EndedBefore,
    /// This Codex can only stop all of the thread.
    OnlyAll,
}

/// What follows the shell and its flag; the whole line if it is no shell call.
fn script_of(command: &str) -> &str {
    let is_flag = |word: &str| word.starts_with('-') && word.ends_with('c');
    let mut words = command.splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some(_), Some(flag), Some(script)) if is_flag(flag) => script,
        _ => command,
    }
}

/// Returns whether a command is among these command lines, compared without secrets and quoting.
fn is_among(command: &str, lines: &[String]) -> bool {
    let script = bare(script_of(command));
    lines.iter().any(|line| bare(&redact(line)).contains(&script))
}

/// A command line without quotes and blanks: Codex quotes it, a process has it in pieces.
fn bare(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace() && !['\'', '"', '\\'].contains(c)).collect()
}

fn mint_id() -> BackgroundId {
    let random = uuid::Uuid::new_v4().simple().to_string();
    BackgroundId::new(format!("bg-{}", &random[..6]))
}

impl fmt::Display for TerminalsEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no command was left running"),
            Self::Own { commands } => {
                write!(f, "stopped background commands of the turn: {}", commands.join("; "))
            }
            Self::All => f.write_str(
                "ended every command of the conversation that ran in the background; \
                 this Codex cannot distinguish those of the turn from older ones",
            ),
        }
    }
}
