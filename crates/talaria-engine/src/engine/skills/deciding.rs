//! Decisions of a person: accept or reject a proposal, archive or restore a skill.
//!
//! A file is written before the row says so, and only if it is what the proposal was made for. Accepting again after a crash
//! finds the file written and records it. An archival is a row before the folder moves; which of the two places has the
//! folder says what happened.

use std::path::{Path, PathBuf};

use talaria_core::memory::digest;
use talaria_core::skill::SKILL_FILE;
use talaria_core::skill::edit::{SkillEdit, check_result};
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_store::{
    SkillArchiveRow, SkillDecision, SkillDecisionResult, SkillProposalRow, SkillProposalState,
};

use super::folder::SkillFolder;
use super::mint;
use super::proposing::SkillRefused;
use crate::engine::Inner;

/// The folder next to a skill that archived skills are moved to. Hidden, so that no program lists its content.
const ARCHIVE: &str = ".archive";

/// Result of a decision.
#[derive(Debug, Default)]
pub(crate) struct SkillOutcome {
    pub(crate) name: String,
    /// The file that was written, or where the skill is now.
    pub(crate) path: Option<PathBuf>,
    /// The id under which it can be restored.
    pub(crate) archived: Option<String>,
}

impl Inner {
    /// Makes the change of a proposal.
    pub(crate) async fn accept_skill(&self, id: &str) -> Result<SkillOutcome, SkillRefused> {
        let _writing = self.skills.writing.lock().await;
        let row = self.waiting_proposal(id).await?;
        let edit: SkillEdit = serde_json::from_str(&row.edit)
            .map_err(|error| SkillRefused::Conflict(format!("{id} cannot be read: {error}")))?;
        let outcome = match edit {
            SkillEdit::Archive => self.archive_proposed(&row).await?,
            edit => {
                let written = {
                    let row = row.clone();
                    faults::point("before:skill-written").await;
                    blocking(move || write(&row, &edit)).await?
                };
                faults::point("after:skill-written").await;
                SkillOutcome { name: row.name.clone(), path: Some(written), archived: None }
            }
        };
        let makes_skill = row.file == SKILL_FILE && row.base_digest.is_none() && row.after_digest.is_some();
        self.decide(&row, SkillProposalState::Accepted, makes_skill).await?;
        faults::point("after:skill-decided").await;
        Ok(outcome)
    }

    /// Leaves the change of a proposal undone.
    pub(crate) async fn reject_skill(&self, id: &str) -> Result<SkillOutcome, SkillRefused> {
        let _writing = self.skills.writing.lock().await;
        let row = self.waiting_proposal(id).await?;
        self.decide(&row, SkillProposalState::Rejected, false).await?;
        Ok(SkillOutcome { name: row.name, ..SkillOutcome::default() })
    }

    /// Moves a skill out of the way.
    pub(crate) async fn archive_skill(&self, name: &str, cwd: &str) -> Result<SkillOutcome, SkillRefused> {
        let _writing = self.skills.writing.lock().await;
        let found = self.skill_library(Some(cwd)).await.find(name).cloned();
        let found = found.ok_or_else(|| SkillRefused::Request(format!("there is no skill {name}")))?;
        self.move_away(name, &found.folder).await
    }

    /// Moves an archived skill back. It is named by its id, or by its name if only one has it.
    pub(crate) async fn restore_skill(&self, typed: &str) -> Result<SkillOutcome, SkillRefused> {
        let _writing = self.skills.writing.lock().await;
        let rows = self.archived_skills().await?;
        let mut named = rows.iter().filter(|row| row.name == typed);
        let by_name = named.next().filter(|_| named.next().is_none());
        let row = rows.iter().find(|row| row.id == typed).or(by_name);
        let row = row.cloned().ok_or_else(|| {
            SkillRefused::Request(format!("no archived skill, or more than one, is named {typed}"))
        })?;
        let folder = PathBuf::from(&row.folder);
        if SkillFolder::at(&folder).exists() {
            return Err(SkillRefused::Conflict(format!("{} is there; archive it first", row.folder)));
        }
        let (kept, target) = (PathBuf::from(&row.kept), folder.clone());
        blocking(move || Ok(SkillFolder::at(&kept).move_to(&target)?)).await?;
        faults::point("after:skill-restored").await;
        self.shelf.store.restore_skill(&row.id, now_ms()).await?;
        Ok(SkillOutcome { name: row.name, path: Some(folder), archived: None })
    }

    /// The skills that are archived now: their folder is where the row says.
    pub(crate) async fn archived_skills(&self) -> Result<Vec<SkillArchiveRow>, SkillRefused> {
        let rows = self.shelf.store.skill_archives().await?;
        blocking(move || {
            let is_there = |row: &SkillArchiveRow| {
                row.restored_at.is_none() && SkillFolder::at(Path::new(&row.kept)).exists()
            };
            Ok(rows.into_iter().filter(is_there).collect())
        })
        .await
    }

    async fn archive_proposed(&self, row: &SkillProposalRow) -> Result<SkillOutcome, SkillRefused> {
        let folder = PathBuf::from(&row.folder);
        if SkillFolder::at(&folder).exists() {
            return self.move_away(&row.name, &folder).await;
        }
        // A crash may have come between the move and the row of the proposal.
        let moved = self.archived_skills().await?.into_iter().find(|kept| kept.folder == row.folder);
        let moved = moved.ok_or_else(|| {
            SkillRefused::Conflict(format!("{} is not there any more; reject the proposal", row.folder))
        })?;
        let path = Some(PathBuf::from(moved.kept));
        Ok(SkillOutcome { name: moved.name, path, archived: Some(moved.id) })
    }

    async fn move_away(&self, name: &str, folder: &Path) -> Result<SkillOutcome, SkillRefused> {
        let id = mint("arch");
        let own = folder.file_name().unwrap_or_default().to_string_lossy();
        let kept = folder.parent().unwrap_or(folder).join(ARCHIVE).join(format!("{own}-{id}"));
        let row = SkillArchiveRow {
            id: id.clone(),
            name: name.to_owned(),
            folder: folder.to_string_lossy().into_owned(),
            kept: kept.to_string_lossy().into_owned(),
            at: now_ms(),
            restored_at: None,
        };
        self.shelf.store.add_skill_archive(row).await?;
        faults::point("before:skill-archived").await;
        let (folder, target) = (folder.to_owned(), kept.clone());
        blocking(move || Ok(SkillFolder::at(&folder).move_to(&target)?)).await?;
        faults::point("after:skill-archived").await;
        Ok(SkillOutcome { name: name.to_owned(), path: Some(kept), archived: Some(id) })
    }

    /// The proposal that an id, or its beginning, names, if it waits.
    async fn waiting_proposal(&self, typed: &str) -> Result<SkillProposalRow, SkillRefused> {
        let row = self.proposal_named(typed).await?;
        match row.state {
            SkillProposalState::Pending => Ok(row),
            state => Err(SkillRefused::Conflict(format!("{} was {} before", row.id, state.as_str()))),
        }
    }

    async fn proposal_named(&self, typed: &str) -> Result<SkillProposalRow, SkillRefused> {
        let unknown = || SkillRefused::Request(format!("there is no proposal {typed}"));
        if let Some(row) = self.shelf.store.skill_proposal(typed).await? {
            return Ok(row);
        }
        let pending = self.shelf.store.skill_proposals(Some(SkillProposalState::Pending), 1000).await?;
        let mut named = pending.into_iter().filter(|row| typed.len() > 4 && row.id.starts_with(typed));
        let first = named.next().ok_or_else(unknown)?;
        if named.next().is_some() {
            return Err(SkillRefused::Request(format!("several proposals begin with {typed}")));
        }
        Ok(first)
    }

    async fn decide(
        &self,
        row: &SkillProposalRow,
        state: SkillProposalState,
        makes_skill: bool,
    ) -> Result<(), SkillRefused> {
        let decision = SkillDecision { proposal: row.id.clone(), state, makes_skill, at: now_ms() };
        match self.shelf.store.decide_skill(decision).await? {
            SkillDecisionResult::Recorded => Ok(()),
            SkillDecisionResult::Decided { state } => {
                Err(SkillRefused::Conflict(format!("{} was {} before", row.id, state.as_str())))
            }
        }
    }
}

/// Says why a proposal does not fit the file any more.
pub(super) fn stale(row: &SkillProposalRow) -> Option<String> {
    let now = match SkillFolder::at(Path::new(&row.folder)).read(&row.file) {
        Ok(text) => text.as_deref().map(digest),
        Err(error) => return Some(error.to_string()),
    };
    // An archival takes the skill as it is.
    let fits = row.after_digest.is_none() || now == row.base_digest || now == row.after_digest;
    (!fits).then(|| {
        format!(
            "{} changed since this was proposed; reject it and ask for the change again",
            Path::new(&row.folder).join(&row.file).display()
        )
    })
}

fn write(row: &SkillProposalRow, edit: &SkillEdit) -> Result<PathBuf, SkillRefused> {
    let folder = SkillFolder::at(Path::new(&row.folder));
    let now = folder.read(&row.file)?;
    let now_digest = now.as_deref().map(digest);
    // An earlier attempt wrote it and was killed.
    if now.is_some() && now_digest == row.after_digest {
        return Ok(Path::new(&row.folder).join(&row.file));
    }
    if let Some(why) = stale(row) {
        return Err(SkillRefused::Conflict(why));
    }
    let after = edit.apply(now.as_deref())?.unwrap_or_default();
    check_result(&row.name, &row.file, &after)?;
    Ok(folder.write(&row.file, now.as_deref(), &after)?)
}

async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, SkillRefused> + Send + 'static,
) -> Result<T, SkillRefused> {
    let ran = tokio::task::spawn_blocking(run).await;
    ran.unwrap_or_else(|error| Err(SkillRefused::Conflict(error.to_string())))
}
