//! How a person's lines become an answer: a choice, and for some questions further lines, one step after another.
//!
//! Pure: lines in, steps and an answer out. Reads no key and shows nothing; `face` feeds it, `render::prompt` shows its
//! step. An empty line is never a yes, and a key of ours means what it says whatever the options of others are called.

use std::collections::BTreeMap;

use talaria_core::request::{Answer, Ask, Content, Decision, Field, Given, Question, Wish};

/// A question while it is being answered.
#[derive(Debug)]
pub struct Dialog {
    ask: Ask,
    step: Step,
    /// Counts the steps, so that a line typed for one is not taken for another.
    count: usize,
    /// Error of the last line.
    problem: Option<String>,
    answers: BTreeMap<String, Vec<Given>>,
    values: BTreeMap<String, Given>,
}

/// The next prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One of the choices.
    Choice,
    /// Why not.
    Reason,
    /// An answer to the question with this index.
    Question(usize),
    /// The same in free text, where there are options too.
    Other(usize),
    /// A value for the field with this index.
    Field(usize),
}

/// Result of a line.
#[derive(Debug)]
pub enum DialogResult {
    /// The person is asked again, or the next thing.
    Ask,
    /// That is the answer.
    Answer(Answer),
}

impl Dialog {
    /// Begins. The model's questions need no introduction; a form does, since it is sent to another party.
    pub fn new(ask: Ask) -> Self {
        let step = if matches!(ask, Ask::Input { .. }) { Step::Question(0) } else { Step::Choice };
        let (answers, values) = (BTreeMap::new(), BTreeMap::new());
        Self { ask, step, count: 0, problem: None, answers, values }
    }

    /// The question.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// The next prompt.
    pub fn step(&self) -> Step {
        self.step
    }

    /// The number of the step.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Error of the last line.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The question that is being answered.
    pub fn question(&self) -> Option<&Question> {
        match (&self.ask, self.step) {
            (Ask::Input { questions, .. }, Step::Question(at) | Step::Other(at)) => questions.get(at),
            _ => None,
        }
    }

    /// The field that is being filled in.
    pub fn field(&self) -> Option<&Field> {
        match (&self.ask, self.step) {
            (Ask::Elicitation { wish: Wish::Form(form), .. }, Step::Field(at)) => form.fields.get(at),
            _ => None,
        }
    }

    /// Whether input must be hidden. The number of an option would reveal it, too.
    pub fn is_secret(&self) -> bool {
        self.question().is_some_and(|question| question.secret)
            || self.field().is_some_and(|field| field.secret)
    }

    /// Takes a line, without its end.
    pub fn take(&mut self, line: &str) -> DialogResult {
        self.problem = None;
        match self.step {
            Step::Choice => self.take_choice(line),
            Step::Reason if line.trim().is_empty() => self.go(Step::Choice),
            Step::Reason => DialogResult::Answer(Answer::decline_because(line.trim())),
            Step::Question(at) => self.take_question(at, line),
            Step::Other(at) if line.trim().is_empty() => self.go(Step::Question(at)),
            Step::Other(at) => self.take_text(at, line),
            Step::Field(at) => self.take_field(at, line),
        }
    }

    /// Returns from the input to the choices. Earlier answers are asked again.
    pub fn back(&mut self) {
        self.problem = None;
        self.go(Step::Choice);
    }

    fn go(&mut self, step: Step) -> DialogResult {
        self.step = step;
        self.count += 1;
        DialogResult::Ask
    }

    fn take_choice(&mut self, line: &str) -> DialogResult {
        let Some(key) = Key::read(line) else { return DialogResult::Ask };
        let decision = match key {
            Key::Decide(decision) if self.ask.choices().contains(&decision) => decision,
            Key::Decide(_) => return DialogResult::Ask,
            Key::Why => return self.go(Step::Reason),
        };
        match (&self.ask, decision) {
            (Ask::Input { .. }, Decision::Accept) => {
                self.answers.clear();
                self.go(Step::Question(0))
            }
            (Ask::Elicitation { wish: Wish::Form(form), .. }, Decision::Accept)
                if !form.fields.is_empty() =>
            {
                self.values.clear();
                self.go(Step::Field(0))
            }
            _ => DialogResult::Answer(decision.into()),
        }
    }

    fn take_question(&mut self, at: usize, line: &str) -> DialogResult {
        let Some(question) = self.question() else { return self.go(Step::Choice) };
        if question.options.is_empty() {
            return if line.trim().is_empty() { self.go(Step::Choice) } else { self.take_text(at, line) };
        }
        match line.trim() {
            "n" => return DialogResult::Answer(Decision::Decline.into()),
            "x" => return DialogResult::Answer(Decision::Cancel.into()),
            "r" => return self.go(Step::Reason),
            "o" if question.other => return self.go(Step::Other(at)),
            _ => {}
        }
        match question.option(line).map(|option| question.given(option.label.clone())) {
            Some(given) => self.answered(at, given),
            None => DialogResult::Ask,
        }
    }

    /// A secret may begin or end with a space.
    fn take_text(&mut self, at: usize, line: &str) -> DialogResult {
        let Some(question) = self.question() else { return self.go(Step::Choice) };
        let given = question.given(if question.secret { line } else { line.trim() });
        self.answered(at, given)
    }

    fn answered(&mut self, at: usize, given: Given) -> DialogResult {
        let Ask::Input { questions, .. } = &self.ask else { return self.go(Step::Choice) };
        if let Some(question) = questions.get(at) {
            self.answers.insert(question.id.clone(), vec![given]);
        }
        if at + 1 < questions.len() {
            return self.go(Step::Question(at + 1));
        }
        DialogResult::Answer(Answer::with(Content::Answers(std::mem::take(&mut self.answers))))
    }

    fn take_field(&mut self, at: usize, line: &str) -> DialogResult {
        let Some(field) = self.field() else { return self.go(Step::Choice) };
        match field.read(line) {
            Ok(given) => {
                let name = field.name.clone();
                self.values.extend(given.map(|given| (name, given)));
            }
            // The way out of a form that cannot be filled in.
            Err(_) if line.trim().is_empty() => return self.go(Step::Choice),
            Err(problem) => {
                self.problem = Some(problem);
                return DialogResult::Ask;
            }
        }
        self.step = Step::Field(at + 1);
        if self.field().is_some() {
            return self.go(self.step);
        }
        DialogResult::Answer(Answer::with(Content::Form(std::mem::take(&mut self.values))))
    }
}

/// A key that represents a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Decide(Decision),
    Why,
}

impl Key {
    fn read(line: &str) -> Option<Self> {
        Some(match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Self::Decide(Decision::Accept),
            "s" => Self::Decide(Decision::AcceptForSession),
            "a" => Self::Decide(Decision::AcceptAlways),
            "n" | "no" => Self::Decide(Decision::Decline),
            "r" => Self::Why,
            "x" => Self::Decide(Decision::Cancel),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
