//! State and result of a review, for people and programs.

use serde::{Deserialize, Serialize};

use crate::skill::SKILL_FILE;
use crate::usage::Usage;

/// How far a review is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// It is on record and waits for a moment without a turn.
    Due,
    /// The model is asked, or its answer is being applied.
    Running,
    /// It has a result.
    Done,
    /// It has none and is not tried again.
    NotDone,
}

impl ReviewState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Due, Self::Running, Self::Done, Self::NotDone];

    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Running => "running",
            Self::Done => "done",
            Self::NotDone => "not_done",
        }
    }
}

/// Result of a review.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewReport {
    /// The first turn that it is about.
    pub first_turn: i64,
    /// The last one.
    pub last_turn: i64,
    /// Memory changes, applied or proposed.
    pub changes: Vec<LearnedChange>,
    /// What it proposes about skills; a person decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<LearnedSkill>,
    /// The proposal that waits for a person, if the changes do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Why the changes wait, or why the review was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// It has no result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_done: bool,
    /// Tokens used.
    pub usage: Usage,
}

/// One change of the memory that a review made or proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnedChange {
    /// The scope: `user`, `notes`, or `project:` and its directory.
    pub scope: String,
    /// The text before; none if it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text after; none if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The revision that `talaria memory undo` takes back; none while it waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
}

/// One change of a skill that a review proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnedSkill {
    /// The proposal, as `talaria skills diff` takes it.
    pub proposal: String,
    /// The name of the skill.
    pub name: String,
    /// The file.
    pub file: String,
    /// There is no such file yet.
    pub is_new: bool,
}

impl LearnedSkill {
    /// The proposal in a few words.
    pub fn words(&self) -> String {
        let Self { name, file, .. } = self;
        match (self.is_new, file.as_str()) {
            (true, SKILL_FILE) => format!("the new skill {name}"),
            (true, file) => format!("the file {file} for the skill {name}"),
            (false, _) => format!("a change of the skill {name}"),
        }
    }
}

impl LearnedChange {
    /// The change in a few words, without its text.
    pub fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "remembered",
            (Some(_), Some(_)) => "corrected",
            (Some(_), None) => "removed",
        }
    }

    /// The text that it is about.
    pub fn text(&self) -> &str {
        self.after.as_deref().or(self.before.as_deref()).unwrap_or_default()
    }
}

/// Names a stretch of turns.
pub fn turns(first: i64, last: i64) -> String {
    match first == last {
        true => format!("turn {last}"),
        false => format!("turns {first} to {last}"),
    }
}

impl ReviewReport {
    /// The review on one line, as a person reads it; none if there is nothing to say.
    pub fn line(&self) -> Option<String> {
        let turns = turns(self.first_turn, self.last_turn);
        let skills = self.skill_words();
        if self.not_done {
            let why = self.why.as_deref().unwrap_or("no reason was recorded");
            return Some(match skills {
                None => format!("the review of {turns} was not done: {why}"),
                Some(skills) => format!("nothing was remembered from {turns}: {why}; proposes {skills}"),
            });
        }
        match (self.memory_words(), skills) {
            (None, None) => None,
            (None, Some(skills)) => Some(format!("proposes from {turns}: {skills}")),
            (Some(memory), skills) => {
                let skills = skills.map(|skills| format!("; proposes {skills}")).unwrap_or_default();
                let verb = if self.proposal.is_some() { "proposes" } else { "learned" };
                Some(format!("{verb} from {turns}: {memory}{skills}"))
            }
        }
    }

    /// The changes of the memory, and what a person can do about them.
    fn memory_words(&self) -> Option<String> {
        if self.changes.is_empty() {
            return None;
        }
        let change = |change: &LearnedChange| {
            let scope = change.scope.split(':').next().unwrap_or_default();
            format!("{} ({scope}): {}", change.verb(), change.text())
        };
        let changes = self.changes.iter().map(change).collect::<Vec<_>>().join("; ");
        if let Some(id) = &self.proposal {
            let why = self.why.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
            return Some(format!("{changes} (waits{why}: talaria memory approve {id})"));
        }
        let revision = |change: &LearnedChange| change.revision.map(|revision| revision.to_string());
        let revisions: Vec<String> = self.changes.iter().filter_map(revision).collect();
        let undo = match &revisions[..] {
            [one] => one.clone(),
            several => format!("N, where N is {}", several.join(" or ")),
        };
        Some(format!("{changes} (undo: talaria memory undo {undo})"))
    }

    /// What waits of skills, and how a person looks at it.
    fn skill_words(&self) -> Option<String> {
        let word = |skill: &LearnedSkill| {
            format!("{} (waits for you: talaria skills diff {})", skill.words(), skill.proposal)
        };
        let words: Vec<String> = self.skills.iter().map(word).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_review_is_one_line() {
        let change = |before: Option<&str>, after: Option<&str>, revision| LearnedChange {
            scope: "project:/w".to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            revision,
        };
        let learned = ReviewReport {
            first_turn: 1,
            last_turn: 3,
            changes: vec![change(None, Some("uses just"), Some(7)), change(Some("a"), Some("b"), Some(8))],
            ..ReviewReport::default()
        };
        let proposed = ReviewReport {
            changes: vec![change(Some("old"), None, None)],
            proposal: Some("prop-1".to_owned()),
            why: Some("learning.memory is propose".to_owned()),
            first_turn: 2,
            last_turn: 2,
            ..ReviewReport::default()
        };
        let not_done = ReviewReport { not_done: true, why: Some("no answer".to_owned()), ..proposed.clone() };
        let skill = |name: &str, file: &str, is_new| LearnedSkill {
            proposal: format!("skp-{name}"),
            name: name.to_owned(),
            file: file.to_owned(),
            is_new,
        };
        let with_skill = ReviewReport { skills: vec![skill("release", SKILL_FILE, true)], ..learned.clone() };
        let only_skills = ReviewReport {
            skills: vec![skill("tests", SKILL_FILE, false), skill("poems", "references/form.md", true)],
            ..ReviewReport::default()
        };
        let in_part = ReviewReport { skills: with_skill.skills.clone(), ..not_done.clone() };
        let lines = [learned, proposed, not_done, with_skill, only_skills, in_part, ReviewReport::default()]
            .map(|report| report.line());
        expect![[r#"
            [
                Some(
                    "learned from turns 1 to 3: remembered (project): uses just; corrected (project): b (undo: talaria memory undo N, where N is 7 or 8)",
                ),
                Some(
                    "proposes from turn 2: removed (project): old (waits, because learning.memory is propose: talaria memory approve prop-1)",
                ),
                Some(
                    "the review of turn 2 was not done: no answer",
                ),
                Some(
                    "learned from turns 1 to 3: remembered (project): uses just; corrected (project): b (undo: talaria memory undo N, where N is 7 or 8); proposes the new skill release (waits for you: talaria skills diff skp-release)",
                ),
                Some(
                    "proposes from turn 0: a change of the skill tests (waits for you: talaria skills diff skp-tests); the file references/form.md for the skill poems (waits for you: talaria skills diff skp-poems)",
                ),
                Some(
                    "nothing was remembered from turn 2: no answer; proposes the new skill release (waits for you: talaria skills diff skp-release)",
                ),
                None,
            ]
        "#]]
        .assert_debug_eq(&lines);
    }
}
