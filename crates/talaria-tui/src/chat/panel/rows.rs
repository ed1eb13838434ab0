//! The panel as rows: the question, as much of it as fits, and the prompt. No row is cut: a wide one continues in the next.

use std::ops::Range;
use std::path::Path;

use talaria_core::request::Ask;
use talaria_guard::plain::reveal_line;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::super::line::fitting;
use super::super::welcome::wrapped;
use super::{Panel, Stage, short};
use talaria_render::dialog::Step;
use talaria_render::question::{self, QuestionContext};
use talaria_render::{Color, Paint, Style, StyledLine, StyledSpan, cut, diff, prompt};

/// An answer was given.
const SENT: &[&str] = &["your answer is on its way", "answer on its way", "answer sent"];
/// The input line has the keyboard.
const ELSEWHERE: &[&str] =
    &["Ctrl-G answers it; keys go to the input line", "Ctrl-G answers it", "Ctrl-G answers"];

/// A patch with more rows begins with the list of its files.
const LONG: usize = 40;

/// The question in rows of a width.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) width: usize,
    pub(super) lines: Vec<StyledLine>,
    /// How many rows the title and the list of files have, where a long patch has that list.
    pub(super) list_end: Option<usize>,
}

/// The panel on the screen.
#[derive(Debug, Default)]
pub(in super::super) struct Rows {
    pub(in super::super) lines: Vec<StyledLine>,
    /// After the typed text.
    pub(in super::super) cursor: Option<(usize, usize)>,
}

impl Panel {
    /// The rows, at most `height`. They count as seen when they have been drawn.
    pub(in super::super) fn rows(&mut self, width: usize, height: usize, paint: Paint) -> Rows {
        if height == 0 || width == 0 {
            return Rows::default();
        }
        if self.body.as_ref().is_none_or(|body| body.width != width) {
            self.body = Some(self.question(width, paint));
        }
        let mut tail = self.tail(width, height, paint);
        let numbered = self.choice_rows(width, paint);
        self.has_numbers = !numbered.is_empty() && tail.ends_with(&numbered);
        let Some(Body { lines: body, .. }) = &self.body else { return Rows::default() };
        let most =
            if body.is_empty() { height } else { height.div_ceil(2).max(height.saturating_sub(body.len())) };
        let tail_room = most.min(height.saturating_sub(1)).max(1);
        if tail.len() > tail_room {
            tail.drain(..tail.len() - tail_room);
            self.has_numbers &= tail_room >= numbered.len();
        }
        let room = height - tail.len();
        let has_mark = body.len() > room && room > 1;
        let shown = self.page.show(body.len(), width, room - usize::from(has_mark));
        let mut lines = body[shown.clone()].to_vec();
        if has_mark {
            lines.push(self.mark(shown, width, paint));
        }
        let has_cursor = self.takes_line() && self.has_keyboard();
        let column = tail.last().map_or(0, StyledLine::width);
        lines.extend(tail);
        let cursor = has_cursor.then(|| (column, lines.len().saturating_sub(1)));
        Rows { lines, cursor }
    }

    fn question(&self, width: usize, paint: Paint) -> Body {
        let rules = QuestionContext {
            sandbox: &self.scene.sandbox,
            approval: &self.scene.approval,
            place: self.scene.place,
            cwd: &self.scene.cwd,
        };
        let mut lines = Vec::new();
        for whose in self.scene.origin.iter().chain(&self.scene.agent) {
            lines.push(StyledLine::of(Style::BOLD, whose.clone()));
        }
        let near = nearby(self.dialog.ask(), &self.scene.cwd);
        let ask = near.as_ref().unwrap_or(self.dialog.ask());
        let mut shown = question::show(ask, paint, Some(width), rules).into_lines();
        let mut list = match ask {
            Ask::Patch { changes: Some(changes), .. } if shown.len() > LONG => {
                diff::file_list(changes, paint).into_lines()
            }
            _ => Vec::new(),
        };
        let has_list = !list.is_empty();
        let mut place = StyledLine::of(Style::DIM, format!("  {:<8}", "in"));
        place.push(Style::PLAIN, &reveal_line(&self.scene.cwd));
        if has_list && near.is_some() {
            list.push(place.clone());
        }
        let list_end = lines.len() + list.len() + 1;
        // Below the title.
        let below = shown.len().min(1);
        shown.splice(below..below, list);
        lines.extend(shown);
        if near.is_some() && !has_list {
            lines.push(place);
        }
        let rows = |lines: &[StyledLine]| -> Vec<StyledLine> {
            lines.iter().flat_map(|line| broken(line.clone(), width)).collect()
        };
        let list_end = has_list.then(|| rows(&lines[..list_end.min(lines.len())]).len());
        Body { width, lines: rows(&lines), list_end }
    }

    /// Which rows are shown, and which have to be shown before a yes.
    fn mark(&self, shown: Range<usize>, width: usize, paint: Paint) -> StyledLine {
        let rule = paint.sign("──", "--");
        let place = format!("{}-{}/{}", shown.start + 1, shown.end, self.page.total());
        let unseen = self.page.unseen().filter(|_| self.stage == Stage::Asking);
        let mut words = Vec::new();
        if let Some(rows) = unseen {
            // Not every keyboard has pages. Where a line is typed, a space is part of it; and whose keys go to the input
            // line gets the keyboard first.
            let (long, short) = match (rows.start < shown.start, self.takes_line()) {
                _ if !self.has_keyboard() => ("", ""),
                (true, _) => (": PageUp", ": Up"),
                (false, true) => (": PageDown", ": Down"),
                (false, false) => (": Space or PageDown", ": Space"),
            };
            let rows = format!("{}-{}", rows.start + 1, rows.end);
            words.push(format!("{rule} {place}; {rows} not seen yet{long} {rule}"));
            words.push(format!("{rule} {place}; {rows} unseen{short} {rule}"));
            words.push(format!("{place}, unseen {rows}{short}"));
            words.push(format!("unseen {rows}{short}"));
            words.push(format!("unseen {rows}"));
        } else {
            let arrow = if self.page.is_at_end() { " Up" } else { " Down" };
            let arrow = if self.has_keyboard() { arrow } else { "" };
            words.push(format!("{rule} {place}{arrow} {rule}"));
        }
        words.push(place);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        StyledLine::of(Style::DIM, fitting(&words, width))
    }

    /// The prompt, or why no answer is possible now.
    fn tail(&self, width: usize, height: usize, paint: Paint) -> Vec<StyledLine> {
        let wanted = match self.stage {
            Stage::Sent => vec![StyledLine::of(Style::DIM, fitting(SENT, width))],
            Stage::Asking if !self.has_keyboard() => {
                vec![StyledLine::of(Style::BOLD, fitting(ELSEWHERE, width))]
            }
            Stage::Asking => self.choice_list(width, height, paint),
        };
        let Some(problem) = self.problem.as_deref() else {
            return if wanted.len() > height / 2 { vec![self.short(width, paint)] } else { wanted };
        };
        let red = |text| StyledLine::of(Style::PLAIN.color(Color::Red), text);
        let told: Vec<StyledLine> = wrapped(problem, width).into_iter().map(red).collect();
        if told.len() + wanted.len() <= height / 2 {
            return told.into_iter().chain(wanted).collect();
        }
        vec![red(cut(problem, width, paint)), self.short(width, paint)]
    }

    /// The choices, a row each if nothing of the question is hidden by that; else side by side, or the marked one alone.
    fn choice_list(&self, width: usize, height: usize, paint: Paint) -> Vec<StyledLine> {
        let rows = self.choice_rows(width, paint);
        let body = self.body.as_ref().map_or(0, |body| body.lines.len());
        if !rows.is_empty() && body + rows.len() <= height {
            return rows;
        }
        self.marked_row(width, paint).map_or_else(|| self.prompt(width, paint), |row| vec![row])
    }

    /// The prompt, in as many rows as it needs.
    fn prompt(&self, width: usize, paint: Paint) -> Vec<StyledLine> {
        let shown = match self.dialog.step() {
            Step::Choice => prompt::key_rows(&self.choices(), paint, Some(width)),
            _ => prompt::show(&self.dialog, paint, Some(width)),
        };
        let mut lines = shown.into_lines();
        if let Some(last) = lines.last_mut().filter(|_| !self.dialog.is_secret()) {
            last.push(Style::PLAIN, &reveal_line(self.entry.text()));
        }
        lines.into_iter().flat_map(|line| broken(line, width)).collect()
    }

    /// The same in one row, for windows with little room: the keys alone, or the end of what is typed.
    fn short(&self, width: usize, paint: Paint) -> StyledLine {
        match self.stage {
            Stage::Sent => return StyledLine::of(Style::DIM, fitting(SENT, width)),
            Stage::Asking if !self.has_keyboard() => {
                return StyledLine::of(Style::BOLD, fitting(ELSEWHERE, width));
            }
            Stage::Asking => {}
        }
        if let Some(marked) = self.marked_row(width, paint) {
            return marked;
        }
        if let Some(keys) = short::keys(&self.choices()) {
            return StyledLine::of(Style::BOLD, keys);
        }
        let label = short::label(&self.dialog);
        let mut line = StyledLine::of(Style::BOLD, label);
        if !self.dialog.is_secret() {
            // The cursor is after it.
            let room = width.saturating_sub(label.width() + 1);
            line.push(Style::PLAIN, &short::end_of(&reveal_line(self.entry.text()), room, paint));
        }
        line
    }
}

/// A patch with its files named as seen from where the conversation works, if that shortens any.
fn nearby(ask: &Ask, cwd: &str) -> Option<Ask> {
    let Ask::Patch { thread, item, changes: Some(changes), reason, grant_root } = ask else { return None };
    let near = diff::nearby(changes, Path::new(cwd));
    (near != *changes).then(|| Ask::Patch {
        thread: thread.clone(),
        item: item.clone(),
        changes: Some(near),
        reason: reason.clone(),
        grant_root: grant_root.clone(),
    })
}

/// A line in as many rows as it needs.
pub(super) fn broken(line: StyledLine, width: usize) -> Vec<StyledLine> {
    if line.width() <= width {
        return vec![line];
    }
    let (mut rows, mut row, mut used) = (Vec::new(), StyledLine::default(), 0);
    for StyledSpan { text, style } in line.spans {
        let mut begin = 0;
        for (at, piece) in text.grapheme_indices(true) {
            if used + piece.width() > width && used > 0 {
                row.push(style, &text[begin..at]);
                rows.push(std::mem::take(&mut row));
                (begin, used) = (at, 0);
            }
            used += piece.width();
        }
        row.push(style, &text[begin..]);
    }
    rows.push(row);
    rows
}
