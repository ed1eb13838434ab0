//! Learning from finished turns: which conversations count, what a review asks, and how its proposals are applied. `memory`
//! applies or proposes what to remember, `skills` only proposes. The task of a session runs the review
//! (`run/actor/reviewing`); nothing here talks to a model.

mod memory;
mod skills;

use talaria_core::config::Config;
use talaria_core::learning::progress::{ReviewProgress, ReviewSubjects};
use talaria_core::learning::proposal::ReviewAnswer;
use talaria_core::learning::question::ReviewQuestion;
use talaria_core::review::ReviewReport;
use talaria_store::{ReviewRow, SessionRow, StoreError, TurnRow};

use crate::engine::Inner;
use crate::engine::memory::{project_of, scopes_of, why_task_only_reads};

/// Why the proposals about a conversation wait that has read what strangers wrote.
const FOREIGN: &str = "the conversation read untrusted text (web pages, MCP servers or hooks)";

/// The result of applying an answer.
pub(crate) struct ReviewApplied {
    pub(crate) report: ReviewReport,
    /// What a person should know besides.
    pub(crate) notes: Vec<String>,
}

/// What conversations are reviewed for, as the configuration is now.
fn subjects(config: &Config) -> ReviewSubjects {
    let tools = ReviewSubjects {
        memory: config.tools.memory != Some(false),
        skills: config.tools.skill != Some(false),
    };
    config.learning.subjects().and(tools)
}

/// Why a review has nothing to ask any more; none if it has.
pub(crate) fn why_nothing_to_ask(asks: ReviewSubjects, config: &Config) -> Option<String> {
    if !asks.and(subjects(config)).is_empty() {
        return None;
    }
    let learns = config.learning.subjects();
    let off = |is_asked: bool, learns: bool, learning: &'static str, tool: &'static str| {
        is_asked.then_some(if learns { tool } else { learning })
    };
    let reasons = [
        off(asks.memory, learns.memory, "learning.memory is off", "tools.memory is off"),
        off(asks.skills, learns.skills, "learning.skills is off", "tools.skill is off"),
    ];
    Some(reasons.into_iter().flatten().collect::<Vec<_>>().join(", and "))
}

/// The name of a review in what it changes and proposes.
fn name_of(review: &ReviewRow) -> String {
    format!("review-{}", review.id)
}

impl Inner {
    /// What makes a review of a conversation due; none for one that is not reviewed. `owner` is that of a task.
    pub(crate) fn review_progress(
        &self,
        row: &SessionRow,
        owner: Option<&str>,
        turn: &TurnRow,
    ) -> Option<ReviewProgress> {
        let config = self.config();
        let learns = subjects(&config);
        if learns.is_empty() || why_task_only_reads(owner, &config).is_some() {
            return None;
        }
        Some(ReviewProgress::new(row.review, config.learning.intervals(), learns, !turn.ours))
    }

    /// The prompt for reviewing a conversation.
    pub(crate) async fn review_question(
        &self,
        row: &SessionRow,
        review: &ReviewRow,
    ) -> Result<String, StoreError> {
        let asks = review.asks.and(subjects(&self.config()));
        let entries = match asks.memory {
            true => {
                let task = self.shelf.store.task(&row.id).await?;
                Some(self.read_memory(&scopes_of(&project_of(row, task.as_ref()))).await?.0)
            }
            false => None,
        };
        let skills = match asks.skills {
            true => Some(self.known_skills(row).await?),
            false => None,
        };
        Ok(ReviewQuestion { memory: entries.as_deref(), skills: skills.as_ref() }.text())
    }

    /// Applies the answer to a review, or leaves it as proposals. Changes of an earlier attempt are detected and not repeated.
    pub(crate) async fn apply_review(
        &self,
        row: &SessionRow,
        review: &ReviewRow,
        answer: &ReviewAnswer,
    ) -> Result<ReviewApplied, StoreError> {
        let asks = review.asks.and(subjects(&self.config()));
        let report = ReviewReport {
            first_turn: review.first_turn,
            last_turn: review.last_turn,
            ..ReviewReport::default()
        };
        let mut applied = ReviewApplied { report, notes: Vec::new() };
        let turns = self.shelf.store.last_turns(&row.id, None, 1).await?;
        let turn = turns.last().and_then(|turn| turn.codex_turn.as_ref()).map(ToString::to_string);
        if asks.memory {
            self.learn_memory(row, review, answer, turn.clone(), &mut applied).await?;
        }
        if asks.skills {
            self.learn_skills(row, review, answer, turn, &mut applied).await?;
        }
        Ok(applied)
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::config;

    use super::*;

    #[test]
    fn a_review_that_may_not_ask_says_which_keys_are_off() {
        let why = |text: &str, memory, skills| {
            why_nothing_to_ask(ReviewSubjects { memory, skills }, &config::parse(text).unwrap().config)
        };
        assert_eq!(why("", true, true), None);
        let no_memory = "[learning]\nmemory = \"off\"\n";
        assert_eq!(why(no_memory, true, true), None, "skills are left");
        assert_eq!(why(no_memory, true, false).unwrap(), "learning.memory is off");
        assert_eq!(why("[tools]\nskill = false\n", false, true).unwrap(), "tools.skill is off");
        let neither = "[learning]\nskills = \"off\"\n[tools]\nmemory = false\n";
        assert_eq!(why(neither, true, true).unwrap(), "tools.memory is off, and learning.skills is off");
    }
}
