//! The open list: entries, selection, visible part.

use std::ops::Range;

use talaria_guard::plain::reveal_line;
use unicode_width::UnicodeWidthStr;

use super::{CompletionChoice, Context, What};
use talaria_render::{Color, Look, Paint, Style, StyledLine, cut};

/// The most rows of a list.
const ROWS: usize = 8;
/// Maximum width of an entry next to its help.
const VALUE: usize = 40;

/// From this many rows on a row says how many choices are left out.
const MARKED: usize = 5;

/// An open list.
#[derive(Clone, Debug)]
pub(crate) struct Popup {
    pub(crate) context: Context,
    choices: Vec<CompletionChoice>,
    chosen: Option<usize>,
}

impl Popup {
    /// A list with nothing chosen.
    pub(crate) fn new(context: Context, choices: Vec<CompletionChoice>) -> Self {
        Self { context, choices, chosen: None }
    }

    /// Whether it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// The selected entry.
    pub(crate) fn chosen(&self) -> Option<&CompletionChoice> {
        self.chosen.and_then(|at| self.choices.get(at))
    }

    /// The only entry.
    pub(crate) fn only(&self) -> Option<&CompletionChoice> {
        self.choices.first().filter(|_| self.choices.len() == 1)
    }

    /// Replaces the entries for the same letters; the selection is kept if it is among them.
    pub(crate) fn renew(&mut self, choices: Vec<CompletionChoice>) {
        let value = self.chosen().map(|one| one.value.clone());
        self.chosen = value.and_then(|value| choices.iter().position(|one| one.value == value));
        self.choices = choices;
    }

    /// Chooses the next one.
    pub(crate) fn down(&mut self) {
        self.chosen = Some(self.chosen.map_or(0, |at| (at + 1) % self.choices.len().max(1)));
    }

    /// Chooses the one before.
    pub(crate) fn up(&mut self) {
        let last = self.choices.len().saturating_sub(1);
        self.chosen = Some(self.chosen.map_or(last, |at| at.checked_sub(1).unwrap_or(last)));
    }

    /// The rows that are seen.
    pub(crate) fn lines(&self, width: usize, max_rows: usize, look: Look) -> Vec<StyledLine> {
        let rows = ROWS.min(max_rows);
        if rows == 0 || width == 0 {
            return Vec::new();
        }
        let range = self.seen(rows);
        let seen = &self.choices[range.clone()];
        let column = seen.iter().map(|one| self.shown(one).width()).max().unwrap_or(0).min(VALUE);
        let lines = range.clone().zip(seen).map(|(at, one)| self.line(at, one, column, width, look));
        let (before, behind) = (range.start, self.choices.len() - range.end);
        let more = |count: usize| (count > 0 && rows >= MARKED).then(|| more(count, width, look));
        more(before).into_iter().chain(lines).chain(more(behind)).collect()
    }

    /// Which choices are seen in this many rows, the chosen one among them. Where some are left out, a row says so.
    fn seen(&self, rows: usize) -> Range<usize> {
        let (count, at) = (self.choices.len(), self.chosen.unwrap_or(0));
        if count <= rows {
            return 0..count;
        }
        if rows < MARKED {
            let top = (at + 1).saturating_sub(rows);
            return top..top + rows;
        }
        if at + 1 < rows {
            0..rows - 1
        } else if at + 2 < count {
            at + 3 - rows..at + 1
        } else {
            count + 1 - rows..count
        }
    }

    fn line(
        &self,
        at: usize,
        choice: &CompletionChoice,
        column: usize,
        width: usize,
        look: Look,
    ) -> StyledLine {
        let paint = Paint::new(look);
        let is_chosen = self.chosen == Some(at);
        let sign = if is_chosen { paint.sign("› ", "> ") } else { "  " };
        let style = |wanted: Style| if look.color { wanted } else { Style::PLAIN };
        let strong = if is_chosen { style(Style::BOLD.color(Color::Cyan)) } else { Style::PLAIN };
        let mut line = StyledLine::default();
        if width <= sign.width() + 1 {
            line.push(strong, &cut(&self.shown(choice), width, paint));
            return line;
        }
        line.push(strong, sign);
        let room = width - sign.width();
        let about = reveal_line(&choice.about);
        // Help is shown where enough of it fits to be understood.
        if about.is_empty() || room < column + 2 + 12 {
            line.push(strong, &cut(&self.shown(choice), room, paint));
            return line;
        }
        let value = cut(&self.shown(choice), column, paint);
        let space = " ".repeat(column + 2 - value.width().min(column));
        line.push(strong, &value);
        line.push(style(Style::DIM), &(space + &cut(&about, room - column - 2, paint)));
        line
    }

    fn shown(&self, choice: &CompletionChoice) -> String {
        let slash = if self.context.what == What::Name { "/" } else { "" };
        format!("{slash}{}", reveal_line(&choice.value))
    }
}

/// This many choices are not shown here.
fn more(count: usize, width: usize, look: Look) -> StyledLine {
    let paint = Paint::new(look);
    let text = cut(&format!("  {} {count} more", paint.sign("…", "~")), width, paint);
    StyledLine::of(if look.color { Style::DIM } else { Style::PLAIN }, text)
}
