//! Input to a running turn that arrived too late for the model: Codex adds it to the conversation and ends the turn.
//!
//! The evidence is the order of steps: no step of the model follows it. Its sender would wait for an answer.

use super::Turn;
use talaria_core::event::Event;
use talaria_core::outcome::Outcome;

/// State of the person's last input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastWord {
    /// Only the person has spoken.
    #[default]
    Prompt,
    /// The model has said or done something since.
    Model,
    /// The person has said more since the model did anything.
    Person,
}

impl LastWord {
    pub(super) fn of_person(&mut self) {
        if *self == Self::Model {
            *self = Self::Person;
        }
    }

    pub(super) fn of_model(&mut self) {
        *self = Self::Model;
    }
}

impl Turn {
    /// Reports that the last words are not answered, where Codex says that all is done.
    pub(super) fn tell_unanswered(&mut self, outcome: &Outcome) {
        if self.last_word == LastWord::Person && *outcome == Outcome::Completed {
            let message = "the turn ended before the model read what was said last; \
                           it is part of the conversation, and the next turn sees it";
            self.emit(Event::Warning { message: message.to_owned() });
        }
    }
}
