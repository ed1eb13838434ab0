//! The sections `[learning]` and `[auxiliary]`: learning from finished turns, and the model used for it. Read by the engine
//! when a turn ends and when a review runs.

use std::str::FromStr;

use super::AuxiliaryModel;
use crate::learning::progress::{DEFAULT_INTERVAL, ReviewIntervals, ReviewSubjects};
use crate::policy::UnknownName;

/// The section `[learning]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LearningConfig {
    /// Treatment of a review's proposals. Unset: they are applied.
    pub memory: Option<LearnMemory>,
    /// How skills of reviews are treated. Unset: they are proposed.
    pub skills: Option<LearnSkills>,
    /// After how many turns of a person a conversation is reviewed. Unset: 10.
    pub turns: Option<u64>,
    /// After how many calls of tools. Unset: 10.
    pub calls: Option<u64>,
}

impl LearningConfig {
    /// After how much work a review is due.
    pub fn intervals(&self) -> ReviewIntervals {
        ReviewIntervals {
            turns: self.turns.unwrap_or(DEFAULT_INTERVAL),
            calls: self.calls.unwrap_or(DEFAULT_INTERVAL),
        }
    }

    /// What conversations are reviewed for. The tools can be switched off as well (`[tools]`).
    pub fn subjects(&self) -> ReviewSubjects {
        ReviewSubjects {
            memory: self.memory != Some(LearnMemory::Off),
            skills: self.skills != Some(LearnSkills::Off),
        }
    }
}

/// The section `[auxiliary]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuxiliaryConfig {
    /// The model that reviews conversations. Unset: the one of the conversation.
    pub background_review: Option<AuxiliaryModel>,
    /// The model that summarises conversations. Unset: the one of the conversation.
    pub compression: Option<AuxiliaryModel>,
}

/// Treatment of a review's proposals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LearnMemory {
    /// Reviews do not ask what to remember.
    Off,
    /// It waits for a person.
    Propose,
    /// It is remembered at once, and can be undone.
    #[default]
    Apply,
}

impl LearnMemory {
    /// Every name.
    pub const NAMES: [&'static str; 3] = ["off", "propose", "apply"];
}

impl FromStr for LearnMemory {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "propose" => Ok(Self::Propose),
            "apply" => Ok(Self::Apply),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}

/// How new and improved skills of a review are treated. No value writes them without a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LearnSkills {
    /// Reviews do not ask about skills.
    Off,
    /// They wait for a person.
    #[default]
    Propose,
}

impl LearnSkills {
    /// Every name.
    pub const NAMES: [&'static str; 2] = ["off", "propose"];
}

impl FromStr for LearnSkills {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "propose" => Ok(Self::Propose),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}
