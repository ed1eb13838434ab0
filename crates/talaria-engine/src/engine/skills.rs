//! Skills: which there are, what models propose about them, and what a person decides.
//!
//! The files are the user's and shared with other programs. `library` reads the folders, `folder` one skill, `proposing`
//! stores proposals of models, `deciding` changes files, only after a person has agreed, `answers` serves reads, `snapshot`
//! is the index that a conversation starts with. Nothing here deletes a skill: it is moved out of the way and back. Called
//! by the tool, by the routes and by the opening of conversations.

mod answers;
mod deciding;
mod diff;
mod folder;
mod library;
mod proposing;
mod snapshot;

use std::path::{Path, PathBuf};

use talaria_core::ids::SessionId;
use talaria_core::skill::mention::mentions;
use talaria_home::clock::now_ms;
use talaria_store::{NewSkillUse, StoreError};

use crate::engine::Inner;
use crate::engine::memory::project_at;
pub(crate) use folder::{SkillFolder, resolve as resolve_folder};
pub(crate) use library::{FoundSkill, SkillLibrary};
pub(crate) use proposing::{SkillProposed, SkillRefused, SkillWanted};

/// Where the skills of a folder with an agent's files are, below a home or a project.
const AGENTS: &str = ".agents/skills";

/// Keeps writers apart.
#[derive(Default)]
pub(crate) struct SkillDesk {
    /// Locked while a file is compared and written.
    writing: tokio::sync::Mutex<()>,
}

/// Whose folder a skill is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkillPlace {
    /// The project's, on the way from its root to the working directory.
    Project,
    /// The user's own.
    User,
    /// Below Talaria's home, where imported skills are.
    Home,
    /// A further folder that the configuration names.
    Folder,
}

impl SkillPlace {
    /// Its word in the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Home => "home",
            Self::Folder => "folder",
        }
    }

    /// Does Codex find and list these itself? What it lists is in no other part of the prompt.
    pub(crate) fn is_listed_by_codex(self) -> bool {
        match self {
            Self::Project | Self::User => true,
            Self::Home | Self::Folder => false,
        }
    }
}

/// A folder with skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkillRoot {
    pub(crate) place: SkillPlace,
    /// The path without links, as far as it exists.
    pub(crate) path: PathBuf,
}

impl Inner {
    /// The folders with skills for a working directory. Of two skills with the same name the first counts.
    pub(crate) fn skill_roots(&self, cwd: Option<&str>) -> Vec<SkillRoot> {
        let mut paths = Vec::new();
        if let Some(cwd) = cwd {
            let project = PathBuf::from(project_at(cwd));
            let within = Path::new(cwd).ancestors().take_while(|directory| directory.starts_with(&project));
            paths.extend(within.map(|directory| (SkillPlace::Project, directory.join(AGENTS))));
        }
        paths.extend(self.user_home.as_ref().map(|home| (SkillPlace::User, home.join(AGENTS))));
        paths.push((SkillPlace::Home, self.home.skills_dir()));
        let further = self.config().skills.paths(self.user_home.as_deref());
        paths.extend(further.into_iter().map(|path| (SkillPlace::Folder, path)));
        let mut roots: Vec<SkillRoot> = Vec::new();
        for (place, path) in paths {
            let path = folder::resolve(&path);
            // A conversation in the user's home has one folder under two names.
            roots.retain(|root| root.path != path || place == SkillPlace::Project);
            if !roots.iter().any(|root| root.path == path) {
                roots.push(SkillRoot { place, path });
            }
        }
        roots
    }

    /// Reads the skills for a working directory.
    pub(crate) async fn skill_library(&self, cwd: Option<&str>) -> SkillLibrary {
        let roots = self.skill_roots(cwd);
        let read = tokio::task::spawn_blocking(move || SkillLibrary::read(&roots)).await;
        read.unwrap_or_else(|error| SkillLibrary {
            skills: Vec::new(),
            notes: vec![format!("skills cannot be read: {error}")],
        })
    }

    /// Returns the folders of the skills that a prompt names and that Codex loads for it.
    pub(crate) async fn skills_named_in(&self, prompt: &str, cwd: &str) -> Vec<PathBuf> {
        let names = mentions(prompt);
        if names.is_empty() {
            return Vec::new();
        }
        let library = self.skill_library(Some(cwd)).await;
        let found = names.into_iter().filter_map(|name| library.find(name));
        found.filter(|skill| skill.place.is_listed_by_codex()).map(|skill| skill.folder.clone()).collect()
    }

    /// Records that a step of a conversation read a skill.
    pub(crate) async fn note_skill_use(
        &self,
        folder: &Path,
        session: &SessionId,
        step: &str,
    ) -> Result<(), StoreError> {
        let folder = folder.to_string_lossy().into_owned();
        let new = NewSkillUse { folder, session: session.clone(), step: step.to_owned(), at: now_ms() };
        self.shelf.store.add_skill_use(new).await
    }
}

/// A new name that begins with `kind`.
fn mint(kind: &str) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{kind}-{}", &random[..8])
}
