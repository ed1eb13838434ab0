//! Skills and proposals about them: listing, reading, accepting, rejecting, archiving and restoring.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Which skills are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SkillQuery {
    /// A directory; the skills of its project are listed, too.
    pub cwd: Option<String>,
}

/// The skills that there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkillList {
    /// The skills, by name. Of two with the same name the first is used.
    pub skills: Vec<SkillItem>,
    /// Those that were archived and can be restored.
    pub archived: Vec<SkillArchived>,
    /// How many proposals wait.
    pub pending: usize,
    /// Notes for the user, such as skipped files.
    pub notes: Vec<String>,
}

/// One skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkillItem {
    /// Its name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Its folder.
    pub path: String,
    /// Where the folder is: `user`, `project`, `home` (of Talaria) or `folder` (of `skills.folders`).
    pub place: String,
    /// Who wrote it: `model` or `review` if Talaria wrote it after your yes, `other` (you, another program) if not.
    pub author: String,
    /// The conversation in which it was proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How often conversations read it.
    pub uses: i64,
    /// When it was read last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// It was neither read nor changed for 30 days.
    #[serde(default)]
    pub is_stale: bool,
}

/// One skill that was moved out of the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkillArchived {
    /// Its id: `arch-` and eight hex digits.
    pub id: String,
    /// The name of the skill.
    pub name: String,
    /// Where it was, and where `restore` moves it.
    pub path: String,
    /// Where it is now.
    pub kept: String,
    /// When it was archived.
    pub at: Timestamp,
}

/// A query for one skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SkillTextQuery {
    /// The name of the skill.
    pub name: String,
    /// A directory; the skills of its project are looked through, too.
    pub cwd: Option<String>,
    /// A file of the skill; `SKILL.md` without one.
    pub file: Option<String>,
}

/// One skill, with a file of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkillText {
    /// The skill.
    pub skill: SkillItem,
    /// The file.
    pub file: String,
    /// Its text, with secrets masked.
    pub text: String,
    /// Its other files.
    pub files: Vec<String>,
    /// Proposals about it, newest first.
    pub proposals: Vec<SkillProposal>,
}

/// Which proposals are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SkillProposalQuery {
    /// Those that were decided, too.
    pub all: bool,
}

/// A change of a skill that a model proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkillProposal {
    /// Its id: `skp-` and eight hex digits.
    pub id: String,
    /// `pending`, `accepted` or `rejected`.
    pub state: String,
    /// `create`, `change` or `archive`.
    pub op: String,
    /// The name of the skill.
    pub name: String,
    /// The folder of the skill.
    pub path: String,
    /// The file that would change.
    pub file: String,
    /// The change as a unified diff, with secrets masked; empty for an archival.
    pub diff: String,
    /// Why it should be read with care.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Why it is proposed, in the words of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it cannot be accepted as it is: the file changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Who proposed it: `model` or `review`.
    pub author: String,
    /// In which conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// In which turn of the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// When.
    pub at: Timestamp,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}

/// A skills command of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum SkillWish {
    /// Makes the change of a proposal.
    Accept {
        /// Its id, or the beginning of it.
        proposal: String,
    },
    /// Leaves the change of a proposal undone.
    Reject {
        /// Its id, or the beginning of it.
        proposal: String,
    },
    /// Moves a skill out of the way.
    Archive {
        /// Its name.
        name: String,
        /// A directory; the skills of its project are looked through, too.
        cwd: String,
    },
    /// Moves an archived skill back.
    Restore {
        /// The id of the archived skill, or its name if only one has it.
        archived: String,
    },
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkillDone {
    /// The name of the skill.
    pub name: String,
    /// The file that was written, or where the skill is now; missing if nothing was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id under which an archived skill is restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<String>,
}
