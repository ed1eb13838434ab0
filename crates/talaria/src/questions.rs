//! What Codex asks in this conversation and nobody has answered yet, in order. Pure.

use std::collections::VecDeque;

use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::request::{Answer, Decision, Typed};
use talaria_render::dialog::{Dialog, DialogResult};
use talaria_tui::chat::contract::ChatEffect;

use crate::requests::build;
use crate::trouble::Trouble;

/// Open questions.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: VecDeque<Question>,
    /// Those of the turn that were closed.
    closed: Vec<TicketId>,
}

#[derive(Debug)]
struct Question {
    ticket: TicketId,
    digest: Option<String>,
    dialog: Dialog,
    /// The answer is on its way.
    is_answered: bool,
}

/// What came of a line.
#[derive(Debug)]
pub(super) enum Taken {
    /// The person is asked again, or the next thing.
    Ask,
    /// The answer goes to the engine.
    Wish(ChatEffect),
}

impl Questions {
    /// Learns of a question, or that one is closed.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::RequestOpened { id, ask, digest, .. } if ask.is_answerable() => {
                self.open.push_back(Question {
                    ticket: id.clone(),
                    digest: digest.clone(),
                    dialog: Dialog::new((**ask).clone()),
                    is_answered: false,
                });
            }
            Event::RequestClosed { id, .. } => {
                self.open.retain(|question| question.ticket != *id);
                self.closed.push(id.clone());
            }
            Event::Outcome(_) => self.clear(),
            _ => {}
        }
    }

    /// Was it heard of in this turn?
    pub(super) fn knows(&self, ticket: &TicketId) -> bool {
        self.closed.contains(ticket) || self.open.iter().any(|question| question.ticket == *ticket)
    }

    /// The question that waits for a line.
    pub(super) fn first(&self) -> Option<(&TicketId, &Dialog)> {
        let question = self.open.front().filter(|question| !question.is_answered)?;
        Some((&question.ticket, &question.dialog))
    }

    /// Is the answer to the first question on its way? Others may wait for that.
    pub(super) fn is_answering(&self) -> bool {
        self.open.front().is_some_and(|question| question.is_answered)
    }

    /// The question that stands on the page: its name, and whether a secret is typed for it.
    pub(super) fn on_page(&self) -> Option<(TicketId, bool)> {
        self.first().map(|(ticket, dialog)| (ticket.clone(), dialog.is_secret()))
    }

    /// The number of the step that a line is for, unless something was wrong with the last one, which is told with it.
    pub(super) fn step(&self) -> Option<usize> {
        let dialog = &self.open.front()?.dialog;
        dialog.problem().is_none().then_some(dialog.count())
    }

    /// Takes a line for the first question.
    pub(super) fn take(&mut self, line: &str) -> Taken {
        let Some(question) = self.open.front_mut() else { return Taken::Ask };
        match question.dialog.take(line) {
            DialogResult::Ask => Taken::Ask,
            DialogResult::Answer(answer) => Taken::Wish(question.wish(answer)),
        }
    }

    /// The answer was not taken: it is asked again.
    pub(super) fn refused(&mut self, ticket: &TicketId) {
        if let Some(question) = self.open.iter_mut().find(|question| question.ticket == *ticket) {
            question.dialog = Dialog::new(question.dialog.ask().clone());
            question.is_answered = false;
        }
    }

    /// A command answers a question that was shown: the first, or the one that is named. `None`: none of these is meant.
    pub(super) fn decide(
        &mut self,
        id: Option<&str>,
        decision: Decision,
        reason: Option<&str>,
    ) -> Option<Result<ChatEffect, Trouble>> {
        let is_named =
            |question: &&mut Question| id.is_none_or(|id| question.ticket.as_str().starts_with(id));
        let mut named = self.open.iter_mut().filter(is_named);
        let question = named.next().filter(|question| !question.is_answered)?;
        if id.is_some() && named.next().is_some() {
            return None;
        }
        let typed = Typed { decision, reason: reason.map(str::to_owned), answers: None };
        let answer = build::chat_answer(&question.ticket, Some(question.dialog.ask()), typed);
        Some(answer.map(|answer| question.wish(answer)))
    }

    /// Another conversation.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.closed.clear();
    }
}

impl Question {
    fn wish(&mut self, answer: Answer) -> ChatEffect {
        self.is_answered = true;
        ChatEffect::Answer { ticket: self.ticket.clone(), answer, digest: self.digest.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn opened(id: &str) -> Event {
        serde_json::from_value(json!({ "type": "request_opened", "id": id, "digest": "d-1", "kind": "permissions",
            "thread": "t", "item": "i", "cwd": null, "reason": null, "permissions": { "network": true, "files": [] } }))
        .unwrap()
    }

    #[test]
    fn a_line_answers_the_first_question_with_what_was_shown_and_only_once() {
        let mut questions = Questions::default();
        questions.event(&opened("req-1"));
        questions.event(&opened("req-2"));
        let step = questions.step();
        assert!(matches!(questions.take("perhaps"), Taken::Ask) && questions.step() == step);
        assert!(matches!(questions.take("r"), Taken::Ask) && questions.step() != step, "a reason is wanted");
        assert!(matches!(questions.take(""), Taken::Ask));
        let Taken::Wish(ChatEffect::Answer { ticket, answer, digest }) = questions.take("n") else {
            panic!()
        };
        assert_eq!((ticket.as_str(), digest.as_deref()), ("req-1", Some("d-1")));
        assert_eq!(answer.decision, Decision::Decline);
        assert!(questions.first().is_none(), "the second is not asked before the first is settled");
        assert!(questions.is_answering(), "that is not to say that nothing waits");
        questions.refused(&ticket);
        assert_eq!(questions.first().unwrap().0.as_str(), "req-1");
        let closed = json!({ "type": "request_closed", "id": "req-1", "decision": "decline", "by": "user" });
        questions.event(&serde_json::from_value(closed).unwrap());
        assert_eq!(questions.first().unwrap().0.as_str(), "req-2");
        assert!(questions.knows(&ticket), "a late list does not open it again");
    }

    #[test]
    fn a_command_answers_what_was_shown_and_nothing_else() {
        let mut questions = Questions::default();
        let no = Decision::Decline;
        assert!(questions.decide(None, no, None).is_none(), "nothing is here");
        questions.event(&opened("req-1"));
        questions.event(&opened("req-2"));
        assert!(questions.decide(Some("req-9"), no, None).is_none());
        let Some(Ok(ChatEffect::Answer { ticket, digest, .. })) = questions.decide(None, no, None) else {
            panic!()
        };
        assert_eq!((ticket.as_str(), digest.as_deref()), ("req-1", Some("d-1")));
        assert!(questions.first().is_none(), "it is not put again while the answer is under way");
        assert!(questions.decide(Some("req-1"), no, None).is_none(), "one answer is enough");
    }
}
