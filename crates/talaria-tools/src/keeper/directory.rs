//! The private directory of one command: its files, and how they are written so that a reader sees them whole or not at all.
//!
//! `spec.json` says what runs, `keeper.json` which process keeps it, `output-N` what it printed, `in`, `done` and `refused`
//! what is sent to it, `bell` wakes the keeper, `status.json` says how it ended. Everything is its owner's alone.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, FileType, Mode};
use rustix::process::geteuid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use talaria_home::boot;

use super::COMMAND_MARK;
use super::record::{Claim, CommandEnd, KeptCommandSpec, StoredSpec};

const SPEC: &str = "spec.json";
const CLAIM: &str = "keeper.json";
const STATUS: &str = "status.json";
const BELL: &str = "bell";
/// The sub-directories of messages: waiting, passed on, and not accepted by the command.
pub(super) const WAITING: &str = "in";
pub(super) const PASSED_ON: &str = "done";
pub(super) const REFUSED: &str = "refused";

/// Names a command: sixteen hex digits. The model uses it to name a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommandId(String);

impl CommandId {
    /// A new name that no other command has.
    pub(super) fn random() -> Self {
        let mut name = uuid::Uuid::new_v4().simple().to_string();
        name.truncate(16);
        Self(name)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a process of this command has in its environment: `name=value`.
    pub(super) fn mark(&self) -> String {
        format!("{COMMAND_MARK}={}", self.0)
    }
}

/// Says that a text names no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} does not name a process; its name is sixteen hex digits")]
pub struct NotACommandId(pub String);

impl FromStr for CommandId {
    type Err = NotACommandId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 16 && text.bytes().all(is_hex) {
            true => Ok(Self(text.to_owned())),
            false => Err(NotACommandId(text.to_owned())),
        }
    }
}

/// The directory of one command.
#[derive(Clone, Debug)]
pub(super) struct CommandDirectory {
    path: PathBuf,
    id: CommandId,
}

impl CommandDirectory {
    /// Creates the directory of a new command with everything that its keeper needs. Nothing runs.
    pub(super) fn create(root: &Path, spec: &KeptCommandSpec) -> io::Result<Self> {
        private_dir().recursive(true).create(root)?;
        let id = CommandId::random();
        let path = root.join(id.as_str());
        private_dir().create(&path)?;
        let directory = Self { path, id };
        directory.fill(spec).inspect_err(|_| directory.remove())?;
        Ok(directory)
    }

    fn fill(&self, spec: &KeptCommandSpec) -> io::Result<()> {
        for name in [WAITING, PASSED_ON, REFUSED] {
            private_dir().create(self.path.join(name))?;
        }
        rustix::fs::mknodat(CWD, self.path.join(BELL), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let metadata = fs::metadata(&self.path)?;
        let (device, inode) = (metadata.dev(), metadata.ino());
        let stored = StoredSpec { spec: spec.clone(), boot: boot::id(), device, inode };
        // Not synchronised: after a crash of the machine the boot is another one, and nothing is concluded from a file
        // that is missing.
        self.publish(SPEC, &serde_json::to_vec(&stored)?)
    }

    /// The directory of a command that was created before, by this or another engine.
    pub(super) fn at(root: &Path, id: &CommandId) -> Self {
        Self { path: root.join(id.as_str()), id: id.clone() }
    }

    /// The directory that a keeper was started with. Refused if it is not private or not where it was created.
    pub(super) fn open(path: &Path) -> io::Result<(Self, StoredSpec)> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let id = name.parse().map_err(io::Error::other)?;
        let directory = Self { path: path.to_owned(), id };
        let spec = directory.spec()?.ok_or(io::ErrorKind::NotFound)?;
        match directory.is_own(&spec) {
            true => Ok((directory, spec)),
            false => Err(io::Error::other("the directory is not private, or a copy of another one")),
        }
    }

    pub(super) fn id(&self) -> &CommandId {
        &self.id
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn bell(&self) -> PathBuf {
        self.path.join(BELL)
    }

    pub(super) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Is this the directory in which the spec was written, and its owner's alone? A copy of a home has other
    /// directories, and the processes of the original are not ours.
    pub(super) fn is_own(&self, spec: &StoredSpec) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| {
            found.is_dir()
                && found.mode() & 0o077 == 0
                && found.uid() == geteuid().as_raw()
                && (found.dev(), found.ino()) == (spec.device, spec.inode)
        })
    }

    pub(super) fn spec(&self) -> io::Result<Option<StoredSpec>> {
        self.read(SPEC)
    }

    pub(super) fn claim(&self) -> io::Result<Option<Claim>> {
        self.read(CLAIM)
    }

    pub(super) fn end(&self) -> io::Result<Option<CommandEnd>> {
        self.read(STATUS)
    }

    /// Claims the directory. Returns false if another process did before.
    pub(super) fn make_claim(&self, claim: &Claim) -> io::Result<bool> {
        let temporary = self.write_temporary(&serde_json::to_vec(claim)?, None)?;
        let linked = fs::hard_link(&temporary, self.path.join(CLAIM));
        let _ = fs::remove_file(&temporary);
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes how the command ended and waits for the disk: it is there after a crash of the machine too.
    pub(super) fn write_end(&self, end: &CommandEnd) -> io::Result<()> {
        let temporary = self.write_temporary(&serde_json::to_vec(end)?, Some(File::sync_all))?;
        fs::rename(temporary, self.path.join(STATUS))?;
        File::open(&self.path)?.sync_all()
    }

    /// Writes a file that readers see whole or not at all.
    pub(super) fn publish(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.write_temporary(bytes, None)?;
        fs::rename(temporary, self.path.join(name))
    }

    /// Removes the directory with everything in it. The next sweep removes what cannot be removed now.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    fn write_temporary(
        &self,
        bytes: &[u8],
        sync: Option<fn(&File) -> io::Result<()>>,
    ) -> io::Result<PathBuf> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!(".new-{}-{number}", std::process::id()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(bytes)?;
        sync.map_or(Ok(()), |sync| sync(&file))?;
        Ok(path)
    }

    /// Reads a file; none if there is no such file.
    fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        match fs::read(self.path.join(name)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn private_dir() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_sixteen_hex_digits_and_never_a_path() {
        let id = CommandId::random();
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for text in ["", "..", "../../../../etc/x", "ABCDEF0123456789", "abcdef012345678", "abcdef012345678/"]
        {
            assert!(text.parse::<CommandId>().is_err(), "{text}");
        }
    }
}
