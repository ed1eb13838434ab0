//! Further input that Codex took, until the turn shows it: what it has not shown by its end, the model has never got. So it
//! is taken back and told, and nothing remembers it as said.

use talaria_core::event::{Event, QueuedInput};
use talaria_core::transcript::Sent;
use talaria_core::wire::call::UserInput;

use super::Running;
use crate::session::Watcher;

/// What Codex took, and what the turn has shown.
#[derive(Default)]
pub(super) struct Taken {
    inputs: Vec<Vec<UserInput>>,
    shown: Vec<String>,
}

impl Taken {
    pub(super) fn took(&mut self, input: Vec<UserInput>) {
        self.inputs.push(input);
    }

    pub(super) fn shows(&mut self, text: &str) {
        self.shown.push(text.to_owned());
    }

    /// What was not shown; of two that are alike, the one that was shown is the first. The prompt of the turn was shown too.
    fn not_shown(&mut self, prompt: &[UserInput]) -> Vec<QueuedInput> {
        let mut is_shown = |input: &[UserInput]| {
            let sent = Sent::new(None, input);
            let at = self.shown.iter().position(|text| sent.has_text(text));
            at.map(|at| self.shown.remove(at)).is_some()
        };
        is_shown(prompt);
        let inputs = std::mem::take(&mut self.inputs).into_iter();
        inputs.filter(|input| !is_shown(input)).map(|input| QueuedInput::of(&input)).collect()
    }
}

impl<W: Watcher> Running<'_, W> {
    /// Takes back what the model has never got, before the turn is reported as over.
    pub(super) fn take_back_unshown(&mut self) {
        let inputs = self.taken.not_shown(&self.recorded.input);
        if !inputs.is_empty() {
            self.tell(Event::Unqueued { inputs });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<UserInput> {
        vec![UserInput::Text { text: text.to_owned() }]
    }

    #[test]
    fn only_what_the_turn_never_showed_is_taken_back() {
        let mut taken = Taken::default();
        for text in ["go", "first", "second", "second"] {
            taken.shows(text);
        }
        for text in ["second", "go", "first", "third", "second"] {
            taken.took(said(text));
        }
        let back: Vec<_> = taken.not_shown(&said("go")).into_iter().map(|input| input.text).collect();
        assert_eq!(back, ["go", "third"]);
        assert_eq!(taken.not_shown(&said("go")), []);
    }
}
