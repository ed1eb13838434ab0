//! The question whether a turn in which the model repeats itself continues. Pure.

use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::request::{Answer, Ask, Content, Question, QuestionOption};

const ID: &str = "repeats";
const CONTINUE: &str = "Continue";
const STOP: &str = "Stop";

/// What a person decided.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DoubtVerdict {
    Continue,
    /// Continue, with these words to the model.
    Advise(String),
    Stop,
}

/// The question.
pub(super) fn question(thread: &ThreadId, item: &ItemId, text: &str) -> Ask {
    let option = |label: &str, description: &str| QuestionOption {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    let question = Question {
        id: ID.to_owned(),
        header: String::new(),
        question: format!("{text} Shall the turn continue?"),
        options: vec![
            option(CONTINUE, "The same may happen again"),
            option(STOP, "End the turn; what it did so far is done"),
        ],
        other: true,
        secret: false,
    };
    Ask::Input {
        thread: thread.clone(),
        item: Some(item.clone()),
        questions: vec![question],
        blocking: Some(true),
    }
}

/// Reads an answer. Words of the person's own are for the model.
pub(super) fn verdict(answer: &Answer) -> DoubtVerdict {
    if !answer.decision.is_yes() || !matches!(answer.content, Content::Answers(_)) {
        return DoubtVerdict::Stop;
    }
    let revealed = answer.revealed();
    let given = revealed["content"]["given"][ID].as_array().and_then(|given| given.first()?.as_str());
    match given.map(str::trim) {
        Some(CONTINUE) => DoubtVerdict::Continue,
        Some(STOP) | Some("") | None => DoubtVerdict::Stop,
        Some(words) => DoubtVerdict::Advise(words.to_owned()),
    }
}
