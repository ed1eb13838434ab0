//! Settings of this run: Talaria's home, its configuration file, and the Codex to use.

use std::path::PathBuf;

use talaria_codex::locate::{CodexBinary, CodexSearch, LocateError, locate};
use talaria_core::api::CodexProgram;
use talaria_core::config::{Config, ConfigProblem, Severity};
use talaria_core::version::{PINNED, Support, Version, support};
use talaria_home::home::TalariaHome;

use crate::trouble::{Trouble, complain, exit};

/// Settings of this run.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) home: TalariaHome,
    pub(crate) config: Config,
    pub(crate) problems: Vec<ConfigProblem>,
}

impl Settings {
    /// Reads the configuration; a file that does not parse ends the command.
    pub(crate) fn load() -> Result<Self, Trouble> {
        let unusable = |error: talaria_home::home::HomeError| {
            Trouble::new(exit::USAGE, "cannot use Talaria's configuration")
                .because(&error)
                .try_this(error.next_step())
        };
        let home = TalariaHome::from_env().map_err(unusable)?;
        let (config, problems) = home.load_config().map_err(unusable)?;
        Ok(Self { home, config, problems })
    }

    /// Reports problems in the file; an error among them ends the command.
    pub(crate) fn accept(self) -> Result<Self, Trouble> {
        let file = self.home.config_file();
        for problem in &self.problems {
            match problem.severity {
                // A server that is left out ends nothing: every conversation without it says so. Neither does a provider
                // that cannot be used.
                Severity::Error if is_about_one_entry(problem) => {
                    complain(&format!("warning: {}: {problem}\n", file.display()));
                }
                Severity::Warning => complain(&format!("warning: {}: {problem}\n", file.display())),
                Severity::Error => {
                    let what = format!("{} is not valid", file.display());
                    return Err(Trouble::new(exit::USAGE, what)
                        .because(problem)
                        .try_this("correct that line, or move the file away"));
                }
            }
        }
        Ok(self)
    }

    /// The directory with Codex's own files, if it is configured.
    pub(crate) fn codex_home(&self) -> Option<PathBuf> {
        self.config.codex.home.as_deref().map(|path| self.home.user_path(path))
    }

    /// Where to look for Codex.
    pub(crate) fn search(&self) -> CodexSearch {
        let explicit = self.config.codex.bin.as_deref().map(|path| self.home.user_path(path));
        CodexSearch::from_env(explicit, &self.home)
    }

    /// Finds Codex.
    pub(crate) async fn locate(&self) -> Result<CodexBinary, Trouble> {
        locate(&self.search()).await.map_err(|error| codex_trouble(&error))
    }

    /// Finds Codex, and warns about a version that was not tested.
    pub(crate) async fn codex(&self) -> Result<CodexBinary, Trouble> {
        let codex = self.locate().await?;
        warn_of_version(&codex.version);
        Ok(codex)
    }
}

fn is_about_one_entry(problem: &ConfigProblem) -> bool {
    let is_entry = |key: &str| ["mcp_servers.", "providers."].iter().any(|section| key.starts_with(section));
    problem.key.as_deref().is_some_and(is_entry)
}

/// The message if Codex cannot be found or used.
pub(crate) fn codex_trouble(error: &LocateError) -> Trouble {
    Trouble::new(exit::CODEX, "cannot use Codex").because(error).try_this(error.next_step())
}

/// How to log in to the Codex that is used.
pub(crate) const LOGIN_HINT: &str = "run `talaria login`";

/// Warns about a Codex whose version was not tested.
pub(crate) fn warn_of_version(version: &Version) {
    if let Some(note) = version_note(version) {
        complain(&format!("warning: {note}\n"));
    }
}

/// The same, for the Codex that the engine chose.
pub(crate) fn warn_of_program(codex: Option<&CodexProgram>) {
    if let Some(version) = codex.and_then(|codex| codex.version.parse().ok()) {
        warn_of_version(&version);
    }
}

/// Remark about a version of Codex, if any.
pub(crate) fn version_note(version: &Version) -> Option<String> {
    match support(version) {
        Support::Newer => Some(format!("Codex {version} is newer than {PINNED}, the newest that was tested")),
        Support::Untested => Some(format!(
            "Codex {version} is older than 0.130.0: it works over stdio, so a turn ends when Talaria does; \
             `talaria setup` installs {PINNED}"
        )),
        Support::Tested | Support::TooOld => None,
    }
}
