//! Which message is the answer: the last one marked final, else the last stable part of one (0.166), else the last one
//! without a mark. Commentary never wins.

/// Collects completed messages and knows the answer.
#[derive(Debug, Default)]
pub(super) struct AnswerText {
    last_final: Option<String>,
    last_partial: Option<String>,
    last_unmarked: Option<String>,
    /// The thread's text, if nothing was received.
    read: Option<String>,
}

impl AnswerText {
    /// Takes a completed message.
    pub(super) fn take(&mut self, text: &str, phase: Option<&str>) {
        match phase {
            Some("final_answer") => self.last_final = Some(text.to_owned()),
            Some("partial_answer") => self.last_partial = Some(text.to_owned()),
            None => self.last_unmarked = Some(text.to_owned()),
            Some(_) => {}
        }
    }

    /// Takes what the thread has as the last message of the turn: good where its end was not received.
    pub(super) fn take_read(&mut self, text: Option<String>) {
        self.read = text;
    }

    /// The answer of a turn that did not complete: text before the stop is not an answer, unless the model marked it.
    pub(super) fn final_text(&self) -> Option<String> {
        self.last_final.clone()
    }

    /// The answer of a turn that completed.
    pub(super) fn text(&self) -> Option<String> {
        let heard = self.last_final.as_ref().or(self.last_partial.as_ref()).or(self.last_unmarked.as_ref());
        heard.or(self.read.as_ref()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(messages: &[(&str, Option<&str>)]) -> Option<String> {
        let mut answer = AnswerText::default();
        for (text, phase) in messages {
            answer.take(text, *phase);
        }
        answer.text()
    }

    #[test]
    fn commentary_never_wins() {
        assert_eq!(answer(&[("a", Some("commentary"))]), None);
        assert_eq!(answer(&[("a", None), ("b", Some("commentary"))]).as_deref(), Some("a"));
    }

    #[test]
    fn a_part_of_an_answer_is_one_until_the_final_comes() {
        let partial = Some("partial_answer");
        assert_eq!(answer(&[("a", partial), ("b", Some("commentary"))]).as_deref(), Some("a"));
        assert_eq!(answer(&[("a", partial), ("b", partial), ("c", None)]).as_deref(), Some("b"));
        assert_eq!(
            answer(&[("a", partial), ("b", Some("final_answer")), ("c", partial)]).as_deref(),
            Some("b")
        );
    }

    #[test]
    fn the_last_final_answer_wins_over_later_unmarked_text() {
        assert_eq!(answer(&[("a", Some("final_answer")), ("b", None)]).as_deref(), Some("a"));
        let twice = [("a", Some("final_answer")), ("b", Some("final_answer"))];
        assert_eq!(answer(&twice).as_deref(), Some("b"));
        assert_eq!(answer(&[("a", None), ("b", None)]).as_deref(), Some("b"));
    }
}
