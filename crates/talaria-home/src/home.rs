//! Talaria's home directory: where it is, what lies in it, and the configuration file in it.
//!
//! Owns the layout below `TALARIA_HOME` and the mode of its directories (0700: transcripts and sockets are private).
//! Creates nothing until `ensure` is called. Does not touch `HOME` or `CODEX_HOME`. Called by every command at its
//! start.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use talaria_core::config::{self, Config, ConfigProblem, Parsed};
use talaria_core::next_step::NextStep;
use talaria_core::version::Version;

/// Why the home or its configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// There is nothing to derive the home from.
    #[error("cannot find Talaria's home: neither TALARIA_HOME nor HOME is set")]
    Unset,
    /// A directory could not be created.
    #[error("cannot create {}: {source}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Something that is no directory is in the place of one.
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The configuration file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Something that is no file is in the place of the configuration file.
    #[error("cannot read {}: it is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The configuration file is not text.
    #[error("cannot read {}: line {line} is not UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first line that is not UTF-8.
        line: usize,
    },
    /// The configuration file is not TOML.
    #[error("{}: {problem}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Where and why.
        problem: Box<ConfigProblem>,
    },
}

impl HomeError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        NextStep::from(match self {
            Self::Unset => "set TALARIA_HOME to a directory of your own",
            Self::Create { .. } | Self::NotADirectory(_) => {
                "set TALARIA_HOME to a directory that you may write"
            }
            Self::Read { .. } => "check the permissions of the file",
            Self::NotAFile(_) => "move it away, or put a TOML file in its place",
            Self::NotUtf8 { .. } | Self::NotToml { .. } => "correct that line, or move the file away",
        })
    }
}

/// The home directory of one user's Talaria. Holding one says nothing about its existence on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TalariaHome {
    root: PathBuf,
}

impl TalariaHome {
    /// Takes `TALARIA_HOME`, or else `.talaria` in `HOME`, from the environment of this process.
    pub fn from_env() -> Result<Self, HomeError> {
        Self::resolve(std::env::var_os("TALARIA_HOME"), std::env::var_os("HOME"))
    }

    /// Takes the two variables as values; an empty one counts as unset.
    pub fn resolve(talaria_home: Option<OsString>, home: Option<OsString>) -> Result<Self, HomeError> {
        let given = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = given(talaria_home)
            .or_else(|| given(home).map(|home| home.join(".talaria")))
            .ok_or(HomeError::Unset)?;
        // Children get these paths and have another working directory.
        let root = std::path::absolute(&root).map_err(|source| HomeError::Read { path: root, source })?;
        Ok(Self { root })
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Where the installed Codex versions lie side by side.
    pub fn codex_root(&self) -> PathBuf {
        self.root.join("codex")
    }

    /// Where one installed Codex version lies.
    pub fn codex_dir(&self, version: &Version) -> PathBuf {
        self.codex_root().join(version.to_string())
    }

    /// The database.
    pub fn store_file(&self) -> PathBuf {
        self.root.join("talaria.db")
    }

    /// Which home this is, for commands that must do without the database.
    pub fn identity_file(&self) -> PathBuf {
        self.root.join("home.json")
    }

    /// The lock of this home's engine.
    pub fn lock_file(&self) -> PathBuf {
        self.root.join("engine.lock")
    }

    /// The key with which prompts and answers are sealed until they are sent.
    pub fn key_file(&self) -> PathBuf {
        self.root.join("key")
    }

    /// Conversations as JSON files for other programs, where the user wants them.
    pub fn snapshots_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Texts that were too long for a model, in a directory for each conversation.
    pub fn long_texts_dir(&self) -> PathBuf {
        self.root.join("long-texts")
    }

    /// What `talaria demo` keeps.
    pub fn demo_dir(&self) -> PathBuf {
        self.root.join("demo")
    }

    /// The worktrees of tasks.
    pub fn worktrees_dir(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// The files that mirror the memory.
    pub fn memories_dir(&self) -> PathBuf {
        self.root.join("memories")
    }

    /// Skills of Talaria's own folder, which imports fill.
    pub fn skills_dir(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// The persona: text that every conversation starts with, if the user wrote one.
    pub fn persona_file(&self) -> PathBuf {
        self.root.join("SOUL.md")
    }

    /// Records of imports from other programs, for an undo.
    pub fn imports_dir(&self) -> PathBuf {
        self.root.join("imports")
    }

    /// Working directories and sockets of the Codex hosts.
    pub fn hosts_dir(&self) -> PathBuf {
        self.root.join("hosts")
    }

    /// The commands of the loop's tools, each with a directory of its own.
    pub fn commands_dir(&self) -> PathBuf {
        self.root.join("commands")
    }

    /// Permits to write the input of turns that are being sent.
    pub fn permits_dir(&self) -> PathBuf {
        self.root.join("run").join("unwritten")
    }

    /// Records of changes in Codex's configuration.
    pub fn migrations_dir(&self) -> PathBuf {
        self.root.join("migrations")
    }

    /// The mode of the home if others can look into it or write there; `None` if it is its owner's alone.
    pub fn mode_open_to_others(&self) -> Option<u32> {
        let mode = std::fs::metadata(&self.root).ok()?.mode() & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }

    /// Creates the home, for its owner only. A home that exists keeps its mode.
    pub fn ensure(&self) -> Result<(), HomeError> {
        ensure_dir(&self.root)
    }

    /// A path in the configuration: `~` is the user's home, and a relative path is seen from the file's own directory.
    pub fn user_path(&self, text: &str) -> PathBuf {
        let user_home = std::env::var_os("HOME").map(PathBuf::from);
        self.root.join(user_path(text, user_home.as_deref()))
    }

    /// Reads the configuration; a missing file is the default one.
    ///
    /// The problems are those of single keys. Errors among them mean keys that were left unset.
    pub fn load_config(&self) -> Result<(Config, Vec<ConfigProblem>), HomeError> {
        let path = self.config_file();
        let bytes = match read_regular(&path) {
            Ok(bytes) => bytes,
            Err(HomeError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Default::default());
            }
            Err(error) => return Err(error),
        };
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                return Err(HomeError::NotUtf8 { path, line });
            }
        };
        match config::parse(text) {
            Ok(Parsed { mut config, problems }) => {
                if let Some(user_home) = std::env::var("HOME").ok().filter(|home| !home.is_empty()) {
                    config.servers.iter_mut().for_each(|server| server.at_home(&user_home));
                }
                Ok((config, problems))
            }
            Err(problem) => Err(HomeError::NotToml { path, problem: Box::new(problem) }),
        }
    }
}

/// Creates a directory and its parents with mode 0700; one that exists is left as it is.
pub fn ensure_dir(path: &Path) -> Result<(), HomeError> {
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) => {
            Err(HomeError::NotADirectory(path.to_owned()))
        }
        Err(source) => Err(HomeError::Create { path: path.to_owned(), source }),
    }
}

/// Reads a path that a person wrote: a leading `~/` means their home directory.
pub fn user_path(text: &str, user_home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix('~'), user_home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// A pipe or a device in the place of the file would block or never end.
fn read_regular(path: &Path) -> Result<Vec<u8>, HomeError> {
    let read = |source| HomeError::Read { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(read)?.is_file() {
        return Err(HomeError::NotAFile(path.to_owned()));
    }
    std::fs::read(path).map_err(read)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn home() -> (tempfile::TempDir, TalariaHome) {
        let dir = tempfile::tempdir().unwrap();
        let home = TalariaHome::resolve(Some(dir.path().join("home").into()), None).unwrap();
        (dir, home)
    }

    fn with_config(bytes: &[u8]) -> (tempfile::TempDir, TalariaHome) {
        let (dir, home) = home();
        home.ensure().unwrap();
        std::fs::write(home.config_file(), bytes).unwrap();
        (dir, home)
    }

    #[test]
    fn talaria_home_wins_and_empty_counts_as_unset() {
        let root = |talaria: Option<&str>, home: Option<&str>| {
            TalariaHome::resolve(talaria.map(Into::into), home.map(Into::into)).map(|home| home.root)
        };
        assert_eq!(root(Some("/t"), Some("/h")).unwrap(), Path::new("/t"));
        assert_eq!(root(Some(""), Some("/h")).unwrap(), Path::new("/h/.talaria"));
        assert_eq!(root(None, Some("/h")).unwrap(), Path::new("/h/.talaria"));
        assert!(root(Some("relative"), None).unwrap().is_absolute());
        assert!(matches!(root(None, Some("")), Err(HomeError::Unset)));
    }

    #[test]
    fn the_home_is_private_and_created_only_on_demand() {
        let (_dir, home) = home();
        assert!(!home.root().exists());
        home.ensure().unwrap();
        home.ensure().unwrap();
        assert_eq!(std::fs::metadata(home.root()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(home.codex_dir(&Version::new(0, 166, 0)), home.root().join("codex/0.166.0"));
    }

    #[test]
    fn a_file_in_the_place_of_the_home_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_owned(), file.path().join("below")] {
            let home = TalariaHome::resolve(Some(path.clone().into()), None).unwrap();
            assert_eq!(
                home.ensure().unwrap_err().to_string(),
                format!("{} is not a directory", path.display())
            );
        }
    }

    #[test]
    fn a_missing_configuration_is_the_default_one() {
        assert_eq!(home().1.load_config().unwrap(), (Config::default(), Vec::new()));
    }

    #[test]
    fn a_configuration_is_loaded_with_its_problems() {
        let (_dir, home) = with_config(b"[codex]\nbin = \"/c\"\nsandbx = \"read-only\"\n");
        let (config, problems) = home.load_config().unwrap();
        assert_eq!(config.codex.bin.as_deref(), Some("/c"));
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn an_unusable_configuration_names_the_file_and_the_place() {
        let told = |home: &TalariaHome| home.load_config().unwrap_err().to_string();
        let (_dir, not_utf8) = with_config(b"[codex]\nbin = \"\xff\"\n");
        let file = not_utf8.config_file().display().to_string();
        assert_eq!(told(&not_utf8), format!("cannot read {file}: line 2 is not UTF-8"));

        let (_dir, not_toml) = with_config(b"[codex]\nbin = \n");
        let file = not_toml.config_file().display().to_string();
        assert!(told(&not_toml).starts_with(&format!("{file}: line 2, column 7: ")), "{}", told(&not_toml));

        let (_dir, directory) = home();
        ensure_dir(&directory.config_file()).unwrap();
        let file = directory.config_file().display().to_string();
        assert_eq!(told(&directory), format!("cannot read {file}: it is not a regular file"));
    }

    #[test]
    fn a_tilde_means_the_users_home() {
        let home = Some(Path::new("/h"));
        assert_eq!(user_path("~/bin/codex", home), Path::new("/h/bin/codex"));
        assert_eq!(user_path("~", home), Path::new("/h"));
        assert_eq!(user_path("~other/x", home), Path::new("~other/x"));
        assert_eq!(user_path("/abs", home), Path::new("/abs"));
        assert_eq!(user_path("~/x", None), Path::new("~/x"));
    }
}
