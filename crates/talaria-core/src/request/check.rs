//! Does an answer fit its question? Asked by the turn machine for every answer, before anything is sent.
//!
//! The duration of an acceptance is not validated: one that is not offered becomes the next milder one (`reply`).

use std::collections::BTreeMap;

use super::{Answer, Ask, Content, Form, Given, Grant, Permissions, Question, Wish};

/// A mistake in an answer. No variant contains the typed text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// Its details do not match the question, or are missing.
    #[error("the answer does not bring what was asked for")]
    Content,
    /// No one can say yes to this.
    #[error("this can only be declined")]
    Unanswerable,
    /// A question of the model has no answer, or none of its options.
    #[error("the question {0:?} is not answered with one of its options")]
    Question(String),
    /// Nothing that was asked is in there.
    #[error("there is no question {0:?}")]
    NoSuchQuestion(String),
    /// A field of a form is wrong or missing.
    #[error("the field {name:?} does not fit: {problem}")]
    Field {
        /// The field.
        name: String,
        /// The accepted values.
        problem: String,
    },
    /// There is no such field.
    #[error("there is no field {0:?}")]
    NoSuchField(String),
    /// More is granted than was asked for.
    #[error("this permission was not asked for")]
    Grant,
}

impl Ask {
    /// Checks an answer. A no always fits.
    pub fn check(&self, answer: &Answer) -> Result<(), Misfit> {
        if !answer.decision.is_yes() {
            return Ok(());
        }
        match (self, &answer.content) {
            (Self::Input { questions, .. }, content) => check_input(questions, content),
            (Self::Elicitation { wish: Wish::Form(form), .. }, content) => check_form(form, content),
            (Self::Host { .. } | Self::Unsupported { .. }, _) => Err(Misfit::Unanswerable),
            (_, Content::Nothing) => Ok(()),
            (Self::Permissions { permissions, .. }, Content::Grant(grant)) => {
                check_grant(permissions, *grant)
            }
            _ => Err(Misfit::Content),
        }
    }
}

fn check_grant(permissions: &Permissions, grant: Grant) -> Result<(), Misfit> {
    let was_asked = match grant {
        Grant::All => true,
        Grant::Network => permissions.network,
        Grant::Files => !permissions.files.is_empty(),
    };
    if was_asked { Ok(()) } else { Err(Misfit::Grant) }
}

fn check_input(questions: &[Question], content: &Content) -> Result<(), Misfit> {
    let Content::Answers(answers) = content else { return Err(Misfit::Content) };
    if let Some(id) = answers.keys().find(|id| !questions.iter().any(|question| question.id == **id)) {
        return Err(Misfit::NoSuchQuestion(id.clone()));
    }
    let is_answered = |question: &&Question| {
        let given = answers.get(&question.id).map_or(&[][..], Vec::as_slice);
        !given.is_empty() && given.iter().all(|given| fits(question, given))
    };
    match questions.iter().find(|question| !is_answered(question)) {
        Some(question) => Err(Misfit::Question(question.id.clone())),
        None => Ok(()),
    }
}

fn fits(question: &Question, given: &Given) -> bool {
    let Some(text) = given.reveal().as_str() else { return false };
    question.takes_text() || question.options.iter().any(|option| option.label == text)
}

fn check_form(form: &Form, content: &Content) -> Result<(), Misfit> {
    let nothing = BTreeMap::new();
    let values = match content {
        Content::Form(values) => values,
        // A form without a field, or without one that must be filled in.
        Content::Nothing => &nothing,
        Content::Grant(_) | Content::Answers(_) => return Err(Misfit::Content),
    };
    if let Some(name) = values.keys().find(|name| !form.fields.iter().any(|field| field.name == **name)) {
        return Err(Misfit::NoSuchField(name.clone()));
    }
    for field in &form.fields {
        let checked = match values.get(&field.name) {
            Some(given) => field.check(given.reveal()),
            None if field.required => Err("this must be filled in".to_owned()),
            None => Ok(()),
        };
        checked.map_err(|problem| Misfit::Field { name: field.name.clone(), problem })?;
    }
    Ok(())
}
