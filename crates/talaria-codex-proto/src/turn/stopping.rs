//! Stopping a turn: asked once, sent once, waited for, then something is done about it and said.

use std::time::Duration;

use super::requests::End;
use super::{Moment, Output, Phase, Settling, Turn};
use talaria_core::event::{Escalation, Event};
use talaria_core::ids::TurnId;
use talaria_core::outcome::Outcome;
use talaria_core::request::Who;

/// How long Codex may take to end a turn that it was asked to interrupt (measured: 2 to 103 ms).
const INTERRUPT_LIMIT: Duration = Duration::from_secs(10);
/// How long it may take to end a Codex that does not stop.
const ESCALATION_LIMIT: Duration = Duration::from_secs(30);

impl Turn {
    pub(super) fn interrupt(&mut self, now: Moment, by: Who) {
        match &self.phase {
            Phase::Prepared => {
                self.stopped_by = Some(by);
                self.emit(Event::Interrupting { by });
                self.finish(Outcome::Interrupted { by });
            }
            Phase::Starting | Phase::Running => self.stop(now, by),
            // It may run: it is stopped as soon as that is known.
            Phase::Settling { evidence: Settling::Adopted, .. } => {
                self.stopped_by = Some(by);
                self.emit(Event::Interrupting { by });
            }
            Phase::Settling { why, .. } => {
                let why = why.clone();
                self.stopped_by = Some(by);
                self.emit(Event::Interrupting { by });
                self.lose(why);
            }
            Phase::Ending { .. } => self.stop_waiting_for_children(now, by),
            Phase::Interrupting { .. } | Phase::Escalating { .. } | Phase::Done => {}
        }
    }

    pub(super) fn stop(&mut self, now: Moment, by: Who) {
        self.stopped_by = Some(by);
        self.phase = Phase::Interrupting { until: now + INTERRUPT_LIMIT };
        self.emit(Event::Interrupting { by });
        self.send_interrupt(now);
    }

    /// Was the turn asked to stop, or has Codex stopped it?
    pub(super) fn is_stopping(&self) -> bool {
        let is_stopped = matches!(&self.phase, Phase::Ending { outcome: Outcome::Interrupted { .. }, .. });
        self.stopped_by.is_some() || is_stopped
    }

    /// Sends the interrupt once the turn has begun; until then `begin` will. Never twice: 0.130 does not answer a second.
    pub(super) fn send_interrupt(&mut self, now: Moment) {
        if let (Some(turn), true) = (&self.id, self.begun) {
            let thread = self.order.thread.clone();
            self.outputs.push_back(Output::Interrupt { thread, turn: turn.clone() });
            self.interrupt_children();
            self.phase = Phase::Interrupting { until: now + INTERRUPT_LIMIT };
        }
    }

    /// Reports that Codex refused to interrupt the turn. The turn's own end still decides the outcome; the limit still
    /// applies. A turn that has ended already, or that of a sub-agent, needs no report.
    pub(super) fn interrupt_refused(&mut self, turn: &TurnId, why: &str) {
        if matches!(self.phase, Phase::Interrupting { .. }) && self.id.as_ref() == Some(turn) {
            let limit = INTERRUPT_LIMIT.as_secs();
            let message = format!(
                "Codex refused to interrupt the turn ({why}); Talaria waits up to {limit} s for it to end by itself"
            );
            self.emit(Event::Warning { message });
        }
    }

    /// The sub-agents of a stopped turn are stopped, too.
    pub(super) fn interrupt_children(&mut self) {
        for (thread, turn) in self.children.running_turns() {
            self.outputs.push_back(Output::Interrupt { thread, turn });
        }
    }

    pub(super) fn escalate(&mut self, now: Moment) {
        self.outputs.push_back(Output::Escalate);
        self.phase = Phase::Escalating { until: now + ESCALATION_LIMIT };
    }

    pub(super) fn escalated(&mut self, action: Escalation) {
        if !matches!(self.phase, Phase::Escalating { .. }) {
            return;
        }
        self.emit(Event::Escalated { action });
        match action {
            Escalation::HostEnded => {
                self.children_gone();
                self.void_requests(End::Lost);
                let by = self.stopped_by.unwrap_or(Who::Codex);
                self.finish(Outcome::Interrupted { by });
            }
            Escalation::Abandoned => {
                let why = self.missed();
                self.lose(format!("{why}; other turns run on the same Codex, so this one was abandoned"));
            }
        }
    }

    pub(super) fn escalation_failed(&mut self) {
        let why = self.missed();
        self.lose(format!("{why}, and could not be ended"));
    }

    fn missed(&self) -> String {
        let missed = if self.begun { "end" } else { "begin" };
        let limit = INTERRUPT_LIMIT.as_secs();
        format!("Codex did not {missed} the turn within {limit} s of the wish to stop it")
    }
}
