//! How far the conversation on the screen is: the last event that was reported, whether a turn runs, whether all earlier
//! events have been received, its open requests, and whether it was asked to stop. Pure.

use talaria_core::api::{Numbered, SessionInfo};
use talaria_core::event::Event;
use talaria_core::ids::TicketId;

use super::reported_state::ReportedState;

/// How far a conversation is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    last_seq: i64,
    /// The last event that was there when it was opened, until that has come.
    at_opening: Option<i64>,
    /// The last turn that has begun.
    begun: i64,
    /// The last turn that has an outcome.
    ended: i64,
    /// A turn ran at the opening, and nothing of it has come yet.
    ran: bool,
    /// Did a turn wait for a place at the opening? Nothing of it has come yet.
    is_queued: bool,
    /// Was the conversation given up? Then whether a turn runs is not known.
    is_lost: bool,
    /// Did a turn run at that time?
    had_turn: bool,
    /// The turn that was asked to stop.
    stopping: Option<i64>,
    /// Open requests.
    questions: Vec<TicketId>,
    reported: ReportedState,
}

impl Progress {
    /// A conversation is opened; its events are reported from after the number `after`.
    pub(super) fn open(&mut self, info: &SessionInfo, after: i64) {
        *self = Self {
            last_seq: after,
            at_opening: Some(info.last_seq),
            ran: info.running,
            is_queued: info.queued,
            ..Self::default()
        };
    }

    /// A turn was written down.
    pub(super) fn started(&mut self, turn: i64) {
        self.begun = self.begun.max(turn);
        self.is_lost = false;
    }

    /// Something happened.
    pub(super) fn take(&mut self, numbered: &Numbered) {
        self.is_lost = false;
        self.last_seq = numbered.seq;
        self.reported.take(&numbered.event);
        if self.at_opening.is_none() {
            self.is_queued &= numbered.turn.is_none();
            self.reported.take_live(&numbered.event);
        }
        match &numbered.event {
            Event::RequestOpened { id, ask, .. } if ask.is_answerable() => self.questions.push(id.clone()),
            Event::RequestClosed { id, .. } => self.answered(id),
            _ => {}
        }
        let Some(turn) = numbered.turn else { return };
        self.begun = self.begun.max(turn);
        match numbered.event {
            Event::Interrupting { .. } => self.stopping(turn),
            Event::Outcome(_) => {
                self.ended = self.ended.max(turn);
                self.questions.clear();
            }
            _ => {}
        }
    }

    /// The stop of this turn was confirmed.
    pub(super) fn stopping(&mut self, turn: i64) {
        self.stopping = self.stopping.max(Some(turn));
    }

    /// A question has its answer.
    pub(super) fn answered(&mut self, ticket: &TicketId) {
        self.questions.retain(|open| open != ticket);
    }

    /// The last turn that has begun.
    pub(super) fn turn(&self) -> i64 {
        self.begun
    }

    /// Was the turn that runs asked to stop? One that began since was not.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_running() && self.stopping == Some(self.begun)
    }

    /// Open requests.
    pub(super) fn questions(&self) -> &[TicketId] {
        &self.questions
    }

    /// Its last reported event.
    pub(super) fn reported(&self) -> &ReportedState {
        &self.reported
    }

    /// The last event that was reported.
    pub(super) fn last_seq(&self) -> i64 {
        self.last_seq
    }

    /// Does a turn run?
    pub(super) fn is_running(&self) -> bool {
        self.begun > self.ended || (self.ran && self.at_opening.is_some())
    }

    /// Does a turn wait for a place, as was reported at the opening?
    pub(super) fn is_queued(&self) -> bool {
        self.is_queued
    }

    /// Is it not known whether a turn runs, because the conversation was given up?
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Did a turn run when the conversation was given up? Whether it still does is not known.
    pub(super) fn has_lost_turn(&self) -> bool {
        self.is_lost && self.had_turn
    }

    /// The stream ended: the opening is over, and nothing is known to run.
    pub(super) fn give_up(&mut self) {
        self.had_turn = self.is_running() || self.has_lost_turn();
        self.is_lost = true;
        self.ended = self.ended.max(self.begun);
        self.at_opening = self.at_opening.map(|_| self.last_seq);
    }

    /// Has everything come that was there at the opening? Says yes once.
    pub(super) fn has_just_caught_up(&mut self) -> bool {
        self.at_opening.take_if(|last| *last <= self.last_seq).is_some()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;
    use talaria_core::api::Kind;
    use talaria_core::event::{RateLimits, Usage};
    use talaria_core::ids::SessionId;
    use talaria_core::outcome::{Outcome, Report};
    use talaria_core::request::{Decision, Who};

    use super::*;

    fn event(seq: i64, turn: i64, event: Event) -> Numbered {
        Numbered { session: SessionId::new("s"), seq, at: Timestamp::UNIX_EPOCH, turn: Some(turn), event }
    }

    fn outcome() -> Event {
        Event::Outcome(Box::new(Report::new(Outcome::Completed, None, Usage::default(), 0)))
    }

    #[test]
    fn a_turn_that_ended_before_its_start_was_told_does_not_run() {
        let mut progress = Progress::default();
        assert!(!progress.is_running());
        progress.take(&event(1, 1, Event::Compacted));
        assert!(progress.is_running());
        progress.take(&event(2, 1, outcome()));
        progress.started(1);
        assert!(!progress.is_running());
        progress.started(2);
        assert!(progress.is_running(), "it was written down");
        progress.take(&event(3, 1, outcome()));
        assert!(progress.is_running(), "a late outcome of an older turn ends nothing");
    }

    #[test]
    fn the_wish_to_stop_is_for_one_turn() {
        let mut progress = Progress::default();
        progress.started(1);
        progress.stopping(1);
        assert!(progress.is_stopping());
        progress.take(&event(1, 1, outcome()));
        assert!(!progress.is_stopping(), "it has stopped");
        progress.started(2);
        assert!(!progress.is_stopping(), "nobody asked that of the next one");
        progress.stopping(1);
        assert!(!progress.is_stopping(), "told late");
        progress.take(&event(2, 2, Event::Interrupting { by: Who::User }));
        assert!(progress.is_stopping());
    }

    #[test]
    fn a_question_is_open_until_it_is_closed_or_answered_or_its_turn_is_over() {
        let opened = |id: &str| -> Event {
            serde_json::from_value(json!({ "type": "request_opened", "id": id, "kind": "permissions",
                "thread": "t", "item": "i", "cwd": null, "reason": null,
                "permissions": { "network": true, "files": [] } }))
            .unwrap()
        };
        let mut progress = Progress::default();
        for (seq, id) in (1..).zip(["req-1", "req-2", "req-3"]) {
            progress.take(&event(seq, 1, opened(id)));
        }
        let (id, decision, by) = (TicketId::new("req-1"), Decision::Decline, Who::User);
        progress.take(&event(4, 1, Event::RequestClosed { id, decision, by, why: None }));
        progress.answered(&TicketId::new("req-2"));
        assert_eq!(progress.questions(), [TicketId::new("req-3")]);
        progress.take(&event(5, 1, outcome()));
        assert!(progress.questions().is_empty());
    }

    #[test]
    fn the_opening_is_over_when_its_last_event_came_and_is_told_once() {
        let mut progress = Progress::default();
        let at = Timestamp::UNIX_EPOCH;
        let info = SessionInfo {
            id: SessionId::new("s"),
            title: String::new(),
            runtime: String::new(),
            updated_at: at,
            running: true,
            queued: false,
            kind: Kind::Chat,
            task: None,
            cwd: "/".to_owned(),
            provider: None,
            model: None,
            created_at: at,
            last_seq: 7,
        };
        let limits = || {
            let plan = Some("pro".to_owned());
            Event::RateLimits(Box::new(RateLimits { primary: None, secondary: None, plan, reached: None }))
        };
        progress.open(&info, 5);
        assert!(progress.is_running() && !progress.has_just_caught_up());
        progress.take(&event(6, 1, limits()));
        progress.take(&event(6, 1, outcome()));
        assert!(!progress.has_just_caught_up());
        progress.take(&event(7, 2, Event::Compacted));
        assert!(progress.has_just_caught_up() && !progress.has_just_caught_up());
        assert!(progress.is_running());
        assert!(progress.reported().limits.is_none(), "that was long ago");
        progress.take(&event(8, 2, limits()));
        assert!(progress.reported().limits.is_some());
        progress.open(&info, 5);
        progress.give_up();
        assert!(progress.has_just_caught_up() && !progress.is_running(), "nothing is waited for in vain");
        progress.open(&SessionInfo { last_seq: 0, running: false, queued: true, ..info }, 0);
        assert!(progress.has_just_caught_up(), "an empty one is there at once");
        assert!(progress.is_queued());
        progress.take(&event(1, 1, Event::Compacted));
        assert!(!progress.is_queued(), "it has begun");
    }
}
