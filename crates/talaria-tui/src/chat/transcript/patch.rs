//! A change of files: named while it is running, shown as a coloured diff once it was made.

use talaria_core::item::{FileChange, Status};

use super::cell::{Folding, Page, time_since};
use super::kept::missing_note;
use super::lifecycle::Lifecycle;
use super::printed::more_lines;
use super::wrap::{Break, rows, wrap};
use talaria_render::diff::{self, Amount, Counts};
use talaria_render::{Style, StyledLine, cut, spinner, tool_line};

/// Lines of a diff that is shown in short.
const FEW: usize = 24;
/// Maximum size of a kept change.
const LONGEST: usize = 96 * 1024;

/// A change of files.
#[derive(Debug)]
pub(super) struct Patch {
    changes: Vec<(FileChange, Counts)>,
    missing: usize,
    pub(super) life: Lifecycle,
}

impl Patch {
    /// It runs since this time of day.
    pub(super) fn begun(changes: &[FileChange], since: i64) -> Self {
        let mut patch = Self { changes: Vec::new(), missing: 0, life: Lifecycle::Running(since) };
        patch.replace(changes);
        patch
    }

    /// It has other changes by now.
    pub(super) fn replace(&mut self, changes: &[FileChange]) {
        let mut left = LONGEST;
        self.missing = 0;
        let keep = |change: &FileChange| {
            let end = change.diff.floor_char_boundary(left);
            let end = if end < change.diff.len() {
                change.diff[..end].rfind('\n').map_or(0, |at| at + 1)
            } else {
                end
            };
            left -= end;
            self.missing += change.diff.len() - end;
            let counts = diff::counts(change);
            let kept = FileChange {
                path: change.path.clone(),
                action: change.action,
                move_to: change.move_to.clone(),
                diff: change.diff[..end].to_owned(),
            };
            (kept, counts)
        };
        self.changes = changes.iter().map(keep).collect();
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        self.changes.iter().map(|(change, _)| size_of::<FileChange>() + change.diff.len()).sum()
    }

    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let paint = page.paint;
        let mut out = Vec::new();
        let is_made = matches!(self.life, Lifecycle::Ended(Status::Completed, _));
        if !is_made {
            wrap(self.head(page), page.width, 2, Break::Anywhere, &mut out);
            if page.fold == Folding::Folded {
                let lines: usize = self.changes.iter().map(|(change, _)| diff::line_count(change)).sum();
                // While it waits or runs, the question or the end shows it.
                if !self.life.is_open() && lines > 0 {
                    let more = paint.line(Style::DIM, &format!("  {}", more_lines(lines, page)));
                    wrap(more, page.width, 2, Break::Anywhere, &mut out);
                }
                return out;
            }
        }
        let amount = match page.fold {
            Folding::Folded => Amount::Folded(FEW),
            Folding::Unfolded => Amount::All,
        };
        let changes = self.changes.iter().map(|(change, counts)| (change, *counts));
        let sign = if is_made { diff::Sign::Made } else { diff::Sign::Wanted };
        let text = diff::show_counted(changes, sign, amount, Some(page.paper()), paint);
        if !text.is_empty() {
            out.extend(rows(text, page.width, 2, Break::Anywhere));
        }
        if page.fold == Folding::Unfolded
            && let Some(note) = missing_note(self.missing)
        {
            out.extend(rows(paint.text(Style::DIM, &note), page.width, 2, Break::Words));
        }
        out
    }

    fn head(&self, page: &Page<'_>) -> StyledLine {
        let paint = page.paint;
        let changes = self.changes.iter().map(|(change, counts)| (change, *counts));
        let names = diff::summary_counted(changes, paint);
        if let Some(line) = self.life.head(&names, page) {
            return line;
        }
        match self.life {
            Lifecycle::Running(since) => {
                let passed = spinner::seconds(time_since(page.wall, since));
                let names = cut(&names, page.width.saturating_sub(passed.len() + 13).max(12), paint);
                let sign = spinner::sign(page.now, paint);
                paint.line(Style::PLAIN, &format!("{sign} changing {names}  {passed}"))
            }
            Lifecycle::Ended(status, _) => {
                tool_line::line(&names, status, [None, None], Some(page.paper()), paint)
            }
            // No patch is in these states.
            _ => StyledLine::default(),
        }
    }
}
