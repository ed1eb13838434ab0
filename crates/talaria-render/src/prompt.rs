//! The prompt below a question: the choices, one key each, or a line. Keys are read elsewhere.
//!
//! An empty line is no answer, since a default would one day approve something unread. Only choices that Codex carries
//! out are offered.

use talaria_core::request::{Ask, Decision, Wish};

use super::paint::Paint;
use super::question::{field_text, question_text, quoted};
use super::sanitize::reveal_line;
use super::style::Style;
use super::styled::StyledText;
use crate::dialog::{Dialog, Step};

const STOP: (&str, &str) = ("x", "no, stop the turn");
const DECLINE: (&str, &str) = ("n", "no, continue");
const WHY: (&str, &str) = ("r", "no, and say why");
const OTHER: (&str, &str) = ("o", "something else");

/// The next prompt, as shown before the cursor.
pub fn show(dialog: &Dialog, paint: Paint, width: Option<usize>) -> StyledText {
    let mut out = StyledText::default();
    if let Some(problem) = dialog.problem() {
        paint.push(&mut out, Style::DIM, &format!("  {problem}"));
        out.end_line();
    }
    let unseen = if dialog.is_secret() { ", not shown" } else { "" };
    match dialog.step() {
        Step::Choice => out.append(keys(&choices(dialog.ask()), paint, width)),
        Step::Reason => out.push_plain("tell the model why (empty line: back): "),
        Step::Question(_) | Step::Other(_) => {
            let Some(question) = dialog.question() else { return out };
            // Of several questions, the current one is right above the cursor.
            if matches!(dialog.ask(), Ask::Input { questions, .. } if questions.len() > 1) {
                out.append(quoted(&question_text(question), paint, width));
            }
            match dialog.step() {
                Step::Question(_) if !question.options.is_empty() => {
                    let first = format!("1-{}", question.options.len());
                    let meaning = format!("your answer{unseen}");
                    let mut choices = vec![(first.as_str(), meaning.as_str())];
                    choices.extend(question.other.then_some(OTHER));
                    choices.extend([DECLINE, WHY, STOP]);
                    out.append(keys(&choices, paint, width));
                }
                _ => out.push_plain(&format!("your answer{unseen} (empty line: back): ")),
            }
        }
        Step::Field(_) => {
            let Some(field) = dialog.field() else { return out };
            out.append(quoted(&field_text(field), paint, width));
            let empty = match (&field.default, field.required) {
                (Some(_), _) => "default",
                (None, true) => "back",
                (None, false) => "skip",
            };
            out.push_plain(&format!("your entry{unseen} (empty line: {empty}): "));
        }
    }
    out
}

/// A choice that one key makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptChoice {
    /// The key.
    pub key: char,
    /// What it means.
    pub meaning: String,
}

/// The choices of the next prompt, for faces where one can be marked; none where a line is typed, or where a mark would show a
/// secret.
pub fn key_choices(dialog: &Dialog) -> Vec<PromptChoice> {
    let named = |(key, meaning): (&str, &str)| {
        key.chars().next().map(|key| PromptChoice { key, meaning: meaning.to_owned() })
    };
    match (dialog.step(), dialog.question()) {
        (Step::Choice, _) => choices(dialog.ask()).into_iter().filter_map(named).collect(),
        (Step::Question(_), Some(question))
            if !question.secret && (1..=9).contains(&question.options.len()) =>
        {
            let options = ('1'..='9').zip(&question.options);
            let options = options
                .map(|(key, option)| PromptChoice { key, meaning: reveal_line(&option.label).into_owned() });
            let other = question.other.then_some(OTHER);
            options.chain(other.into_iter().chain([DECLINE, WHY, STOP]).filter_map(named)).collect()
        }
        _ => Vec::new(),
    }
}

/// The choices that a question leaves, with their keys.
fn choices(ask: &Ask) -> Vec<(&'static str, &'static str)> {
    let yes = match ask {
        Ask::Permissions { .. } => "yes, for this turn",
        Ask::TaskPower { .. } => "yes, for this task",
        Ask::Input { .. } => "answer",
        Ask::Elicitation { wish: Wish::Url { .. }, .. } => "done",
        Ask::Elicitation { wish: Wish::Form(form), .. } if form.fields.is_empty() => "yes",
        Ask::Elicitation { .. } => "fill it in",
        _ => "yes, once",
    };
    let is_power = matches!(ask, Ask::TaskPower { .. });
    let choice = |decision: Decision| match decision {
        Decision::Accept => vec![("y", yes)],
        Decision::AcceptForSession => vec![("s", "yes, for this session")],
        Decision::AcceptAlways => vec![("a", "yes, always")],
        Decision::Decline if is_power => vec![("n", "no, do not start it"), WHY],
        Decision::Decline => vec![DECLINE, WHY],
        // No turn runs that could be stopped.
        Decision::Cancel if is_power => Vec::new(),
        Decision::Cancel => vec![STOP],
        Decision::Void => Vec::new(),
    };
    ask.choices().into_iter().flat_map(choice).collect()
}

/// The same choices side by side, as line-based faces show them.
pub fn key_rows(choices: &[PromptChoice], paint: Paint, width: Option<usize>) -> StyledText {
    let names: Vec<(String, &str)> =
        choices.iter().map(|choice| (choice.key.to_string(), choice.meaning.as_str())).collect();
    let pairs: Vec<(&str, &str)> = names.iter().map(|(key, meaning)| (key.as_str(), *meaning)).collect();
    keys(&pairs, paint, width)
}

/// Keys and their meaning, in as many rows as they need; the cursor stays after the last.
fn keys(choices: &[(&str, &str)], paint: Paint, width: Option<usize>) -> StyledText {
    // The input needs room, too.
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(4).max(1));
    let (mut out, mut column) = (StyledText::default(), 0);
    for (at, (key, meaning)) in choices.iter().enumerate() {
        let end = if at + 1 < choices.len() { "" } else { ": " };
        let mut choice = paint.line(Style::BOLD, &format!("[{key}]"));
        choice.push(Style::PLAIN, &format!(" {meaning}{end}"));
        let columns = choice.width();
        match column {
            0 => {}
            _ if column + 2 + columns > room => {
                out.end_line();
                column = 0;
            }
            _ => {
                out.push_plain("  ");
                column += 2;
            }
        }
        out.push_line(choice);
        column += columns;
    }
    out
}

#[cfg(test)]
mod tests;
