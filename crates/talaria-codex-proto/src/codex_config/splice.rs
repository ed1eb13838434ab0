//! Removes statements from a text and inserts a block; all other bytes are preserved.
//!
//! The block is inserted after the user's last top-level key and before the first table, so that a top-level key
//! in it stays top-level and the user's tables keep their keys. The comment right above the first header stays
//! with that header.

use std::borrow::Cow;

use super::statements::{Kind, comments};
use super::survey::Survey;

/// Fate of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is kept, byte for byte.
    Stays,
    /// It is removed; a comment in it can only be the user's and is kept, on its own line.
    GoesButForComments,
    /// It is taken out.
    Goes,
}

/// The remaining text, in pieces.
pub(super) struct Rest<'a> {
    pieces: Vec<(Cow<'a, str>, What)>,
    newline: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Blank,
    Comment,
    Header,
    Value,
}

impl<'a> Rest<'a> {
    /// Leaves out what does not stay.
    pub(super) fn of(survey: &Survey<'a>, mut fates: Vec<Fate>) -> Self {
        take_blank_lines_between(survey, &mut fates);
        let newline = newline_of(survey, &fates);
        let mut pieces = Vec::with_capacity(survey.statements.len());
        for (number, statement) in survey.statements.iter().enumerate() {
            let source = survey.source(statement);
            match fates[number] {
                Fate::Stays => pieces.push((Cow::Borrowed(source), What::from(&statement.kind))),
                Fate::GoesButForComments => {
                    let lines = comments(source).into_iter().map(|line| format!("{line}{newline}"));
                    pieces.extend(lines.map(|line| (Cow::Owned(line), What::Comment)));
                }
                Fate::Goes => {}
            }
        }
        // A text without a final line break got one when the block was appended, which then had none.
        let was_unfinished =
            fates.last().is_some_and(|fate| *fate != Fate::Stays) && !survey.text.ends_with('\n');
        if was_unfinished && let Some((last, _)) = pieces.last_mut() {
            let end =
                last.strip_suffix("\r\n").or_else(|| last.strip_suffix('\n')).map_or(last.len(), str::len);
            match last {
                Cow::Borrowed(text) => *text = &text[..end],
                Cow::Owned(text) => text.truncate(end),
            }
        }
        Self { pieces, newline }
    }

    /// The line break that most lines have.
    pub(super) fn newline(&self) -> &'static str {
        self.newline
    }

    /// The text with a block in it; the block ends with a line break. An empty block is none.
    pub(super) fn with(&self, mark: &str, block: &str) -> String {
        let place = if block.is_empty() { 0 } else { self.place_of_block() };
        let (before, after) = self.pieces.split_at(place);
        let length: usize = self.pieces.iter().map(|(text, _)| text.len()).sum();
        let mut out = String::with_capacity(mark.len() + length + block.len() + 2);
        out.push_str(mark);
        before.iter().for_each(|(text, _)| out.push_str(text));
        let is_unfinished = before.last().is_some_and(|(text, _)| !text.ends_with('\n'));
        if is_unfinished {
            out.push_str(self.newline);
            out.push_str(block.strip_suffix(self.newline).unwrap_or(block));
        } else {
            out.push_str(block);
        }
        after.iter().for_each(|(text, _)| out.push_str(text));
        out
    }

    fn place_of_block(&self) -> usize {
        let what = |piece: &(Cow<'_, str>, What)| piece.1;
        let header = self.pieces.iter().position(|piece| what(piece) == What::Header);
        let mut place = header.unwrap_or(self.pieces.len());
        let mut go_back = |over: What| {
            place = self.pieces[..place].iter().rposition(|piece| what(piece) != over).map_or(0, |at| at + 1);
        };
        if header.is_some() {
            go_back(What::Comment);
        }
        go_back(What::Blank);
        place
    }
}

impl From<&Kind> for What {
    fn from(kind: &Kind) -> Self {
        match kind {
            Kind::Blank => Self::Blank,
            Kind::Comment => Self::Comment,
            Kind::Table(_) | Kind::ArrayOfTables(_) => Self::Header,
            Kind::Value(_) => Self::Value,
        }
    }
}

/// Blank lines between two things of ours are ours; all others stay.
fn take_blank_lines_between(survey: &Survey<'_>, fates: &mut [Fate]) {
    let mut last_gone = None;
    for number in 0..fates.len() {
        if fates[number] != Fate::Stays {
            if let Some(last) = last_gone.replace(number) {
                fates[last + 1..number].fill(Fate::Goes);
            }
        } else if survey.statements[number].kind != Kind::Blank {
            last_gone = None;
        }
    }
}

fn newline_of(survey: &Survey<'_>, fates: &[Fate]) -> &'static str {
    let mut balance = 0_i64;
    let staying = survey.statements.iter().zip(fates).filter(|(_, fate)| **fate == Fate::Stays);
    for (statement, _) in staying {
        let source = survey.source(statement);
        balance += i64::from(source.ends_with("\r\n")) * 2 - i64::from(source.ends_with('\n'));
    }
    if balance > 0 { "\r\n" } else { "\n" }
}
