//! When a review is due, and what it asks about: enough turns of a person show what they want, enough calls of tools how the work
//! is done. Counting and deciding only; the store resets the counters in the transaction that records the job, so none of them
//! falls without one.

use crate::event::Event;
use crate::item::ItemBody;
use crate::outcome::{Outcome, Report};

/// After how much work a review is due, unless the configuration says otherwise.
pub const DEFAULT_INTERVAL: u64 = 10;
/// The tools that return text of strangers: ours that reads pages, and the search of the built-in loop.
const WEB_TOOLS: [&str; 2] = ["talaria_web", "web_search"];

/// After how much work a review is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewIntervals {
    /// Turns of a person.
    pub turns: u64,
    /// Calls of tools.
    pub calls: u64,
}

/// What a review asks about, or may ask about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewSubjects {
    /// What to remember.
    pub memory: bool,
    /// Which skills to write or to improve.
    pub skills: bool,
}

impl ReviewSubjects {
    /// Returns what both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { memory: self.memory && other.memory, skills: self.skills && other.skills }
    }

    /// Returns whether there is nothing to ask about.
    pub fn is_empty(self) -> bool {
        !self.memory && !self.skills
    }
}

/// A review that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueReview {
    /// What it asks about.
    pub asks: ReviewSubjects,
    /// The calls are not enough for the question about skills yet, so they stay counted.
    pub keeps_calls: bool,
}

/// Increments of a session's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewCount {
    /// Turns of a person.
    pub turns: u64,
    /// Calls of tools.
    pub calls: u64,
    /// The model read text of strangers.
    pub is_foreign: bool,
}

/// Effect of a turn's end on the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewTurnEnd {
    /// Increments of the turn.
    pub count: ReviewCount,
    /// The review that is due.
    pub due: Option<DueReview>,
}

/// The counters of a session during one turn. A turn that is resumed counts its stored events again, so nothing of it is
/// written before its end.
#[derive(Clone, Copy, Debug)]
pub struct ReviewProgress {
    before: ReviewCount,
    turn: ReviewCount,
    intervals: ReviewIntervals,
    learns: ReviewSubjects,
    is_persons: bool,
}

impl ReviewProgress {
    /// Continues from the stored counters. `learns` is what this conversation is reviewed for, `is_persons` whether a person
    /// asked for the turn.
    pub fn new(
        before: ReviewCount,
        intervals: ReviewIntervals,
        learns: ReviewSubjects,
        is_persons: bool,
    ) -> Self {
        Self { before, turn: ReviewCount::default(), intervals, learns, is_persons }
    }

    /// Takes an event of the turn.
    pub fn count(&mut self, event: &Event) {
        match event {
            Event::ItemCompleted { item } => {
                self.turn.calls += u64::from(is_call(&item.body));
                self.turn.is_foreign |= is_foreign(&item.body);
            }
            // A sub-agent works for the turn; text that it read reaches the model in the sub-agent's words.
            Event::AgentItemCompleted { item, .. } => self.turn.is_foreign |= is_foreign(&item.body),
            _ => {}
        }
    }

    /// Ends the turn. One that was stopped, failed or said nothing is followed by no review; the counters stay, so the next
    /// one is.
    pub fn end(mut self, report: &Report) -> ReviewTurnEnd {
        self.turn.turns = u64::from(self.is_persons);
        let has_answer = report.text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let is_clean = matches!(report.outcome, Outcome::Completed) && has_answer;
        let has_turns = self.before.turns + self.turn.turns >= self.intervals.turns;
        let has_calls = self.before.calls + self.turn.calls >= self.intervals.calls;
        // The question about skills reads the whole conversation; asked with it, the one about the memory costs little more.
        let enough = ReviewSubjects { memory: has_turns || has_calls, skills: has_calls };
        let asks = enough.and(self.learns);
        let due = DueReview { asks, keeps_calls: self.learns.skills && !asks.skills };
        ReviewTurnEnd { count: self.turn, due: (is_clean && !asks.is_empty()).then_some(due) }
    }
}

/// Whether a step is a call of a tool, as the transcript counts them.
fn is_call(body: &ItemBody) -> bool {
    matches!(
        body,
        ItemBody::Command { .. }
            | ItemBody::Patch { .. }
            | ItemBody::Tool { .. }
            | ItemBody::ClientTool { .. }
    )
}

/// Whether a step added untrusted text to the conversation: from there on a review only proposes.
fn is_foreign(body: &ItemBody) -> bool {
    match body {
        ItemBody::Tool { .. }
        | ItemBody::ToolOutput { .. }
        | ItemBody::WebSearch { .. }
        | ItemBody::HookPrompt { .. } => true,
        ItemBody::ClientTool { tool, .. } => WEB_TOOLS.contains(&tool.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;
    use crate::ids::ItemId;
    use crate::item::{CommandSource, Item, Status};
    use crate::request::Who;

    const BOTH: ReviewSubjects = ReviewSubjects { memory: true, skills: true };
    const MEMORY: ReviewSubjects = ReviewSubjects { memory: true, skills: false };
    const SKILLS: ReviewSubjects = ReviewSubjects { memory: false, skills: true };

    fn completed(body: ItemBody) -> Event {
        Event::ItemCompleted { item: Box::new(Item { id: ItemId::new("i"), body }) }
    }

    fn command() -> Event {
        completed(ItemBody::Command {
            command: "ls".to_owned(),
            cwd: "/w".to_owned(),
            source: CommandSource::Agent,
            status: Status::Completed,
            exit_code: Some(0),
            duration_ms: None,
            output: None,
        })
    }

    fn ended(outcome: Outcome, text: Option<&str>) -> Report {
        Report::new(outcome, text.map(str::to_owned), Usage::default(), 0)
    }

    fn progress(turns: u64, calls: u64) -> ReviewProgress {
        let before = ReviewCount { turns, calls, is_foreign: false };
        ReviewProgress::new(before, ReviewIntervals { turns: 3, calls: 2 }, BOTH, true)
    }

    fn is_due(progress: ReviewProgress) -> bool {
        progress.end(&ended(Outcome::Completed, Some("done"))).due.is_some()
    }

    #[test]
    fn enough_calls_or_enough_turns_make_a_review_due() {
        let done = ended(Outcome::Completed, Some("done"));
        let mut busy = progress(0, 0);
        busy.count(&command());
        assert!(!is_due(busy));
        busy.count(&command());
        let count = ReviewCount { turns: 1, calls: 2, is_foreign: false };
        let due = Some(DueReview { asks: BOTH, keeps_calls: false });
        assert_eq!(busy.end(&done), ReviewTurnEnd { count, due });
        assert!(!is_due(progress(1, 0)));
        assert!(is_due(progress(2, 0)), "this turn counts too");
    }

    #[test]
    fn turns_ask_about_the_memory_and_calls_about_skills() {
        let done = ended(Outcome::Completed, Some("done"));
        let asked = |learns, turns, calls| {
            let before = ReviewCount { turns, calls, is_foreign: false };
            let due = ReviewProgress::new(before, ReviewIntervals { turns: 3, calls: 2 }, learns, true)
                .end(&done)
                .due;
            due.map(|due| (due.asks, due.keeps_calls))
        };
        assert_eq!(asked(BOTH, 2, 1), Some((MEMORY, true)), "one call is left for the question about skills");
        assert_eq!(asked(BOTH, 0, 2), Some((BOTH, false)));
        assert_eq!(asked(MEMORY, 0, 2), Some((MEMORY, false)), "calls also show what a person wants");
        assert_eq!(asked(MEMORY, 2, 1), Some((MEMORY, false)));
        assert_eq!(asked(SKILLS, 9, 1), None, "talking shows no way of working");
        assert_eq!(asked(SKILLS, 0, 2), Some((SKILLS, false)));
        assert_eq!(asked(ReviewSubjects::default(), 9, 9), None);
    }

    #[test]
    fn only_a_completed_turn_with_an_answer_is_followed_by_a_review() {
        let failed = Outcome::Lost { why: "gone".to_owned() };
        for (outcome, text) in [
            (Outcome::Interrupted { by: Who::User }, Some("half")),
            (failed, Some("half")),
            (Outcome::Completed, None),
            (Outcome::Completed, Some("  ")),
        ] {
            let end = progress(9, 9).end(&ended(outcome.clone(), text));
            assert!(end.due.is_none() && end.count.turns == 1, "{outcome:?} {text:?}");
        }
        assert!(is_due(progress(9, 9)));
    }

    #[test]
    fn a_turn_of_talaria_is_no_turn_of_a_person() {
        let intervals = ReviewIntervals { turns: 1, calls: 9 };
        let ours = ReviewProgress::new(ReviewCount::default(), intervals, BOTH, false);
        let end = ours.end(&ended(Outcome::Completed, Some("done")));
        assert_eq!(end, ReviewTurnEnd { count: ReviewCount::default(), due: None });
    }

    #[test]
    fn text_of_strangers_is_noticed_also_in_sub_agents() {
        let page = |tool: &str| ItemBody::ClientTool {
            namespace: None,
            tool: tool.to_owned(),
            status: Status::Completed,
            success: Some(true),
            arguments: None,
            result: None,
            duration_ms: None,
        };
        let is_foreign = |event: &Event| {
            let mut progress = progress(0, 0);
            progress.count(event);
            progress.end(&ended(Outcome::Completed, Some("done"))).count.is_foreign
        };
        assert!(!is_foreign(&completed(page("talaria_recall"))));
        assert!(is_foreign(&completed(page(WEB_TOOLS[0]))));
        assert!(is_foreign(&completed(ItemBody::HookPrompt { text: "x".to_owned() })));
        let item = Box::new(Item { id: ItemId::new("i"), body: page(WEB_TOOLS[0]) });
        let thread = crate::ids::ThreadId::new("child");
        assert!(is_foreign(&Event::AgentItemCompleted { thread, item }));
    }
}
