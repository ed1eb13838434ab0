//! Answers that were given before: an earlier one that serves now, and one that Codex never got and that may serve later.
//!
//! Floor and rules have spoken before an earlier answer is looked for. That it is used is reported before it is written.

use super::offered::Telling;
use super::{Fate, Moment, Output, Record, Turn};
use talaria_core::escrow::{self, Asking, Binding};
use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::request::{Answer, Decision, Who};
use talaria_guard::place::Place;

/// Reported where an answer is kept.
const KEPT: &str = "Codex ended before it got this answer: kept for the next turn, if that asks the same";
/// Reported where an answer cannot be kept.
const NOT_KEPT: &str = "Codex ended before it got this answer, and the answer cannot be kept";

impl Turn {
    /// Answers with what was answered before, if the identical thing is asked.
    pub(super) fn answer_from_escrow(&mut self, now: Moment, ticket: &TicketId, place: Option<Place>) {
        let open = self.open_requests.iter().find(|open| open.ticket == *ticket);
        let Some(binding) = open.and_then(|open| open.binding.as_ref()) else { return };
        match self.order.escrow.take(now, Asking { binding, place }) {
            Ok(None) => {}
            Ok(Some(kept)) => {
                let why = format!("answered before Codex was lost ({}), and kept for this turn", kept.ticket);
                self.outputs.push_back(Output::Record(Record::EscrowUsed {
                    kept: kept.ticket,
                    ticket: ticket.clone(),
                }));
                self.decide(now, ticket, &kept.answer, kept.by, Some(why));
            }
            Err(why) => {
                let message = format!("an answer that was given before Codex was lost is not used: {why}");
                self.emit(Event::Warning { message });
            }
        }
    }

    /// Keeps an answer that Codex can no longer be given.
    pub(super) fn keep_answer(
        &mut self,
        ticket: TicketId,
        binding: Option<&Binding>,
        answer: Answer,
        by: Who,
        telling: Telling,
    ) {
        if binding.is_some() && escrow::is_keepable(&answer) {
            self.tell_closed(ticket.clone(), answer.decision, by, Some(KEPT.to_owned()), telling);
            let answer = Box::new(answer);
            self.outputs.push_back(Output::Record(Record::Fate { ticket, fate: Fate::Kept { answer, by } }));
        } else {
            self.tell_closed(ticket.clone(), Decision::Void, by, Some(NOT_KEPT.to_owned()), telling);
            self.outputs.push_back(Output::Record(Record::Fate { ticket, fate: Fate::Void }));
        }
    }
}
