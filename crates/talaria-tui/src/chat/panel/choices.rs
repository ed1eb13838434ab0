//! The choices below a request: a row each where there is room, with a number, a key, and a mark that the arrows move.
//!
//! None is marked at first, and Enter takes only what is marked: an answer is never a default. A long patch can be accepted
//! without reading its diffs once the list of its files has been read; that choice is the last, so that it changes no number.

use talaria_core::request::Ask;
use talaria_render::dialog::Step;
use talaria_render::prompt::{PromptChoice, key_choices};
use talaria_render::{Color, Paint, Style, StyledLine, cut};

use super::super::contract::Code;
use super::{Held, Panel, Stage};

/// The key that accepts a long patch after its list of files.
pub(super) const UNREAD_KEY: char = 'u';
const ACCEPT_UNREAD: &str = "yes, once, without reading the diffs";

impl Panel {
    /// The choices that one key makes now.
    pub(super) fn choices(&self) -> Vec<PromptChoice> {
        if self.stage == Stage::Sent {
            return Vec::new();
        }
        let mut choices = key_choices(&self.dialog);
        if self.offers_unread() {
            choices.push(PromptChoice { key: UNREAD_KEY, meaning: ACCEPT_UNREAD.to_owned() });
        }
        choices
    }

    /// Is there a list of files, and a diff below it that was not read?
    fn offers_unread(&self) -> bool {
        let is_long = self.body.as_ref().is_some_and(|body| body.list_end.is_some());
        // A grant outlasts the patch, and the note about it is below the diffs.
        let is_patch = matches!(self.dialog.ask(), Ask::Patch { grant_root: None, .. })
            && self.dialog.step() == Step::Choice;
        is_patch && is_long && !self.page.is_whole()
    }

    /// The key of a choice for a typed character: its letter, or its number.
    pub(super) fn key_of(&self, c: char) -> Option<char> {
        let (choices, c) = (self.choices(), c.to_ascii_lowercase());
        if choices.iter().any(|choice| choice.key == c) {
            return Some(c);
        }
        // The numbers of a question are its options. Others count only where they are on the screen.
        let number = c.to_digit(10).filter(|_| self.has_numbers && self.dialog.step() == Step::Choice)?;
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        choices.get(at).map(|choice| choice.key)
    }

    /// The key of the marked choice.
    pub(super) fn marked_key(&self) -> Option<char> {
        let (count, at) = self.marked?;
        // The mark belongs to the step that it was made in.
        (count == self.dialog.count()).then(|| self.choices().get(at).map(|choice| choice.key)).flatten()
    }

    /// Would Enter give another answer than the letter that waits?
    pub(in super::super) fn is_other_marked(&self) -> bool {
        let held = match self.held() {
            Some(Held::Answer(letter)) => self.key_of(letter),
            _ => None,
        };
        self.marked_key().is_some_and(|marked| Some(marked) != held)
    }

    fn marked_at(&self) -> Option<usize> {
        let key = self.marked_key()?;
        self.choices().iter().position(|choice| choice.key == key)
    }

    /// Moves the mark. Above the first choice is the text of the request, which scrolls first.
    pub(super) fn move_mark(&mut self, code: Code) -> bool {
        let last = match self.choices().len() {
            0 => return false,
            count => count - 1,
        };
        let at = match (code, self.marked_at()) {
            (Code::Down, None) if self.page.overflows() && !self.page.is_at_end() => return false,
            (Code::Down, None) => Some(0),
            (Code::Down, Some(at)) => Some((at + 1).min(last)),
            (Code::Up, None) if self.page.overflows() => return false,
            (Code::Up, None) => Some(last),
            (Code::Up, Some(at)) => at.checked_sub(1),
            _ => return false,
        };
        self.marked = at.map(|at| (self.dialog.count(), at));
        true
    }

    /// A row for each choice.
    pub(super) fn choice_rows(&self, width: usize, paint: Paint) -> Vec<StyledLine> {
        if self.dialog.step() != Step::Choice {
            return Vec::new();
        }
        let marked = self.marked_at();
        let row = |(at, choice): (usize, PromptChoice)| {
            choice_row(at + 1, &choice, marked == Some(at), width, paint)
        };
        self.choices().into_iter().enumerate().map(row).collect()
    }

    /// The marked choice alone, where there is no room for all.
    pub(super) fn marked_row(&self, width: usize, paint: Paint) -> Option<StyledLine> {
        let at = self.marked_at()?;
        let choice = self.choices().into_iter().nth(at)?;
        Some(choice_row(at + 1, &choice, true, width, paint))
    }
}

fn choice_row(
    number: usize,
    choice: &PromptChoice,
    is_marked: bool,
    width: usize,
    paint: Paint,
) -> StyledLine {
    let sign = if is_marked { paint.sign("› ", "> ") } else { "  " };
    // The options of a question are numbers themselves.
    let number = if choice.key.is_ascii_digit() { String::new() } else { format!("{number} ") };
    let text = format!("{sign}{number}[{}] {}", choice.key, choice.meaning);
    let style = if is_marked { Style::BOLD.color(Color::Cyan) } else { Style::PLAIN };
    StyledLine::of(style, cut(&text, width, paint))
}
