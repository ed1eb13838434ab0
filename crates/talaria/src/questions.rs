//! The open questions of a conversation that is followed line by line, in order. Pure: what is typed goes in, an answer
//! comes out. `exec` and `task watch` (`face`) and the plain mode of the chat use it.

use std::collections::VecDeque;

use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::request::{Answer, Ask};
use talaria_render::dialog::{Dialog, DialogResult};

/// Open questions.
#[derive(Debug, Default)]
pub(crate) struct Questions {
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

/// An answer for the engine.
#[derive(Debug)]
pub(crate) struct LineAnswer {
    pub(crate) ticket: TicketId,
    pub(crate) answer: Answer,
    /// Digest of the question that was shown.
    pub(crate) digest: Option<String>,
}

/// Result of a line.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The person is asked again, or the next thing.
    Ask,
    /// The question is answered.
    Answer(LineAnswer),
}

impl Questions {
    /// Learns of a question, or that one is closed.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::RequestOpened { id, ask, digest, .. } if ask.is_answerable() => {
                self.add(id.clone(), (**ask).clone(), digest.clone());
            }
            Event::RequestClosed { id, .. } => self.close(id),
            Event::Outcome(_) => self.clear(),
            _ => {}
        }
    }

    /// Adds a question after those that are open.
    pub(crate) fn add(&mut self, ticket: TicketId, ask: Ask, digest: Option<String>) {
        self.open.push_back(Question { ticket, digest, dialog: Dialog::new(ask), is_answered: false });
    }

    /// A question needs no answer any more.
    pub(crate) fn close(&mut self, ticket: &TicketId) {
        self.open.retain(|question| question.ticket != *ticket);
        self.closed.push(ticket.clone());
    }

    /// Does it still need an answer?
    pub(crate) fn is_waiting(&self, ticket: &TicketId) -> bool {
        self.open.iter().any(|question| question.ticket == *ticket && !question.is_answered)
    }

    /// Is it the question that lines answer, or whose answer is on its way?
    pub(crate) fn is_first(&self, ticket: &TicketId) -> bool {
        self.open.front().is_some_and(|question| question.ticket == *ticket)
    }

    /// Whether it was opened in this turn.
    pub(crate) fn knows(&self, ticket: &TicketId) -> bool {
        self.closed.contains(ticket) || self.open.iter().any(|question| question.ticket == *ticket)
    }

    /// The question that waits for a line.
    pub(crate) fn first(&self) -> Option<(&TicketId, &Dialog)> {
        let question = self.open.front().filter(|question| !question.is_answered)?;
        Some((&question.ticket, &question.dialog))
    }

    /// Is the answer to the first question on its way? Others may wait for that.
    pub(crate) fn is_answering(&self) -> bool {
        self.open.front().is_some_and(|question| question.is_answered)
    }

    /// The question that is on the page: its name, and whether a secret is typed for it.
    pub(crate) fn on_page(&self) -> Option<(TicketId, bool)> {
        self.first().map(|(ticket, dialog)| (ticket.clone(), dialog.is_secret()))
    }

    /// The number of the step that a line is for, unless something was wrong with the last one, which is reported with it.
    pub(crate) fn step(&self) -> Option<usize> {
        let dialog = &self.open.front()?.dialog;
        dialog.problem().is_none().then_some(dialog.count())
    }

    /// Takes a line for the first question.
    pub(crate) fn take(&mut self, line: &str) -> Taken {
        let Some(question) = self.open.front_mut() else { return Taken::Ask };
        match question.dialog.take(line) {
            DialogResult::Ask => Taken::Ask,
            DialogResult::Answer(answer) => Taken::Answer(question.answer(answer)),
        }
    }

    /// Answers the first question without its dialog.
    pub(crate) fn answer_first(&mut self, answer: Answer) -> Option<LineAnswer> {
        self.open.front_mut().map(|question| question.answer(answer))
    }

    /// The answer was not accepted: the question is asked again from its beginning.
    pub(crate) fn ask_again(&mut self, ticket: &TicketId) {
        if let Some(question) = self.open.iter_mut().find(|question| question.ticket == *ticket) {
            question.dialog = Dialog::new(question.dialog.ask().clone());
            question.is_answered = false;
        }
    }

    /// The question that a command answers: the first, or the one that is named. `None`: none of these is meant.
    pub(crate) fn find(&self, id: Option<&str>) -> Option<(&TicketId, &Ask)> {
        let is_named = |question: &&Question| id.is_none_or(|id| question.ticket.as_str().starts_with(id));
        let mut named = self.open.iter().filter(is_named);
        let question = named.next().filter(|question| !question.is_answered)?;
        if id.is_some() && named.next().is_some() {
            return None;
        }
        Some((&question.ticket, question.dialog.ask()))
    }

    /// Answers a question without its dialog.
    pub(crate) fn answer(&mut self, ticket: &TicketId, answer: Answer) -> Option<LineAnswer> {
        let question = self.open.iter_mut().find(|question| question.ticket == *ticket)?;
        Some(question.answer(answer))
    }

    /// Another conversation.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.closed.clear();
    }
}

impl Question {
    fn answer(&mut self, answer: Answer) -> LineAnswer {
        self.is_answered = true;
        LineAnswer { ticket: self.ticket.clone(), answer, digest: self.digest.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use talaria_core::request::Decision;

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
        let Taken::Answer(LineAnswer { ticket, answer, digest }) = questions.take("n") else { panic!() };
        assert_eq!((ticket.as_str(), digest.as_deref()), ("req-1", Some("d-1")));
        assert_eq!(answer.decision, Decision::Decline);
        assert!(questions.first().is_none(), "the second is not asked before the first is settled");
        assert!(questions.is_answering(), "that is not to say that nothing waits");
        questions.ask_again(&ticket);
        assert_eq!(questions.first().unwrap().0.as_str(), "req-1");
        let closed = json!({ "type": "request_closed", "id": "req-1", "decision": "decline", "by": "user" });
        questions.event(&serde_json::from_value(closed).unwrap());
        assert_eq!(questions.first().unwrap().0.as_str(), "req-2");
        assert!(questions.knows(&ticket), "a late list does not open it again");
    }

    #[test]
    fn a_command_answers_what_was_shown_and_nothing_else() {
        let mut questions = Questions::default();
        assert!(questions.find(None).is_none(), "nothing is here");
        questions.event(&opened("req-1"));
        questions.event(&opened("req-2"));
        assert!(questions.find(Some("req-9")).is_none());
        assert!(questions.find(Some("req-")).is_none(), "it may be either");
        let ticket = questions.find(None).unwrap().0.clone();
        let LineAnswer { ticket, digest, .. } = questions.answer(&ticket, Decision::Decline.into()).unwrap();
        assert_eq!((ticket.as_str(), digest.as_deref()), ("req-1", Some("d-1")));
        assert!(questions.first().is_none(), "it is not put again while the answer is on its way");
        assert!(questions.find(Some("req-1")).is_none(), "one answer is enough");
    }
}
