//! The target file of Codex, and its validation: the directory must exist, since creating one would create a Codex
//! home where the user perhaps only mistyped a name.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use talaria_core::next_step::NextStep;

/// Codex's configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationTarget {
    home: PathBuf,
    file: PathBuf,
}

/// Why there is no such file to edit.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is nothing to derive it from.
    #[error("cannot find Codex's directory: neither CODEX_HOME nor HOME is set")]
    Unset,
    /// The directory does not exist.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// Something else is in its place.
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// It cannot be examined.
    #[error("cannot look at {}: {source}", path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl TargetError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        NextStep::from(match self {
            Self::Unset => "name it with --codex-home",
            Self::Missing(_) => {
                "make the directory if it is the right one, or name another with --codex-home"
            }
            Self::NotADirectory(_) | Self::Unreadable { .. } => "name Codex's directory with --codex-home",
        })
    }
}

impl MigrationTarget {
    /// Takes the directory that is named, or else `CODEX_HOME`, or else `.codex` in `HOME`; an empty variable counts as
    /// unset.
    pub fn resolve(
        named: Option<PathBuf>,
        codex_home: Option<OsString>,
        home: Option<OsString>,
    ) -> Result<Self, TargetError> {
        let given = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = named
            .or_else(|| given(codex_home))
            .or_else(|| given(home).map(|home| home.join(".codex")))
            .ok_or(TargetError::Unset)?;
        let home = std::path::absolute(&home).unwrap_or(home);
        let unreadable = |source| TargetError::Unreadable { path: home.clone(), source };
        match fs::metadata(&home) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(TargetError::Missing(home)),
            Err(error) => Err(unreadable(error)),
            Ok(found) if !found.is_dir() => Err(TargetError::NotADirectory(home)),
            Ok(_) => {
                let home = home.canonicalize().map_err(unreadable)?;
                Ok(Self { file: home.join("config.toml"), home })
            }
        }
    }

    /// Codex's directory, without links in it.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The file, which need not be there.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns whether a Codex was ever started on this directory. All supported versions leave this mark at their
    /// first start.
    pub(crate) fn was_used(&self) -> bool {
        self.home.join("installation_id").exists()
    }

    /// A short name for the file that is really edited, wherever links lead.
    pub(crate) fn key(&self) -> String {
        let real = real(&self.file, LINKS);
        digest(real.as_os_str().as_encoded_bytes())[..16].to_owned()
    }
}

/// Maximum number of links to follow; more are a cycle.
const LINKS: usize = 40;

/// The file with all links resolved, even if it does not exist yet.
fn real(file: &Path, links: usize) -> PathBuf {
    if let Ok(real) = file.canonicalize() {
        return real;
    }
    let parent = file.parent().unwrap_or(Path::new("/"));
    match fs::read_link(file) {
        Ok(link) if links > 0 => real(&parent.join(link), links - 1),
        _ => {
            let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
            parent.join(file.file_name().unwrap_or_default())
        }
    }
}

/// A digest in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_directory_wins_then_the_variable_then_the_users_home() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["named", "variable", "user/.codex"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let found = |named: Option<&str>, variable: Option<&str>| {
            let variable =
                variable.map(|name| if name.is_empty() { "".into() } else { root.join(name).into() });
            MigrationTarget::resolve(
                named.map(|name| root.join(name)),
                variable,
                Some(root.join("user").into()),
            )
            .unwrap()
            .home
        };
        assert_eq!(found(Some("named"), Some("variable")), root.join("named"));
        assert_eq!(found(None, Some("variable")), root.join("variable"));
        assert_eq!(found(None, Some("")), root.join("user/.codex"));
        assert_eq!(found(None, None), root.join("user/.codex"));
        assert!(matches!(MigrationTarget::resolve(None, None, None), Err(TargetError::Unset)));
    }

    #[test]
    fn a_directory_that_is_not_there_is_named_and_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("nowhere");
        let error = MigrationTarget::resolve(Some(missing.clone()), None, None).unwrap_err();
        assert_eq!(error.to_string(), format!("{} does not exist", missing.display()));
        assert!(!missing.exists());
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = MigrationTarget::resolve(Some(file.clone()), None, None).unwrap_err();
        assert_eq!(error.to_string(), format!("{} is not a directory", file.display()));
    }

    #[test]
    fn one_file_has_one_key_through_every_link_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let dotfile = folder.path().join("codex.toml");
        fs::write(&dotfile, "").unwrap();
        let target = |name: &str| {
            let home = folder.path().join(name);
            fs::create_dir(&home).unwrap();
            std::os::unix::fs::symlink(&dotfile, home.join("config.toml")).unwrap();
            MigrationTarget::resolve(Some(home), None, None).unwrap()
        };
        let before = target("a").key();
        assert_eq!(before, target("b").key());
        fs::remove_file(&dotfile).unwrap();
        assert_eq!(before, target("e").key(), "also before it is there");
        fs::create_dir(folder.path().join("c")).unwrap();
        let other = MigrationTarget::resolve(Some(folder.path().join("c")), None, None).unwrap();
        assert_ne!(other.key(), target("d").key());
    }
}
