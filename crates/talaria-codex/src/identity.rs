//! Which home this is: distinguishes a home that was moved or restored from a copy, so that a copy never treats
//! processes of the original as its own.
//!
//! A home has an id, and a record of where it was: its real path, and device and inode of its directory. A rename keeps
//! the inode, a copy does not. The record is kept twice: in the database, which says whose turns these are, and in a
//! file (`home.json`), for commands that must do without the database. Every Codex host that the engine starts has the
//! id as the first half of its name, which is in the environment of everything below it. A home that turns out to be a
//! copy gets a new id, so that processes with the old one belong to the original. Reads files and processes;
//! `engine/copies` acts.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment::NONCE;
use talaria_home::descendants;
use talaria_home::home::TalariaHome;
use talaria_home::lock::is_locked;

/// The length of an id.
pub(crate) const ID: usize = 16;

/// Where a home was when it was last used, and under which id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeRecord {
    /// The random id of the home.
    pub id: String,
    path: String,
    device: u64,
    inode: u64,
    /// The home that this one was copied from, if it was.
    #[serde(default)]
    pub copy_of: Option<String>,
    /// A note for the user about how the home was moved or copied, and the engine that detected it.
    #[serde(default)]
    pub notice: Option<HomeNotice>,
}

/// What the engine detected about the home when it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeNotice {
    /// The pid of the engine that detected it.
    pub engine: u32,
    /// In a sentence.
    pub text: String,
}

/// How a home and its record fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// There is no record yet.
    New,
    /// It is where the record says.
    Same,
    /// The path is that of the record, the directory is another: it was restored in place.
    Restored,
    /// The directory is the same and has another path now, or nothing of this home is left at the path of the record.
    Moved {
        /// Where it was.
        from: PathBuf,
        /// Whether its directory was renamed, as opposed to copied to another file system.
        is_renamed: bool,
    },
    /// The original still exists at the path of the record, and nothing of it runs.
    Adopted {
        /// Where the original was.
        from: PathBuf,
    },
    /// The original is in use: its engine or its Codex runs.
    Copy {
        /// The original.
        of: PathBuf,
    },
}

impl HomeRecord {
    /// Describes a home as it is now, under this id.
    pub fn of(home: &TalariaHome, id: String) -> io::Result<Self> {
        let path = home.root().canonicalize()?;
        let metadata = fs::metadata(&path)?;
        let path = path.to_string_lossy().into_owned();
        let (device, inode) = (metadata.dev(), metadata.ino());
        Ok(Self { id, path, device, inode, copy_of: None, notice: None })
    }

    /// Reads the record of a home from its file; `None` if there is none that can be read.
    pub fn read(home: &TalariaHome) -> Option<Self> {
        read_file(&home.identity_file())
    }

    /// Replaces the file, whole or not at all.
    pub fn write(&self, home: &TalariaHome) -> io::Result<()> {
        let (path, fresh) = (home.identity_file(), home.root().join("home.json.new"));
        let _ = fs::remove_file(&fresh);
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(serde_json::to_string(self)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(fresh, path)
    }

    /// Compares a record with the home as it is now.
    pub fn compare(&self, home: &TalariaHome) -> io::Result<Relation> {
        let now = Self::of(home, self.id.clone())?;
        let is_same_path = now.path == self.path;
        let is_same_directory = (now.device, now.inode) == (self.device, self.inode);
        let from = PathBuf::from(&self.path);
        Ok(match (is_same_path, is_same_directory) {
            (true, true) => Relation::Same,
            (true, false) => Relation::Restored,
            (false, true) => Relation::Moved { from, is_renamed: true },
            (false, false) if !self.is_at(&from) => match self.host_elsewhere(&from) {
                Some(of) => Relation::Copy { of },
                None => Relation::Moved { from, is_renamed: false },
            },
            (false, false) if self.is_in_use(&from) => Relation::Copy { of: from },
            (false, false) => Relation::Adopted { from },
        })
    }

    /// Returns whether the home of this record is still at a path. One that has another id by now is another home.
    fn is_at(&self, path: &Path) -> bool {
        let Ok(home) = TalariaHome::resolve(Some(path.into()), None) else { return false };
        match Self::read(&home) {
            Some(there) => there.id == self.id,
            None => home.store_file().exists(),
        }
    }

    /// Returns whether the engine of this home runs there, or a Codex that it started.
    fn is_in_use(&self, path: &Path) -> bool {
        is_locked(&path.join("engine.lock")) || !descendants::carrying_prefix(NONCE, &self.id).is_empty()
    }

    /// Where a host of this home works whose directory still exists: the home itself was moved there while it was in
    /// use.
    #[cfg(target_os = "linux")]
    fn host_elsewhere(&self, _from: &Path) -> Option<PathBuf> {
        descendants::carrying_prefix(NONCE, &self.id).into_iter().find_map(|(entry, nonce)| {
            // Of a directory that is gone the link says so, and leads nowhere.
            let cwd = fs::read_link(format!("/proc/{}/cwd", entry.pid)).ok()?;
            let host = cwd.parent().filter(|host| cwd.ends_with("empty") && host.join("lock").exists())?;
            let home = host.parent().and_then(Path::parent).filter(|_| host.ends_with(&nonce));
            Some(home.unwrap_or(host).to_owned())
        })
    }

    /// Other systems do not report the working directory of a process: a living one counts as owned.
    #[cfg(not(target_os = "linux"))]
    fn host_elsewhere(&self, from: &Path) -> Option<PathBuf> {
        (!descendants::carrying_prefix(NONCE, &self.id).is_empty()).then(|| from.to_owned())
    }
}

/// Returns whether the home at this path is in use: its engine runs, or a Codex that it started.
pub fn is_in_use(path: &Path) -> bool {
    let home = TalariaHome::resolve(Some(path.into()), None).ok();
    match home.and_then(|home| HomeRecord::read(&home)) {
        Some(record) => record.is_in_use(path),
        None => is_locked(&path.join("engine.lock")),
    }
}

/// Which hosts are a home's own, by their names.
#[derive(Clone, Debug, Default)]
pub struct OwnHosts {
    ids: Vec<String>,
}

impl OwnHosts {
    /// The hosts of these ids.
    pub fn of(ids: impl IntoIterator<Item = String>) -> Self {
        Self { ids: ids.into_iter().filter(|id| id.len() == ID).collect() }
    }

    /// Reads the ids from the file of a home, for commands without an engine; a copy owns no hosts.
    pub fn of_home(home: &TalariaHome) -> Self {
        let Some(record) = HomeRecord::read(home) else { return Self::default() };
        match record.compare(home) {
            Ok(Relation::Same | Relation::Moved { .. }) => Self::of([record.id]),
            _ => Self::default(),
        }
    }

    /// The same for the home around a directory of hosts.
    pub(crate) fn around(hosts: &Path) -> Self {
        let home = hosts.parent().and_then(|root| TalariaHome::resolve(Some(root.into()), None).ok());
        home.map(|home| Self::of_home(&home)).unwrap_or_default()
    }

    /// Returns whether a host name carries the id of this home.
    pub fn has(&self, nonce: &str) -> bool {
        self.ids.iter().any(|id| nonce.len() > ID && nonce.starts_with(id.as_str()))
    }

    /// The ids themselves.
    pub(crate) fn ids(&self) -> &[String] {
        &self.ids
    }
}

/// Makes an id.
pub fn mint() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..ID].to_owned()
}

fn read_file(path: &Path) -> Option<HomeRecord> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(path: &Path) -> TalariaHome {
        let home = TalariaHome::resolve(Some(path.into()), None).unwrap();
        home.ensure().unwrap();
        home
    }

    fn recorded(path: &Path) -> (TalariaHome, HomeRecord) {
        let home = home(path);
        let record = HomeRecord::of(&home, mint()).unwrap();
        record.write(&home).unwrap();
        (home, record)
    }

    #[test]
    fn a_rename_is_told_from_a_copy() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        let (original, record) = recorded(&at("a"));
        assert_eq!(HomeRecord::read(&original), Some(record.clone()));
        assert_eq!(record.compare(&original).unwrap(), Relation::Same);
        let copy = home(&at("b"));
        fs::copy(original.identity_file(), copy.identity_file()).unwrap();
        assert_eq!(record.compare(&copy).unwrap(), Relation::Adopted { from: at("a") });
        assert!(OwnHosts::of_home(&copy).ids().is_empty(), "what is named so is the original's");
        assert!(OwnHosts::of_home(&original).has(&format!("{}0123456789abcdef", record.id)));

        fs::rename(at("a"), at("c")).unwrap();
        let renamed = Relation::Moved { from: at("a"), is_renamed: true };
        assert_eq!(record.compare(&home(&at("c"))).unwrap(), renamed);
        let gone = Relation::Moved { from: at("a"), is_renamed: false };
        assert_eq!(record.compare(&copy).unwrap(), gone, "nothing is left where it was");
    }

    #[test]
    fn a_home_whose_original_is_locked_is_a_copy() {
        let place = tempfile::tempdir().unwrap();
        let (original, record) = recorded(&place.path().canonicalize().unwrap().join("a"));
        let copy = home(&place.path().join("b"));
        let lock = File::create(original.lock_file()).unwrap();
        lock.lock().unwrap();
        assert_eq!(record.compare(&copy).unwrap(), Relation::Copy { of: original.root().to_owned() });
        drop(lock);
        assert!(matches!(record.compare(&copy).unwrap(), Relation::Adopted { .. }));
    }

    #[test]
    fn a_home_whose_original_has_a_living_codex_is_a_copy() {
        let place = tempfile::tempdir().unwrap();
        let (_, record) = recorded(&place.path().canonicalize().unwrap().join("a"));
        let copy = home(&place.path().join("b"));
        let nonce = format!("{}0123456789abcdef", record.id);
        let mut child = std::process::Command::new("sleep").arg("600").env(NONCE, nonce).spawn().unwrap();
        assert!(matches!(record.compare(&copy).unwrap(), Relation::Copy { .. }));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_copy_knows_an_original_that_was_moved_while_it_was_in_use() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (original, record) = recorded(&root.join("a"));
        let copy = home(&root.join("b"));
        let nonce = format!("{}0123456789abcdef", record.id);
        let host = original.hosts_dir().join(&nonce);
        fs::create_dir_all(host.join("empty")).unwrap();
        File::create(host.join("lock")).unwrap();
        let mut sleeper = std::process::Command::new("sleep");
        let mut child =
            sleeper.arg("600").env(NONCE, &nonce).current_dir(host.join("empty")).spawn().unwrap();
        fs::rename(root.join("a"), root.join("c")).unwrap();
        assert_eq!(record.compare(&copy).unwrap(), Relation::Copy { of: root.join("c") });
        fs::remove_dir_all(root.join("c")).unwrap();
        let gone = Relation::Moved { from: root.join("a"), is_renamed: false };
        assert_eq!(record.compare(&copy).unwrap(), gone, "what still runs belongs to no other home");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn another_home_in_the_place_of_the_original_is_none() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join("a");
        let (original, record) = recorded(&path);
        fs::remove_file(original.identity_file()).unwrap();
        HomeRecord::of(&original, mint()).unwrap().write(&original).unwrap();
        let copy = home(&place.path().join("b"));
        assert_eq!(record.compare(&copy).unwrap(), Relation::Moved { from: path, is_renamed: false });
    }
}
