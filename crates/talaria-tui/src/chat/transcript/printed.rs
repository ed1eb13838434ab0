//! Output of a step: folded a few lines and the number of further ones, unfolded all of them.
//!
//! Steps and shell commands of the person show their output by this one rule.

use super::cell::{Folding, Page};
use super::kept::{Kept, missing_note};
use super::wrap::{Break, wrap};
use talaria_render::{Style, StyledLine, cut, tool_line};

/// The key that unfolds what is shown in short.
pub(super) const KEY: &str = "Ctrl-O";

/// Lines of the output of a command that are shown in short.
const FEW: usize = 5;
/// Lines of the result of a call that are shown in short.
const FEWER: usize = 3;

/// Which part of an output matters most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gist {
    /// Its end.
    End,
    /// Its beginning.
    Beginning,
}

/// Appends the rows of an output.
pub(super) fn push(output: &Kept, gist: Gist, style: Style, page: &Page<'_>, out: &mut Vec<StyledLine>) {
    let parts = output.parts();
    let note = missing_note(parts.missing);
    let (end, mut lines) = if note.is_some() {
        (parts.tail.to_owned(), vec![parts.head, note.as_deref().unwrap_or_default()])
    } else {
        (output.text(), Vec::new())
    };
    lines = lines.iter().flat_map(|text| text.trim_end().split('\n')).collect();
    let end = end.trim_end();
    if !end.is_empty() {
        lines.extend(end.split('\n'));
    }
    let all = if note.is_some() { output.lines() } else { lines.len() };
    let few = match (page.fold, gist) {
        (Folding::Unfolded, _) => lines.len(),
        (Folding::Folded, Gist::End) => FEW,
        (Folding::Folded, Gist::Beginning) => FEWER,
    };
    // The note about a single line would take as much room as the line.
    let few = if lines.len() == few + 1 { lines.len() } else { few };
    let hidden = lines.len().saturating_sub(few);
    let more = all - (lines.len() - hidden).min(all);
    let more = (hidden > 0).then(|| format!("  {}", more_lines(more, page)));
    let (shown, is_above) = match gist {
        Gist::End => (&lines[hidden..], true),
        Gist::Beginning => (&lines[..lines.len() - hidden], false),
    };
    let put = |style: Style, text: &str, out: &mut Vec<StyledLine>| {
        let text = match page.fold {
            Folding::Folded => cut(text, page.width, page.paint),
            Folding::Unfolded => text.to_owned(),
        };
        wrap(page.paint.line(style, &text), page.width, 2, Break::Anywhere, out);
    };
    more.iter().filter(|_| is_above).for_each(|more| put(Style::DIM, more, out));
    shown.iter().for_each(|line| put(style, format!("  {}", tool_line::output_line(line)).trim_end(), out));
    more.iter().filter(|_| !is_above).for_each(|more| put(Style::DIM, more, out));
}

/// How many lines are not shown, and what shows them.
pub(super) fn more_lines(count: usize, page: &Page<'_>) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {count} more line{plural} ({KEY})", page.paint.sign("…", "..."))
}
