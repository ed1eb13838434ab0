//! All commands of a home: creates, starts, finds and clears them away.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use process_wrap::tokio::{CommandWrap, ProcessSession};
use tokio::process::Command;

use super::COMMAND_MARK;
use super::command::KeptCommand;
use super::directory::{CommandDirectory, CommandId};
use super::record::KeptCommandSpec;

/// The program that keeps a command; the directory of the command is its last argument.
#[derive(Clone, Debug)]
pub struct KeeperProgram {
    /// The program: our own.
    pub program: PathBuf,
    /// The arguments before the directory.
    pub arguments: Vec<OsString>,
}

/// The commands of one home.
#[derive(Clone, Debug)]
pub struct CommandRoom {
    root: PathBuf,
    keeper: KeeperProgram,
}

impl CommandRoom {
    /// The commands below this directory, which is created with the first one.
    pub fn new(root: &Path, keeper: KeeperProgram) -> Self {
        Self { root: root.to_owned(), keeper }
    }

    /// Prepares a command. Nothing runs: its name can be recorded before it is started.
    pub fn prepare(&self, spec: &KeptCommandSpec) -> io::Result<CommandId> {
        Ok(CommandDirectory::create(&self.root, spec)?.id().clone())
    }

    /// Starts the keeper of a prepared command with this environment. Must run inside a runtime, which reaps it.
    ///
    /// The keeper is detached: it does not end with this process. A command is started once; a second keeper ends at once.
    pub fn start(&self, id: &CommandId, environment: &[(OsString, OsString)]) -> io::Result<KeptCommand> {
        let directory = CommandDirectory::at(&self.root, id);
        let mut command = Command::new(&self.keeper.program);
        command.args(&self.keeper.arguments).arg(directory.path()).current_dir(directory.path());
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        command.env(COMMAND_MARK, id.as_str());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
        tokio::spawn(async move {
            // Only reaped: what it has to say is in its directory.
            let _ = child.wait().await;
        });
        KeptCommand::new(directory)
    }

    /// A command that was prepared before, by this or an earlier engine. Its state says whether it is still there.
    pub fn find(&self, id: &CommandId) -> io::Result<KeptCommand> {
        KeptCommand::new(CommandDirectory::at(&self.root, id))
    }

    /// Every command that has a directory.
    pub fn list(&self) -> io::Result<Vec<CommandId>> {
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let named = |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
        let mut ids: Vec<CommandId> = entries.filter_map(named).collect();
        ids.sort();
        Ok(ids)
    }

    /// Ends and removes every command that is not in `known`. Processes of a copied home are left alone.
    pub async fn sweep(&self, known: &HashSet<CommandId>) -> io::Result<usize> {
        let unknown: Vec<CommandId> = self.list()?.into_iter().filter(|id| !known.contains(id)).collect();
        for id in &unknown {
            self.find(id)?.remove().await?;
        }
        Ok(unknown.len())
    }
}
