//! Where the secrets of targets come from: a file that only this user can read, or an environment variable.
//!
//! Read again for each attempt, so that a changed file needs no restart. The error names the place, never the content.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use talaria_core::config::SecretPlace;

use super::NotifyError;
use talaria_home::home::user_path;

/// A longer file is the wrong file.
const LONGEST: u64 = 64 * 1024;

/// A secret; it is not shown by accident.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    /// Returns the secret itself.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The places that secrets are read from.
pub(super) struct Secrets {
    environment: Vec<(OsString, OsString)>,
    user_home: Option<PathBuf>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Takes the environment that variables are looked up in.
    pub(super) fn new(environment: &[(OsString, OsString)]) -> Self {
        let user_home = environment.iter().find(|(name, _)| name == "HOME");
        let user_home = user_home.map(|(_, value)| PathBuf::from(value));
        Self { environment: environment.to_vec(), user_home }
    }

    /// Reads a secret that must be there.
    pub(super) fn read(&self, place: &SecretPlace) -> Result<Secret, NotifyError> {
        let text = match (&place.file, &place.env) {
            (Some(file), _) => self.file(file)?,
            (None, Some(name)) => self.variable(name)?,
            (None, None) => {
                return Err(NotifyError::passing("no file or variable for the secret is configured"));
            }
        };
        match text.trim_end_matches(['\n', '\r']) {
            "" => Err(NotifyError::passing("the configured secret is empty")),
            secret => Ok(Secret(secret.to_owned())),
        }
    }

    /// Reads a secret if a place for it is configured.
    pub(super) fn find(&self, place: &SecretPlace) -> Result<Option<Secret>, NotifyError> {
        place.is_set().then(|| self.read(place)).transpose()
    }

    fn file(&self, text: &str) -> Result<String, NotifyError> {
        let path = user_path(text, self.user_home.as_deref());
        let shown = path.display();
        let looked = std::fs::metadata(&path);
        let looked = looked.map_err(|why| NotifyError::passing(format!("cannot read {shown}: {why}")))?;
        if !looked.is_file() || looked.len() > LONGEST {
            return Err(NotifyError::passing(format!("{shown} is not a file with a secret")));
        }
        if looked.mode() & 0o077 != 0 {
            let message = format!("{shown} can be read by others: run chmod 600 {shown}");
            return Err(NotifyError::passing(message));
        }
        std::fs::read_to_string(&path)
            .map_err(|why| NotifyError::passing(format!("cannot read {shown}: {why}")))
    }

    fn variable(&self, name: &str) -> Result<String, NotifyError> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found
            .and_then(|(_, value)| value.to_str().map(str::to_owned))
            .ok_or_else(|| NotifyError::passing(format!("the environment of the engine has no {name}")))
    }
}
