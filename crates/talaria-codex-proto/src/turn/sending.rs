//! Delivery of the input to Codex, and its stages: `prepared`, `sent`, `accepted`, then `settled` or `unknown`. Each
//! stage is reported before the step it names is taken. An unknown stage is settled by reading the thread, never by
//! sending again.

use std::time::Duration;

use super::answer_text::AnswerText;
use super::requests::End;
use super::{Moment, Output, Phase, Settling, Turn};
use crate::failure;
use crate::missed::Course;
use crate::settle::{EndedTurn, Found, Settlement};
use crate::wire::item::WireBody;
use crate::wire::notification::TurnStatus;
use crate::wire::rpc_error::RpcError;
use talaria_core::event::{Event, Stage};
use talaria_core::ids::TurnId;
use talaria_core::outcome::{FailureCode, Outcome};
use talaria_core::request::Who;

/// How long Codex may take to begin what it took (measured: a few milliseconds).
const BEGIN_LIMIT: Duration = Duration::from_secs(15);
/// How long the thread may take to be read; a new Codex may have to be started for it.
pub(super) const SETTLE_LIMIT: Duration = Duration::from_secs(90);

impl Turn {
    pub(super) fn record_prepared(&mut self) {
        self.record(Stage::Prepared);
    }

    pub(super) fn record(&mut self, stage: Stage) {
        let (client_id, after) = (self.order.client_id.clone(), self.order.after.clone());
        self.emit(Event::Ledger { stage, client_id, after });
    }

    pub(super) fn send(&mut self) {
        if matches!(self.phase, Phase::Prepared) {
            self.record(Stage::Sent);
            self.outputs.push_back(Output::Start);
            self.phase = Phase::Starting;
        }
    }

    /// The id arrives twice, in the response to `turn/start` and in `turn/started`, in either order.
    pub(super) fn accept(&mut self, id: TurnId) {
        if self.id.is_some() {
            return;
        }
        self.record(Stage::Accepted);
        self.emit(Event::TurnStarted { turn: id.clone() });
        self.id = Some(id);
        self.begins_until = None;
        self.look_up_settings();
        let is_awaited = matches!(
            self.phase,
            Phase::Prepared | Phase::Starting | Phase::Settling { evidence: Settling::Unanswered, .. }
        );
        if is_awaited {
            self.phase = Phase::Running;
        }
    }

    /// Codex accepted the input; `turn/started` has the name of the turn, and may have arrived already.
    pub(super) fn await_beginning(&mut self, now: Moment) {
        if self.id.is_none() && matches!(self.phase, Phase::Starting) {
            self.begins_until = Some(now + BEGIN_LIMIT);
        }
    }

    pub(super) fn miss_beginning(&mut self, now: Moment) {
        self.begins_until = None;
        self.miss_answer(now, "Codex took what was sent, and did not begin".to_owned());
    }

    pub(super) fn begin(&mut self, now: Moment, id: TurnId) {
        self.accept(id);
        let is_first = !std::mem::replace(&mut self.begun, true);
        if is_first && matches!(self.phase, Phase::Interrupting { .. }) {
            self.send_interrupt(now);
        }
    }

    /// Codex said no. A turn that was seen to begin was not refused.
    pub(super) fn refuse(&mut self, error: &RpcError) {
        if self.id.is_none() {
            self.finish(failure::refused(error));
        }
    }

    /// No answer is not a refusal. A turn that was seen to begin needs none.
    pub(super) fn miss_answer(&mut self, now: Moment, why: String) {
        if self.id.is_none() && matches!(self.phase, Phase::Starting | Phase::Interrupting { .. }) {
            self.settle(now, why, Settling::Unanswered);
        }
    }

    /// Codex's report of the end before it died is still valid; everything else must be read.
    pub(super) fn codex_gone(&mut self, now: Moment, why: String) {
        self.children_gone();
        match &self.phase {
            Phase::Prepared => self.finish(Outcome::Failed {
                code: FailureCode::NotSent,
                message: format!("nothing was sent to Codex: {why}"),
            }),
            Phase::Ending { outcome, .. } => {
                let outcome = outcome.clone();
                self.void_requests(End::Lost);
                self.finish(outcome);
            }
            // It was ended by us, or is being looked into already.
            Phase::Escalating { .. } | Phase::Settling { evidence: Settling::Gone, .. } | Phase::Done => {}
            Phase::Starting | Phase::Running | Phase::Interrupting { .. } | Phase::Settling { .. } => {
                self.settle(now, why, Settling::Gone);
            }
        }
    }

    fn settle(&mut self, now: Moment, why: String, evidence: Settling) {
        self.record(Stage::Unknown);
        // An answer recorded while Codex is down is kept, so requests stay open until the turn is settled.
        if evidence != Settling::Gone {
            self.void_requests(End::Lost);
        }
        self.outputs.push_back(Output::Read);
        self.phase = Phase::Settling { why, evidence, until: now + SETTLE_LIMIT };
    }

    pub(super) fn settling_failed(&mut self) {
        if let Phase::Settling { why, .. } = &self.phase {
            let limit = SETTLE_LIMIT.as_secs();
            self.lose(format!("{why}; the conversation could not be read within {limit} s"));
        }
    }

    /// Takes what the thread says: to settle what is unknown, or because of a long silence.
    pub(super) fn take_reading(&mut self, now: Moment, settlement: Settlement) {
        match &self.phase {
            Phase::Settling { why, evidence, .. } => {
                let (why, evidence) = (why.clone(), *evidence);
                self.settle_by(now, settlement, &why, evidence);
            }
            Phase::Running => self.take_check(now, settlement),
            _ => {}
        }
    }

    fn settle_by(&mut self, now: Moment, settlement: Settlement, why: &str, evidence: Settling) {
        if evidence == Settling::Adopted {
            return self.settle_adopted(now, settlement, why);
        }
        match settlement {
            Settlement::NotThere if self.id.is_none() => self.finish(Outcome::Failed {
                code: FailureCode::NotSent,
                message: format!("Codex never took the input: {why}"),
            }),
            Settlement::NotThere => self.lose(format!("{why}; the conversation does not have the turn")),
            Settlement::Running { turn, .. } | Settlement::Admitted { turn, .. }
                if evidence == Settling::Unanswered =>
            {
                self.phase = Phase::Running;
                self.accept(turn);
                self.begun = true;
                self.quiet.sign(now);
                if self.stopped_by.is_some() {
                    self.send_interrupt(now);
                }
            }
            Settlement::Running { .. } | Settlement::Admitted { .. } => self.lose(why.to_owned()),
            Settlement::Ended(ended) => {
                self.accept(ended.turn.clone());
                match ended.status {
                    // No one asked for it: the turn was cut short when Codex ended.
                    TurnStatus::Interrupted if self.stopped_by.is_none() => {
                        let found = Found { items: ended.items, extent: ended.extent };
                        self.tell_missed(now, found, Course::Over);
                        self.lose(why.to_owned());
                    }
                    _ => {
                        let outcome = self.outcome_of(ended.status, ended.error.as_ref());
                        self.read_answer(&ended);
                        let found = Found { items: ended.items, extent: ended.extent };
                        self.tell_missed(now, found, Course::Over);
                        self.finish(outcome);
                    }
                }
            }
            Settlement::Unknown { why: more } => self.lose(format!("{why}; {more}")),
        }
    }

    /// Handles a read of the thread of a long silent turn. It ends the turn only if Codex reports it as ended.
    fn take_check(&mut self, now: Moment, settlement: Settlement) {
        match settlement {
            Settlement::Ended(ended) if self.id.as_ref() == Some(&ended.turn) => {
                self.read_answer(&ended);
                let outcome = self.outcome_of(ended.status, ended.error.as_ref());
                self.conclude(now, outcome);
            }
            Settlement::Unknown { why } => self.emit(Event::Warning {
                message: format!("Codex is running, but does not report the state of the turn: {why}"),
            }),
            Settlement::NotThere
            | Settlement::Running { .. }
            | Settlement::Admitted { .. }
            | Settlement::Ended(_) => {}
        }
    }

    /// The answer as the thread has it, where it was not received.
    pub(super) fn read_answer(&mut self, ended: &EndedTurn) {
        let mut read = AnswerText::default();
        for item in &ended.items {
            if let WireBody::AgentMessage { text, phase, .. } = &item.0.body {
                read.take(text, phase.as_deref());
            }
        }
        self.answer.take_read(read.text());
    }

    /// Ends a turn that can no longer be followed. An earlier report of its end is still valid, and the mark of an
    /// aborted conversation counts as weaker evidence.
    pub(super) fn lose(&mut self, why: String) {
        let outcome = match &self.phase {
            Phase::Ending { outcome, .. } => outcome.clone(),
            _ if self.is_marked_aborted => Outcome::Interrupted { by: self.stopped_by.unwrap_or(Who::Codex) },
            _ => Outcome::Lost { why },
        };
        self.finish(outcome);
    }
}
