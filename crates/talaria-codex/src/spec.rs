//! What to start as a host, and from which environment.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use talaria_core::version::Version;

use super::environment::{self, Overlay};
use super::key::{self, HostKey};
use super::locate::CodexBinary;
use super::transport::HostTransport;

/// What to start.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// The program.
    pub binary: PathBuf,
    /// Its version.
    pub version: Version,
    /// Where Codex keeps its things; `None` leaves it to the environment.
    pub codex_home: Option<PathBuf>,
    /// Where hosts have their private directories.
    pub hosts: PathBuf,
    /// Talaria's home, which is hidden from its sandboxes; `None` for a host that belongs to none.
    pub home: Option<PathBuf>,
    /// How to talk to it.
    pub transport: HostTransport,
    /// A directory that the npm launcher prepends to PATH (it contains `rg`), when the launcher is not used.
    pub path_dir: Option<PathBuf>,
    /// The environment that its own is made from.
    pub base: Surroundings,
    /// More variables for its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// More arguments for `codex app-server`.
    pub arguments: Vec<OsString>,
    /// Variables that MCP servers refer to: with another value of one, another host is needed.
    pub referred: BTreeSet<String>,
}

/// The environment of the caller that needs a host: this process's, or that of a command which asked this process for
/// one. It is never written anywhere, nor shown.
#[derive(Clone, Default)]
pub struct Surroundings(Option<Arc<[(OsString, OsString)]>>);

impl Surroundings {
    /// The environment of this process, as it is when a host is started.
    pub fn own() -> Self {
        Self::default()
    }

    /// Another environment.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(Some(variables.into_iter().collect()))
    }

    /// Whether this is the environment of this process, because no command asked.
    pub fn is_own(&self) -> bool {
        self.0.is_none()
    }

    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        match &self.0 {
            None => std::env::var_os(name),
            Some(variables) => {
                variables.iter().find(|(existing, _)| existing == name).map(|(_, value)| value.clone())
            }
        }
    }

    /// All of it.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        self.0.as_ref().map_or_else(|| std::env::vars_os().collect(), |variables| variables.to_vec())
    }
}

impl fmt::Debug for Surroundings {
    /// Without names and values: there are secrets among them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Surroundings(own)"),
            Some(variables) => write!(f, "Surroundings({} variables)", variables.len()),
        }
    }
}

impl HostSpec {
    /// The usual way to start a Codex that was found.
    pub fn new(codex: &CodexBinary, codex_home: Option<PathBuf>, hosts: PathBuf) -> Self {
        Self {
            binary: codex.path.clone(),
            version: codex.version.clone(),
            codex_home,
            hosts,
            home: None,
            transport: if codex.version.has_unix_socket() {
                HostTransport::UnixSocket
            } else {
                HostTransport::Stdio
            },
            path_dir: codex.path_dir.clone(),
            base: Surroundings::own(),
            environment: Vec::new(),
            arguments: Vec::new(),
            referred: BTreeSet::new(),
        }
    }

    /// What makes another host as good as this one.
    pub fn key(&self) -> HostKey {
        let composed = self.compose("", Path::new(""));
        let value = |name: &str| lookup(&composed, &self.environment, name).map(PathBuf::from);
        HostKey {
            binary: self.binary.clone(),
            version: self.version.to_string(),
            codex_home: value("CODEX_HOME").or_else(|| Some(value("HOME")?.join(".codex"))),
            environment: key::digest(&composed, &self.referred, &self.environment),
        }
    }

    /// A variable of a host's environment. `TMPDIR` is empty where each host has its own directory.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        lookup(&self.compose("", Path::new("")), &self.environment, name).filter(|value| !value.is_empty())
    }

    /// The whole environment of a host.
    pub(crate) fn environment_of(&self, nonce: &str, private_tmp: &Path) -> Vec<(OsString, OsString)> {
        let mut environment = self.compose(nonce, private_tmp);
        environment.extend(self.environment.iter().cloned());
        environment
    }

    fn compose(&self, nonce: &str, private_tmp: &Path) -> Vec<(OsString, OsString)> {
        let overlay = Overlay {
            codex_home: self.codex_home.as_deref(),
            path_dir: self.path_dir.as_deref(),
            nonce,
            private_tmp,
        };
        environment::compose(self.base.variables().into_iter(), &overlay)
    }
}

fn lookup(composed: &[(OsString, OsString)], added: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    let found = composed.iter().chain(added).rev().find(|(existing, _)| existing == name);
    found.map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(base: &[(&str, &str)]) -> HostSpec {
        let base = base.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        HostSpec {
            binary: "/bin/codex".into(),
            version: Version::new(0, 166, 0),
            codex_home: None,
            hosts: "/h".into(),
            home: None,
            transport: HostTransport::UnixSocket,
            path_dir: None,
            base: Surroundings::of(base),
            environment: Vec::new(),
            arguments: Vec::new(),
            referred: BTreeSet::new(),
        }
    }

    #[test]
    fn the_same_home_under_two_names_is_one_key_and_another_login_is_another() {
        let implied = spec(&[("HOME", "/me")]).key();
        assert_eq!(implied.codex_home.as_deref(), Some(Path::new("/me/.codex")));
        assert_eq!(spec(&[("HOME", "/me"), ("CODEX_HOME", "/me/.codex")]).key(), implied);
        let told = HostSpec { codex_home: Some("/me/.codex".into()), ..spec(&[("HOME", "/me")]) };
        assert_eq!(told.key(), implied);
        assert_ne!(spec(&[("HOME", "/me"), ("OPENAI_API_KEY", "other")]).key(), implied);
        assert_eq!(spec(&[("HOME", "/me"), ("TALARIA_TOKEN", "x"), ("SHLVL", "2")]).key(), implied);
    }

    #[test]
    fn the_environment_of_a_spec_is_not_shown() {
        let shown = format!("{:?}", spec(&[("OPENAI_API_KEY", "sk-secret")]));
        assert!(!shown.contains("sk-secret") && shown.contains("1 variables"), "{shown}");
    }
}
