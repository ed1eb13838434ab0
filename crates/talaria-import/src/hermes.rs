//! Import from Hermes: settings, memories and skills are imported here, conversations (`conversations`) through
//! the server, which has the store.
//!
//! Hermes's home is only read (`source`). Every run is planned first (`config`, `files`), recorded (`record`), then
//! carried out (`HermesImport`), so that an interrupted run continues and every run can be undone (`undo`). No secret
//! is copied, and no file of the person is overwritten. Called by `talaria import hermes`. Blocks.

pub mod config;
pub mod conversations;
mod copy;
mod error;
mod files;
mod record;
mod source;
#[cfg(test)]
mod tests;
mod undo;

use std::fs::File;

use talaria_core::api::SessionOrigin;

use config::{SettingsPlan, plan};
pub use error::HermesError;
pub use files::{FilesPlan, SkippedFile};
use record::Record;
pub use source::{HermesHome, HermesSource};
use talaria_home::faults::blocking_point;
use talaria_home::home::{TalariaHome, ensure_dir};
use talaria_home::user_file::{self, UserFile};
pub use undo::{HermesUndo, UndoMode, UndoneFiles};

/// The name of the program, as rows and reports say it.
const PROGRAM: &str = SessionOrigin::HERMES;

/// The plan of an import, apart from conversations.
#[derive(Debug, Clone, Default)]
pub struct HermesPlan {
    /// The settings; none if Hermes has no `config.yaml`.
    pub config: Option<SettingsPlan>,
    /// Its memories.
    pub memories: FilesPlan,
    /// Its skills.
    pub skills: FilesPlan,
}

/// Plans an import. Changes nothing.
pub fn plan_import(home: &TalariaHome, source: &HermesSource) -> Result<HermesPlan, HermesError> {
    let own = user_file::read(&home.config_file())?.unwrap_or_default();
    Ok(HermesPlan {
        config: settings(source, &own, home)?,
        memories: files::plan(&source.root, "memories", home.root()),
        skills: files::plan(&source.root, "skills", home.root()),
    })
}

fn settings(
    source: &HermesSource,
    own: &str,
    home: &TalariaHome,
) -> Result<Option<SettingsPlan>, HermesError> {
    let Some(tree) = &source.settings else { return Ok(None) };
    let mut plan =
        plan(tree, own).map_err(|problem| HermesError::Own(home.config_file(), Box::new(problem)))?;
    for variable in &mut plan.variables {
        let is_there = source.variables.contains(&variable.name);
        variable.found_in = variable.found_in.take().or(is_there.then(|| ".env".to_owned()));
    }
    Ok(Some(plan))
}

/// A running import. Holds the import lock until it is dropped.
#[derive(Debug)]
pub struct HermesImport {
    home: TalariaHome,
    record: Record,
    /// True if an interrupted run may have imported conversations under this name.
    maybe_came: bool,
    _lock: File,
}

impl HermesImport {
    /// Begins an import, or resumes the interrupted one if it was of the same home.
    pub fn begin(home: &TalariaHome, source: &HermesSource) -> Result<Self, HermesError> {
        home.ensure()?;
        ensure_dir(&home.imports_dir())?;
        let lock = record::lock(&home.imports_dir())?;
        let broken_off = Record::last(&home.imports_dir())?
            .filter(|record| !record.finished && record.is_of(&source.root));
        let record = broken_off.unwrap_or_else(|| Record::new(&source.root));
        Ok(Self { home: home.clone(), maybe_came: record.sessions, record, _lock: lock })
    }

    /// The name under which conversations are imported.
    pub fn run(&self) -> &str {
        &self.record.run
    }

    /// Records the plan, then sets the settings and copies the files. Returns what was done.
    pub fn apply(&mut self, source: &HermesSource) -> Result<HermesPlan, HermesError> {
        let config = UserFile::lock(&self.home.config_file())?;
        let own = config.text().unwrap_or_default();
        let mut planned = HermesPlan {
            config: settings(source, own, &self.home)?,
            memories: files::plan(&source.root, "memories", self.home.root()),
            skills: files::plan(&source.root, "skills", self.home.root()),
        };
        if let Some(plan) = planned.config.as_ref().filter(|plan| !plan.taken.is_empty()) {
            self.record.made_config |= config.text().is_none();
            self.record.set(&plan.taken);
        }
        for files in [&planned.memories, &planned.skills] {
            self.record.expect(files, self.home.root());
        }
        // Set before conversations are imported: a killed run could not record it afterwards.
        self.record.sessions |= source.database.is_some();
        self.record.write(&self.home.imports_dir())?;
        blocking_point("after:import-recorded");
        match planned.config.as_ref().filter(|plan| !plan.taken.is_empty()) {
            Some(plan) => config.replace(&plan.text)?,
            None => drop(config),
        }
        blocking_point("after:import-settings");
        copy::sweep(self.record.files.keys(), self.home.root());
        for files in [&mut planned.memories, &mut planned.skills] {
            copy::all(files, self.home.root())?;
        }
        blocking_point("after:import-files");
        Ok(planned)
    }

    /// Marks the import as finished. An import that copied nothing is not recorded: there is nothing to undo.
    pub fn finish(mut self, sessions: HermesSessions) -> Result<(), HermesError> {
        blocking_point("before:import-finished");
        self.record.finished = true;
        self.record.sessions = self.maybe_came || sessions == HermesSessions::Imported;
        match self.record.is_empty() {
            true => self.record.remove(&self.home.imports_dir()),
            false => self.record.write(&self.home.imports_dir()),
        }
    }
}

/// Whether conversations were imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HermesSessions {
    /// Some were imported.
    Imported,
    /// None were.
    None,
}
