//! What people see and decide of skills through the API. A model has the tool; it calls none of this.

use std::collections::HashMap;
use std::path::Path;

use talaria_core::api::{
    Problem, ProblemCode, SkillArchived, SkillDone, SkillItem, SkillList, SkillProposal, SkillProposalQuery,
    SkillQuery, SkillText, SkillTextQuery, SkillWish,
};
use talaria_core::next_step::NextStep;
use talaria_core::skill::SKILL_FILE;
use talaria_core::skill::edit::SkillEdit;
use talaria_core::skill::usage::is_stale;
use talaria_guard::redact::redact;
use talaria_home::clock::now_ms;
use talaria_store::{SkillProposalRow, SkillProposalState, SkillSourceRow, StoreError};

use super::deciding::{SkillOutcome, stale};
use super::folder::{SkillFolder, resolve};
use super::library::FoundSkill;
use super::proposing::SkillRefused;
use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;

/// Maximum number of entries in one response.
const MOST: u32 = 1000;

impl Engine {
    /// Lists the skills for a directory.
    pub async fn skills(&self, query: SkillQuery) -> Result<SkillList, Problem> {
        self.require(Needs::SeeAll, "skills", "list the skills except with the tool talaria_skill").await?;
        let library = self.inner.skill_library(query.cwd.as_deref()).await;
        let facts = self.facts().await.map_err(|error| views::problem(&error))?;
        let archived = self.inner.archived_skills().await.map_err(problem)?;
        let pending = self.inner.shelf.store.skill_proposals(Some(SkillProposalState::Pending), MOST).await;
        let archived = archived.into_iter().map(|row| SkillArchived {
            id: row.id,
            name: row.name,
            path: row.folder,
            kept: row.kept,
            at: views::time(row.at),
        });
        Ok(SkillList {
            skills: library.skills.iter().map(|skill| facts.item(skill)).collect(),
            archived: archived.collect(),
            pending: pending.map_err(|error| views::problem(&error))?.len(),
            notes: library.notes,
        })
    }

    /// Shows a file of a skill, and what was proposed about it.
    pub async fn skill(&self, query: SkillTextQuery) -> Result<SkillText, Problem> {
        self.require(Needs::SeeAll, "skill", "read a skill except with the tool talaria_skill").await?;
        let library = self.inner.skill_library(query.cwd.as_deref()).await;
        let SkillTextQuery { name, file, .. } = query;
        let found = library.find(&name).cloned().ok_or_else(|| {
            Problem::new(ProblemCode::Unknown, format!("there is no skill {name:?}"))
                .next(NextStep::ListSkills)
        })?;
        let facts = self.facts().await.map_err(|error| views::problem(&error))?;
        let file = file.unwrap_or_else(|| SKILL_FILE.to_owned());
        let read = {
            let (folder, file) = (SkillFolder::at(&found.folder), file.clone());
            tokio::task::spawn_blocking(move || (folder.read(&file), folder.files())).await
        };
        let bad =
            |why: String| Problem::new(ProblemCode::BadRequest, format!("cannot show the skill: {why}"));
        let (text, files) = read.map_err(|error| bad(error.to_string()))?;
        let text = text.map_err(|error| bad(error.to_string()))?;
        let text = text.ok_or_else(|| bad(format!("there is no file {file}")))?;
        let proposals = self.proposals(None).await?;
        let path = found.folder.to_string_lossy();
        Ok(SkillText {
            skill: facts.item(&found),
            file,
            text: redact(&text).into_owned(),
            files,
            proposals: proposals.into_iter().filter(|proposal| proposal.path == path).collect(),
        })
    }

    /// Lists proposals, newest first.
    pub async fn skill_proposals(&self, query: SkillProposalQuery) -> Result<Vec<SkillProposal>, Problem> {
        self.require(Needs::SeeAll, "skill_proposals", "list proposals about skills").await?;
        self.proposals((!query.all).then_some(SkillProposalState::Pending)).await
    }

    /// Changes skills for a person.
    pub async fn change_skills(&self, wish: SkillWish) -> Result<SkillDone, Problem> {
        self.require(Needs::Admin, "change_skills", "change skills except with the tool talaria_skill")
            .await?;
        let done = match wish {
            SkillWish::Accept { proposal } => self.inner.accept_skill(&proposal).await,
            SkillWish::Reject { proposal } => self.inner.reject_skill(&proposal).await,
            SkillWish::Archive { name, cwd } => self.inner.archive_skill(&name, &cwd).await,
            SkillWish::Restore { archived } => self.inner.restore_skill(&archived).await,
        };
        let SkillOutcome { name, path, archived } = done.map_err(problem)?;
        Ok(SkillDone { name, path: path.map(|path| path.to_string_lossy().into_owned()), archived })
    }

    async fn proposals(&self, state: Option<SkillProposalState>) -> Result<Vec<SkillProposal>, Problem> {
        let rows = self.inner.shelf.store.skill_proposals(state, MOST).await;
        let rows = rows.map_err(|error| views::problem(&error))?;
        let shown = tokio::task::spawn_blocking(move || rows.into_iter().map(proposal).collect()).await;
        shown.map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))
    }

    async fn facts(&self) -> Result<SkillFacts, StoreError> {
        let sources = self.inner.shelf.store.skill_sources().await?;
        let mut usage: HashMap<String, (i64, i64)> = HashMap::new();
        for row in self.inner.shelf.store.skill_usage().await? {
            // A command names a folder as its model typed it.
            let folder = resolve(Path::new(&row.folder)).to_string_lossy().into_owned();
            let (uses, last) = usage.entry(folder).or_default();
            *uses += row.uses;
            *last = (*last).max(row.last_at);
        }
        let sources = sources.into_iter().map(|row| (row.folder.clone(), row)).collect();
        let counted_since = self.inner.shelf.store.skill_uses_since().await?;
        Ok(SkillFacts { sources, usage, counted_since, now: now_ms() })
    }
}

/// Stored facts about the skills on disk.
struct SkillFacts {
    sources: HashMap<String, SkillSourceRow>,
    usage: HashMap<String, (i64, i64)>,
    /// Since when uses are on record.
    counted_since: i64,
    now: i64,
}

impl SkillFacts {
    fn item(&self, skill: &FoundSkill) -> SkillItem {
        let path = skill.folder.to_string_lossy().into_owned();
        let origin = self.sources.get(&path).map(|row| &row.origin);
        let usage = self.usage.get(&path);
        SkillItem {
            name: skill.name.clone(),
            description: redact(&skill.description).into_owned(),
            place: skill.place.word().to_owned(),
            author: origin.map_or("other", |origin| origin.author.as_str()).to_owned(),
            session: origin.and_then(|origin| origin.session.as_ref()).map(ToString::to_string),
            uses: usage.map_or(0, |(uses, _)| *uses),
            used_at: usage.map(|(_, last)| views::time(*last)),
            is_stale: is_stale(self.now, usage.map(|(_, last)| *last), skill.changed_at, self.counted_since),
            path,
        }
    }
}

fn proposal(row: SkillProposalRow) -> SkillProposal {
    let op = match serde_json::from_str(&row.edit) {
        Ok(SkillEdit::Archive) => "archive",
        _ if row.base_digest.is_none() => "create",
        _ => "change",
    };
    let stale = (row.state == SkillProposalState::Pending).then(|| stale(&row)).flatten();
    SkillProposal {
        stale,
        state: row.state.as_str().to_owned(),
        op: op.to_owned(),
        author: row.origin.author.as_str().to_owned(),
        session: row.origin.session.map(|id| id.to_string()),
        turn: row.origin.turn,
        at: views::time(row.at),
        decided_at: row.decided_at.map(views::time),
        id: row.id,
        name: row.name,
        path: row.folder,
        file: row.file,
        diff: row.diff,
        warning: row.warning,
        reason: row.reason,
    }
}

fn problem(refused: SkillRefused) -> Problem {
    match refused {
        SkillRefused::Request(why) => {
            Problem::new(ProblemCode::Unknown, format!("nothing was changed: {why}"))
                .next(NextStep::ListSkills)
        }
        SkillRefused::Conflict(why) => {
            Problem::new(ProblemCode::Conflict, format!("nothing was changed: {why}"))
                .next(NextStep::ListSkillProposals)
        }
        SkillRefused::Store(error) => views::problem(&error),
    }
}
