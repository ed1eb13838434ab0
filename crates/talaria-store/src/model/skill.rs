//! Skills: proposed changes, origins, read counts, and archived skills.

use talaria_core::ids::SessionId;

use crate::model::origin::ChangeOrigin;
use crate::model::words::{SkillAuthor, SkillProposalState};

/// Who proposed a change.
pub type SkillOrigin = ChangeOrigin<SkillAuthor>;

/// A change of a skill that waits for a person, or was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillProposalRow {
    pub id: String,
    pub state: SkillProposalState,
    pub name: String,
    pub folder: String,
    pub file: String,
    /// The edit, as JSON.
    pub edit: String,
    pub diff: String,
    /// The file when it was proposed; missing if there was none.
    pub base_digest: Option<String>,
    /// The file once it is accepted; missing for an archival.
    pub after_digest: Option<String>,
    pub warning: Option<String>,
    /// Why it is proposed, in the words of the model.
    pub reason: Option<String>,
    pub origin: SkillOrigin,
    pub at: i64,
    pub decided_at: Option<i64>,
}

/// Result of an attempt to propose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillProposeResult {
    /// It waits.
    Added,
    /// The same change waits already, under this id.
    Same { id: String },
    /// This many wait already.
    Full { pending: i64 },
}

/// The stored proposals of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillReviewResult {
    /// Those that the review made, also in an earlier attempt.
    pub proposals: Vec<SkillProposalRow>,
    /// How many were not kept because too many wait.
    pub refused: usize,
}

/// How a proposal is decided, and what is recorded with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillDecision {
    pub proposal: String,
    pub state: SkillProposalState,
    /// Whether the skill is new, so that its origin is recorded.
    pub makes_skill: bool,
    pub at: i64,
}

/// Result of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillDecisionResult {
    Recorded,
    /// It was decided before. Nothing was written.
    Decided {
        state: SkillProposalState,
    },
}

/// Origin of a skill that Talaria wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSourceRow {
    pub folder: String,
    pub proposal: String,
    pub origin: SkillOrigin,
    pub at: i64,
}

/// A step of a conversation that read a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSkillUse {
    pub folder: String,
    pub session: SessionId,
    /// The runtime's name for the step. The same one again is the same use.
    pub step: String,
    pub at: i64,
}

/// How often a skill was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillUsageRow {
    pub folder: String,
    pub uses: i64,
    pub last_at: i64,
}

/// A skill that was moved out of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillArchiveRow {
    pub id: String,
    pub name: String,
    pub folder: String,
    pub kept: String,
    pub at: i64,
    pub restored_at: Option<i64>,
}
