//! A question of the model: a choice of options, free text, or both.

use serde::{Deserialize, Serialize};

use super::Given;

/// A question of the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// Names it in the answer.
    pub id: String,
    /// Its heading.
    pub header: String,
    /// The question.
    pub question: String,
    /// The options; none means free text.
    pub options: Vec<QuestionOption>,
    /// May the answer be none of the options?
    pub other: bool,
    /// Must the answer stay unseen?
    pub secret: bool,
}

/// Something that may be chosen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionOption {
    /// Its name, which is also the answer.
    pub label: String,
    /// Description.
    pub description: String,
}

impl Question {
    /// Is free text an answer?
    pub fn takes_text(&self) -> bool {
        self.other || self.options.is_empty()
    }

    /// The option that someone means by its number, counted from 1, or by its name.
    pub fn option(&self, text: &str) -> Option<&QuestionOption> {
        let text = text.trim();
        match text.parse::<usize>() {
            Ok(number) => self.options.get(number.checked_sub(1)?),
            Err(_) => self.options.iter().find(|option| option.label.eq_ignore_ascii_case(text)),
        }
    }

    /// Marks an answer to it as what it is.
    pub fn given(&self, answer: impl Into<String>) -> Given {
        let answer = answer.into();
        if self.secret { Given::secret(answer) } else { Given::plain(answer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(labels: &[&str]) -> Question {
        let option = |label: &&str| QuestionOption { label: (*label).to_owned(), description: String::new() };
        let options = labels.iter().map(option).collect();
        let (header, question) = (String::new(), String::new());
        Question { id: "q".to_owned(), header, question, options, other: false, secret: false }
    }

    #[test]
    fn an_option_is_chosen_by_its_number_or_its_name() {
        let question = question(&["Red (Recommended)", "Blue"]);
        let chosen = |text: &str| question.option(text).map(|option| option.label.as_str());
        assert_eq!(chosen("1"), Some("Red (Recommended)"));
        assert_eq!(chosen(" 2 "), Some("Blue"));
        assert_eq!(chosen("blue"), Some("Blue"));
        for text in ["0", "3", "", "-1", "red", "99999999999999999999"] {
            assert_eq!(chosen(text), None, "{text}");
        }
    }

    #[test]
    fn without_options_only_text_is_an_answer() {
        assert!(question(&[]).takes_text());
        assert!(!question(&["a"]).takes_text());
        assert!(Question { other: true, ..question(&["a"]) }.takes_text());
    }

    #[test]
    fn an_answer_to_a_secret_question_is_a_secret() {
        assert!(!question(&[]).given("x").is_secret());
        assert!(Question { secret: true, ..question(&[]) }.given("x").is_secret());
    }
}
