//! What a review proposes about skills: never a changed file, always a row that a person decides about. All proposals of a
//! review are stored in one write under its name, so that they are made once.

use std::path::{Path, PathBuf};

use talaria_core::learning::proposal::ReviewAnswer;
use talaria_core::learning::suggestion::{KnownProposal, KnownSkill, KnownSkills, SkillSuggestion};
use talaria_core::review::LearnedSkill;
use talaria_core::skill::edit::SkillEdit;
use talaria_home::faults;
use talaria_store::{
    ReviewRow, SessionRow, SkillAuthor, SkillOrigin, SkillProposalRow, SkillProposalState, StoreError,
};

use super::{FOREIGN, ReviewApplied, name_of};
use crate::engine::Inner;
use crate::engine::skills::{SkillRefused, SkillWanted, resolve_folder};

/// How many earlier proposals are looked through.
const LOOKED_THROUGH: u32 = 300;

impl Inner {
    /// What there is of skills for a conversation: those of its directory, which of them it read, and what was proposed before.
    pub(super) async fn known_skills(&self, row: &SessionRow) -> Result<KnownSkills, StoreError> {
        let store = &self.shelf.store;
        let library = self.skill_library(Some(&row.cwd)).await;
        let read = store.skills_read_in(&row.id).await?;
        let read: Vec<PathBuf> = read.iter().map(|folder| resolve_folder(Path::new(folder))).collect();
        let skills = library.skills.iter().map(|skill| KnownSkill {
            name: skill.name.clone(),
            description: skill.description.clone(),
            is_read: read.contains(&skill.folder),
        });
        let roots = self.skill_roots(Some(&row.cwd));
        let is_here = |proposal: &SkillProposalRow| {
            roots.iter().any(|root| Path::new(&proposal.folder).starts_with(&root.path))
        };
        let proposals = store.skill_proposals(None, LOOKED_THROUGH).await?.into_iter();
        let proposals = proposals
            .filter(|proposal| proposal.state != SkillProposalState::Accepted && is_here(proposal))
            .map(|proposal| KnownProposal {
                is_rejected: proposal.state == SkillProposalState::Rejected,
                name: proposal.name,
                file: proposal.file,
            });
        Ok(KnownSkills { skills: skills.collect(), proposals: proposals.collect() })
    }

    /// Stores what a review proposes, and reports what waits.
    pub(super) async fn learn_skills(
        &self,
        row: &SessionRow,
        review: &ReviewRow,
        answer: &ReviewAnswer,
        turn: Option<String>,
        applied: &mut ReviewApplied,
    ) -> Result<(), StoreError> {
        let name = name_of(review);
        let origin = SkillOrigin {
            author: SkillAuthor::Review,
            session: Some(row.id.clone()),
            turn,
            call: Some(name.clone()),
        };
        let mut drafts = Vec::new();
        for suggestion in answer.skill_changes(&self.known_skills(row).await?) {
            match self.draft_suggestion(row, suggestion, origin.clone()).await {
                Ok(draft) => drafts.extend(draft),
                Err(SkillRefused::Store(error)) => return Err(error),
                // The model knew the file no more, or never: there is nothing that a person could decide.
                Err(SkillRefused::Request(why) | SkillRefused::Conflict(why)) => {
                    tracing::debug!("{name}: a change of a skill is left out: {why}");
                }
            }
        }
        faults::point("before:review-proposed").await;
        let stored = self.keep_reviewed_skills(&name, drafts).await?;
        faults::point("after:review-proposed").await;
        if stored.refused > 0 {
            applied.notes.push(format!(
                "skills: a review proposed {} more, which were not kept because too many wait: talaria skills proposals",
                stored.refused
            ));
        }
        let skills = stored.proposals.into_iter().map(|proposal| LearnedSkill {
            is_new: proposal.base_digest.is_none(),
            proposal: proposal.id,
            name: proposal.name,
            file: proposal.file,
        });
        applied.report.skills = skills.collect();
        Ok(())
    }

    /// Tries a suggestion on the file; none if a file is there that the model wants to create.
    async fn draft_suggestion(
        &self,
        row: &SessionRow,
        suggestion: SkillSuggestion,
        origin: SkillOrigin,
    ) -> Result<Option<SkillProposalRow>, SkillRefused> {
        let SkillSuggestion { name, file, edit, reason } = suggestion;
        let writes = matches!(edit, SkillEdit::Write { .. });
        let wanted = SkillWanted { name, file: Some(file), edit, cwd: row.cwd.clone() };
        let draft = self.draft_skill(wanted, origin).await?;
        if writes && draft.row.base_digest.is_some() {
            return Ok(None);
        }
        let foreign = row.review.is_foreign.then(|| FOREIGN.to_owned());
        let warning = match (draft.row.warning, foreign) {
            (Some(planted), Some(foreign)) => Some(format!("{planted}; {foreign}")),
            (planted, foreign) => planted.or(foreign),
        };
        Ok(Some(SkillProposalRow { warning, reason, ..draft.row }))
    }
}
