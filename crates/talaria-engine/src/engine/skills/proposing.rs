//! An edit of a skill by a model becomes a proposal: a row with the edit and its diff. No file changes here. A turn proposes with
//! the tool, a review with its answer.
//!
//! Secrets are masked before anything is decided or stored. The row keeps digests of the file instead of its text, so that a
//! secret in a file of the user gets into no row.

use talaria_core::memory::digest;
use talaria_core::memory::scan::flag;
use talaria_core::skill::diff::size;
use talaria_core::skill::edit::{SkillEdit, SkillRefusal, check_result};
use talaria_core::skill::name::{check_file, check_new_name};
use talaria_core::skill::{LONGEST_SKILL_FILE, SKILL_FILE};
use talaria_guard::redact::redact;
use talaria_home::clock::now_ms;
use talaria_store::{
    SkillOrigin, SkillProposalRow, SkillProposalState, SkillProposeResult, SkillReviewResult, StoreError,
};

use super::diff;
use super::folder::{SkillFileError, SkillFolder, resolve};
use super::{AGENTS, mint};
use crate::engine::Inner;

/// How many proposals wait at most: a model that repeats itself must not fill the store.
const MOST_PENDING: i64 = 100;

/// A wanted change.
#[derive(Clone, Debug)]
pub(crate) struct SkillWanted {
    /// The skill; a new one if there is none with this name.
    pub(crate) name: String,
    /// The file in it; `SKILL.md` without one.
    pub(crate) file: Option<String>,
    pub(crate) edit: SkillEdit,
    /// The working directory, whose project may have the skill.
    pub(crate) cwd: String,
}

/// What waits for a person now.
#[derive(Clone, Debug)]
pub(crate) struct SkillProposed {
    pub(crate) id: String,
    /// The same change waited already.
    pub(crate) is_repeat: bool,
    /// There is no such skill yet.
    pub(crate) is_new: bool,
    pub(crate) file: String,
    /// Lines that are added and removed.
    pub(crate) size: (usize, usize),
    /// A secret was masked.
    pub(crate) is_masked: bool,
    /// Why a person should look closely.
    pub(crate) warning: Option<String>,
}

/// A proposal before it is stored.
#[derive(Clone, Debug)]
pub(crate) struct SkillDraft {
    pub(crate) row: SkillProposalRow,
    is_new: bool,
    is_masked: bool,
}

/// Why nothing was done.
#[derive(Debug)]
pub(crate) enum SkillRefused {
    /// The caller can read why, and do something else.
    Request(String),
    /// The current file differs from the one that the caller read.
    Conflict(String),
    /// The database.
    Store(StoreError),
}

impl From<StoreError> for SkillRefused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SkillRefusal> for SkillRefused {
    fn from(refusal: SkillRefusal) -> Self {
        Self::Request(refusal.to_string())
    }
}

impl From<SkillFileError> for SkillRefused {
    fn from(error: SkillFileError) -> Self {
        Self::Conflict(error.to_string())
    }
}

impl Inner {
    /// Keeps a wanted change as a proposal. The same change again returns the proposal that waits.
    pub(crate) async fn propose_skill(
        &self,
        wanted: SkillWanted,
        origin: SkillOrigin,
    ) -> Result<SkillProposed, SkillRefused> {
        let SkillDraft { row, is_new, is_masked } = self.draft_skill(wanted, origin).await?;
        let (size, file, warning) = (size(&row.diff), row.file.clone(), row.warning.clone());
        let id = row.id.clone();
        let (id, is_repeat) = match self.shelf.store.propose_skill(row, MOST_PENDING).await? {
            SkillProposeResult::Added => (id, false),
            SkillProposeResult::Same { id } => (id, true),
            SkillProposeResult::Full { pending } => {
                return Err(SkillRefused::Request(format!(
                    "{pending} proposals wait for the user already; no more are kept until some are decided"
                )));
            }
        };
        Ok(SkillProposed { id, is_repeat, is_new, file, size, is_masked, warning })
    }

    /// Keeps what a review proposes, once.
    pub(crate) async fn keep_reviewed_skills(
        &self,
        review: &str,
        proposals: Vec<SkillProposalRow>,
    ) -> Result<SkillReviewResult, StoreError> {
        self.shelf.store.propose_reviewed_skills(review, proposals, MOST_PENDING).await
    }

    /// Tries a wanted change on the file as it is now.
    pub(crate) async fn draft_skill(
        &self,
        wanted: SkillWanted,
        origin: SkillOrigin,
    ) -> Result<SkillDraft, SkillRefused> {
        let SkillWanted { name, file, edit, cwd } = wanted;
        let file = file.unwrap_or_else(|| SKILL_FILE.to_owned());
        check_file(&file).map_err(|why| SkillRefused::Request(why.to_string()))?;
        let (edit, is_masked) = masked(edit)?;
        let found = self.skill_library(Some(&cwd)).await.find(&name).cloned();
        let folder = match &found {
            Some(skill) => skill.folder.clone(),
            None => self.new_folder(&name, &file, &edit)?,
        };
        let prepared = {
            let (folder, name, file, edit) = (folder.clone(), name.clone(), file.clone(), edit.clone());
            tokio::task::spawn_blocking(move || prepare(&folder, &name, &file, &edit)).await
        };
        let PreparedEdit { base_digest, after_digest, diff, flagged } =
            prepared.map_err(|error| SkillRefused::Conflict(error.to_string()))??;
        let warning = flagged.map(|why| format!("it looks like planted instructions: {why}"));
        let edit = serde_json::to_string(&edit)
            .map_err(|error| SkillRefused::Request(format!("the change cannot be stored: {error}")))?;
        let row = SkillProposalRow {
            id: mint("skp"),
            state: SkillProposalState::Pending,
            name,
            folder: folder.to_string_lossy().into_owned(),
            file,
            edit,
            diff,
            base_digest,
            after_digest,
            warning,
            reason: None,
            origin,
            at: now_ms(),
            decided_at: None,
        };
        Ok(SkillDraft { row, is_new: found.is_none(), is_masked })
    }

    /// Where a new skill would be.
    fn new_folder(
        &self,
        name: &str,
        file: &str,
        edit: &SkillEdit,
    ) -> Result<std::path::PathBuf, SkillRefused> {
        let request = |why: String| Err(SkillRefused::Request(why));
        if let Err(why) = check_new_name(name) {
            return request(format!("there is no such skill, and none can be made: {why}"));
        }
        match (edit, file) {
            (SkillEdit::Write { .. }, SKILL_FILE) => {}
            (SkillEdit::Write { .. }, _) => {
                return request(format!("there is no skill {name}; propose its SKILL.md first"));
            }
            _ => return request(format!("there is no skill {name}; op list shows those that there are")),
        }
        match &self.user_home {
            Some(home) => Ok(resolve(&home.join(AGENTS)).join(name)),
            None => request("the user has no home directory for skills (HOME is not set)".to_owned()),
        }
    }
}

/// An edit, compared with the current file.
struct PreparedEdit {
    base_digest: Option<String>,
    after_digest: Option<String>,
    diff: String,
    flagged: Option<&'static str>,
}

fn prepare(
    folder: &std::path::Path,
    name: &str,
    file: &str,
    edit: &SkillEdit,
) -> Result<PreparedEdit, SkillRefused> {
    let before = SkillFolder::at(folder).read(file)?;
    let after = edit.apply(before.as_deref())?;
    let mut diff = String::new();
    let mut flagged = None;
    if let Some(after) = &after {
        check_result(name, file, after)?;
        diff = diff::unified(&folder.join(file).to_string_lossy(), before.as_deref(), after);
        flagged = match edit {
            SkillEdit::Write { text } => flag(text),
            SkillEdit::Replace { replace, .. } => flag(replace),
            SkillEdit::Archive => None,
        };
    }
    Ok(PreparedEdit {
        base_digest: before.as_deref().map(digest),
        after_digest: after.as_deref().map(digest),
        diff,
        flagged,
    })
}

/// The same edit without secrets, and whether there were any.
fn masked(edit: SkillEdit) -> Result<(SkillEdit, bool), SkillRefused> {
    // A text that is too long to be stored is not scanned either.
    let check = |text: &str| match text.chars().count() {
        size if size > LONGEST_SKILL_FILE => Err(SkillRefusal::TooLong { size }),
        _ => Ok(()),
    };
    match edit {
        SkillEdit::Write { text } => {
            check(&text)?;
            let masked = redact(&text).into_owned();
            let is_masked = masked != text;
            Ok((SkillEdit::Write { text: masked }, is_masked))
        }
        SkillEdit::Replace { find, replace } => {
            check(&find)?;
            check(&replace)?;
            if redact(&find) != find {
                let why = "find has what looks like a secret; choose a part of the file without it";
                return Err(SkillRefused::Request(why.to_owned()));
            }
            let masked = redact(&replace).into_owned();
            let is_masked = masked != replace;
            Ok((SkillEdit::Replace { find, replace: masked }, is_masked))
        }
        SkillEdit::Archive => Ok((SkillEdit::Archive, false)),
    }
}
