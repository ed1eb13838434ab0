//! A change of files: named while it is under way, shown as a coloured diff once it was made.

use talaria_core::event::Abandonment;
use talaria_core::item::{FileChange, Status};
use talaria_core::request::{Decision, Who};

use super::cell::{Folding, Page, passed};
use super::kept::missing_note;
use super::printed::more_lines;
use super::request::{answered_elsewhere, held, unanswered, unheard};
use super::wrap::{Break, rows, wrap};
use talaria_render::diff::{self, Amount, Counts};
use talaria_render::{Style, StyledLine, cut, spinner, tool_line};

/// Lines of a diff that is shown in short.
const FEW: usize = 24;
/// Bytes that are kept of a change.
const LONGEST: usize = 96 * 1024;

/// A change of files.
#[derive(Debug)]
pub(super) struct Patch {
    changes: Vec<(FileChange, Counts)>,
    missing: usize,
    state: State,
    since: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// A person is asked about it: nothing changes.
    Held,
    /// A person said no.
    Refused,
    /// The question went without an answer: it did not run.
    Unanswered,
    /// Another client of Codex may have accepted it: it may run.
    Elsewhere,
    Ended(Status),
    /// The turn ended, and no end of this was reported.
    Left(Option<Abandonment>),
}

impl Patch {
    /// It is under way since this time of day.
    pub(super) fn begun(changes: &[FileChange], since: i64) -> Self {
        let mut patch = Self { changes: Vec::new(), missing: 0, state: State::Running, since };
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

    /// It ended like this.
    pub(super) fn end(&mut self, status: Status) {
        self.state = State::Ended(status);
    }

    /// A person is asked about it. Does it wait for the answer?
    pub(super) fn hold(&mut self) -> bool {
        if self.state == State::Running {
            self.state = State::Held;
        }
        self.state == State::Held
    }

    /// The person has answered. With a yes its time begins now; with a no it does not run until an event says how it ended.
    pub(super) fn release(&mut self, now: i64, decision: Decision, by: Who) {
        match (&self.state, decision) {
            (State::Held, Decision::Void) if by == Who::OtherClient => {
                (self.state, self.since) = (State::Elsewhere, now);
            }
            (State::Held, Decision::Decline | Decision::Cancel) => self.state = State::Refused,
            (State::Held, Decision::Void) => self.state = State::Unanswered,
            (State::Held, _) => (self.state, self.since) = (State::Running, now),
            _ => {}
        }
    }

    /// Its turn ended, and nothing was heard of its end.
    pub(super) fn leave(&mut self, why: Option<Abandonment>) {
        match self.state {
            // The question is in a page that is not here.
            State::Running if why == Some(Abandonment::NotRun) => self.state = State::Unanswered,
            State::Running | State::Elsewhere => self.state = State::Left(why),
            State::Held => self.state = State::Unanswered,
            State::Refused => self.state = State::Ended(Status::Declined),
            _ => {}
        }
    }

    /// Is it under way?
    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// May an event still change it?
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Running | State::Held | State::Refused | State::Elsewhere)
    }

    /// Has an event said that it ended?
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// What it takes in memory.
    pub(super) fn weight(&self) -> usize {
        self.changes.iter().map(|(change, _)| size_of::<FileChange>() + change.diff.len()).sum()
    }

    /// Its rows.
    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let paint = page.paint;
        let mut out = Vec::new();
        let is_made = self.state == State::Ended(Status::Completed);
        if !is_made {
            wrap(self.head(page), page.width, 2, Break::Anywhere, &mut out);
            if page.fold == Folding::Folded {
                let lines: usize = self.changes.iter().map(|(change, _)| diff::line_count(change)).sum();
                // While it waits or runs, the question or the end shows it.
                if !self.is_open() && lines > 0 {
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
        let status = match self.state {
            State::Running if !page.is_heard => return unheard(&names, page),
            State::Running => {
                let passed = spinner::seconds(passed(page.wall, self.since));
                let names = cut(&names, page.width.saturating_sub(passed.len() + 13).max(12), paint);
                let sign = spinner::sign(page.now, paint);
                return paint.line(Style::PLAIN, &format!("{sign} changing {names}  {passed}"));
            }
            State::Held => return held(&names, page),
            State::Unanswered => return unanswered(&names, page),
            State::Elsewhere => return answered_elsewhere(&names, page),
            State::Refused => Status::Declined,
            State::Left(why) => {
                let why = Some(tool_line::left(why).to_owned());
                let paper = Some(page.paper());
                return tool_line::line(&names, Status::InProgress, [why, None], paper, paint);
            }
            State::Ended(status) => status,
        };
        tool_line::line(&names, status, [None, None], Some(page.paper()), paint)
    }
}
