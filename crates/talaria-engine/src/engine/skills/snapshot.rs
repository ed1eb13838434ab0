//! The skills index that a conversation starts with: those that its runtime does not list itself.

use talaria_core::skill::INDEX_CHARS;
use talaria_core::skill::index::{IndexedSkill, SkillIndex};

use super::{SkillLibrary, SkillRoot};
use crate::engine::Inner;

impl Inner {
    /// Returns the part of the prompt about skills, and what a person should know.
    pub(crate) async fn opening_skills(&self) -> (Option<String>, Vec<String>) {
        if self.config().tools.skill == Some(false) {
            return (None, Vec::new());
        }
        let roots: Vec<SkillRoot> =
            self.skill_roots(None).into_iter().filter(|root| !root.place.is_listed_by_codex()).collect();
        let read = tokio::task::spawn_blocking(move || SkillLibrary::read(&roots)).await;
        let library = match read {
            Ok(library) => library,
            Err(error) => {
                return (None, vec![format!("this conversation starts without a list of skills: {error}")]);
            }
        };
        let mut notes = library.notes;
        let listed = library.skills.iter();
        let listed = listed.map(|skill| IndexedSkill { name: &skill.name, description: &skill.description });
        let index = SkillIndex::of(listed, INDEX_CHARS);
        if let Some(rest) = index.rest() {
            notes.push(format!(
                "{rest} (a conversation starts with at most {INDEX_CHARS} characters of them)"
            ));
        }
        (index.prompt(), notes)
    }
}
