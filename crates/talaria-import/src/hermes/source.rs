//! What lies in Hermes's home. Only read, never followed out of it but for the files that it names itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::config::{Tree, login_names, read, variable_names};

use super::HermesError;
use talaria_home::home::{TalariaHome, user_path};
use talaria_home::user_file;

/// Data that is not imported, with a description.
const STAYS: [(&str, &str); 7] = [
    ("SOUL.md", "its persona"),
    ("cron", "its timed tasks"),
    ("hooks", "its hooks"),
    ("plugins", "its plugins"),
    ("profiles", "further profiles, each a home of its own: --home"),
    ("pairing", "who may write to it"),
    ("codex_bridge.db", "its tasks for Codex: talaria import codex-bridge"),
];

/// Where Hermes keeps its things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HermesHome(PathBuf);

impl HermesHome {
    /// Takes the directory that was named, else `HERMES_HOME`, else `.hermes` in `HOME`.
    pub fn resolve(
        named: Option<&Path>,
        hermes_home: Option<OsString>,
        home: Option<OsString>,
    ) -> Result<Self, HermesError> {
        let given = |value: Option<OsString>| {
            value.filter(|value| !value.to_string_lossy().trim().is_empty()).map(PathBuf::from)
        };
        let home = given(home);
        let path = match (named, given(hermes_home), &home) {
            (Some(named), ..) => named.to_owned(),
            (None, Some(given), home) => user_path(&given.to_string_lossy(), home.as_deref()),
            (None, None, Some(home)) => home.join(".hermes"),
            (None, None, None) => return Err(HermesError::Unset),
        };
        Ok(Self(path))
    }

    /// Reads the home of Hermes. An invalid `config.yaml` is an error.
    pub fn read(&self, ours: &TalariaHome) -> Result<HermesSource, HermesError> {
        let root = self.0.canonicalize().map_err(|_| HermesError::NoHome(self.0.clone()))?;
        if !root.is_dir() {
            return Err(HermesError::NoHome(self.0.clone()));
        }
        if ours.root().canonicalize().is_ok_and(|ours| ours == root) {
            return Err(HermesError::Itself(root));
        }
        let database = Some(root.join("state.db")).filter(|path| path.symlink_metadata().is_ok());
        let config = root.join("config.yaml");
        let has_files = ["memories", "skills"].iter().any(|name| root.join(name).is_dir());
        if database.is_none() && !has_files && config.symlink_metadata().is_err() {
            return Err(HermesError::Foreign(root));
        }
        let settings = match user_file::read(&config)? {
            Some(text) => Some(read(&text).map_err(|bad| HermesError::Yaml { path: config, bad })?),
            None => None,
        };
        // Names are worth a look and no error: nothing of these files is taken over.
        let text = |name: &str| user_file::read(&root.join(name)).ok().flatten();
        let variables = text(".env").map(|text| variable_names(&text)).unwrap_or_default();
        let logins = text("auth.json").map(|text| login_names(&text));
        Ok(HermesSource { settings, variables, logins, database, stays: stays(&root), root })
    }
}

/// What lies in a home of Hermes, conversations apart.
#[derive(Debug, Clone)]
pub struct HermesSource {
    /// The directory, without links.
    pub root: PathBuf,
    /// Its settings; none if it has no `config.yaml`.
    pub settings: Option<Tree>,
    /// The names of the variables in its `.env`.
    pub variables: Vec<String>,
    /// The names of the logins in its `auth.json`; none if it has no such file.
    pub logins: Option<Vec<String>>,
    /// The file with its conversations.
    pub database: Option<PathBuf>,
    /// Other files that are not imported: name and description.
    pub stays: Vec<(&'static str, &'static str)>,
}

fn stays(root: &Path) -> Vec<(&'static str, &'static str)> {
    let has = |name: &str| match fs::metadata(root.join(name)) {
        // An empty directory is made by every start of Hermes.
        Ok(found) if found.is_dir() => {
            fs::read_dir(root.join(name)).is_ok_and(|mut entries| entries.next().is_some())
        }
        Ok(found) => found.len() > 0,
        Err(_) => false,
    };
    STAYS.into_iter().filter(|(name, _)| has(name)).collect()
}
