//! A shell command of the person that has ended: output and exit status. It folds as a command of Codex does.
//!
//! The model does not see it, and no event restores it.

use std::time::Duration;

use talaria_guard::plain::one_line;

use super::cell::{Folding, Page};
use super::kept::{Kept, Limits};
use super::printed::{self, Gist};
use super::wrap::{Break, rows, wrap};
use talaria_render::{Color, Style, StyledLine, cut};

/// More than the driver keeps: nothing is cut out here.
const LIMITS: Limits = Limits { head: 512 * 1024, tail: 1024 };

/// A shell command of the person that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The typed command.
    pub command: String,
    /// Its output; not yet made harmless.
    pub output: String,
    /// Is the beginning of what it printed gone?
    pub is_cut: bool,
    /// Its exit code, if there is one.
    pub exit: Option<i32>,
    /// How long it ran; `None` if it did not run.
    pub took: Option<Duration>,
    /// Note for the user.
    pub note: Option<String>,
}

/// The same, as it is shown.
#[derive(Debug)]
pub(super) struct Own {
    ran: Ran,
    output: Kept,
}

impl Own {
    /// It has ended.
    pub(super) fn new(mut ran: Ran) -> Self {
        let output = Kept::of(&std::mem::take(&mut ran.output), LIMITS);
        Self { ran, output }
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        self.ran.command.len() + self.output.weight()
    }

    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let paint = page.paint;
        let mut out = Vec::new();
        let head = format!("! {}", one_line(&self.ran.command));
        let head = match page.fold {
            Folding::Folded => cut(&head, page.width, paint),
            Folding::Unfolded => head,
        };
        wrap(paint.line(Style::BOLD, &head), page.width, 2, Break::Anywhere, &mut out);
        let put = |style: Style, text: &str, out: &mut Vec<StyledLine>| {
            out.extend(rows(paint.text(style, &format!("  {text}")), page.width, 2, Break::Words));
        };
        if self.ran.is_cut {
            put(Style::DIM, "(the beginning of its output was dropped)", &mut out);
        }
        printed::push(&self.output, Gist::End, Style::PLAIN, page, &mut out);
        let failed = Style::PLAIN.color(Color::Red);
        let (style, word) = match self.ran.exit {
            None if self.ran.took.is_none() => (failed, "did not run".to_owned()),
            Some(0) => (Style::DIM, "exit 0".to_owned()),
            Some(code) => (failed, format!("exit {code}")),
            None => (failed, "no exit code".to_owned()),
        };
        let took = self.ran.took.map(|took| format!(", {:.1}s", took.as_secs_f64()));
        put(style, &(word + &took.unwrap_or_default()), &mut out);
        if let Some(note) = &self.ran.note {
            put(Style::DIM, &one_line(note), &mut out);
        }
        out
    }
}
