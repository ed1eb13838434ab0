//! When a review is due: after enough turns of a person, or after enough calls of tools. Counting and deciding only; the store
//! resets the counters in the transaction that records the job, so none of them falls without one.

use crate::event::Event;
use crate::item::ItemBody;
use crate::outcome::{Outcome, Report};

/// After how much work a review is due, unless the configuration says otherwise.
pub const DEFAULT_INTERVAL: u64 = 10;
/// The tool of ours that reads pages of strangers.
const WEB_TOOL: &str = "talaria_web";

/// After how much work a review is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewIntervals {
    /// Turns of a person.
    pub turns: u64,
    /// Calls of tools.
    pub calls: u64,
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
    /// A review is due.
    pub is_due: bool,
}

/// The counters of a session during one turn. A turn that is resumed counts its stored events again, so nothing of it is
/// written before its end.
#[derive(Clone, Copy, Debug)]
pub struct ReviewProgress {
    before: ReviewCount,
    turn: ReviewCount,
    intervals: ReviewIntervals,
    is_persons: bool,
}

impl ReviewProgress {
    /// Continues from the stored counters. `is_persons` is whether a person asked for the turn.
    pub fn new(before: ReviewCount, intervals: ReviewIntervals, is_persons: bool) -> Self {
        Self { before, turn: ReviewCount::default(), intervals, is_persons }
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
        let is_enough = self.before.turns + self.turn.turns >= self.intervals.turns
            || self.before.calls + self.turn.calls >= self.intervals.calls;
        ReviewTurnEnd { count: self.turn, is_due: is_clean && is_enough }
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
        ItemBody::ClientTool { tool, .. } => tool == WEB_TOOL,
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
        ReviewProgress::new(before, ReviewIntervals { turns: 3, calls: 2 }, true)
    }

    #[test]
    fn enough_calls_or_enough_turns_make_a_review_due() {
        let done = ended(Outcome::Completed, Some("done"));
        let mut busy = progress(0, 0);
        busy.count(&command());
        assert!(!busy.end(&done).is_due);
        busy.count(&command());
        let count = ReviewCount { turns: 1, calls: 2, is_foreign: false };
        assert_eq!(busy.end(&done), ReviewTurnEnd { count, is_due: true });
        assert!(!progress(1, 0).end(&done).is_due);
        assert!(progress(2, 0).end(&done).is_due, "this turn counts too");
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
            assert!(!end.is_due && end.count.turns == 1, "{outcome:?} {text:?}");
        }
        assert!(progress(9, 9).end(&ended(Outcome::Completed, Some("done"))).is_due);
    }

    #[test]
    fn a_turn_of_talaria_is_no_turn_of_a_person() {
        let ours = ReviewProgress::new(ReviewCount::default(), ReviewIntervals { turns: 1, calls: 9 }, false);
        let end = ours.end(&ended(Outcome::Completed, Some("done")));
        assert_eq!(end, ReviewTurnEnd { count: ReviewCount::default(), is_due: false });
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
        assert!(is_foreign(&completed(page(WEB_TOOL))));
        assert!(is_foreign(&completed(ItemBody::HookPrompt { text: "x".to_owned() })));
        let item = Box::new(Item { id: ItemId::new("i"), body: page(WEB_TOOL) });
        let thread = crate::ids::ThreadId::new("child");
        assert!(is_foreign(&Event::AgentItemCompleted { thread, item }));
    }
}
